//! What agents send is handed on to a collector that somebody named.

use serde_json::{Value, json};

use super::sending::{TRACE, send, span, spans};
use crate::gateway::client::id;
use crate::gateway::server::{Gateway, base, on_a_file};
use crate::harness::{Agent, OtlpSink, Repo, SinkFate, until};

fn records_of<'s>(sent: &'s [Value], name: &str) -> Vec<&'s Value> {
    sent.iter().filter(|s| s["name"] == name).collect()
}

#[test]
fn it_has_the_right_id_and_is_else_as_it_was_also_after_the_collector_was_away() {
    on_a_file(|store| {
        let repo = store.world.repo();
        let mut sink = OtlpSink::start();
        let gateway = Gateway::start(store);
        let created = gateway.launcher().create(&base("S1"));
        let add = [
            "otel",
            "add",
            "down",
            &sink.url,
            "--native",
            "--all-repositories",
        ];
        repo.siglum(&add).ok();
        let resource = json!({ "service.name": "claude-code", "siglum.session.id": id(&created) });
        let one = |n: u64| {
            span(
                TRACE,
                n,
                &json!({ "session.id": "H1", "its.own": format!("value {n}") }),
            )
        };
        let export = |n: u64| send(&gateway, &gateway.token, &spans(&resource, &[one(n)]));
        export(1);
        until("it is handed on", || {
            records_of(&sink.spans(), "span 1").len() == 1
        });
        let sent = sink.spans();
        let first = records_of(&sent, "span 1")[0];
        let attributes = &first["attributes"];
        for key in [
            "session.id",
            "gen_ai.conversation.id",
            "langsmith.metadata.thread_id",
        ] {
            assert_eq!(attributes[key], "S1", "{first}");
        }
        assert_eq!(attributes["siglum.native_session.id"], "H1");
        assert_eq!(attributes["its.own"], "value 1");
        assert_eq!(first["resource"]["service.name"], "claude-code");
        assert_eq!(
            (&first["traceId"], &first["kind"]),
            (&json!(TRACE), &json!(1))
        );

        sink.stop();
        export(2);
        export(3);
        let listed = || store.world.json(&repo.dir, &["otel", "list"])["destinations"][0].clone();
        until("they wait", || listed()["waiting_records"] == 2);
        sink.start_again();
        sink.fates([SinkFate::Inside, SinkFate::Status(503, "")]);
        until("they are handed on", || {
            repo.siglum(&["worker", "--once"]).ok();
            let sent = sink.spans();
            records_of(&sent, "span 2").len() == 1 && records_of(&sent, "span 3").len() == 1
        });
        until("nothing is left", || listed()["waiting_records"] == 0);
        let list = listed();
        assert_eq!(
            (&list["lost_records"], &list["standing"]["lag_receipts"]),
            (&json!(0), &json!(0))
        );
        assert_eq!(records_of(&sink.spans(), "span 1").len(), 1);
    });
}

/// A session in a checkout, by the id that it has.
fn session(repo: &Repo<'_>, native: &str) -> String {
    let mut agent = Agent::process(repo, native, &Agent::program());
    agent.begin("startup");
    agent.prompt("Go");
    agent.stop();
    agent.end("exit");
    agent.quit();
    let shown = repo.world.json(&repo.dir, &["session", "show", native]);
    shown["session"]["id"].as_str().unwrap().to_owned()
}

#[test]
fn what_is_outside_of_the_scope_is_not_handed_on() {
    on_a_file(|store| {
        let inside = store.world.repo();
        inside.sh("git init -q ../kept").ok();
        let kept = store.world.at(&store.world.root.join("kept"));
        kept.siglum(&["init", "--yes"]).ok();
        let sink = OtlpSink::start();
        inside
            .siglum(&["otel", "add", "down", &sink.url, "--native"])
            .ok();
        let ids = [session(&kept, "two"), session(&inside, "one")];
        let gateway = Gateway::start(store);
        for (n, (id, mark)) in (1..).zip(ids.iter().zip(["kept-secret", "goes-with-it"])) {
            let resource = json!({ "service.name": "claude-code", "siglum.session.id": id });
            let one = span(TRACE, n, &json!({ "its.own": mark }));
            send(&gateway, &gateway.token, &spans(&resource, &[one]));
        }
        let strange = span(&"3".repeat(32), 3, &json!({ "its.own": "kept-secret" }));
        let stranger = json!({ "service.name": "db" });
        send(&gateway, &gateway.token, &spans(&stranger, &[strange]));
        until("it is handed on", || {
            inside.siglum(&["worker", "--once"]).ok();
            records_of(&sink.spans(), "span 2").len() == 1
        });
        let listed = store.world.json(&inside.dir, &["otel", "list"]);
        assert_eq!(listed["destinations"][0]["waiting_records"], 0, "{listed}");
        let all = format!("{:?}", sink.spans());
        assert!(all.contains("goes-with-it"), "{all}");
        assert!(!all.contains("kept-secret"), "{all}");
    });
}
