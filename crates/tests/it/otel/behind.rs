//! What waits to be delivered, in the metrics.

use super::turns::driven;
use crate::gateway::server::{Gateway, base, counted, each_store, siglum};
use crate::harness::{OtlpSink, until};

/// How a gauge of deliveries to servers of traces stands.
fn otlp(gateway: &Gateway, name: &str) -> u64 {
    counted(gateway, &format!("siglum_delivery_{name}{{kind=\"otlp\"}}"))
}

#[test]
fn an_endpoint_that_is_away_is_behind_until_it_returns() {
    each_store(|store| {
        let mut sink = OtlpSink::start();
        let mut gateway = Gateway::start(store);
        gateway.launcher().create(&base("before"));
        let args = ["otel", "add", "quokka", &sink.url, "--all-repositories"];
        assert_eq!(siglum(store, &args)["outcome"], "added");
        let is_behind = |gateway: &Gateway| {
            let (waiting, seconds) = (otlp(gateway, "waiting"), otlp(gateway, "behind_seconds"));
            assert_eq!(otlp(gateway, "parked"), 0);
            (waiting > 0, seconds > 0)
        };
        driven(&gateway, "wombat", &["t1"], None);
        until("the turn is told", || !sink.spans().is_empty());
        until("that is noted", || is_behind(&gateway) == (false, false));
        sink.stop();
        driven(&gateway, "numbat", &["t1", "t2"], None);
        until("deliveries are behind", || {
            is_behind(&gateway) == (true, true)
        });
        // Also where nobody was let in to yet.
        gateway.restart(store);
        until("they still are", || is_behind(&gateway) == (true, true));
        sink.start_again();
        until("they are not any more", || {
            is_behind(&gateway) == (false, false)
        });
        until("all is summed up and can be searched", || {
            let names = ["siglum_sessions_unfolded", "siglum_search_waiting"];
            names.iter().all(|name| counted(&gateway, name) == 0)
        });
        assert_eq!(counted(&gateway, "siglum_runs_waiting"), 0);
        let metrics = gateway.stranger().get("/metrics").text;
        for name in ["quokka", "wombat", "numbat", "127.0.0.1"] {
            assert!(!metrics.contains(name), "{name} in {metrics}");
        }
    });
}
