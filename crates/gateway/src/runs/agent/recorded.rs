//! Runs of headless programs that were recorded with real agents, written down as a run would.

use std::path::Path;

use serde_json::Value;
use siglum_domain::Timestamp;
use siglum_domain::observation::{Fact, Observation, Outcome, Tokens, ToolClass};
use siglum_engine::driven::run::{Blank, run_spec};

use super::claude_code::Records;
use crate::runs::scribe::Scribe;
use crate::runs::{RunEvent, Usage};

/// What came of one run of the program.
struct Run {
    native: String,
    stop: String,
    observations: Vec<Observation>,
    events: Vec<RunEvent>,
    usage: Usage,
    /// Tokens that were known before the end.
    before: u64,
}

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

fn lines(name: &str) -> Vec<Value> {
    let file = format!("fixtures/headless/claude-code/2.1.329/{name}.jsonl");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn played(lines: &[Value]) -> Run {
    let (mut records, mut scribe) = (Records::default(), None::<Scribe>);
    for line in lines {
        let updates = records.take(line);
        if let (None, Some(native)) = (&scribe, records.native()) {
            let spec = run_spec("claude-code").unwrap();
            let (prefix, native) = ("t0".to_owned(), native.to_string());
            scribe = Some(Scribe::new(
                spec,
                prefix,
                native,
                Blank::Never,
                records.model(),
            ));
        }
        for update in &updates {
            scribe.as_mut().unwrap().hear(update);
        }
    }
    let (native, mut scribe) = (records.native().unwrap().to_string(), scribe.unwrap());
    let before = scribe.context;
    let answer = records.ended().unwrap_or_else(|refused| refused.answer);
    scribe.answered(&answer);
    scribe.end();
    Run {
        native,
        stop: answer["stopReason"].as_str().unwrap().to_owned(),
        usage: scribe.usage(NOW),
        observations: scribe.take_observations(NOW),
        events: scribe.events(),
        before,
    }
}

impl Run {
    fn messages(&self) -> Vec<&str> {
        let own = self.observations.iter().filter(|o| o.subagent.is_none());
        let text = |o: &&'_ Observation| match &o.fact {
            Fact::Message { text, .. } => text.text().is_some_and(|text| !text.is_empty()),
            _ => false,
        };
        own.filter(text)
            .filter_map(|o| match &o.fact {
                Fact::Message { text, .. } => text.text(),
                _ => None,
            })
            .collect()
    }

    fn calls(&self) -> Vec<(&str, ToolClass, Outcome)> {
        let returned = self.observations.iter().filter_map(|o| match &o.fact {
            Fact::ToolEnded { class, outcome, .. } => Some((o.event.as_str(), *class, *outcome)),
            _ => None,
        });
        returned.collect()
    }

    fn streamed_text(&self) -> String {
        let deltas = self.events.iter().filter_map(|event| match event {
            RunEvent::Text { delta, .. } => Some(delta.as_str()),
            _ => None,
        });
        deltas.collect()
    }
}

#[test]
fn a_headless_run_reads_like_one_over_the_protocol() {
    let all = lines("turns");
    let begins = |line: &Value| line["subtype"] == "init";
    let second = all.iter().rposition(begins).unwrap();
    let (first, second) = (played(&all[..second]), played(&all[second..]));
    let expected = [
        "I will write the file first.",
        "Now I commit it.",
        "Done: hello.txt is committed.",
    ];
    assert_eq!(first.messages(), expected);
    assert_eq!(first.streamed_text(), expected.concat(), "each word once");
    assert_eq!(first.stop, "end_turn");
    let calls = first.calls();
    let kinds: Vec<_> = calls.iter().map(|call| (call.1, call.2)).collect();
    let ok = [ToolClass::Edit, ToolClass::Shell].map(|class| (class, Outcome::Ok));
    assert_eq!(kinds, ok);
    assert!(
        calls.iter().all(|call| call.0.contains("toolu_")),
        "{calls:?}"
    );
    let used = Tokens {
        input: 1200,
        output: 60,
        cache_read: 54,
        cache_write: 30,
    };
    assert_eq!(first.usage.tokens, used);
    assert_eq!(first.usage.model.as_deref(), Some("claude-opus-5-5"));
    // All but the words that come behind what a message begins with is known while it goes on.
    assert!(first.before >= 1284, "{}", first.before);
    // What the program says that it cost counts what was before, and is not told.
    assert_eq!(second.native, first.native);
    assert_eq!(second.messages(), ["Hello, nothing to do."]);
    assert_eq!(second.usage.tokens.input, 600);
}

#[test]
fn of_two_calls_at_once_one_fails() {
    let run = played(&lines("two_tools"));
    let mut outcomes: Vec<_> = run.calls().iter().map(|call| call.2).collect();
    outcomes.sort_by_key(|outcome| *outcome == Outcome::Failed);
    assert_eq!(outcomes, [Outcome::Ok, Outcome::Failed]);
}

#[test]
fn what_is_not_allowed_is_refused() {
    let run = played(&lines("refused"));
    let outcomes: Vec<_> = run.calls().iter().map(|call| call.2).collect();
    assert_eq!(outcomes, [Outcome::Denied, Outcome::Denied]);
}

#[test]
fn a_sub_agent_has_its_own_name_and_what_it_does_is_its_own() {
    let run = played(&lines("subagent"));
    let started = run.observations.iter().find_map(|o| match &o.fact {
        Fact::SubagentStarted { agent_type, call } => Some((o, agent_type, call)),
        _ => None,
    });
    let (begun, kind, call) = started.unwrap();
    assert_eq!(kind.as_str(), "general-purpose");
    assert!(
        call.as_deref()
            .is_some_and(|call| call.starts_with("toolu_"))
    );
    let id = begun.subagent.as_deref().unwrap();
    assert!(!id.starts_with("toolu_"), "the agent's own name: {id}");
    let inner = run.observations.iter();
    let inner = inner.filter(|o| o.subagent.as_deref() == Some(id));
    let ended = inner.clone();
    let ended = ended.filter(|o| matches!(o.fact, Fact::ToolEnded { .. }));
    assert_eq!(ended.count(), 2);
    let stopped = inner.filter(|o| matches!(o.fact, Fact::SubagentStopped { .. }));
    assert_eq!(stopped.count(), 1);
    assert!(!run.messages().contains(&"Helper finished."));
    // It came to a stop twice; what the sub-agent used is not in it.
    assert_eq!(run.usage.tokens.output, 60);
}

#[test]
fn what_ends_before_its_result_died_and_what_it_used_is_known() {
    let all = lines("turns");
    let first = all
        .iter()
        .position(|line| line["type"] == "result")
        .unwrap();
    let mut records = Records::default();
    for line in &all[..first] {
        records.take(line);
    }
    assert!(!records.has_result());
    let cancelled = records.cancelled();
    assert_eq!(cancelled["stopReason"], "cancelled");
    assert_eq!(cancelled["usage"]["outputTokens"], 60);
    let refused = records.ended().unwrap_err();
    assert_eq!(refused.code, Some("agent-died"));
    assert_eq!(refused.answer["usage"]["inputTokens"], 1200);
}

#[test]
fn errors_are_reported_and_a_limit_is_one() {
    let end = |result: Value| {
        let mut records = Records::default();
        records.take(&result);
        records.ended()
    };
    let text = |result: Value| end(result).unwrap_err().text;
    let result = |more: Value| {
        let mut result = serde_json::json!({ "type": "result", "is_error": true });
        let fields = result.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        result
    };
    use serde_json::json;
    let stated = json!({ "subtype": "success", "result": "API Error: 529" });
    assert_eq!(text(result(stated)), "API Error: 529");
    let listed = json!({ "subtype": "error_during_execution", "errors": ["a", "b"] });
    assert_eq!(text(result(listed)), "a / b");
    let bare = json!({ "subtype": "error_during_execution" });
    assert_eq!(text(result(bare)), "error_during_execution");
    let turns = end(result(json!({ "subtype": "error_max_turns" }))).unwrap();
    assert_eq!(turns["stopReason"], "max_turn_requests");
}
