//! What was recorded of real agents at work for a scripted model, which knows what it answered.

use std::collections::{BTreeMap, BTreeSet};

use siglum_domain::claims::Origin;
use siglum_domain::observation::{Fact, Observation, Tokens};
use siglum_domain::redact::Redactor;

use super::{TelemetryRecord, hear};
use crate::wire::{Encoding, Limits, Signal, decode};

/// A recording: JSON lines of a signal and the body of one request.
pub(super) fn listen(recording: &str) -> Vec<TelemetryRecord> {
    let mut records = Vec::new();
    for line in recording.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let signal = match line["signal"].as_str().unwrap() {
            "traces" => Signal::Traces,
            "logs" => Signal::Logs,
            _ => Signal::Metrics,
        };
        let body = line["body"].to_string();
        let limits = Limits::default();
        let mut batch = decode(signal, Encoding::Json, body.as_bytes(), &limits).unwrap();
        assert_eq!((batch.rejected, batch.cut), (0, 0), "{:?}", batch.problem);
        let protobuf = batch.to_protobuf();
        let again = decode(signal, Encoding::Protobuf, &protobuf, &limits).unwrap();
        assert_eq!(batch, again);
        let listened = hear(&batch);
        assert_eq!(listened.len(), batch.records());
        batch.redact(Redactor::shared());
        let redacted = hear(&batch);
        let ids = |h: &TelemetryRecord| (h.claims.clone(), h.subagent.clone(), h.started.clone());
        let claims = |items: &[TelemetryRecord]| items.iter().map(ids).collect::<Vec<_>>();
        assert_eq!(
            claims(&listened),
            claims(&redacted),
            "an id was taken for a secret"
        );
        records.extend(redacted);
    }
    records
}

pub(super) fn observations(records: &[TelemetryRecord]) -> impl Iterator<Item = &Observation> {
    records.iter().flat_map(|record| &record.observations)
}

/// The sum over distinct events, which must agree wherever one is told twice.
fn tokens(records: &[TelemetryRecord]) -> Tokens {
    let mut messages: BTreeMap<&str, Tokens> = BTreeMap::new();
    for observation in observations(records) {
        if let Fact::Message {
            tokens: Some(tokens),
            ..
        } = &observation.fact
        {
            let before = messages.insert(&observation.event, *tokens);
            assert!(before.is_none_or(|before| before == *tokens));
        }
    }
    let mut sum = Tokens::default();
    messages.into_values().for_each(|tokens| sum += tokens);
    sum
}

struct Expected {
    agent: &'static str,
    /// Sessions by the agent's own ids.
    natives: usize,
    input: u64,
    output: u64,
    /// Distinct tool calls, turns with a prompt, sub-agents.
    calls: usize,
    prompts: usize,
    subagents: usize,
}

fn check(recording: &str, expected: &Expected) {
    let records = listen(recording);
    let agents: BTreeSet<&str> = records
        .iter()
        .filter_map(|record| record.claims.agent.as_ref())
        .map(siglum_domain::AgentName::as_str)
        .collect();
    assert_eq!(agents, BTreeSet::from([expected.agent]));
    assert!(records.iter().all(|h| h.claims.origin == Origin::Agent));
    assert!(records.iter().all(|h| !h.claims.conflict));
    let natives: BTreeSet<&str> = records
        .iter()
        .filter_map(|record| record.claims.natives.first())
        .map(siglum_domain::NativeId::as_str)
        .collect();
    assert_eq!(natives.len(), expected.natives, "{natives:?}");
    let sum = tokens(&records);
    assert_eq!((sum.input, sum.output), (expected.input, expected.output));
    let distinct = |kind: &str| {
        let of_kind = observations(&records).filter(|o| o.fact.kind() == kind);
        of_kind
            .map(|o| o.event.as_str())
            .collect::<BTreeSet<_>>()
            .len()
    };
    assert_eq!(distinct("tool_ended"), expected.calls, "calls");
    assert_eq!(distinct("prompt"), expected.prompts, "prompts");
    assert_eq!(
        distinct("subagent_started"),
        expected.subagents,
        "sub-agents"
    );
    let mut keys = BTreeSet::new();
    assert!(observations(&records).all(|o| keys.insert(o.key.clone())));
}

#[test]
fn claude_code() {
    let mut expected = Expected {
        agent: "claude-code",
        natives: 1,
        input: 1800,
        output: 80,
        calls: 2,
        prompts: 2,
        subagents: 0,
    };
    check(
        include_str!("../../fixtures/claude-code/2.1.330.jsonl"),
        &expected,
    );
    expected = Expected {
        input: 2400,
        output: 120,
        calls: 3,
        subagents: 1,
        ..expected
    };
    let subagent = include_str!("../../fixtures/claude-code/2.1.330-subagent.jsonl");
    check(subagent, &expected);
}

#[test]
fn codex() {
    let mut expected = Expected {
        agent: "codex",
        natives: 1,
        input: 1400,
        output: 80,
        calls: 2,
        prompts: 2,
        subagents: 0,
    };
    check(
        include_str!("../../fixtures/codex/0.169.0.jsonl"),
        &expected,
    );
    expected = Expected {
        natives: 2,
        input: 1650,
        output: 120,
        calls: 4,
        subagents: 1,
        ..expected
    };
    check(
        include_str!("../../fixtures/codex/0.169.0-subagent.jsonl"),
        &expected,
    );
}

#[test]
fn gemini() {
    let mut expected = Expected {
        agent: "gemini",
        natives: 1,
        input: 1500,
        output: 80,
        calls: 0,
        prompts: 0,
        subagents: 0,
    };
    check(
        include_str!("../../fixtures/gemini/0.61.0.jsonl"),
        &expected,
    );
    expected = Expected {
        input: 1450,
        output: 120,
        subagents: 1,
        ..expected
    };
    check(
        include_str!("../../fixtures/gemini/0.61.0-subagent.jsonl"),
        &expected,
    );
}

#[test]
fn qwen() {
    let mut expected = Expected {
        agent: "qwen",
        natives: 1,
        input: 1750,
        output: 100,
        calls: 2,
        prompts: 2,
        subagents: 0,
    };
    check(include_str!("../../fixtures/qwen/0.24.4.jsonl"), &expected);
    expected = Expected {
        input: 1500,
        output: 120,
        calls: 3,
        subagents: 1,
        ..expected
    };
    check(
        include_str!("../../fixtures/qwen/0.24.4-subagent.jsonl"),
        &expected,
    );
}

#[test]
fn copilot() {
    let mut expected = Expected {
        agent: "copilot",
        natives: 1,
        input: 1200,
        output: 80,
        // They are left to hooks and transcripts.
        calls: 0,
        prompts: 0,
        subagents: 0,
    };
    check(
        include_str!("../../fixtures/copilot/1.0.102.jsonl"),
        &expected,
    );
    expected = Expected {
        input: 1150,
        output: 100,
        ..expected
    };
    check(
        include_str!("../../fixtures/copilot/1.0.102-subagent.jsonl"),
        &expected,
    );
}

/// Recorded from its server: when the command ends, it does not wait for its last spans.
#[test]
fn opencode() {
    let mut expected = Expected {
        agent: "opencode",
        natives: 1,
        input: 1400,
        output: 100,
        calls: 2,
        prompts: 2,
        subagents: 0,
    };
    check(
        include_str!("../../fixtures/opencode/1.18.33.jsonl"),
        &expected,
    );
    expected = Expected {
        natives: 2,
        input: 1350,
        output: 120,
        calls: 3,
        subagents: 1,
        ..expected
    };
    check(
        include_str!("../../fixtures/opencode/1.18.33-subagent.jsonl"),
        &expected,
    );
}
