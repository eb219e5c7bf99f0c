//! What the rules show of spans that lack something.

use serde_json::{Value, json};

use super::rules::{BACK_ENDS, Rule};
use super::span::{Span, Totals};

/// A turn as it should be: a first span, an answer of 100 and 10 tokens, a tool, an answer of 200 and 20.
fn turn() -> Vec<Span> {
    let span = |id: &str, parent: &str, kind: &str, more: Value| {
        let mut attributes = json!({
            "session.id": "s1", "gen_ai.conversation.id": "s1", "langsmith.metadata.thread_id": "s1",
            "lmnr.association.properties.session_id": "s1", "openinference.span.kind": kind,
        });
        let all = attributes.as_object_mut().unwrap();
        all.extend(more.as_object().unwrap().clone());
        Span {
            trace: "t1".to_owned(),
            id: id.to_owned(),
            parent: parent.to_owned(),
            attributes,
        }
    };
    let used = |input: u64, output: u64| {
        json!({
            "gen_ai.system": "anthropic", "gen_ai.usage.input_tokens": input, "gen_ai.usage.output_tokens": output,
            "gen_ai.usage.cache_read.input_tokens": input / 2, "llm.token_count.prompt": input,
            "llm.token_count.completion": output, "llm.token_count.total": input + output,
        })
    };
    vec![
        span("one", "root", "LLM", used(100, 10)),
        span("tool", "root", "TOOL", json!({})),
        span("two", "root", "LLM", used(200, 20)),
        span("root", "", "AGENT", json!({})),
    ]
}

/// The back ends that do not show the whole turn in session `s1`.
fn wrong(batches: &[Vec<Span>]) -> Vec<&'static str> {
    let whole = Totals {
        input: 300,
        output: 30,
    };
    let is_wrong = |rule: Rule| {
        let shown = rule(batches);
        let one = shown.0.get("s1");
        shown.0.len() != 1 || one.is_none_or(|s| s.traces.len() != 1 || s.totals != whole)
    };
    let wrong = BACK_ENDS.iter().filter(|(_, rule)| is_wrong(*rule));
    wrong.map(|(name, _)| *name).collect()
}

#[track_caller]
fn check(change: impl Fn(&Span) -> Span, expected: &[&str]) {
    let spans = turn().iter().map(change).collect();
    assert_eq!(wrong(&[spans]), expected);
}

const KEYS: [&str; 4] = [
    "session.id",
    "gen_ai.conversation.id",
    "langsmith.metadata.thread_id",
    "lmnr.association.properties.session_id",
];

#[test]
fn a_turn_as_it_should_be_is_whole_everywhere() {
    check(Span::clone, &[]);
}

#[test]
fn the_id_on_the_first_span_alone_is_not_enough() {
    let only_root = |span: &Span| match span.id.as_str() {
        "root" => span.clone(),
        _ => span.without(&KEYS),
    };
    check(only_root, &["Langfuse", "Arize", "LangSmith"]);
    let not_root = |span: &Span| match span.id.as_str() {
        "root" => span.without(&KEYS),
        _ => span.clone(),
    };
    check(not_root, &["LangSmith", "Agenta"]);
}

#[test]
fn each_key_is_somebodys_only_one() {
    let lacks = |key: &'static str| move |span: &Span| span.without(&[key]);
    check(lacks(KEYS[2]), &["LangSmith"]);
    check(lacks(KEYS[3]), &["Laminar"]);
    let standard = |span: &Span| span.without(&["gen_ai.conversation.id"]);
    let opik = |span: &Span| standard(span).without(&["session.id"]);
    check(
        opik,
        &["Langfuse", "Phoenix", "Arize", "Opik", "MLflow", "Agenta"],
    );
}

#[test]
fn tokens_on_the_first_span_count_twice_or_hide_the_others() {
    let rolled_up = |span: &Span| match span.id.as_str() {
        "root" => span.with_tokens(300, 30),
        _ => span.clone(),
    };
    // At MLflow it hides what is below; the sum is the same as long as it has all.
    check(rolled_up, &["Langfuse", "LangSmith", "Opik", "Agenta"]);
    let own = |span: &Span| match span.id.as_str() {
        "root" => span.with_tokens(1, 1),
        _ => span.clone(),
    };
    check(own, &["Langfuse", "LangSmith", "Opik", "MLflow", "Agenta"]);
}

#[test]
fn a_name_that_is_not_known_is_a_kind_of_tokens_of_its_own() {
    let more = |span: &Span| {
        let mut span = span.clone();
        if span.id == "one" {
            span.attributes["gen_ai.usage.cache_write.input_tokens"] = json!(5);
        }
        span
    };
    check(more, &["Langfuse"]);
}

#[test]
fn a_first_span_with_a_parent_is_not_listed_everywhere() {
    let joined = |span: &Span| {
        let mut span = span.clone();
        if span.parent.is_empty() {
            "elsewhere".clone_into(&mut span.parent);
        }
        span
    };
    check(joined, &["Phoenix", "LangSmith", "Agenta"]);
}

#[test]
fn what_comes_in_parts_or_twice() {
    let all = turn();
    let parts = |at: usize| vec![all[..at].to_vec(), all[at..].to_vec()];
    assert_eq!(wrong(&parts(2)), ["Agenta"], "it adds up within a request");
    assert_eq!(wrong(&[all.clone(), all.clone()]), [""; 0]);
    let mut other = all.clone();
    for span in &mut other {
        "t2".clone_into(&mut span.trace);
    }
    // Two turns whose spans have the same ids.
    let phoenix = BACK_ENDS[1].1(&[all, other]);
    let shown = &phoenix.0["s1"];
    assert_eq!(shown.totals.input, 300, "ids are known over all traces");
    assert_eq!(shown.traces.len(), 1);
}
