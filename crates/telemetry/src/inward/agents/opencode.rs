//! OpenCode, which is recorded by its telemetry alone. Its log records tell sessions and turns in texts that are nearly
//! JSON; its spans tell requests, through the AI SDK, whose inner span is the request and whose outer one repeats the
//! sum. A server's life is one trace, whatever sessions it has.

use siglum_domain::observation::Outcome;

use super::super::record::Record;
use super::super::teller::{Call, Synthetic, Teller};
use super::super::tokens;

/// A session that a log record tells of; of a session that was started for a sub-agent, the one above it.
pub(super) fn native(record: &Record<'_>) -> Option<String> {
    let details = details(record)?;
    let keys: &[&str] = match record.name {
        "created" => &["parentID", "id"],
        _ => &["session.id"],
    };
    let id = keys.iter().find_map(|key| field(details, key))?;
    id.starts_with("ses_").then(|| id.to_owned())
}

/// A session that was started for a sub-agent.
pub(super) fn started(record: &Record<'_>) -> Option<String> {
    let details = details(record).filter(|_| record.name == "created")?;
    field(details, "parentID")?;
    field(details, "id").map(str::to_owned)
}

fn details<'a>(record: &Record<'a>) -> Option<&'a str> {
    record.body_texts().nth(1)
}

/// A text in an object that may have `undefined` in it and is therefore no JSON.
fn field<'a>(details: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = details.split_once(&format!("\"{key}\":\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

/// Tells what a record says. The loop that answers a prompt has a span, and its id names the turn.
pub(super) fn listen(record: &Record<'_>, teller: &mut Teller<'_>) {
    match record.name {
        "loop" | "exiting loop" if record.is_log() => turn(record, teller),
        "created" if record.is_log() => {
            if let Some(id) = started(record) {
                teller.subagent_starts(&id, "", None);
            }
        }
        "Tool.execute" if record.is_span() => {
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
        _ if record.is_span() && is_request(record) => {
            let model = record.first(&["ai.response.model", "gen_ai.request.model", "ai.model.id"]);
            let id = record.first(&["gen_ai.response.id", "ai.response.id"]);
            teller.usage(id, model, tokens::conventional(record));
        }
        _ => {}
    }
}

fn turn(record: &Record<'_>, teller: &mut Teller<'_>) {
    let (Some(span), Some(details)) = (record.span(), details(record)) else {
        return;
    };
    let turn = span.to_string();
    if record.name == "exiting loop" {
        teller.stop(&turn);
    } else if details.contains("\"step\":0}") {
        teller.prompt(&turn, "", Synthetic::No);
    }
}

fn is_request(record: &Record<'_>) -> bool {
    let operation = record.text("ai.operationId");
    operation.is_some_and(|name| name.ends_with(".doStream") || name.ends_with(".doGenerate"))
}
