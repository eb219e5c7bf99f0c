//! What is told of sessions that run at once.

use std::collections::BTreeMap;
use std::time::Duration;

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use siglum_domain::observation::{Observation, ToolClass};
use siglum_domain::scope::Scope;
use siglum_domain::trace::TraceId;
use siglum_domain::{AgentName, ConversationId, SessionId};
use siglum_telemetry::outward::{self, Content};

use super::gather::gather;
use crate::driven::turn::{self, Driver, Event, Holder};
use crate::share::project;
use crate::tests::stage::{Stage, at, call, prompt, returned, says, stopped, transcript_of};

/// Conversations at once.
const TEN: u64 = 10;
/// How often they are played, each time in another order.
const ROUNDS: u64 = 1_000;

/// Numbers in no order, and the same ones each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % most
    }
}

fn text<'a>(span: &'a Span, key: &str) -> Option<&'a str> {
    let found = span.attributes.iter().find(|a| a.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text),
        _ => None,
    }
}

/// What is told of a session from one place of its log to another.
fn exported_spans(stage: &mut Stage, session: SessionId, from: u64, to: u64) -> Vec<Span> {
    let record = stage.session(session);
    let gathered = stage.read(|tx| {
        let count = usize::try_from(to - from).unwrap();
        let new = tx.entries(session, from, count)?;
        gather(tx, "p", &record, from, &new)
    });
    let parts = gathered.parts.iter();
    parts
        .flat_map(|part| outward::turn(&gathered.subject, part, Content::Off))
        .collect()
}

/// One conversation as it goes on, in words that others use, too: only the ids of its calls are its own.
fn script(name: &str) -> Vec<Vec<Observation>> {
    let call_id = format!("call-of-{name}");
    let inner = |mut o: Observation| {
        o.subagent = Some("helper".to_owned());
        o
    };
    vec![
        vec![prompt("t1", 10)],
        vec![call(&call_id, "t1", 11, ToolClass::Other)],
        vec![
            inner(call(
                &format!("{call_id}-inner"),
                "t1",
                12,
                ToolClass::Other,
            )),
            returned(&call_id, "t1", 13, ToolClass::Other, "x"),
        ],
        vec![stopped("t1", 14), prompt("t2", 15), stopped("t2", 16)],
    ]
}

#[test]
fn no_span_has_the_id_of_another_conversation() {
    let mut stage = Stage::new();
    let mut dice = Dice(1);
    for round in 0..ROUNDS {
        let name = |n: u64| format!("conversation-{round}-{n}");
        let mut scripts: Vec<_> = (0..TEN).map(|n| script(&name(n)).into_iter()).collect();
        let mut sessions: BTreeMap<u64, (SessionId, u64)> = BTreeMap::new();
        let mut spans: Vec<(u64, Span)> = Vec::new();
        let mut open: Vec<u64> = (0..TEN).collect();
        while !open.is_empty() {
            let at = dice.below(open.len());
            let n = open[at];
            let Some(observations) = scripts[usize::try_from(n).unwrap()].next() else {
                open.swap_remove(at);
                continue;
            };
            let session = stage.hear(says(&name(n), observations));
            let (_, from) = *sessions.entry(n).or_insert((session, 0));
            // Sometimes what there is of some conversation is told in between.
            if dice.below(3) == 0 {
                let head = stage.session(session).head;
                let own = exported_spans(&mut stage, session, from, head);
                spans.extend(own.into_iter().map(|s| (n, s)));
                sessions.insert(n, (session, head));
            }
        }
        for (n, (session, from)) in sessions {
            let head = stage.session(session).head;
            let own = exported_spans(&mut stage, session, from, head);
            spans.extend(own.into_iter().map(|s| (n, s)));
        }
        check(&spans, &name);
    }
}

/// Each span has the id of its own conversation under every key, and no trace or span is that of two.
fn check(spans: &[(u64, Span)], name: &dyn Fn(u64) -> String) {
    let mut owners: BTreeMap<&[u8], u64> = BTreeMap::new();
    let mut roots: BTreeMap<u64, usize> = BTreeMap::new();
    for (n, span) in spans {
        let own = name(*n);
        for key in [
            "session.id",
            "gen_ai.conversation.id",
            "langsmith.metadata.thread_id",
            "lmnr.association.properties.session_id",
            "siglum.native_session.id",
        ] {
            assert_eq!(
                text(span, key),
                Some(own.as_str()),
                "{key} of {}",
                span.name
            );
        }
        if let Some(call) = text(span, "gen_ai.tool.call.id") {
            assert!(
                call.starts_with(&format!("call-of-{own}")),
                "{call} in {own}"
            );
        }
        for id in [&span.trace_id, &span.span_id] {
            assert_eq!(
                owners.entry(id).or_insert(*n),
                n,
                "an id of two conversations"
            );
        }
        *roots.entry(*n).or_default() += usize::from(span.parent_span_id.is_empty());
    }
    for n in 0..TEN {
        assert_eq!(roots.get(&n), Some(&2), "turns of {}", name(n));
    }
}

#[test]
fn a_turn_that_only_a_transcript_tells_of_comes_to_its_stop() {
    let mut stage = Stage::new();
    let session = stage.hear(says("one", Vec::new()));
    stage.read_transcript(session, "one", &transcript_of("one", "p", 1));
    let head = stage.session(session).head;
    let spans = exported_spans(&mut stage, session, 0, head);
    let root = spans.iter().find(|s| s.parent_span_id.is_empty()).unwrap();
    let status = root.status.as_ref().unwrap();
    assert_eq!(status.code, StatusCode::Ok as i32, "{}", status.message);
    let end = u64::try_from(at(2).nanos()).unwrap();
    assert_eq!(root.end_time_unix_nano, end);
}

#[test]
fn a_copy_points_to_the_turn_that_it_was_made_behind() {
    let mut stage = Stage::new();
    let new = turn::NewSession {
        agent: AgentName::new("house").unwrap(),
        conversation: ConversationId::new("c-1").unwrap(),
        cwd: None,
        links: Vec::new(),
        by: "ann".to_owned(),
    };
    let session = stage.play(|world, ledger| turn::create(world, ledger, &new).unwrap().id);
    driven(&mut stage, session, &["t1", "t2", "t3"]);
    let turns = stage.read(|tx| tx.turns_of(session));
    let second = turns[1].id;
    let name = ConversationId::new("c-2").unwrap();
    let copy = stage.play(|world, ledger| {
        turn::fork(world, ledger, session, Some(second), &name, "ann").unwrap()
    });
    driven(&mut stage, copy.id, &["t4"]);
    let head = stage.session(copy.id).head;
    let links = |stage: &mut Stage| {
        let spans = exported_spans(stage, copy.id, 0, head);
        let root = spans.into_iter().find(|s| s.parent_span_id.is_empty());
        root.unwrap().links
    };
    assert_eq!(links(&mut stage), [], "its source may not leave");
    let scope = Scope::in_process();
    stage.play(|world, ledger| project::add(world, ledger, "p", "otel", "t", &scope).unwrap());
    let links = links(&mut stage);
    assert_eq!(links[0].trace_id, TraceId::of_turn(second).bytes());
}

/// Commits turns of these keys.
fn driven(stage: &mut Stage, session: SessionId, keys: &[&str]) {
    let holder = Holder {
        name: "one".to_owned(),
        nonce: session.to_string(),
        process: None,
    };
    stage.play(|world, ledger| {
        let term = Duration::from_secs(30);
        let mut driver = Driver::take(world, ledger, session, &holder, term).unwrap();
        for key in keys {
            let events = [Event::prompt(key, "Go on."), Event::stop(key)];
            let observations = events.map(|event| event.observed(world.now()));
            driver.commit(world, ledger, key, &observations).unwrap();
        }
    });
}
