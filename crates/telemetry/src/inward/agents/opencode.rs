//! OpenCode, which is recorded by its telemetry alone. A request to its server is a trace and a turn; models are asked
//! through the AI SDK, whose inner span is the request and whose outer one repeats the sum.

use siglum_domain::observation::Outcome;

use super::super::record::Record;
use super::super::teller::{Call, Synthetic, Teller};
use super::super::tokens;

/// Parts of the routes that a turn begins with.
const ASKING: [&str; 4] = ["/message", "/prompt", "/command", "/shell"];

/// Tells what a record says.
pub(super) fn listen(record: &Record<'_>, teller: &mut Teller<'_>) {
    let (true, Some(trace)) = (record.is_span(), record.trace()) else {
        return;
    };
    let turn = trace.to_string();
    teller.turn = Some(turn.clone());
    match record.name {
        "SessionPrompt.createUserMessage" => teller.prompt(&turn, "", Synthetic::No),
        "Tool.execute" => {
            let id = record.text("tool.call_id");
            if let (Some(id), Some(tool)) = (id, record.text("tool.name")) {
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
        _ if is_request(record) => {
            let model = record.first(&["ai.response.model", "gen_ai.request.model", "ai.model.id"]);
            let id = record.first(&["gen_ai.response.id", "ai.response.id"]);
            teller.usage(id, model, tokens::conventional(record));
        }
        _ if record.parent().is_none() && asks(record) => teller.stop(&turn),
        _ => {}
    }
}

fn is_request(record: &Record<'_>) -> bool {
    let operation = record.text("ai.operationId");
    operation.is_some_and(|name| name.ends_with(".doStream") || name.ends_with(".doGenerate"))
}

fn asks(record: &Record<'_>) -> bool {
    let route = record.text("http.route").unwrap_or_default();
    record.text("http.request.method") == Some("POST")
        && ASKING.iter().any(|part| route.contains(part))
}
