//! What agents send is handed on to a collector that somebody named.

use serde_json::{Value, json};

use super::sending::{TRACE, send, span, spans};
use crate::gateway::client::id;
use crate::gateway::server::{Gateway, base, on_a_file};
use crate::harness::{OtlpSink, SinkFate, until};

fn of<'s>(told: &'s [Value], name: &str) -> Vec<&'s Value> {
    told.iter().filter(|s| s["name"] == name).collect()
}

#[test]
fn it_has_the_right_id_and_is_else_as_it_was_also_after_the_collector_was_away() {
    on_a_file(|store| {
        let repo = store.world.repo();
        let mut sink = OtlpSink::start();
        let add = [
            "otel",
            "add",
            "down",
            &sink.url,
            "--native",
            "--all-repositories",
        ];
        repo.siglum(&add).ok();
        let gateway = Gateway::start(store);
        let created = gateway.launcher().create(&base("S1"));
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
        until("it is handed on", || of(&sink.spans(), "span 1").len() == 1);
        let told = sink.spans();
        let first = of(&told, "span 1")[0];
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
            let told = sink.spans();
            of(&told, "span 2").len() == 1 && of(&told, "span 3").len() == 1
        });
        until("nothing is left", || listed()["waiting_records"] == 0);
        let list = listed();
        assert_eq!(
            (&list["lost_records"], &list["standing"]["lag_receipts"]),
            (&json!(0), &json!(0))
        );
        assert_eq!(of(&sink.spans(), "span 1").len(), 1);
    });
}
