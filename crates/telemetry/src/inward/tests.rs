use serde_json::{Value, json};
use siglum_domain::claims::Origin;
use siglum_domain::observation::{Fact, Observation, Outcome, Tokens};

use super::recorded::{listen, observations};
use super::{TelemetryRecord, hear};
use crate::wire::{Encoding, Limits, Signal, decode};

fn attributes(values: &Value) -> Value {
    let one = |(key, value): (&String, &Value)| {
        let value = match value {
            Value::String(text) => json!({ "stringValue": text }),
            Value::Bool(truth) => json!({ "boolValue": truth }),
            number => json!({ "intValue": number }),
        };
        json!({ "key": key, "value": value })
    };
    values.as_object().unwrap().iter().map(one).collect()
}

/// One span under a trace of its own number.
fn span(number: u8, name: &str, own: &Value) -> Value {
    json!({
        "traceId": format!("{number:032x}"),
        "spanId": format!("{number:016x}"),
        "name": name,
        "startTimeUnixNano": "1000000000",
        "endTimeUnixNano": "1250000000",
        "attributes": attributes(own),
    })
}

fn hear_span(scope: &str, resource: &Value, span: &Value) -> TelemetryRecord {
    let body = json!({ "resourceSpans": [{
        "resource": { "attributes": attributes(resource) },
        "scopeSpans": [{ "scope": { "name": scope }, "spans": [span] }],
    }] });
    only(Signal::Traces, &body)
}

fn hear_log(scope: &str, resource: &Value, own: &Value) -> TelemetryRecord {
    let body = json!({ "resourceLogs": [{
        "resource": { "attributes": attributes(resource) },
        "scopeLogs": [{ "scope": { "name": scope }, "logRecords": [{
            "timeUnixNano": "2000000000", "attributes": attributes(own),
        }] }],
    }] });
    only(Signal::Logs, &body)
}

fn only(signal: Signal, body: &Value) -> TelemetryRecord {
    let body = body.to_string();
    let batch = decode(signal, Encoding::Json, body.as_bytes(), &Limits::default()).unwrap();
    let mut records = hear(&batch);
    assert_eq!(records.len(), 1);
    records.remove(0)
}

fn natives(record: &TelemetryRecord) -> Vec<&str> {
    record.claims.natives.iter().map(|id| id.as_str()).collect()
}

fn cost(record: &TelemetryRecord) -> Option<Tokens> {
    record.observations.iter().find_map(|o| match &o.fact {
        Fact::Message { tokens, .. } => *tokens,
        _ => None,
    })
}

/// Scenario 31: logs and spans of Claude Code tell one request once, by the id that a transcript has, too.
#[test]
fn a_request_that_logs_and_spans_tell_is_one_event() {
    let records = listen(include_str!("../../fixtures/claude-code/2.1.330.jsonl"));
    let mut requests: Vec<(&str, &str, Option<&str>)> = observations(&records)
        .filter_map(|o| match &o.fact {
            Fact::Message { request, .. } => Some((&*o.event, &*o.key, request.as_deref())),
            _ => None,
        })
        .collect();
    assert_eq!(
        requests.len(),
        8,
        "four requests, each in a log record and in a span"
    );
    for (event, _, request) in &requests {
        assert_eq!(event.strip_prefix("msg:"), *request);
    }
    requests.sort_unstable();
    requests.dedup_by_key(|(event, ..)| *event);
    assert_eq!(requests.len(), 4);
    let log = json!({ "event.name": "api_request", "session.id": "s", "request_id": "req_1", "model": "m",
        "input_tokens": "10", "output_tokens": 5, "cache_read_tokens": 100, "cache_creation_tokens": 7 });
    let record = hear_log("com.anthropic.claude_code.events", &json!({}), &log);
    let expected = Tokens {
        input: 10,
        output: 5,
        cache_read: 100,
        cache_write: 7,
    };
    assert_eq!(cost(&record), Some(expected));
}

/// Scenario 32: each agent has its own place for the id.
#[test]
fn a_session_id_is_found_wherever_an_agent_puts_it() {
    let on_resource = json!({ "service.name": "gemini-cli", "session.id": "g1" });
    let gemini = hear_span("gemini-cli", &on_resource, &span(1, "llm_call", &json!({})));
    assert_eq!(natives(&gemini), ["g1"]);
    let metadata = json!({ "ai.telemetry.metadata.sessionId": "ses_1" });
    let opencode = hear_span("opencode", &json!({}), &span(2, "ai.streamText", &metadata));
    assert_eq!(natives(&opencode), ["ses_1"]);
    let conversation = json!({ "event.name": "codex.user_prompt", "conversation.id": "c1" });
    let codex = hear_log("codex_otel.log_only", &json!({}), &conversation);
    assert_eq!(natives(&codex), ["c1"]);
    let by_name = json!({ "service.name": "codex_exec" });
    let thread = |id: Value| {
        let record = span(3, "session_task.turn", &json!({ "thread.id": id }));
        hear_span("codex_exec", &by_name, &record)
    };
    assert!(natives(&thread(json!(7))).is_empty());
    assert!(natives(&thread(json!("7"))).is_empty());
    let uuid = "01a2034d-b415-79c1-b2d2-aa6d1b14d1bd";
    assert_eq!(natives(&thread(json!(uuid))), [uuid]);
}

/// Scenario 33: what has no id claims nothing, and nothing is made up for it.
#[test]
fn a_record_without_an_id_claims_no_session() {
    let plain = hear_span(
        "http",
        &json!({ "service.name": "shop" }),
        &span(1, "GET /", &json!({})),
    );
    assert_eq!(plain.claims.origin, Origin::Other);
    assert!(!plain.claims.origin.may_open());
    assert!(natives(&plain).is_empty() && plain.observations.is_empty());
    assert!(plain.trace.is_some() && plain.span.is_some());
    let blank = json!({ "gen_ai.operation.name": "chat", "session.id": "  ", "gen_ai.conversation.id": "" });
    let blank = hear_span("x", &json!({}), &span(1, "chat", &blank));
    assert!(natives(&blank).is_empty() && blank.claims.session.is_none());
}

/// Scenario 34: both ids are kept, most telling first, and the contradiction is said.
#[test]
fn two_ids_on_one_record_are_a_conflict() {
    let both = json!({ "session.id": "X", "gen_ai.conversation.id": "Y", "gen_ai.operation.name": "chat" });
    let foreign = hear_span(
        "mylib",
        &json!({ "service.name": "My App!" }),
        &span(1, "chat", &both),
    );
    assert_eq!(natives(&foreign), ["X", "Y"]);
    assert!(foreign.claims.conflict && foreign.claims.origin == Origin::Model);
    assert_eq!(foreign.claims.agent.as_ref().unwrap().as_str(), "my-app");
    let same = json!({ "session.id": "X", "gen_ai.conversation.id": "X", "gen_ai.operation.name": "chat" });
    assert!(
        !hear_span("mylib", &json!({}), &span(1, "chat", &same))
            .claims
            .conflict
    );
    let claude = hear_span(
        "com.anthropic.claude_code.tracing",
        &json!({}),
        &span(1, "x", &both),
    );
    assert_eq!(natives(&claude), ["X"]);
    assert!(!claude.claims.conflict);
    assert_eq!(claude.subagent.as_deref(), Some("Y"));
}

#[test]
fn an_injected_session_is_claimed_from_record_or_resource() {
    let id = format!("ses_{:032x}", 7);
    let injected = json!({ "siglum.session.id": id });
    let by_resource = hear_span("lib", &injected, &span(1, "test", &json!({})));
    let by_record = hear_span("lib", &json!({}), &span(1, "test", &injected));
    let wrong = hear_span(
        "lib",
        &json!({}),
        &span(1, "test", &json!({ "siglum.session.id": "ses_7" })),
    );
    for record in [&by_resource, &by_record] {
        assert_eq!(record.claims.session.unwrap().to_string(), id);
        assert!(record.observations.is_empty());
    }
    assert_eq!(wrong.claims.session, None);
}

#[test]
fn cached_tokens_are_taken_out_of_the_input() {
    let cost_of = |own: Value| cost(&hear_span("lib", &json!({}), &span(1, "call", &own)));
    let expected = Some(Tokens {
        input: 30,
        output: 9,
        cache_read: 60,
        cache_write: 10,
    });
    let conventional = json!({ "gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 9, "gen_ai.usage.cache_read.input_tokens": 60,
        "gen_ai.usage.cache_creation.input_tokens": 10 });
    assert_eq!(cost_of(conventional), expected);
    let openinference = json!({ "openinference.span.kind": "LLM", "llm.token_count.prompt": 100,
        "llm.token_count.completion": 9, "llm.token_count.prompt_details.cache_read": 60,
        "llm.token_count.prompt_details.cache_write": 10 });
    assert_eq!(cost_of(openinference), expected);
    let inner = json!({ "ai.operationId": "ai.generateText.doGenerate", "ai.usage.promptTokens": 100,
        "ai.usage.completionTokens": 9 });
    assert_eq!(cost_of(inner).map(|t| (t.input, t.output)), Some((100, 9)));
    let outer = json!({ "ai.operationId": "ai.generateText", "ai.usage.promptTokens": 100,
        "ai.usage.completionTokens": 9 });
    assert_eq!(cost_of(outer), None);
    let agent =
        json!({ "gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 100 });
    assert_eq!(cost_of(agent), None);
}

#[test]
fn thoughts_are_output_where_they_are_not_in_it() {
    let cost_of = |total: u64| {
        let own = json!({ "event.name": "gemini_cli.api_response", "session.id": "s",
            "input_token_count": 100, "output_token_count": 20, "cached_content_token_count": 40,
            "thoughts_token_count": 5, "tool_token_count": 3, "total_token_count": total });
        cost(&hear_log("gemini-cli", &json!({}), &own)).unwrap()
    };
    assert_eq!((cost_of(128).input, cost_of(128).output), (63, 25));
    assert_eq!((cost_of(120).input, cost_of(120).output), (60, 20));
    let codex = json!({ "event.name": "codex.sse_event", "event.kind": "response.completed",
        "conversation.id": "c", "input_token_count": "100", "output_token_count": "20",
        "cached_token_count": "40", "cache_write_token_count": "10", "reasoning_token_count": "15" });
    let codex = cost(&hear_log("codex_otel.log_only", &json!({}), &codex));
    let expected = Tokens {
        input: 50,
        output: 20,
        cache_read: 40,
        cache_write: 10,
    };
    assert_eq!(codex, Some(expected));
}

#[test]
fn a_foreign_trace_is_a_turn_that_its_root_opens_and_closes() {
    let root =
        json!({ "openinference.span.kind": "AGENT", "session.id": "s", "input.value": "do it" });
    let record = hear_span("lib", &json!({}), &span(9, "agent", &root));
    let kinds: Vec<&str> = record.observations.iter().map(|o| o.fact.kind()).collect();
    assert_eq!(kinds, ["prompt", "stopped"]);
    let turn = format!("{:032x}", 9);
    assert!(
        record
            .observations
            .iter()
            .all(|o| o.turn.as_deref() == Some(&turn))
    );
    let Fact::Prompt { text, .. } = &record.observations[0].fact else {
        panic!("no prompt")
    };
    assert_eq!(text.text(), Some("do it"));
    let mut tool = span(
        9,
        "execute_tool x",
        &json!({ "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "x", "gen_ai.tool.call.id": "call_1" }),
    );
    tool["parentSpanId"] = json!(format!("{:016x}", 8));
    tool["status"] = json!({ "code": "STATUS_CODE_ERROR" });
    let record = hear_span("lib", &json!({}), &tool);
    assert_eq!(record.claims.call.as_deref(), Some("call_1"));
    let Fact::ToolEnded {
        outcome,
        duration_ms,
        ..
    } = &record.observations[1].fact
    else {
        panic!("no end")
    };
    assert_eq!((*outcome, *duration_ms), (Outcome::Failed, Some(250)));
    assert_eq!(record.observations[1].event, "tool:call_1");
}

#[test]
fn turns_and_sub_agents_have_the_names_that_hooks_give_them() {
    let records = listen(include_str!(
        "../../fixtures/claude-code/2.1.330-subagent.jsonl"
    ));
    let prompts: Vec<_> = observations(&records)
        .filter(|o| o.event.starts_with("prompt:"))
        .collect();
    for prompt in &prompts {
        assert_eq!(prompt.event.strip_prefix("prompt:"), prompt.turn.as_deref());
    }
    let inside =
        observations(&records).filter(|o| o.subagent.as_deref() == Some("ab3bd49ed2ef52df8"));
    assert!(inside.count() >= 6);
    let qwen = listen(include_str!("../../fixtures/qwen/0.24.4-subagent.jsonl"));
    let started = observations(&qwen).find_map(|o| match &o.fact {
        Fact::SubagentStarted { call, .. } => Some((o.event.clone(), call.clone())),
        _ => None,
    });
    let call = "call_c45a05c542ac4ceabe0c8ec9";
    let expected = (format!("sub:general-purpose-{call}"), Some(call.to_owned()));
    assert_eq!(started, Some(expected));
    let copilot = listen(include_str!(
        "../../fixtures/copilot/1.0.102-subagent.jsonl"
    ));
    assert!(observations(&copilot).all(|o| o.subagent.is_none()));
    let codex = listen(include_str!("../../fixtures/codex/0.169.0-subagent.jsonl"));
    let child = codex.iter().find_map(|h| h.started.clone()).unwrap();
    assert_eq!(child.as_str(), "01a2034d-bcab-7203-80b4-536bbd3a1a35");
    let below: Vec<TelemetryRecord> = codex
        .into_iter()
        .filter(|record| record.claims.natives.first() == Some(&child))
        .map(|record| record.below(&child))
        .collect();
    assert!(observations(&below).count() > 6);
    let is_inside =
        |o: &&Observation| o.turn.is_none() && o.subagent.as_deref() == Some(child.as_str());
    assert!(observations(&below).all(|o| is_inside(&o) && !matches!(o.fact, Fact::Prompt { .. })));
    let opencode = listen(include_str!(
        "../../fixtures/opencode/1.18.33-subagent.jsonl"
    ));
    let started = opencode
        .iter()
        .find_map(|h| h.claims.natives.first().zip(h.started.as_ref()));
    let (above, child) = started.unwrap();
    assert_ne!(above, child);
    assert!(opencode.iter().all(|h| h.claims.trace.is_none()));
}
