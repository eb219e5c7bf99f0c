//! What is said in a turn, in short: `{"prompt": "…"}`, `{"answer": "…"}`, `{"note": id}`, `{"call": id}`,
//! `{"result": id}`, `{"stop": ""}`, `{"compact": "…"}`, `{"resumed": model}`.

use serde_json::Value;
use siglum_domain::observation::{
    Body, Fact, Observation, Outcome, Role, Source, StartKind, ToolClass,
};
use siglum_domain::redact::Redactor;
use siglum_engine::World;

pub(crate) fn read(world: &World<'_>, turn: &str, list: &Value) -> Vec<Observation> {
    let items = list.as_array().into_iter().flatten();
    items.map(|item| one(world, turn, item)).collect()
}

fn one(world: &World<'_>, turn: &str, item: &Value) -> Observation {
    let (kind, text) = item.as_object().unwrap().iter().next().unwrap();
    let text = text.as_str().unwrap();
    let body = Body::Text(Redactor::shared().redact(text));
    let (tool, class) = ("tool".to_owned(), ToolClass::Other);
    let (mut key, mut event) = (format!("{kind}:{turn}"), format!("{kind}:{turn}"));
    let fact = match kind.as_str() {
        "prompt" => Fact::Prompt {
            text: body,
            synthetic: false,
        },
        "answer" => Fact::Message {
            role: Role::Assistant,
            text: body,
            model: None,
            tokens: None,
            request: None,
        },
        // An answer of which a turn may have several.
        "note" => {
            key = format!("{kind}:{turn}:{text}");
            event = key.clone();
            Fact::Message {
                role: Role::Assistant,
                text: body,
                model: None,
                tokens: None,
                request: None,
            }
        }
        "stop" => Fact::Stopped {
            last_message: None,
            background: Vec::new(),
            failure: None,
        },
        "compact" => Fact::Compacted {
            trigger: "auto".to_owned(),
            summary: Some(body),
        },
        "resumed" => Fact::SessionStarted {
            how: StartKind::Resume,
            model: Some(text.to_owned()),
        },
        "call" | "result" => {
            key = format!("{kind}:{turn}:{text}");
            event = format!("tool:{turn}:{text}");
            match kind.as_str() {
                "call" => Fact::ToolStarted {
                    tool,
                    class,
                    input: body,
                    path: None,
                },
                _ => Fact::ToolEnded {
                    tool,
                    class,
                    outcome: Outcome::Ok,
                    output: Some(body),
                    duration_ms: None,
                },
            }
        }
        other => panic!("nobody says {other}"),
    };
    Observation {
        source: Source::Api,
        key,
        event,
        at: world.now(),
        turn: None,
        subagent: None,
        fact,
    }
}
