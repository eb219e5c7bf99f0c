//! Claude Code. Its logs and its spans say the same of a request and of a call; both name them by the same id.

use siglum_domain::observation::Outcome;

use super::super::record::Record;
use super::super::teller::{Call, Synthetic, Teller, outcome};
use super::super::tokens;

/// A span of a sub-agent has the sub-agent for its conversation.
pub(super) fn subagent(record: &Record<'_>) -> Option<String> {
    let own = record.text("agent_id");
    let conversation = || {
        let conversation = record.text("gen_ai.conversation.id")?;
        let session = record.text("session.id")?;
        (conversation != session).then_some(conversation)
    };
    own.or_else(conversation).map(str::to_owned)
}

/// Only log records name the turn, by the id that hooks have for it, too.
pub(super) fn listen(record: &Record<'_>, teller: &mut Teller<'_>) {
    teller.turn = record.word("prompt.id");
    match record.name {
        "api_request" | "claude_code.api_request" | "claude_code.llm_request" => {
            let id = record.first(&["request_id", "gen_ai.response.id"]);
            teller.usage(id, record.text("model"), tokens::claude(record));
        }
        "tool_result" | "claude_code.tool_result" => {
            call(record, teller, outcome(record.truth("success")));
        }
        "tool_decision" | "claude_code.tool_decision"
            if record.text("decision") == Some("reject") =>
        {
            call(record, teller, Outcome::Denied);
        }
        "user_prompt" | "claude_code.user_prompt" => prompt(record, teller),
        "subagent_completed" | "claude_code.subagent_completed" => {
            let Some(id) = record.text("agent_id") else {
                return;
            };
            let ran = record
                .count("duration_ms")
                .and_then(|ms| i64::try_from(ms).ok());
            let kind = record.text("agent_type").unwrap_or_default();
            let began = record.start().plus_millis(-ran.unwrap_or(0));
            teller.subagent_starts_at(id, kind, None, began);
            teller.subagent_stops(id);
        }
        _ => {}
    }
}

fn call(record: &Record<'_>, teller: &mut Teller<'_>, outcome: Outcome) {
    let Some(id) = record.first(&["tool_use_id", "gen_ai.tool.call.id"]) else {
        return;
    };
    let Some(tool) = record.first(&["tool_name", "gen_ai.tool.name"]) else {
        return;
    };
    teller.call(&Call {
        id,
        tool,
        outcome,
        duration: record.count("duration_ms"),
    });
}

/// What was asked is not told unless somebody switched that on.
fn prompt(record: &Record<'_>, teller: &mut Teller<'_>) {
    let Some(turn) = record.text("prompt.id") else {
        return;
    };
    let text = record.text("prompt").filter(|text| *text != "<REDACTED>");
    teller.prompt(turn, text.unwrap_or_default(), Synthetic::No);
}
