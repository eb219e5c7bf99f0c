//! What was said in a session, as messages: of its committed turns, in both forms.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use siglum_domain::TurnId;
use siglum_domain::fold::Entry;
use siglum_domain::observation::{self, Fact, Outcome, Source, event};

use crate::wire::{PastMessage, Role, outcome_word};

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Talk {
    /// Its id: of an answer that of its turn, so that a stream of the same turn speaks of the same message.
    id: String,
    turn: Option<TurnId>,
    role: Role,
    /// The sequence that it begins with.
    pub(crate) first: u64,
    at: String,
    parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    Call {
        id: String,
        tool: String,
        input: Option<String>,
        ended: Option<(Outcome, String)>,
    },
}

impl Talk {
    /// The messages of these entries, which are in order. What several sources saw is told once.
    pub(crate) fn from_entries(entries: &[Entry]) -> Vec<Self> {
        let mut talk: Vec<Self> = Vec::new();
        let mut seen = BTreeSet::new();
        for entry in entries {
            let key = (entry.observation.event.as_str(), entry.turn);
            match &entry.observation.fact {
                Fact::Prompt { text, synthetic } => {
                    let Some(role) = asks(entry, *synthetic).filter(|_| seen.insert(key)) else {
                        continue;
                    };
                    let text = Part::Text(text.text().unwrap_or_default().to_owned());
                    talk.push(Self::begun(entry, role, talk.len(), vec![text]));
                }
                Fact::Message {
                    role: observation::Role::Assistant,
                    text,
                    ..
                } => {
                    let text = text.text().unwrap_or_default();
                    if !text.is_empty() && seen.insert(key) {
                        answer(&mut talk, entry).push(Part::Text(text.to_owned()));
                    }
                }
                Fact::ToolStarted { tool, input, .. } => {
                    let input = input.text().map(str::to_owned);
                    called(answer(&mut talk, entry), entry, tool)
                        .0
                        .clone_from(&input);
                }
                Fact::ToolEnded {
                    tool,
                    outcome,
                    output,
                    ..
                } => {
                    let output = output.as_ref().and_then(|o| o.text()).unwrap_or_default();
                    let ended = Some((*outcome, output.to_owned()));
                    *called(answer(&mut talk, entry), entry, tool).1 = ended;
                }
                _ => {}
            }
        }
        talk
    }

    fn begun(entry: &Entry, role: Role, place: usize, parts: Vec<Part>) -> Self {
        let turn = entry
            .turn
            .map_or_else(|| format!("seq-{}", entry.sequence), |t| t.to_string());
        let id = match role {
            Role::Assistant => turn,
            _ => format!("{turn}-{place}"),
        };
        Self {
            id,
            turn: entry.turn,
            role,
            first: entry.sequence,
            at: entry.observation.at.to_string(),
            parts,
        }
    }
}

/// Who asks. What is asked in nobody's name is told where a driver says it; what an agent tells itself is not.
fn asks(entry: &Entry, synthetic: bool) -> Option<Role> {
    match (synthetic, entry.observation.source) {
        (false, _) => Some(Role::User),
        (true, Source::Api) => Some(Role::System),
        (true, _) => None,
    }
}

/// The parts of the answer that an entry belongs to.
fn answer<'a>(talk: &'a mut Vec<Talk>, entry: &Entry) -> &'a mut Vec<Part> {
    let goes_on = talk
        .last()
        .is_some_and(|last| last.role == Role::Assistant && last.turn == entry.turn);
    if !goes_on {
        talk.push(Talk::begun(entry, Role::Assistant, talk.len(), Vec::new()));
    }
    let last = talk.len() - 1;
    &mut talk[last].parts
}

type Called<'a> = (&'a mut Option<String>, &'a mut Option<(Outcome, String)>);

/// What a call was given and how it ended, to be filled in: its start and its end are entries of their own.
fn called<'a>(parts: &'a mut Vec<Part>, entry: &Entry, tool: &str) -> Called<'a> {
    let key = &entry.observation.event;
    let call = event::call_of(key).unwrap_or(key).to_owned();
    let known = parts
        .iter()
        .position(|part| matches!(part, Part::Call { id, .. } if *id == call));
    let at = known.unwrap_or_else(|| {
        parts.push(Part::Call {
            id: call,
            tool: tool.to_owned(),
            input: None,
            ended: None,
        });
        parts.len() - 1
    });
    match &mut parts[at] {
        Part::Call { input, ended, .. } => (input, ended),
        Part::Text(_) => unreachable!("because the place is that of a call"),
    }
}

/// As plain messages: texts alone.
pub(crate) fn plain(talk: &[Talk]) -> Vec<PastMessage> {
    let past_message = |talk: &Talk| {
        let texts = talk.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Call { .. } => None,
        });
        PastMessage {
            id: talk.id.clone(),
            turn: talk.turn.map(|t| t.to_string()),
            role: talk.role,
            content: texts.collect::<Vec<_>>().join("\n\n"),
            at: talk.at.clone(),
        }
    };
    talk.iter().map(past_message).collect()
}

/// As UI messages of the AI SDK.
pub(crate) fn ui_messages(talk: &[Talk]) -> Vec<Value> {
    let ui_message = |talk: &Talk| {
        let parts: Vec<Value> = talk.parts.iter().map(ui_part).collect();
        let mut metadata = json!({ "at": talk.at });
        if let Some(turn) = talk.turn {
            metadata["turn"] = turn.to_string().into();
        }
        json!({ "id": talk.id, "role": talk.role, "parts": parts, "metadata": metadata })
    };
    talk.iter().map(ui_message).collect()
}

fn ui_part(part: &Part) -> Value {
    let (id, tool, input, ended) = match part {
        Part::Text(text) => return json!({ "type": "text", "text": text, "state": "done" }),
        Part::Call {
            id,
            tool,
            input,
            ended,
        } => (id, tool, input, ended),
    };
    let input = input.as_deref().unwrap_or_default();
    let input = serde_json::from_str(input).unwrap_or_else(|_| Value::from(input));
    let mut value = json!({
        "type": "dynamic-tool", "toolCallId": id, "toolName": tool, "input": input, "providerExecuted": true,
    });
    match ended {
        None => value["state"] = "input-available".into(),
        Some((Outcome::Ok, output)) => {
            value["state"] = "output-available".into();
            value["output"] = output.as_str().into();
        }
        Some((Outcome::Failed, output)) => {
            value["state"] = "output-error".into();
            value["errorText"] = output.as_str().into();
        }
        Some((Outcome::Denied, _)) => {
            value["state"] = "output-denied".into();
            value["approval"] =
                json!({ "id": id, "approved": false, "reason": outcome_word(Outcome::Denied) });
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use siglum_domain::Timestamp;
    use siglum_domain::observation::Observation;
    use siglum_engine::driven::turn::Event;

    use super::*;

    fn turn_of(number: u128) -> TurnId {
        format!("trn_{number:032x}").parse().unwrap()
    }

    fn entries(events: Vec<(u128, Event)>) -> Vec<Entry> {
        let now = Timestamp::from_nanos(0);
        let entry = |(place, (turn, event)): (usize, (u128, Event))| {
            let observation: Observation = event.observed(now);
            Entry {
                id: format!("evt_{place:032x}").parse().unwrap(),
                sequence: u64::try_from(place).unwrap() + 1,
                turn: Some(turn_of(turn)),
                recorded_at: now,
                observation,
            }
        };
        events.into_iter().enumerate().map(entry).collect()
    }

    #[test]
    fn turns_become_prompts_and_answers() {
        let talk = Talk::from_entries(&entries(vec![
            (1, Event::prompt("p1", "do it")),
            (1, Event::message("m1", "first")),
            (1, Event::tool_call("c1", "read", r#"{"path":"a"}"#)),
            (1, Event::tool_result("c1", "read", "text")),
            (1, Event::tool_call("c2", "rm", "plain")),
            (
                1,
                Event::tool_result("c2", "rm", "no").outcome(Outcome::Denied),
            ),
            (1, Event::message("m2", "then")),
            (1, Event::stop("p1")),
            (2, Event::prompt("p2", "again")),
            (2, Event::message("m3", "done")),
            (3, Event::prompt("p3", "by nobody").synthetic()),
        ]));
        let messages: Vec<_> = plain(&talk)
            .into_iter()
            .map(|m| (m.role, m.content))
            .collect();
        assert_eq!(
            messages,
            [
                (Role::User, "do it".to_owned()),
                (Role::Assistant, "first\n\nthen".to_owned()),
                (Role::User, "again".to_owned()),
                (Role::Assistant, "done".to_owned()),
                (Role::System, "by nobody".to_owned()),
            ]
        );
        let ui = ui_messages(&talk);
        let turn = turn_of(1).to_string();
        assert_eq!(ui[1]["id"], turn);
        assert_ne!(ui[0]["id"], ui[1]["id"]);
        let states: Vec<_> = ui[1]["parts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| p["state"].as_str().unwrap())
            .collect();
        assert_eq!(
            states,
            ["done", "output-available", "output-denied", "done"]
        );
        assert_eq!(ui[1]["parts"][1]["input"]["path"], "a");
        assert_eq!(ui[1]["parts"][2]["input"], "plain");
        assert_eq!(talk[2].first, 9);
        assert_eq!(ui[4]["role"], "system");
        let mut own = entries(vec![(1, Event::prompt("p1", "to itself").synthetic())]);
        own[0].observation.source = Source::Transcript;
        assert_eq!(Talk::from_entries(&own), []);
    }
}
