//! Copilot CLI, which is recorded by its telemetry alone. It keeps to the conventions: one trace for a turn, whose root
//! is the agent; a sub-agent is the agent span below a call.

use siglum_domain::observation::Outcome;

use super::super::record::Record;
use super::super::teller::{Call, Synthetic, Teller};
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
    let (true, Some(trace)) = (record.is_span(), record.trace()) else {
        return;
    };
    let turn = trace.to_string();
    teller.turn = Some(turn.clone());
    match record.text("gen_ai.operation.name") {
        Some("chat") => {
            let model = record.first(&["gen_ai.response.model", "gen_ai.request.model"]);
            let id = record.text("gen_ai.response.id");
            teller.usage(id, model, tokens::conventional(record));
        }
        Some("execute_tool") => {
            let id = record.text("gen_ai.tool.call.id");
            if let (Some(id), Some(tool)) = (id, record.text("gen_ai.tool.name")) {
                let outcome = match record.has_failed() {
                    true => Outcome::Failed,
                    false => Outcome::Ok,
                };
                let duration = record.end().millis_since(record.start());
                teller.call(&Call {
                    id,
                    tool,
                    outcome,
                    duration: u64::try_from(duration).ok(),
                });
            }
        }
        Some("invoke_agent") if record.parent().is_none() => {
            teller.prompt(&turn, "", Synthetic::No);
            teller.stop(&turn);
        }
        Some("invoke_agent") => {
            if let Some(id) = subagent(record) {
                let kind = record.text("gen_ai.agent.name").unwrap_or_default();
                teller.subagent_starts(&id, kind, None);
                teller.subagent_stops(&id);
            }
        }
        _ => {}
    }
}
