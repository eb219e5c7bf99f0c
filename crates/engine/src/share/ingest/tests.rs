//! Telemetry on a ledger of its own.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value, json};
use siglum_domain::observation::{Fact, StartKind};
use siglum_domain::redact::Redactor;
use siglum_domain::{AgentName, SessionId};
use siglum_ledger::{Durability, Mode};
use siglum_ledger::{Ledger, Relation, SessionOrigin, SessionRecord, UnassignedRecord, write};
use siglum_telemetry::wire::{self, Encoding, Limits, Signal};

use super::*;
use crate::driven::turn;
use crate::tests::stage::{Stage, ended, native, prompt, says, started};
use crate::worker;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// What somebody sends: in one request, with these attributes on each record.
pub(crate) fn spans(service: &str, resource: &Value, spans: &[Value]) -> Value {
    let mut attributes =
        vec![json!({ "key": "service.name", "value": { "stringValue": service } })];
    attributes.extend(listed(resource));
    json!({ "resourceSpans": [{
        "resource": { "attributes": attributes },
        "scopeSpans": [{ "scope": { "name": "tests" }, "spans": spans }],
    }] })
}

fn listed(attributes: &Value) -> Vec<Value> {
    let one =
        |(key, value): (&String, &Value)| json!({ "key": key, "value": { "stringValue": value } });
    attributes.as_object().unwrap().iter().map(one).collect()
}

fn span(trace: &str, n: u64, attributes: &Value) -> Value {
    json!({
        "traceId": trace, "spanId": format!("{n:016x}"), "name": format!("span {n}"),
        "startTimeUnixNano": "1795000000000000000", "endTimeUnixNano": "1795000001000000000",
        "attributes": listed(attributes),
    })
}

/// A span of a model's answer, of a program that is no agent of the table.
pub(crate) fn answer(trace: &str, n: u64, session: &str) -> Value {
    let attributes = json!({
        "session.id": session, "gen_ai.operation.name": "chat", "gen_ai.provider.name": "p",
        "gen_ai.response.id": format!("res-{n}"), "gen_ai.usage.input_tokens": "10",
        "gen_ai.usage.output_tokens": "3",
    });
    span(trace, n, &attributes)
}

impl Stage {
    fn send_as(&mut self, own: Option<SessionId>, signal: Signal, body: &Value) -> Taken {
        let text = body.to_string();
        let read = wire::decode(signal, Encoding::Json, text.as_bytes(), &Limits::default());
        let mut batch = read.unwrap();
        assert_eq!(batch.rejected, 0, "{:?}", batch.problem);
        batch.redact(Redactor::shared());
        let parcels = Parcel::pack(&batch);
        self.play(|world, ledger| take(world, ledger, own, &parcels, 0).unwrap())
    }

    pub(crate) fn send(&mut self, body: &Value) -> Tally {
        self.send_as(None, Signal::Traces, body);
        self.join()
    }

    fn join(&mut self) -> Tally {
        self.play(|world, ledger| {
            let mut tally = Tally::default();
            loop {
                let done = join(world, ledger, 16).unwrap();
                if done.batches == 0 {
                    return tally;
                }
                tally += done;
            }
        })
    }

    fn lost(&mut self) -> Vec<UnassignedRecord> {
        self.read(|tx| tx.unassigned(None, 1_000))
    }

    fn reasons(&mut self) -> Vec<String> {
        let rows = self.lost();
        rows.into_iter().map(|row| row.reason).collect()
    }

    fn known(&mut self, agent: &str, id: &str) -> Option<SessionRecord> {
        let agent = AgentName::new(agent).unwrap();
        let found = self.read(|tx| tx.session_by_alias(&agent, &native(id)));
        found.map(|id| self.session(id))
    }

    fn traced(&mut self, trace: &str) -> Vec<SessionId> {
        let trace = trace.parse().unwrap();
        self.read(|tx| tx.sessions_of_trace(&trace, 9))
    }

    fn driven(&mut self, name: &str) -> SessionId {
        self.play(|world, ledger| {
            let home = ledger.id();
            let agent = AgentName::new("claude-code").unwrap();
            let record = SessionRecord::new(
                SessionId::mint(world.ids),
                agent.clone(),
                siglum_domain::ConversationId::new(name).unwrap(),
                home,
                Mode::Driven,
                SessionOrigin::Api,
                world.now(),
            );
            write(ledger, Durability::Process, |tx| {
                tx.create_session(&record)?;
                tx.add_alias(&agent, &native(name), record.id, record.created_at)
            })
            .unwrap();
            record.id
        })
    }
}

#[test]
fn a_program_that_names_its_session_gets_one() {
    let mut stage = Stage::new();
    let body = spans(
        "app",
        &json!({}),
        &[answer(TRACE, 1, "s-1"), answer(TRACE, 2, "s-1")],
    );
    assert_eq!(stage.send(&body).joined, 2);
    let session = stage.known("app", "s-1").unwrap();
    assert_eq!(session.origin, SessionOrigin::Live);
    assert_eq!(session.conversation.as_str(), "s-1");
    assert!(session.head > 0);
    assert_eq!(stage.send(&body).joined, 2);
    let again = stage.known("app", "s-1").unwrap();
    assert_eq!(again.head, session.head, "the same batch twice");
    assert_eq!(stage.sessions().len(), 1);
    assert!(stage.lost().is_empty());
}

#[test]
fn what_names_nothing_is_kept_until_its_trace_is_known() {
    let mut stage = Stage::new();
    let bare = spans(
        "db",
        &json!({}),
        &[span(TRACE, 1, &json!({})), span(TRACE, 2, &json!({}))],
    );
    assert_eq!(stage.send(&bare).unassigned, 2);
    assert_eq!(stage.sessions().len(), 0, "no session is made up");
    let kept = stage.lost();
    assert_eq!((kept.len(), kept[0].records), (1, 2));
    assert_eq!(kept[0].reason, "no_session");
    assert_eq!(kept[0].name, "span 1");
    stage.send(&spans("app", &json!({}), &[answer(TRACE, 3, "s-1")]));
    let id = stage.known("app", "s-1").unwrap().id;
    assert!(stage.lost().is_empty());
    assert_eq!(stage.traced(TRACE), [id]);
}

#[test]
fn what_comes_before_in_a_batch_is_joined_by_what_comes_after() {
    let mut stage = Stage::new();
    let body = spans(
        "app",
        &json!({}),
        &[span(TRACE, 1, &json!({})), answer(TRACE, 2, "s-1")],
    );
    assert_eq!(stage.send(&body).joined, 2);
    assert!(stage.lost().is_empty());
}

#[test]
fn a_trace_of_two_sessions_tells_nothing() {
    let mut stage = Stage::new();
    let body = spans(
        "app",
        &json!({}),
        &[answer(TRACE, 1, "s-1"), answer(TRACE, 2, "s-2")],
    );
    stage.send(&body);
    stage.send(&spans("db", &json!({}), &[span(TRACE, 3, &json!({}))]));
    assert_eq!(stage.reasons(), ["shared_trace"]);
    let by_hand = |stage: &mut Stage, id| {
        let trace = TRACE.parse().unwrap();
        stage.play(|world, ledger| assign(world, ledger, &trace, id, "tests").unwrap())
    };
    assert_eq!(
        by_hand(&mut stage, SessionId::from_uuid(uuid::Uuid::from_u128(9))),
        Assignment::NoSession
    );
}

#[test]
fn a_trace_is_assigned_by_hand() {
    let mut stage = Stage::new();
    let one = stage.hear(says("one", vec![prompt("p", 1)]));
    stage.send(&spans("db", &json!({}), &[span(TRACE, 3, &json!({}))]));
    assert_eq!(stage.reasons(), ["no_session"]);
    let trace = TRACE.parse().unwrap();
    stage.play(|world, ledger| {
        let done = assign(world, ledger, &trace, one, "tests").unwrap();
        assert_eq!(done, Assignment::Noted);
    });
    assert_eq!(stage.join().joined, 1);
    assert!(stage.lost().is_empty());
}

#[test]
fn an_injected_id_comes_first_and_what_else_is_named_becomes_a_name() {
    let mut stage = Stage::new();
    let id = stage.driven("S1");
    let resource = json!({ "siglum.session.id": id.to_string() });
    stage.send(&spans(
        "claude-code",
        &resource,
        &[span(TRACE, 1, &json!({ "session.id": "H1" }))],
    ));
    assert_eq!(stage.known("claude-code", "H1").unwrap().id, id);
    assert_eq!(stage.known("claude-code", "S1").unwrap().id, id);
    let session = stage.session(id);
    assert_eq!(session.conversation.as_str(), "S1");
    assert_eq!(stage.sessions().len(), 1);
    // Late ones come under the name alone.
    let other = "1af7651916cd43dd8448eb211c80319c";
    stage.send(&spans(
        "claude-code",
        &json!({}),
        &[span(other, 2, &json!({ "session.id": "H1" }))],
    ));
    assert_eq!(stage.traced(other), [id]);
}

#[test]
fn what_another_agent_inherits_makes_it_a_session_below() {
    let mut stage = Stage::new();
    let id = stage.driven("S1");
    let body = json!({ "resourceLogs": [{
        "resource": { "attributes": [
            { "key": "service.name", "value": { "stringValue": "codex_exec" } },
            { "key": "siglum.session.id", "value": { "stringValue": id.to_string() } },
        ] },
        "scopeLogs": [{ "scope": { "name": "codex_otel.log_only" }, "logRecords": [{
            "timeUnixNano": "1795000000000000000",
            "attributes": listed(&json!({
                "event.name": "codex.user_prompt", "conversation.id": "019a0000-0000-7000-8000-000000000001",
            })),
        }] }],
    }] });
    stage.send_as(None, Signal::Logs, &body);
    stage.join();
    let nested = stage
        .known("codex", "019a0000-0000-7000-8000-000000000001")
        .unwrap();
    assert_ne!(nested.id, id);
    assert_eq!(nested.parent, Some((id, Relation::Nested)));
}

#[test]
fn a_span_that_names_two_sessions_is_counted_and_both_are_names() {
    let mut stage = Stage::new();
    let both = json!({
        "session.id": "X", "gen_ai.conversation.id": "Y", "gen_ai.operation.name": "chat",
    });
    let tally = stage.send(&spans("app", &json!({}), &[span(TRACE, 1, &both)]));
    assert_eq!((tally.joined, tally.conflicts), (1, 1));
    let x = stage.known("app", "X").unwrap();
    assert_eq!(stage.known("app", "Y").unwrap().id, x.id);
    assert_eq!(x.conversation.as_str(), "X");
    let counts = stage.read(|tx| tx.counts());
    assert!(counts.contains(&("conflicts".to_owned(), 1)), "{counts:?}");
}

#[test]
fn a_sessions_token_speaks_for_that_session_alone() {
    let mut stage = Stage::new();
    let own = stage.driven("S1");
    let other = stage.hear(says("two", vec![prompt("p", 1)]));
    let head = stage.session(other).head;
    let foreign = json!({ "session.id": "two" });
    let body = spans("claude-code", &json!({}), &[span(TRACE, 1, &foreign)]);
    stage.send_as(Some(own), Signal::Traces, &body);
    stage.join();
    assert_eq!(stage.reasons(), ["other_session"]);
    let resource = json!({ "siglum.session.id": other.to_string() });
    stage.send_as(
        Some(own),
        Signal::Traces,
        &spans("app", &resource, &[span(TRACE, 2, &json!({}))]),
    );
    stage.join();
    assert_eq!(stage.reasons(), ["other_session", "other_session"]);
    assert_eq!(stage.session(other).head, head);
    assert!(stage.traced(TRACE).is_empty());
    // What names nobody, or is the first that is heard of its agent, is its own.
    let mine = json!({ "session.id": "H1" });
    let body = spans(
        "claude-code",
        &json!({}),
        &[span(TRACE, 3, &json!({})), span(TRACE, 4, &mine)],
    );
    stage.send_as(Some(own), Signal::Traces, &body);
    stage.join();
    assert_eq!(stage.known("claude-code", "H1").unwrap().id, own);
    assert_eq!(stage.traced(TRACE), [own]);
    assert_eq!(stage.sessions().len(), 2);
}

#[test]
fn the_trace_of_a_turn_names_the_session_that_waits_for_its_agent() {
    let mut stage = Stage::new();
    let id = stage.driven("S1");
    let turn = stage.play(|world, ledger| {
        let holder = turn::Holder {
            name: "tests".to_owned(),
            process: None,
            nonce: "n".to_owned(),
        };
        let leased = turn::lease(
            world,
            ledger,
            id,
            &holder,
            std::time::Duration::from_secs(60),
        )
        .unwrap();
        match turn::open(world, ledger, leased.hold, 0, "t1", &[]).unwrap() {
            turn::Opened::Turn(turn) => turn.id,
            turn::Opened::Committed(_) => panic!("it is new"),
        }
    });
    let trace = siglum_domain::trace::TraceId::of_turn(turn).to_string();
    stage.send(&spans(
        "claude-code",
        &json!({}),
        &[span(&trace, 1, &json!({ "session.id": "H1" }))],
    ));
    assert_eq!(stage.known("claude-code", "H1").unwrap().id, id);
    // The next one in this trace runs below the first.
    stage.send(&spans(
        "claude-code",
        &json!({}),
        &[span(&trace, 2, &json!({ "session.id": "H2" }))],
    ));
    let below = stage.known("claude-code", "H2").unwrap();
    assert_eq!(below.parent, Some((id, Relation::Nested)));
    assert_eq!(
        stage.session(id).head,
        0,
        "its driver says what happens in it"
    );
}

#[test]
fn a_tool_call_tells_only_where_one_session_has_it() {
    let mut stage = Stage::new();
    let call = |stage: &mut Stage, of: &str, call: &str| {
        let body = json!({ "resourceLogs": [{
            "resource": { "attributes": listed(&json!({ "service.name": "claude-code" })) },
            "scopeLogs": [{ "scope": { "name": "com.anthropic.claude_code.events" }, "logRecords": [{
                "timeUnixNano": "1795000000000000000", "body": { "stringValue": "claude_code.tool_result" },
                "attributes": listed(&json!({
                    "event.name": "tool_result", "session.id": of, "tool_use_id": call,
                    "tool_name": "Bash", "success": "true", "duration_ms": "5",
                })),
            }] }],
        }] });
        stage.send_as(None, Signal::Logs, &body);
        stage.join();
    };
    for (session, id) in [("one", "toolu_1"), ("one", "toolu_2"), ("two", "toolu_2")] {
        call(&mut stage, session, id);
    }
    let bare = |id: &str| {
        spans(
            "tool",
            &json!({}),
            &[span(TRACE, 1, &json!({ "gen_ai.tool.call.id": id }))],
        )
    };
    stage.send(&bare("toolu_2"));
    stage.send(&bare("toolu_3"));
    assert_eq!(stage.reasons(), ["no_session", "no_session"]);
    stage.send(&bare("toolu_1"));
    let one = stage.known("claude-code", "one").unwrap().id;
    assert_eq!(stage.traced(TRACE), [one]);
    assert!(stage.lost().is_empty(), "the trace is known now");
}

#[test]
fn a_full_inbox_takes_nothing_more() {
    let mut stage = Stage::new();
    let batch = siglum_ledger::TelemetryBatch {
        sequence: 0,
        at: siglum_domain::Timestamp::from_nanos(1),
        signal: "traces".to_owned(),
        session: None,
        records: 1,
        forwarded: false,
        payload: Vec::new(),
    };
    stage.play(|_, ledger| {
        write(ledger, Durability::Process, |tx| {
            (0..8_192).try_for_each(|_| tx.put_batch(&batch).map(drop))
        })
        .unwrap();
    });
    let body = spans("app", &json!({}), &[span(TRACE, 1, &json!({}))]);
    assert_eq!(stage.send_as(None, Signal::Traces, &body), Taken::Full);
    assert_eq!(stage.read(|tx| tx.inbox()).rows, 8_192);
    stage.play(|world, ledger| join(world, ledger, 1).unwrap());
    assert_eq!(stage.send_as(None, Signal::Traces, &body), Taken::Stored);
}

#[test]
fn what_agents_sent_is_put_aside_for_a_collector_with_the_right_id() {
    let mut stage = Stage::new();
    stage.play(|world, ledger| {
        use crate::share::otel::destination::{Destination, Sends};
        use crate::share::project::OTLP;
        let address =
            siglum_egress::Address::parse("http://127.0.0.1:4318", siglum_egress::Plain::Loopback);
        let protocol = siglum_egress::otlp::Protocol::HttpProtobuf;
        let mut destination = Destination::new(address.unwrap(), protocol).unwrap();
        destination.sends = Sends::Native;
        let projection = siglum_ledger::Projection {
            name: "down".to_owned(),
            kind: OTLP.to_owned(),
            target: destination.to_json(),
            at: world.now(),
            scope: Some(siglum_domain::scope::Scope::in_process()),
        };
        write(ledger, Durability::Process, |tx| {
            tx.put_projection(&projection).map(drop)
        })
        .unwrap();
    });
    let id = stage.driven("S1");
    let resource = json!({ "siglum.session.id": id.to_string() });
    let own = span(TRACE, 1, &json!({ "session.id": "H1" }));
    stage.send(&spans("claude-code", &resource, &[own]));
    stage.send(&spans(
        "db",
        &json!({}),
        &[span(&"3".repeat(32), 2, &json!({}))],
    ));
    let rows = stage.read(|tx| tx.forwards("down", 9));
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].session, rows[0].records), (Some(id), 1));
    let sent = parcel::open("traces", &rows[0].payload).unwrap();
    let text = String::from_utf8(sent.encode(Encoding::Json)).unwrap();
    for part in [
        "\"gen_ai.conversation.id\"",
        "\"S1\"",
        "\"siglum.native_session.id\"",
        "\"H1\"",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // What has no session waits a minute, and is sent once, as it came.
    stage.now.set(stage.now.get() + 61);
    stage.join();
    stage.join();
    let rows = stage.read(|tx| tx.forwards("down", 9));
    assert_eq!(
        rows.iter().map(|row| row.session).collect::<Vec<_>>(),
        [Some(id), None]
    );
    stage.send(&spans(
        "app",
        &json!({}),
        &[answer(&"3".repeat(32), 3, "s-1")],
    ));
    assert!(stage.lost().is_empty());
    assert_eq!(
        stage.read(|tx| tx.forwards("down", 9)).len(),
        3,
        "it is not sent again"
    );
}

#[test]
fn what_cannot_be_written_is_kept_with_its_reason() {
    let mut stage = Stage::new();
    let one = stage.hear(says("one", vec![prompt("p", 1)]));
    stage.play(|_, ledger| {
        write(ledger, Durability::Process, |tx| {
            tx.quarantine(one, Some("tests"))?;
            tx.put_batch(&siglum_ledger::TelemetryBatch {
                sequence: 0,
                at: siglum_domain::Timestamp::from_nanos(1),
                signal: "traces".to_owned(),
                session: None,
                records: 3,
                forwarded: false,
                payload: b"no frame".to_vec(),
            })
        })
        .unwrap();
    });
    stage.send(&spans(
        "claude-code",
        &json!({}),
        &[span(TRACE, 1, &json!({ "session.id": "one" }))],
    ));
    assert_eq!(stage.reasons(), ["quarantined", "damaged"]);
    assert_eq!(stage.read(|tx| tx.inbox()).rows, 0);
}

#[test]
fn a_session_of_telemetry_is_sealed_when_it_is_silent() {
    let mut stage = Stage::new();
    stage.send(&spans("app", &json!({}), &[answer(TRACE, 1, "s-1")]));
    let id = stage.known("app", "s-1").unwrap().id;
    stage.slice();
    assert_eq!(stage.session(id).ended_at, None);
    stage.now.set(stage.now.get() + 60 * 60 + 1_000_000);
    stage.slice();
    stage.slice();
    let over = stage.session(id);
    assert!(over.ended_at.is_some());
    assert_eq!(over.sealed, over.head);
    let entries = stage.read(|tx| tx.entries(id, 0, 0));
    let last = entries.last().unwrap();
    assert!(matches!(last.observation.fact, Fact::SessionEnded { .. }));
    // A gateway without a worker does the same.
    let mut run = worker::Run::default();
    stage.play(|world, ledger| {
        let done = worker::hear(world, ledger, &mut run, 1).unwrap();
        assert_eq!(done, worker::Slice::Idle);
    });
}

#[test]
fn hooks_and_telemetry_of_one_session_are_one_session() {
    let mut stage = Stage::new();
    let hooks = vec![started(1, StartKind::Startup), prompt("p", 2)];
    let one = stage.hear(says("one", hooks));
    stage.send(&spans(
        "claude-code",
        &json!({}),
        &[span(TRACE, 1, &json!({ "session.id": "one" }))],
    ));
    stage.hear(says("one", vec![ended(9)]));
    assert_eq!(stage.traced(TRACE), [one]);
    assert_eq!(stage.sessions().len(), 1);
    assert_eq!(stage.session(one).origin, SessionOrigin::Live);
}

/// What was recorded of agents: its lines, each a signal and a body.
const RECORDED: [(&str, &str); 6] = [
    (
        "claude-code",
        include_str!("../../../../telemetry/fixtures/claude-code/2.1.330.jsonl"),
    ),
    (
        "codex",
        include_str!("../../../../telemetry/fixtures/codex/0.169.0-subagent.jsonl"),
    ),
    (
        "gemini",
        include_str!("../../../../telemetry/fixtures/gemini/0.61.0.jsonl"),
    ),
    (
        "qwen",
        include_str!("../../../../telemetry/fixtures/qwen/0.24.4.jsonl"),
    ),
    (
        "copilot",
        include_str!("../../../../telemetry/fixtures/copilot/1.0.102.jsonl"),
    ),
    (
        "opencode",
        include_str!("../../../../telemetry/fixtures/opencode/1.18.33-subagent.jsonl"),
    ),
];

fn line(stage: &mut Stage, line: &str) {
    let line: Value = serde_json::from_str(line).unwrap();
    let signal = match line["signal"].as_str().unwrap() {
        "traces" => Signal::Traces,
        "logs" => Signal::Logs,
        _ => Signal::Metrics,
    };
    stage.send_as(None, signal, &line["body"]);
}

/// Sessions and the events of each, by agent and name.
fn amounts(stage: &mut Stage) -> BTreeMap<(String, String), BTreeSet<String>> {
    let sessions = stage.sessions();
    let events = |stage: &mut Stage, id| {
        let entries = stage.read(|tx| tx.entries(id, 0, 0));
        entries.into_iter().map(|e| e.observation.event).collect()
    };
    sessions
        .into_iter()
        .map(|s| {
            let name = (
                s.record.agent_word().to_owned(),
                s.record.conversation.to_string(),
            );
            (name, events(stage, s.record.id))
        })
        .collect()
}

#[test]
fn recorded_agents_get_one_session_each_and_nothing_is_doubled() {
    for (agent, recorded) in RECORDED {
        let mut stage = Stage::new();
        recorded.lines().for_each(|text| line(&mut stage, text));
        stage.join();
        let first = amounts(&mut stage);
        let kept: Vec<_> = stage
            .lost()
            .into_iter()
            .map(|r| (r.reason, r.name))
            .collect();
        let names: Vec<_> = first.keys().cloned().collect();
        assert!(names.iter().all(|(of, _)| of == agent), "{names:?}");
        assert!(
            kept.iter().all(|(reason, _)| reason == "no_session"),
            "{kept:?}"
        );
        eprintln!("{agent}: {names:?}, unassigned {kept:?}");
        assert_eq!(names.len(), 1, "{agent}: {names:?}");
        let heads: Vec<_> = stage.sessions().iter().map(|s| s.record.head).collect();
        recorded.lines().for_each(|text| line(&mut stage, text));
        stage.join();
        let again: Vec<_> = stage.sessions().iter().map(|s| s.record.head).collect();
        assert_eq!(heads, again, "{agent}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Ten conversations of one process, their spans in any order and in any batches.
    #[test]
    fn no_span_is_joined_to_a_foreign_session(
        order in Just((1..61_u64).collect::<Vec<_>>()).prop_shuffle(),
        cut in 1_usize..20,
    ) {
        let mut stage = Stage::new();
        let trace = |n: u64| format!("{:032x}", 0xabc0 + n % 10);
        // The first span of each conversation names it; the others have their trace alone, or the name as well.
        let one = |n: u64| match (n - 1) / 10 {
            0 | 3 => answer(&trace(n), n, &format!("conversation-{}", n % 10)),
            _ => span(&trace(n), n, &json!({})),
        };
        for batch in order.chunks(cut) {
            let batch: Vec<_> = batch.iter().map(|n| one(*n)).collect();
            stage.send_as(None, Signal::Traces, &spans("app", &json!({}), &batch));
        }
        let tally = stage.join();
        prop_assert!(tally.joined >= 60);
        prop_assert!(stage.lost().is_empty());
        prop_assert_eq!(stage.sessions().len(), 10);
        for n in 0..10_u64 {
            let id = stage.known("app", &format!("conversation-{n}")).unwrap().id;
            prop_assert_eq!(stage.traced(&trace(n)), vec![id]);
        }
        let found = amounts(&mut stage);
        for ((_, name), events) in found {
            let of: u64 = name.rsplit_once('-').unwrap().1.parse().unwrap();
            let own = |event: &String| {
                let n: Option<u64> = event.rsplit_once("res-").and_then(|(_, n)| n.parse().ok());
                n.is_none_or(|n| n % 10 == of)
            };
            prop_assert!(events.iter().all(own), "{} {:?}", name, events);
        }
    }
}
