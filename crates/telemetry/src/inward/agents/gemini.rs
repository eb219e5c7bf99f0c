//! Gemini CLI. Hooks and transcripts name its calls by what they do, which telemetry cannot: calls are left to them, and
//! so are turns.

use super::super::record::Record;
use super::super::teller::Teller;
use super::super::tokens;

/// What a sub-agent asks a model has the sub-agent's id and a number for its prompt.
pub(super) fn subagent(record: &Record<'_>) -> Option<String> {
    let prompt = || {
        let of = record.first(&["prompt_id", "gen_ai.prompt.name"])?;
        let (id, number) = of.split_once('#')?;
        number.bytes().all(|b| b.is_ascii_digit()).then_some(id)
    };
    record.text("agent_id").or_else(prompt).map(str::to_owned)
}

pub(super) fn listen(record: &Record<'_>, teller: &mut Teller<'_>) {
    match record.name {
        "gemini_cli.api_response" => {
            teller.usage(None, record.text("model"), tokens::gemini(record));
        }
        "gemini_cli.agent.start" => {
            if let Some(id) = record.text("agent_id") {
                let kind = record.text("agent_name").unwrap_or_default();
                teller.subagent_starts(id, kind, None);
            }
        }
        "gemini_cli.agent.finish" => {
            if let Some(id) = record.text("agent_id") {
                teller.subagent_stops(id);
            }
        }
        _ => {}
    }
}
