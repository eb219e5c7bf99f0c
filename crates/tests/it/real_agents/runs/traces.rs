//! Whose trace a run is in, and what of it is where in it.

use serde_json::Value;

use super::bench::{Bench, Hooks, is_first};
use crate::real_agents::agents::Agent;
use crate::real_sinks::sinks::fresh;

/// A valid one is joined, what is none begins a trace of its own, and what is not sampled is recorded all the same.
#[test]
fn whoever_asks_may_have_a_trace() {
    let Some(bench) = Bench::open(&[Agent::Claude], Hooks::None) else {
        return;
    };
    let now = siglum_platform::clock::now().nanos();
    let (trace, other) = (format!("{now:032x}"), format!("{:032x}", now + 1));
    let span = "b7ad6b7169203331";
    let sent = |header: String, name: &str| {
        let body = bench.body(Agent::Claude, Some(name), "say");
        let answer = bench.send(&[("traceparent", &header)], &body);
        assert_eq!(answer.status_of_run(), "done", "{answer:#?}");
        answer
    };
    let [valid, garbage, zero, unsampled] = ["valid", "garbage", "zero", "unsampled"].map(fresh);
    let joined = sent(format!("00-{trace}-{span}-01"), &valid);
    assert_eq!(joined.run("trace_id"), trace);
    bench.is_everywhere(&joined, &valid);
    let spans = bench.spans_of(&trace);
    let root = spans.iter().find(|s| is_first(s)).expect("a first span");
    assert_eq!(root["parentSpanId"], span, "{root:#}");
    for (header, name) in [
        ("00-garbage-01".to_owned(), &garbage),
        (format!("00-{}-{span}-01", "0".repeat(32)), &zero),
    ] {
        let answer = sent(header, name);
        bench.is_everywhere(&answer, name);
        assert_ne!(answer.run("trace_id"), "0".repeat(32));
    }
    let silent = sent(format!("00-{other}-{span}-00"), &unsampled);
    let after = bench.run(Agent::Claude, &fresh("after"), "say");
    bench.exported(&[&after]);
    assert!(bench.spans_of(&other).is_empty(), "not sampled is not sent");
    let recorded = bench.get(&format!("/v1/sessions/{}", silent.run("session")));
    assert_eq!(
        recorded["turns"], 1,
        "and is recorded all the same: {recorded:#}"
    );
}

/// A sub-agent is in the call that started it, in the same conversation, with an id of its own.
#[test]
fn a_sub_agent_is_in_its_call() {
    let Some(bench) = Bench::open(&[Agent::Claude], Hooks::Installed) else {
        return;
    };
    let name = fresh("helped");
    let answer = bench.run(Agent::Claude, &name, "subagent");
    bench.is_everywhere(&answer, &name);
    let of_helper = |s: &&Value| {
        s["attributes"]["gen_ai.operation.name"] == "invoke_agent"
            && !s["attributes"]["siglum.agent.id"].is_null()
    };
    let spans = crate::real_agents::programs::wait_for("the sub-agent's span", || {
        let spans = bench.sink.spans();
        spans.iter().any(|s| of_helper(&s)).then_some(spans)
    });
    let helpers: Vec<&Value> = spans.iter().filter(of_helper).collect();
    assert_eq!(helpers.len(), 1, "{helpers:#?}");
    let helper = helpers[0];
    assert_eq!(helper["attributes"]["session.id"], *name, "{helper:#}");
    let call = |id: &Value| {
        let found = spans.iter().find(|s| s["spanId"] == *id);
        found.is_some_and(|s| s["attributes"]["gen_ai.operation.name"] == "execute_tool")
    };
    let linked = &helper["links"][0]["spanId"];
    assert!(call(&helper["parentSpanId"]) || call(linked), "{helper:#}");
}
