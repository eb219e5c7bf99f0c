//! Spans of a coding agent: turns of answers and tool calls, with some twenty attributes each. The same numbers give the
//! same spans.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message as _;

use crate::clock::Chance;

/// Spans of a turn: the first one, and twice as many tools as answers below it.
const OF_A_TURN: usize = 16;
/// Turns of a session.
const TURNS: usize = 64;

/// What the sessions of so many spans are called.
pub(crate) fn sessions(count: usize) -> impl Iterator<Item = String> {
    (0..count.div_ceil(OF_A_TURN * TURNS)).map(session)
}

fn session(number: usize) -> String {
    format!("bench-session-{number}")
}

/// A request with so many spans, the first of which has this number in all that is sent.
pub(super) fn request(first: usize, count: usize, at: u64) -> Vec<u8> {
    let scope = ScopeSpans {
        scope: Some(InstrumentationScope {
            name: "bench".to_owned(),
            version: "1.0.0".to_owned(),
            ..InstrumentationScope::default()
        }),
        spans: (first..first + count).map(|n| span(n, at)).collect(),
        ..ScopeSpans::default()
    };
    let resource = Resource {
        attributes: vec![
            text("service.name", "bench-agent"),
            text("service.version", "1.0.0"),
            text("host.arch", "amd64"),
            text("os.type", "linux"),
        ],
        ..Resource::default()
    };
    let spans = ResourceSpans {
        resource: Some(resource),
        scope_spans: vec![scope],
        ..ResourceSpans::default()
    };
    let request = ExportTraceServiceRequest {
        resource_spans: vec![spans],
    };
    request.encode_to_vec()
}

/// The span of this number. The first one of a turn comes last, as it does where an agent sends it.
fn span(number: usize, at: u64) -> Span {
    let (turn, place) = (number / OF_A_TURN, number % OF_A_TURN);
    let chance = Chance::new(number as u64);
    let is_root = place == OF_A_TURN - 1;
    let of_turn = |name: &str, bytes: usize| id(&format!("{name} {turn}"), bytes);
    let (name, kind, own) = match place {
        _ if is_root => ("invoke_agent bench", SpanKind::Internal, vec![]),
        place if place % 3 == 0 => (
            "chat bench-model",
            SpanKind::Client,
            answer(number, &chance),
        ),
        _ => (
            "execute_tool Bash",
            SpanKind::Internal,
            call(number, &chance),
        ),
    };
    let operation = name.split(' ').next().unwrap_or_default();
    let start = at + (number as u64) * 1_000_000;
    Span {
        trace_id: of_turn("trace", 16),
        span_id: match is_root {
            true => of_turn("root", 8),
            false => id(&format!("span {number}"), 8),
        },
        parent_span_id: match is_root {
            true => Vec::new(),
            false => of_turn("root", 8),
        },
        name: name.to_owned(),
        kind: kind as i32,
        start_time_unix_nano: start,
        end_time_unix_nano: start + 1_000_000 * (1 + chance.below(900) as u64),
        attributes: [kit(turn, operation), own].concat(),
        ..Span::default()
    }
}

/// What stands on every span.
fn kit(turn: usize, operation: &str) -> Vec<KeyValue> {
    let session = session(turn / TURNS);
    let kind = match operation {
        "chat" => "LLM",
        "execute_tool" => "TOOL",
        _ => "AGENT",
    };
    vec![
        text("session.id", &session),
        text("gen_ai.conversation.id", &session),
        text("gen_ai.operation.name", operation),
        text("openinference.span.kind", kind),
        text("gen_ai.agent.name", "bench-agent"),
        text("user.id", "2f1b1c6c0a9e4d57"),
        text("terminal.type", "xterm-256color"),
        text(
            "vcs.repository.url.full",
            "https://example.com/owner/repository",
        ),
        text("vcs.ref.head.name", "main"),
        text(
            "vcs.ref.head.revision",
            "5397d67c2f0a9a51b1d0a1d4a3e1b0f6a7c8d9e0",
        ),
        count("bench.turn.index", turn),
    ]
}

fn answer(number: usize, chance: &Chance) -> Vec<KeyValue> {
    let (input, output) = (20_000 + chance.below(60_000), 50 + chance.below(900));
    vec![
        text("gen_ai.provider.name", "anthropic"),
        text("gen_ai.request.model", "bench-model"),
        text("gen_ai.response.model", "bench-model"),
        text("gen_ai.response.id", &format!("msg_{number:024}")),
        count("gen_ai.usage.input_tokens", input),
        count("gen_ai.usage.output_tokens", output),
        count("gen_ai.usage.cache_read.input_tokens", input - 2_000),
        count("gen_ai.usage.cache_creation.input_tokens", 1_500),
        count("gen_ai.request.max_tokens", 32_000),
        text("server.address", "api.example.com"),
    ]
}

fn call(number: usize, chance: &Chance) -> Vec<KeyValue> {
    let words = "git status --porcelain=v2 && cargo test --workspace --quiet 2>&1 | tail -n 40";
    vec![
        text("gen_ai.tool.name", "Bash"),
        text("gen_ai.tool.type", "function"),
        text("gen_ai.tool.call.id", &format!("toolu_{number:024}")),
        text("gen_ai.tool.description", "Runs a command in the shell"),
        text("tool.parameters", &format!("{{\"command\":\"{words}\"}}")),
        text("decision", "accept"),
        text("decision_source", "config"),
        count("duration_ms", chance.below(900)),
        count("result_bytes", chance.below(9_000)),
    ]
}

fn id(name: &str, bytes: usize) -> Vec<u8> {
    blake3::hash(name.as_bytes()).as_bytes()[..bytes].to_vec()
}

fn text(key: &str, value: &str) -> KeyValue {
    pair(key, Value::StringValue(value.to_owned()))
}

fn count(key: &str, value: usize) -> KeyValue {
    pair(
        key,
        Value::IntValue(i64::try_from(value).unwrap_or(i64::MAX)),
    )
}

fn pair(key: &str, value: Value) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
        ..KeyValue::default()
    }
}
