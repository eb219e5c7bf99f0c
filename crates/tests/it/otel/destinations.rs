//! Which servers there are, and what is known of them.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;

use super::{SECRET, secret_file};
use crate::harness::{Agent, OtlpSink, World, until};

/// All files below Siglum's home that have a text in them, but for the program.
fn files_with(world: &World, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![world.siglum_home()];
    while let Some(path) = open.pop() {
        if path.ends_with("bin") {
            continue;
        }
        if path.is_dir() {
            open.extend(
                std::fs::read_dir(&path)
                    .unwrap()
                    .flatten()
                    .map(|e| e.path()),
            );
            continue;
        }
        let bytes = std::fs::read(&path).unwrap_or_default();
        if bytes.windows(text.len()).any(|w| w == text.as_bytes()) {
            let name = path.strip_prefix(world.siglum_home()).unwrap();
            found.push(name.to_str().unwrap().to_owned());
        }
    }
    found.sort();
    found
}

#[test]
fn a_destination_is_listed_and_its_secrets_are_not() {
    let world = World::new();
    let repo = world.repo();
    let sink = OtlpSink::start();
    let file = format!("Authorization={}", secret_file(&world).display());
    let endpoint = format!("{}/api/otel/", sink.url);
    let args = [
        "otel",
        "add",
        "team",
        &endpoint,
        "--protocol",
        "http/json",
        "--header-file",
        &file,
        "--header",
        "x-version=4",
        "--sample",
        "2.5%",
        "--no-gzip",
        "--keep-days",
        "3",
    ];
    assert_eq!(world.json(&repo.dir, &args)["outcome"], "added");
    assert_eq!(world.json(&repo.dir, &args)["outcome"], "before");
    let list = world.json(&repo.dir, &["otel", "list"]);
    let wanted = json!({
        "endpoint": endpoint.trim_end_matches('/'),
        "protocol": "http/json",
        "gzip": false,
        "sends": "sessions",
        "content": false,
        "sample_per_mille": 25,
        "headers": ["x-version", "authorization"],
        "keep_days": 3,
    });
    assert_eq!(list["destinations"][0]["settings"], wanted);
    assert_eq!(list["destinations"][0]["standing"]["health"], "ok");
    // Whatever shows projections shows it with its address, and no secret.
    for args in [
        &["otel", "list"][..],
        &["projection", "list"],
        &["projection", "show", "team"],
        &["status"],
        &["doctor"],
    ] {
        let ran = world.siglum(&repo.dir, args);
        let output = format!("{}{}", ran.stdout, ran.stderr);
        assert!(output.contains("team"), "{args:?}: {output}");
        assert!(
            !output.contains("quokka7") && !output.contains("{\"version\""),
            "{output}"
        );
    }
    assert_eq!(
        files_with(&world, "quokka7"),
        ["tokens/team.authorization.header"]
    );
    let kept = world.siglum_home().join("tokens/team.authorization.header");
    let mode = kept.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(std::fs::read_to_string(kept).unwrap(), SECRET);
}

#[test]
fn settings_change_under_one_name_and_the_endpoint_does_not() {
    let world = World::new();
    let repo = world.repo();
    let sink = OtlpSink::start();
    let url = sink.url.as_str();
    let file = format!("x-api-key={}", secret_file(&world).display());
    repo.siglum(&["otel", "add", "one", url, "--header-file", &file])
        .ok();
    let changed = world.siglum(&repo.dir, &["otel", "add", "one", url, "--content"]);
    assert!(
        changed.stderr.contains("are sent to http://127.0.0.1"),
        "{changed:?}"
    );
    changed.ok();
    assert_eq!(files_with(&world, "quokka7"), [""; 0]);
    let list = world.json(&repo.dir, &["otel", "list"]);
    assert_eq!(list["destinations"][0]["settings"]["content"], true);

    let other = format!("{url}/elsewhere");
    let ran = world.siglum(&repo.dir, &["otel", "add", "one", &other]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("siglum otel remove one"), "{ran:?}");
    repo.siglum(&["projection", "add", "two", "--program", "true"])
        .ok();
    assert_eq!(
        world.siglum(&repo.dir, &["otel", "add", "two", url]).code,
        Some(1)
    );
    assert_eq!(
        world.siglum(&repo.dir, &["otel", "remove", "two"]).code,
        Some(3)
    );
}

#[test]
fn what_is_wrong_is_refused_before_anything_is_kept() {
    let world = World::new();
    let repo = world.repo();
    for (args, expected) in [
        (&["http://sink.example"][..], "--allow-plain"),
        (
            &["https://user:quokka7@sink.example"],
            "without user, query or fragment",
        ),
        (
            &["https://sink.example?key=quokka7"],
            "without user, query or fragment",
        ),
        (
            &["https://sink.example", "--protocol", "zipkin"],
            "http/protobuf, http/json or grpc",
        ),
        (
            &["https://sink.example/v1", "--protocol", "grpc"],
            "has no path",
        ),
        (
            &["https://sink.example", "--sample", "0%"],
            "a sample must be",
        ),
        (
            &["https://sink.example", "--header", "authorization=quokka7"],
            "--header-file",
        ),
        (
            &["https://sink.example", "--header", "x-one=Basic quokka7"],
            "--header-file",
        ),
        (&["https://sink.example", "--header", "quokka7"], "NAME=…"),
        (
            &["https://sink.example", "--header", "host=x"],
            "cannot be set by users",
        ),
        (
            &["https://sink.example", "--header-file", "x-key=/no/such"],
            "x-key",
        ),
        (
            &["https://sink.example", "--header-env", "x-key=NO_SUCH"],
            "NO_SUCH",
        ),
    ] {
        let ran = world.siglum(&repo.dir, &[&["otel", "add", "one"], args].concat());
        assert!(matches!(ran.code, Some(1 | 2)), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(expected), "{args:?}: {ran:?}");
        assert!(!ran.stderr.contains("quokka7"), "{args:?}: {ran:?}");
    }
    assert!(!world.siglum_home().join("tokens").exists());
    let list = world.json(&repo.dir, &["otel", "list"]);
    assert_eq!(list["destinations"], json!([]));
    repo.siglum(&["otel", "add", "one", "http://sink.example", "--allow-plain"])
        .ok();
}

#[test]
fn nothing_is_left_of_one_that_is_removed() {
    let mut world = World::new();
    let value = std::ffi::OsString::from(SECRET);
    world.variables.push(("SINK_KEY", value.into()));
    let repo = world.repo();
    let sink = OtlpSink::start();
    for verb in ["otel", "projection"] {
        let args = [
            "otel",
            "add",
            "one",
            &sink.url,
            "--header-env",
            "x-api-key=SINK_KEY",
        ];
        repo.siglum(&args).ok();
        assert_eq!(
            files_with(&world, "quokka7"),
            ["tokens/one.x-api-key.header"]
        );
        repo.siglum(&[verb, "remove", "one"]).ok();
        assert_eq!(files_with(&world, "quokka7"), [""; 0]);
        let list = world.json(&repo.dir, &["projection", "list"]);
        assert_eq!(list["projections"], json!([]));
    }
    assert_eq!(
        world.siglum(&repo.dir, &["otel", "test", "one"]).code,
        Some(3)
    );
}

#[test]
fn nothing_goes_anywhere_that_nobody_named() {
    let mut world = World::new();
    let sink = OtlpSink::start();
    // What other programs take for a destination is none for this one.
    for name in [
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    ] {
        world.variables.push((name, sink.url.clone().into()));
    }
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    agent.write("a.txt", "one\n");
    agent.stop();
    agent.end("exit");
    agent.quit();
    repo.siglum(&["worker", "--once"]).ok();
    until("the worker has left", || world.processes().is_empty());
    assert_eq!(sink.requests().len(), 0);
}
