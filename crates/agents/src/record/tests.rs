use std::collections::BTreeSet;

use proptest::prelude::*;
use siglum_domain::fold::{self, Entry, SessionState, SessionView};
use siglum_domain::observation::{Fact, Observation, Side};
use siglum_domain::{ObservationId, TurnId};

use super::form::FORMS;
use super::*;
use crate::hook::{Boundary, Reduced, WriteHint};
use crate::recorded::call;

const SESSION: &str = include_str!("fixtures/session.jsonl");

fn lines() -> Vec<RecordLine> {
    let line = |text: &str| RecordLine::parse(text.as_bytes()).expect(text);
    SESSION.lines().map(line).collect()
}

fn reduce(line: &RecordLine) -> Reduced {
    line.reduce(&call(b"", "/home/dev/.agent"))
}

/// Some 32 digits that belong to a name.
fn digits(name: &str) -> String {
    blake3::hash(name.as_bytes()).to_hex()[..32].to_owned()
}

/// The log of a session, which has each key once.
fn log(lines: &[RecordLine]) -> Vec<Entry> {
    let mut keys = BTreeSet::new();
    let observations = lines.iter().flat_map(|line| reduce(line).observations);
    let new: Vec<Observation> = observations
        .filter(|o| keys.insert(o.key.clone()))
        .collect();
    let entry = |(place, observation): (usize, Observation)| Entry {
        id: format!("{}_{}", ObservationId::PREFIX, digits(&observation.key))
            .parse()
            .expect("an id"),
        sequence: place as u64 + 1,
        turn: observation.turn.as_ref().map(|turn| {
            let id = format!("{}_{}", TurnId::PREFIX, digits(turn));
            id.parse().expect("an id")
        }),
        recorded_at: observation.at,
        observation,
    };
    new.into_iter().enumerate().map(entry).collect()
}

fn view(lines: &[RecordLine]) -> SessionView {
    fold::session(&log(lines))
}

#[test]
fn a_session_is_what_its_lines_say() {
    let view = view(&lines());
    assert!(matches!(&view.state, SessionState::Ended { reason, .. } if reason == "quit"));
    assert_eq!(view.title.as_deref(), Some("Add a list of fruit."));
    assert_eq!((view.prompted_turns(), view.tool_calls()), (2, 4));
    let tokens = (
        view.tokens.input,
        view.tokens.output,
        view.tokens.cache_read,
    );
    assert_eq!(tokens, (150, 20, 1000));
    assert_eq!(view.models.into_iter().collect::<Vec<_>>(), ["model-1"]);
    let [subagent] = &view.subagents[..] else {
        panic!("{:?}", view.subagents);
    };
    assert_eq!(
        (subagent.agent_type.as_str(), subagent.call.as_deref()),
        ("reviewer", Some("c-3"))
    );
    assert!(subagent.stopped.is_some());
}

#[test]
fn no_secret_is_left_in_what_a_line_says() {
    for observation in lines().iter().flat_map(|line| reduce(line).observations) {
        let stored = serde_json::to_string(&observation).expect("JSON");
        assert!(!stored.contains("ghp_0123456789"), "{stored}");
    }
}

#[test]
fn what_is_on_disk_is_looked_at_for_lines_without_a_time_alone() {
    let line = |at: &str, rest: &str| {
        let text = format!(r#"{{"v":1,"session":"s","id":"1","cwd":"/repo"{at},{rest}}}"#);
        reduce(&RecordLine::parse(text.as_bytes()).expect(&text))
    };
    let edit = r#""type":"tool_result","call":"c","tool":"write","kind":"edit","paths":["a/../b.txt"],"after":"new\n""#;
    let live = line("", edit);
    let [captured] = &live.edits[..] else {
        panic!("{live:?}");
    };
    assert_eq!(captured.path.to_str(), Some("b.txt"));
    assert_eq!(captured.side, Side::After);
    assert_eq!(captured.write, Some(WriteHint::Added(b"new\n".to_vec())));
    let shell = r#""type":"tool_call","call":"c","tool":"bash","kind":"shell","input":"ls""#;
    assert_eq!(
        line("", shell).head,
        Some(("tool:c".to_owned(), Side::Before))
    );
    let past = r#","at":"2026-11-20T10:00:00Z""#;
    assert_eq!(line(past, edit).edits, []);
    assert_eq!(line(past, shell).head, None);
    let prompt = r#""type":"prompt","text":"x""#;
    assert_eq!(line(past, prompt).boundary, Boundary::TurnStart);
}

#[test]
fn a_content_before_is_told_apart_from_no_file_and_from_silence() {
    let written = |rest: &str| {
        let text = format!(
            r#"{{"v":1,"type":"edit","session":"s","id":"1","path":"a","after":"x"{rest}}}"#
        );
        let line = RecordLine::parse(text.as_bytes()).expect(&text);
        reduce(&line).edits[0].write.clone()
    };
    let whole = |base: Option<&str>| WriteHint::Whole {
        base: base.map(|text| text.as_bytes().to_vec()),
        written: b"x".to_vec(),
    };
    assert_eq!(written(r#","before":"y""#), Some(whole(Some("y"))));
    assert_eq!(written(r#","before":null"#), Some(whole(None)));
    assert_eq!(written(""), Some(WriteHint::Added(b"x".to_vec())));
}

#[test]
fn what_does_not_keep_to_the_protocol_is_refused_with_its_reason() {
    let check = |line: &str, expected: &str| {
        let refused = RecordLine::parse(line.as_bytes()).expect_err(line);
        assert_eq!(refused.to_string(), expected, "{line}");
    };
    let line = |rest: &str| format!(r#"{{"v":1,"session":"s","id":"1",{rest}}}"#);
    check("", "the line is not a JSON object");
    check("[1]", "the line is not a JSON object");
    check(r#"{"v":1,"type":"prompt""#, "the line is not a JSON object");
    let version = "field `v` must be 1, the version of the protocol";
    check(r#"{"v":2,"type":"prompt"}"#, version);
    check(r#"{"type":"prompt"}"#, version);
    check(r#"{"v":1}"#, "field `type` is missing");
    check(
        &line(r#""type":"promt","text":"x""#),
        "unknown type `promt`",
    );
    check(&line(r#""type":7"#), "unknown type `7`");
    check(&line(r#""type":"prompt""#), "field `text` is missing");
    check(
        &line(r#""type":"prompt","text":"x","txt":"y""#),
        "unknown field `txt`",
    );
    check(
        &line(r#""type":"prompt","text":7"#),
        "field `text` must be a text of up to 262144 characters",
    );
    check(
        &line(r#""type":"prompt","text":"x","at":"yesterday""#),
        "field `at` must be a time such as 2026-11-20T21:18:59Z",
    );
    check(
        &line(r#""type":"prompt","text":"x","cwd":"here""#),
        "field `cwd` must be an absolute path of up to 4096 characters",
    );
    check(
        &line(r#""type":"tool_call","call":"a/b","tool":"x""#),
        "field `call` must be 1 to 256 printable characters without blanks, slashes or `..`",
    );
    check(
        &line(r#""type":"usage","input":-1"#),
        "field `input` must be a whole number from 0 to 9007199254740991",
    );
    check(
        &line(r#""type":"link","link":"issue=x""#),
        "field `link` must be issue=N (or #N), pr=N, pipeline=ID, role=NAME, phase=NAME or label=KEY=VALUE",
    );
    check(
        &line(r#""type":"subagent_start""#),
        "field `subagent` is missing",
    );
    let long = "x".repeat(LINE_MOST + 1);
    check(&long, "the line is longer than 4194304 bytes");
}

#[test]
fn a_name_that_nobody_knows_is_repeated_in_part() {
    let line = format!(
        r#"{{"v":1,"type":"\u001b[2J{}","session":"s","id":"1"}}"#,
        "x".repeat(500)
    );
    let refused = RecordLine::parse(line.as_bytes()).expect_err("no such type");
    let shown = refused.to_string();
    assert!(shown.len() < 100 && !shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn every_type_and_field_of_the_protocol_is_in_the_schema() {
    let schema: serde_json::Value = serde_json::from_str(&record_schema()).expect("JSON");
    let forms = schema["oneOf"].as_array().expect("an array");
    assert_eq!(forms.len(), FORMS.len());
    for (form, schema) in FORMS.iter().zip(forms) {
        assert_eq!(schema["properties"]["type"]["const"], form.name);
        for field in form.fields {
            let property = &schema["properties"][field.name];
            assert_eq!(property["description"], field.about, "{}", form.name);
        }
    }
}

#[test]
fn every_type_is_in_the_recorded_session() {
    let used: BTreeSet<&str> = lines().iter().map(|line| line.form.name).collect();
    assert_eq!(used, FORMS.iter().map(|form| form.name).collect());
}

#[test]
fn a_line_without_a_directory_gets_that_of_its_reader() {
    let mut line = lines().remove(1);
    line.work_in("/elsewhere");
    assert_eq!(line.cwd(), Some("/elsewhere"));
    let mut own = lines().remove(0);
    own.work_in("/elsewhere");
    assert_eq!(own.cwd(), Some("/repo"));
    assert_eq!(
        line.link().as_ref().map(ToString::to_string),
        Some("issue 42".to_owned())
    );
    let [fact] = &reduce(&line).observations[..] else {
        panic!("one fact: that there was such a line");
    };
    assert!(matches!(fact.fact, Fact::Other { .. }), "{fact:?}");
}

#[test]
fn an_edit_that_no_call_tells_of_is_a_call_of_its_own() {
    let edit = lines().remove(17);
    let seen = reduce(&edit).observations;
    let [started, ended] = &seen[..] else {
        panic!("{seen:?}");
    };
    assert_eq!(
        (started.event.as_str(), &started.event),
        ("tool:18", &ended.event)
    );
    let Fact::ToolStarted { path, .. } = &started.fact else {
        panic!("{started:?}");
    };
    assert_eq!(path.as_deref(), Some("fruit.txt"));
}

proptest! {
    /// Lines that name their time and their turn may come in any order and any number of times.
    #[test]
    fn order_and_repetition_change_nothing(
        order in Just((0..20usize).collect::<Vec<_>>()).prop_shuffle(),
        again in prop::collection::vec((0..20usize, 0..40usize), 0..20),
    ) {
        let all = lines();
        let mut shuffled: Vec<RecordLine> = order.iter().map(|n| all[*n].clone()).collect();
        for (line, place) in again {
            shuffled.insert(place.min(shuffled.len()), all[line].clone());
        }
        prop_assert_eq!(view(&shuffled), view(&all));
    }

    #[test]
    fn no_line_is_too_strange_to_be_refused(line in ".{0,200}") {
        let _ = RecordLine::parse(line.as_bytes());
    }
}

#[test]
fn what_is_refused_or_cut_leaves_no_head_of_a_secret() {
    let secret = format!("glsa_{}_a1b2c3d4", "9fK2mQ7xLr4TzW8bNc3VhY6pDs1GjE5u");
    let name = format!("{} {secret}", "n".repeat(40));
    let line = |fields: &str| format!(r#"{{"v":1,"session":"s","id":"1",{fields}}}"#);
    for fields in [
        format!(r#""type":"{name}""#),
        format!(r#""type":"prompt","text":"a","{name}":1"#),
    ] {
        let error = RecordLine::parse(line(&fields).as_bytes()).unwrap_err();
        assert!(!error.to_string().contains("glsa_9f"), "{error}");
    }
    let long = crate::draft::word(&format!("{} {secret}", "n".repeat(180)));
    assert!(!long.contains("glsa_9f") && long.len() < 201, "{long}");
}
