//! Copilot CLI. It keeps to the conventions. Hooks and transcripts name its calls, turns and sub-agents in a way that
//! telemetry does not know: they are left to them, and no cost is said to be a sub-agent's.

use super::super::record::Record;
use super::super::teller::Teller;
use super::super::tokens;

pub(super) fn listen(record: &Record<'_>, teller: &mut Teller<'_>) {
    let is_answer = record.text("gen_ai.operation.name") == Some("chat");
    if record.is_span() && is_answer {
        let model = record.first(&["gen_ai.response.model", "gen_ai.request.model"]);
        let id = record.text("gen_ai.response.id");
        teller.usage(id, model, tokens::conventional(record));
    }
}
