//! `siglum otel test`: one small trace, and what the server says.

use super::{SECRET, secret_file};
use crate::harness::{OtlpSink, Ran, Repo, SinkFate, World};

fn add(repo: &Repo<'_>, url: &str, more: &[&str]) {
    let args = ["otel", "add", "sink", url];
    repo.siglum(&[&args, more].concat()).ok();
}

fn test(repo: &Repo<'_>) -> Ran {
    repo.world.siglum(&repo.dir, &["otel", "test", "sink"])
}

#[test]
fn a_probe_arrives_in_both_forms_with_its_header() {
    let world = World::new();
    let repo = world.repo();
    let sink = OtlpSink::start();
    let file = format!("authorization={}", secret_file(&world).display());
    for (protocol, form, more, packed) in [
        (
            "http/protobuf",
            "application/x-protobuf",
            None,
            Some("gzip"),
        ),
        ("http/json", "application/json", Some("--no-gzip"), None),
    ] {
        sink.forget();
        let mut args = vec!["--protocol", protocol, "--header-file", &file];
        args.extend(more);
        add(&repo, &sink.url, &args);
        let answer = world.json(&repo.dir, &["otel", "test", "sink"]);
        assert_eq!(answer["taken"], true, "{answer}");
        let request = sink.requests().remove(0);
        assert_eq!(request.path, "/v1/traces");
        assert_eq!(request.header("content-type"), Some(form));
        assert_eq!(request.header("content-encoding"), packed);
        assert_eq!(request.header("authorization"), Some(SECRET));
        assert!(sink.logs().is_empty() && sink.metrics().is_empty());
        let spans = sink.spans();
        assert_eq!(spans.len(), 1);
        let (span, attributes) = (&spans[0], &spans[0]["attributes"]);
        assert_eq!(span["traceId"], answer["trace_id"]);
        for key in ["session.id", "gen_ai.conversation.id"] {
            assert_eq!(attributes[key], "siglum-test");
        }
        assert_eq!(attributes["siglum.test"], "true");
        assert_eq!(span["resource"]["service.name"], "siglum");
    }
}

#[test]
fn an_endpoint_for_one_signal_is_taken_as_it_is() {
    let world = World::new();
    let repo = world.repo();
    let sink = OtlpSink::start();
    add(&repo, &format!("{}/x/v1/traces", sink.url), &[]);
    let report = test(&repo).ok();
    assert!(report.contains("session siglum-test"), "{report}");
    assert_eq!(sink.requests()[0].path, "/x/v1/traces");
    repo.siglum(&["otel", "remove", "sink"]).ok();
    add(&repo, &format!("{}/v1/logs", sink.url), &[]);
    let ran = test(&repo);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("does not accept traces"), "{ran:?}");
    assert_eq!(sink.requests().len(), 1);
}

#[test]
fn a_failure_is_reported_as_it_is_with_what_may_help() {
    let world = World::new();
    let repo = world.repo();
    let mut sink = OtlpSink::start();
    add(&repo, &sink.url, &[]);
    for (fate, expected) in [
        (SinkFate::Status(401, ""), ["[401]", "Check the credential"]),
        (SinkFate::Status(404, ""), ["[404]", "Check the endpoint"]),
        (SinkFate::Status(415, ""), ["[415]", "another `--protocol`"]),
        (
            SinkFate::Status(503, "retry-after: 9\r\n"),
            ["[503]", "try again later"],
        ),
        (
            SinkFate::Status(302, "location: /login\r\n"),
            ["another address", "Check the endpoint"],
        ),
        (
            SinkFate::Partly(1, "no such project"),
            ["rejected the span", "no such project"],
        ),
        (SinkFate::Page, ["text/html", "check the path"]),
        (
            SinkFate::Before,
            ["cannot connect to", "Check that the server runs"],
        ),
        (
            SinkFate::Inside,
            ["cannot connect to", "Check that the server runs"],
        ),
        (
            SinkFate::After,
            ["cannot connect to", "Check that the server runs"],
        ),
    ] {
        sink.fates([fate.clone()]);
        let ran = test(&repo);
        assert_eq!(ran.code, Some(1), "{fate:?}: {ran:?}");
        assert!(ran.stdout.is_empty(), "{ran:?}");
        for part in expected {
            assert!(ran.stderr.contains(part), "{fate:?}: {ran:?}");
        }
        assert_eq!(sink.pending_fates(), 0);
    }
    // It took the span, and has something to say.
    sink.fates([SinkFate::Partly(0, "this is the last free trace")]);
    assert!(
        test(&repo)
            .ok()
            .contains("Server message: this is the last free trace")
    );

    sink.fail(1, 500);
    assert!(test(&repo).stderr.contains("as it was told [500]"));
    sink.stop();
    let ran = test(&repo);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("cannot connect to"), "{ran:?}");
    sink.start_again();
    test(&repo).ok();
}

#[test]
fn a_probe_waits_for_no_credential_that_is_gone() {
    let world = World::new();
    let repo = world.repo();
    let sink = OtlpSink::start();
    let file = format!("authorization={}", secret_file(&world).display());
    add(&repo, &sink.url, &["--header-file", &file]);
    let kept = "tokens/sink.authorization.header";
    std::fs::remove_file(world.siglum_home().join(kept)).unwrap();
    let ran = test(&repo);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("no longer stored"), "{ran:?}");
    assert_eq!(sink.requests().len(), 0);
}
