//! Driven turns on a real ledger.

mod cost;
mod driving;
mod lost;
mod recovery;
mod shapes;

use std::time::Duration;

use siglum_domain::observation::{
    Body, Fact, Observation, Outcome, Role, Source, ToolClass, event,
};
use siglum_domain::process::ProcessIdentity;
use siglum_domain::redact::Redactor;
use siglum_domain::{AgentName, ConversationId, SessionId};
use siglum_ledger::{Durability, Ledger, LedgerError};

use super::*;
use crate::World;
use crate::tests::stage::{Stage, at};

const TERM: Duration = Duration::from_secs(30);

fn body(text: &str) -> Body {
    Body::Text(Redactor::shared().redact(text))
}

fn api_observation(key: &str, event: String, fact: Fact) -> Observation {
    Observation {
        source: Source::Api,
        key: key.to_owned(),
        event,
        at: at(5),
        turn: None,
        subagent: None,
        fact,
    }
}

fn prompt(text: &str) -> Observation {
    let fact = Fact::Prompt {
        text: body(text),
        synthetic: false,
    };
    api_observation("prompt", event::prompt("t"), fact)
}

fn message(key: &str, text: &str) -> Observation {
    let fact = Fact::Message {
        role: Role::Assistant,
        text: body(text),
        model: Some("m".to_owned()),
        tokens: None,
        request: None,
    };
    api_observation(key, event::message(key), fact)
}

fn call(id: &str) -> Observation {
    let fact = Fact::ToolStarted {
        tool: "Bash".to_owned(),
        class: ToolClass::Shell,
        input: body("make"),
        path: None,
    };
    api_observation(&format!("call:{id}"), event::tool(id), fact)
}

fn result(id: &str) -> Observation {
    let fact = Fact::ToolEnded {
        tool: "Bash".to_owned(),
        class: ToolClass::Shell,
        outcome: Outcome::Ok,
        output: Some(body("made")),
        duration_ms: Some(3),
    };
    api_observation(&format!("result:{id}"), event::tool(id), fact)
}

fn stop() -> Observation {
    let fact = Fact::Stopped {
        last_message: None,
        background: Vec::new(),
        failure: None,
    };
    api_observation("stop", event::stop("t"), fact)
}

fn holder(name: &str, pid: Option<u32>) -> Holder {
    let process = pid.map(|pid| ProcessIdentity {
        host: "h".to_owned(),
        boot: "b".to_owned(),
        namespace: 1,
        pid,
        start: 1,
    });
    Holder {
        name: name.to_owned(),
        nonce: name.to_owned(),
        process,
    }
}

fn conversation(name: &str) -> ConversationId {
    ConversationId::new(name).unwrap()
}

/// Does something as a driver would, with the world of a stage.
fn act<T>(stage: &mut Stage, deed: impl FnOnce(&World<'_>, &mut dyn Ledger) -> T) -> T {
    stage.play(|world, ledger| deed(world, ledger))
}

fn created(stage: &mut Stage) -> SessionId {
    let new = NewSession {
        agent: AgentName::new("house").unwrap(),
        conversation: conversation("c-1"),
        cwd: None,
        links: Vec::new(),
        by: "ann".to_owned(),
    };
    act(stage, |world, ledger| {
        create(world, ledger, &new).unwrap().id
    })
}

fn take(stage: &mut Stage, session: SessionId, holder: &Holder) -> Result<Driver, TurnError> {
    act(stage, |world, ledger| {
        Driver::take(world, ledger, session, holder, TERM)
    })
}

/// A session with a driver, process 50.
fn driving() -> (Stage, SessionId, Driver) {
    let mut stage = Stage::new();
    let session = created(&mut stage);
    let driver = take(&mut stage, session, &holder("one", Some(50))).unwrap();
    (stage, session, driver)
}

fn turn(stage: &mut Stage, driver: &mut Driver, key: &str) -> Result<Committed, TurnError> {
    let all = [prompt(key), message("m", "Done."), stop()];
    // Keys are those of the session, so each turn has its own.
    let all = all.map(|mut o| {
        o.key = format!("{key}/{}", o.key);
        o
    });
    act(stage, |world, ledger| {
        driver.commit(world, ledger, key, &all)
    })
}

fn log(stage: &mut Stage, session: SessionId) -> Vec<String> {
    let page = act(stage, |_, ledger| committed(ledger, session, 0, 0).unwrap());
    page.entries
        .iter()
        .map(|e| e.observation.fact.kind().to_owned())
        .collect()
}
