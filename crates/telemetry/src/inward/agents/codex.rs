//! Codex. Its spans are those of a program, not of an agent: a thousand for a turn, of which one is the turn, and the id
//! of an operating system's thread under the key of a conversation. Its log records tell what was done, but not in which
//! turn.

use siglum_domain::observation::Outcome;

use super::super::record::Record;
use super::super::teller::{Call, Synthetic, Teller, outcome};
use super::super::tokens;

/// The thread of a sub-agent stands in what the call returned that started it.
pub(super) fn started(record: &Record<'_>) -> Option<String> {
    if record.name != "codex.tool_result" || record.text("tool_name") != Some("spawn_agent") {
        return None;
    }
    let output: serde_json::Value = serde_json::from_str(record.text("output")?).ok()?;
    Some(output.get("agent_id")?.as_str()?.to_owned())
}

pub(super) fn listen(record: &Record<'_>, teller: &mut Teller<'_>) {
    if record.is_span() {
        return turn(record, teller);
    }
    match record.name {
        // The event is told twice, once without its cost; nothing in it names the response.
        "codex.sse_event" | "codex.websocket_event"
            if record.text("event.kind") == Some("response.completed") =>
        {
            teller.usage(None, record.text("model"), tokens::codex(record));
        }
        "codex.tool_result" => {
            call(record, teller, outcome(record.truth("success")));
            if let Some(thread) = started(record) {
                teller.subagent_starts(&thread, "", record.text("call_id"));
            }
        }
        "codex.tool_decision"
            if matches!(
                record.text("decision"),
                Some("denied" | "abort" | "timed_out")
            ) =>
        {
            call(record, teller, Outcome::Denied);
        }
        _ => {}
    }
}

/// One span is a turn, by the id that hooks have for it, too.
fn turn(record: &Record<'_>, teller: &mut Teller<'_>) {
    if let Some(turn) = record
        .text("turn.id")
        .filter(|_| record.name == "session_task.turn")
    {
        teller.prompt(turn, "", Synthetic::No);
        teller.stop(turn);
    }
}

fn call(record: &Record<'_>, teller: &mut Teller<'_>, outcome: Outcome) {
    if let (Some(id), Some(tool)) = (record.text("call_id"), record.text("tool_name")) {
        teller.call(&Call {
            id,
            tool,
            outcome,
            duration: record.count("duration_ms"),
        });
    }
}
