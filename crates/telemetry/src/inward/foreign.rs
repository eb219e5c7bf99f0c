//! Programs that the table lacks, by the conventions that they keep to: OpenTelemetry GenAI, OpenInference, the AI SDK,
//! OpenLLMetry, LangSmith. A trace is a turn.

use siglum_domain::observation::Outcome;

use super::record::Record;
use super::teller::{Call, Synthetic, Teller};
use super::tokens;

/// What keys of records about models begin with.
const ABOUT_MODELS: &[&str] = &[
    "gen_ai.",
    "ai.operationId",
    "ai.telemetry.",
    "openinference.",
    "llm.",
    "traceloop.",
    "langsmith.",
];

/// Keys of the session id, on a record or its resource, most telling first.
pub(super) const NATIVES: &[&str] = &[
    "session.id",
    "gen_ai.conversation.id",
    "conversation.id",
    "ai.telemetry.metadata.sessionId",
    "ai.telemetry.metadata.session_id",
    "langsmith.metadata.thread_id",
    "langsmith.metadata.session_id",
    "langfuse.session.id",
    "traceloop.association.properties.session_id",
    "lmnr.association.properties.session_id",
];

/// What a span of such a program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Model,
    Tool,
    Other,
}

/// Whether a record is about models at all.
pub(super) fn is_about_models(record: &Record<'_>) -> bool {
    record.has_prefix(ABOUT_MODELS)
}

fn kind(record: &Record<'_>) -> Kind {
    if let Some(operation) = record.text("ai.operationId") {
        return match operation {
            "ai.toolCall" => Kind::Tool,
            _ if operation.ends_with(".doStream") || operation.ends_with(".doGenerate") => {
                Kind::Model
            }
            _ => Kind::Other,
        };
    }
    let named = record.first(&[
        "gen_ai.operation.name",
        "openinference.span.kind",
        "langsmith.span.kind",
        "traceloop.span.kind",
        "llm.request.type",
    ]);
    match named.map(str::to_ascii_lowercase).as_deref() {
        Some("chat" | "text_completion" | "generate_content" | "completion" | "llm") => Kind::Model,
        Some("execute_tool" | "tool") => Kind::Tool,
        _ => Kind::Other,
    }
}

pub(super) fn listen(record: &Record<'_>, teller: &mut Teller<'_>) {
    let (true, Some(trace)) = (record.is_span(), record.trace()) else {
        return;
    };
    let turn = trace.to_string();
    let is_root = record.parent().is_none();
    if is_root {
        let keys = ["input.value", "traceloop.entity.input", "gen_ai.prompt"];
        let text = record.first(&keys).unwrap_or_default();
        teller.prompt(&turn, text, Synthetic::No);
    }
    teller.turn = Some(turn.clone());
    match kind(record) {
        Kind::Model => {
            let model = record.first(&[
                "gen_ai.response.model",
                "gen_ai.request.model",
                "llm.model_name",
                "ai.response.model",
                "ai.model.id",
            ]);
            let id = record.first(&["gen_ai.response.id", "ai.response.id"]);
            teller.usage(id, model, tokens::conventional(record));
        }
        Kind::Tool => call(record, teller),
        Kind::Other => {}
    }
    if is_root {
        teller.stop(&turn);
    }
}

fn call(record: &Record<'_>, teller: &mut Teller<'_>) {
    let key = record.key();
    let id = record.first(&["gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id"]);
    let tool = record.first(&["gen_ai.tool.name", "tool.name", "ai.toolCall.name"]);
    let outcome = match record.has_failed() {
        true => Outcome::Failed,
        false => Outcome::Ok,
    };
    let duration = record.end().millis_since(record.start());
    teller.call(&Call {
        id: id.unwrap_or(&key),
        tool: tool.unwrap_or(record.name),
        outcome,
        duration: u64::try_from(duration).ok(),
    });
}
