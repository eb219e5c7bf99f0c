//! Copilot CLI. It keeps to the conventions: a sub-agent is the agent span below a call. Hooks and transcripts name its
//! calls, turns and sub-agents in a way that telemetry does not know: they are left to them.

use super::super::record::Record;
use super::super::teller::Teller;
use super::super::tokens;

/// What a sub-agent does stands below the sub-agent's own span, whose id is the only one it has.
pub(super) fn subagent(record: &Record<'_>) -> Option<String> {
    let below = || record.parent().map(|span| span.to_string());
    match record.text("gen_ai.operation.name")? {
        "invoke_agent" => record
            .parent()
            .and(record.span())
            .map(|span| span.to_string()),
        "chat" if record.text("github.copilot.initiator") == Some("sub-agent") => below(),
        "execute_tool" if record.text("gen_ai.agent.name").is_some() => below(),
        _ => None,
    }
}

pub(super) fn listen(record: &Record<'_>, teller: &mut Teller<'_>) {
    let is_answer = record.text("gen_ai.operation.name") == Some("chat");
    if record.is_span() && is_answer {
        let model = record.first(&["gen_ai.response.model", "gen_ai.request.model"]);
        let id = record.text("gen_ai.response.id");
        teller.usage(id, model, tokens::conventional(record));
    }
}
