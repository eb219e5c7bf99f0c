//! Driven sessions, as a runtime has them that keeps its sessions with Siglum.

use std::path::Path;
use std::time::Duration;

use siglum_domain::observation::{
    Body, Fact, Observation, Outcome, Role, Source, ToolClass, event,
};
use siglum_domain::redact::Redactor;
use siglum_domain::{AgentName, ConversationId, LedgerId, SessionId};
use siglum_engine::Here;
use siglum_engine::driven::turn::{self, Driver, Holder, NewSession};
use siglum_ledger::sqlite::Open;
use siglum_ledger::{Durability, Ledger, LedgerError, SqliteLedger, Transaction};
use siglum_platform::clock::{Ids, now, secret};

use crate::Fallible;

/// The process that drives: this one.
pub(crate) fn here() -> Here<'static> {
    Here {
        ids: &Ids,
        clock: &now,
        alive: &siglum_platform::alive,
        redactor: Redactor::shared(),
    }
}

/// Opens a ledger as runtimes do, and creates it the first time.
pub(crate) fn how() -> Open {
    Open::Command {
        id: LedgerId::mint(&Ids),
        key: secret(),
    }
}

/// Opens the ledger in a file.
pub(crate) fn open(path: &Path) -> Fallible<SqliteLedger> {
    Ok(SqliteLedger::open(path, how())?)
}

/// A new session and its driver, which has it for as long as any bench takes.
pub(crate) fn begin(ledger: &mut dyn Ledger, name: &str) -> Fallible<(SessionId, Driver)> {
    let new = NewSession {
        agent: AgentName::new("house")?,
        conversation: ConversationId::new(name)?,
        cwd: None,
        links: Vec::new(),
        by: "bench".to_owned(),
    };
    let session = turn::create(&here(), ledger, &new)?.id;
    Ok((session, take(ledger, session)?))
}

/// Takes the lease of a session, and what the driver before left.
pub(crate) fn take(ledger: &mut dyn Ledger, session: SessionId) -> Fallible<Driver> {
    let me = Holder {
        name: "bench".to_owned(),
        nonce: siglum_domain::IdSource::fresh(&Ids).to_string(),
        process: siglum_platform::own(),
    };
    let term = Duration::from_hours(10);
    Ok(Driver::take(&here(), ledger, session, &me, term)?)
}

fn api_observation(key: String, event: String, fact: Fact) -> Observation {
    Observation {
        source: Source::Api,
        key,
        event,
        at: now(),
        turn: None,
        subagent: None,
        fact,
    }
}

fn body(text: &str) -> Body {
    Body::Text(Redactor::shared().redact(text))
}

/// What a person asks in a turn.
pub(crate) fn prompt(turn: &str, text: &str) -> Observation {
    let fact = Fact::Prompt {
        text: body(text),
        synthetic: false,
    };
    api_observation(format!("{turn}/prompt"), event::prompt(turn), fact)
}

/// What the agent answers.
pub(crate) fn message(turn: &str, id: &str, text: &str) -> Observation {
    let fact = Fact::Message {
        role: Role::Assistant,
        text: body(text),
        model: None,
        tokens: None,
        request: None,
    };
    let key = format!("{turn}/{id}");
    api_observation(key.clone(), event::message(&key), fact)
}

/// A call of a tool, and its result.
pub(crate) fn call(turn: &str) -> [Observation; 2] {
    let event = event::tool(turn);
    let started = Fact::ToolStarted {
        tool: "Bash".to_owned(),
        class: ToolClass::Shell,
        input: body("make"),
        path: None,
    };
    let ended = Fact::ToolEnded {
        tool: "Bash".to_owned(),
        class: ToolClass::Shell,
        outcome: Outcome::Ok,
        output: Some(body("made")),
        duration_ms: Some(3),
    };
    [
        api_observation(format!("{turn}/call"), event.clone(), started),
        api_observation(format!("{turn}/result"), event, ended),
    ]
}

pub(crate) fn compacted(turn: &str, summary: &str) -> Observation {
    let fact = Fact::Compacted {
        trigger: "auto".to_owned(),
        summary: Some(body(summary)),
    };
    api_observation(format!("{turn}/compacted"), format!("compact:{turn}"), fact)
}

/// A ledger that syncs nothing, so that the processor is all that counts.
pub(crate) struct Unsynced<'a>(pub(crate) &'a mut SqliteLedger);

impl Ledger for Unsynced<'_> {
    fn id(&self) -> LedgerId {
        self.0.id()
    }

    fn key(&self) -> [u8; 32] {
        self.0.key()
    }

    fn read(
        &mut self,
        work: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        self.0.read(work)
    }

    fn write(
        &mut self,
        _: Durability,
        work: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        self.0.write(Durability::Process, work)
    }

    fn maintain(&mut self) -> Result<(), LedgerError> {
        self.0.maintain()
    }

    fn maintain_at_work(&mut self) -> Result<(), LedgerError> {
        self.0.maintain_at_work()
    }

    fn scrub(&mut self) -> Result<(), LedgerError> {
        self.0.scrub()
    }

    fn check(&mut self) -> Result<Vec<String>, LedgerError> {
        self.0.check()
    }
}
