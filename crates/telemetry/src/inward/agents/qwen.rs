//! Qwen Code. Log records tell requests and calls with the turn they are of, spans tell turns and sub-agents.

use siglum_domain::observation::Outcome;

use super::super::record::Record;
use super::super::teller::{Call, Synthetic, Teller, outcome};
use super::super::tokens;

const PROMPT: [&str; 2] = ["prompt_id", "qwen-code.prompt_id"];

/// What a prompt id names: `<session>########<number>…` a turn, `<session>#<sub-agent>#<number>` a request of a
/// sub-agent.
enum Prompt<'a> {
    Turn(&'a str),
    Subagent(&'a str),
}

fn prompt<'a>(record: &Record<'a>) -> Option<Prompt<'a>> {
    let id = record.first(&PROMPT)?;
    let Some((_, rest)) = id.split_once('#') else {
        return Some(Prompt::Turn(id));
    };
    if rest.starts_with('#') {
        return Some(Prompt::Turn(id));
    }
    Some(Prompt::Subagent(
        rest.rsplit_once('#').map_or(rest, |(subagent, _)| subagent),
    ))
}

pub(super) fn subagent(record: &Record<'_>) -> Option<String> {
    let own = record.text("qwen-code.subagent.id");
    let prompted = || match prompt(record)? {
        Prompt::Subagent(id) => Some(id),
        Prompt::Turn(_) => None,
    };
    own.or_else(prompted).map(str::to_owned)
}

pub(super) fn listen(record: &Record<'_>, teller: &mut Teller<'_>) {
    if let Some(Prompt::Turn(turn)) = prompt(record) {
        teller.turn = Some(turn.to_owned());
    }
    match record.name {
        "qwen-code.api_response" => {
            let id = record.text("response_id");
            teller.usage(id, record.text("model"), tokens::gemini(record));
        }
        "qwen-code.tool_call" => call(record, teller),
        "qwen-code.user_prompt" => {
            if let Some(Prompt::Turn(turn)) = prompt(record) {
                let text = record.text("prompt").unwrap_or_default();
                teller.prompt(turn, text, Synthetic::No);
            }
        }
        "qwen-code.interaction" if record.is_span() => {
            if let Some(Prompt::Turn(turn)) = prompt(record) {
                let message_type = record.text("qwen-code.message_type");
                let synthetic = match message_type {
                    None | Some("userQuery") => Synthetic::No,
                    Some(_) => Synthetic::Yes,
                };
                teller.prompt(turn, "", synthetic);
                teller.stop(turn);
            }
        }
        "qwen-code.subagent" if record.is_span() => {
            if let Some(id) = record.text("qwen-code.subagent.id") {
                let kind = record.text("qwen-code.subagent.name").unwrap_or_default();
                let call = record.text("qwen-code.subagent.invoking_request_id");
                teller.subagent_starts(id, kind, call);
                teller.subagent_stops(id);
            }
        }
        "session.start" => teller.session_starts(),
        "session.end" => teller.session_ends("session.end"),
        _ => {}
    }
}

fn call(record: &Record<'_>, teller: &mut Teller<'_>) {
    let (Some(id), Some(tool)) = (record.text("call_id"), record.text("function_name")) else {
        return;
    };
    let outcome = match (record.text("decision"), record.text("status")) {
        (Some("reject"), _) => Outcome::Denied,
        (_, Some("success")) => Outcome::Ok,
        (_, Some(_)) => Outcome::Failed,
        (_, None) => outcome(record.truth("success")),
    };
    teller.call(&Call {
        id,
        tool,
        outcome,
        duration: record.count("duration_ms"),
    });
}
