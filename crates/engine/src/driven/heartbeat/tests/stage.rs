//! Several processes on one ledger, each with a clock of its own, and agents that are played.

use std::cell::Cell;

use siglum_domain::context::{ContextKey, Keys};
use siglum_domain::heartbeat::HeartbeatName;
use siglum_domain::observation::{Body, Fact, Observation, Source, event};
use siglum_domain::redact::Redactor;
use siglum_domain::{AgentName, ConversationId, IdSource, ObservationId, SessionId, Timestamp};
use siglum_ledger::sqlite::Open;
use siglum_ledger::{
    Durability, Ledger, LedgerError, Mode, NewEntry, SessionOrigin, SessionRecord, SqliteLedger,
    TickRecord, Transaction, read, write,
};
use uuid::Uuid;

use crate::Here;
use crate::driven::heartbeat::*;

pub(super) fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

pub(super) fn name(text: &str) -> HeartbeatName {
    HeartbeatName::new(text).unwrap()
}

/// A heartbeat, as JSON without its outer braces.
pub(super) fn defined(text: &str, form: &str) -> Definition {
    let form = format!(r#"{{"agent":"claude-code","prompt":"Look.",{form}}}"#);
    Definition::parse(name(text), serde_json::from_str(&form).unwrap()).unwrap()
}

struct Ids(Cell<u128>);

impl IdSource for Ids {
    fn fresh(&self) -> Uuid {
        self.0.set(self.0.get() + 1);
        Uuid::from_u128(0x0192_0000_0000_7000_8000_0000_0000_0000 + self.0.get())
    }
}

/// A process that fires.
pub(super) struct Replica {
    pub(super) ledger: Box<dyn Ledger + Send>,
    pub(super) name: String,
    /// How far its clock is ahead, in milliseconds.
    pub(super) skew: i64,
    ids: Ids,
}

impl Replica {
    pub(super) fn new(ledger: Box<dyn Ledger + Send>, n: u128, skew: i64) -> Self {
        Self {
            ledger,
            name: format!("replica {n}"),
            skew,
            ids: Ids(Cell::new(n << 40)),
        }
    }

    pub(super) fn play<T>(
        &mut self,
        now: Timestamp,
        deed: impl FnOnce(&Here<'_>, &mut dyn Ledger) -> T,
    ) -> T {
        let now = now.plus_millis(self.skew);
        let here = Here {
            ids: &self.ids,
            clock: &|| now,
            alive: &|_| None,
            redactor: Redactor::shared(),
        };
        deed(&here, self.ledger.as_mut())
    }

    pub(super) fn claim(&mut self, now: Timestamp) -> Vec<Claimed> {
        let by = self.name.clone();
        self.play(now, |here, ledger| {
            claim(here, ledger, &by, &|_| true).unwrap()
        })
    }

    /// Begins a claimed tick, with a session that is only played: one prompt, sealed.
    pub(super) fn begin(&mut self, now: Timestamp, claimed: &Claimed) -> Keys {
        let route = claimed.definition.route.clone();
        let held = claimed.held();
        self.play(now, |here, ledger| {
            let session = played(here, ledger);
            let keys = match claimed.definition.isolation {
                Isolation::Isolated => Keys::isolated(route, session).unwrap(),
                Isolation::Shared => Keys::shared(route),
            };
            began(here, ledger, &held, session, &keys.context).unwrap();
            keys
        })
    }

    pub(super) fn end(
        &mut self,
        now: Timestamp,
        claimed: &Claimed,
        ended: &Ended,
    ) -> Result<TickRecord, HeartbeatError> {
        let used = Used {
            tokens: 10,
            nano_usd: 7,
        };
        self.play(now, |here, ledger| end(here, ledger, claimed, ended, used))
    }

    pub(super) fn deliver(
        &mut self,
        now: Timestamp,
        mut send: impl FnMut(&Parcel) -> Result<(), Undelivered>,
    ) {
        self.play(now, |here, ledger| {
            for parcel in take(here, ledger).unwrap() {
                let outcome = send(&parcel);
                settle(here, ledger, &parcel, &outcome).unwrap();
            }
        });
    }

    pub(super) fn ticks(&mut self, of: &str) -> Vec<TickRecord> {
        ticks(self.ledger.as_mut(), &name(of), None, 100_000).unwrap()
    }

    pub(super) fn read<T>(
        &mut self,
        work: impl FnMut(&mut dyn Transaction) -> Result<T, LedgerError>,
    ) -> T {
        read(self.ledger.as_mut(), work).unwrap()
    }
}

/// A session of one sealed prompt, in one transaction.
pub(super) fn played(here: &Here<'_>, ledger: &mut dyn Ledger) -> SessionId {
    let session = SessionId::mint(here.ids);
    let record = SessionRecord::new(
        session,
        AgentName::new("claude-code").unwrap(),
        ConversationId::new(session.to_string()).unwrap(),
        ledger.id(),
        Mode::Driven,
        SessionOrigin::Api,
        here.now(),
    );
    let prompt = Observation {
        source: Source::Api,
        key: "prompt".to_owned(),
        event: event::prompt("t"),
        at: here.now(),
        turn: None,
        subagent: None,
        fact: Fact::Prompt {
            text: Body::Text(here.redactor.redact("Look.")),
            synthetic: false,
        },
    };
    write(ledger, Durability::Process, |tx| {
        tx.create_session(&record)?;
        tx.append(&NewEntry {
            session,
            id: ObservationId::mint(here.ids),
            turn: None,
            recorded_at: here.now(),
            salt: [7; 32],
            observation: &prompt,
        })?;
        let rows: Vec<_> = tx
            .to_seal(session, 1, 1)?
            .into_iter()
            .map(|(row, _)| row)
            .collect();
        let receipt = siglum_domain::receipt::seal(session, None, &rows, vec![], here.now());
        assert!(tx.put_receipt(&receipt.unwrap())?);
        Ok(())
    })
    .unwrap();
    session
}

/// A place for a ledger in memory, where there is one.
pub(super) fn place() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    match memory.is_dir() {
        true => tempfile::tempdir_in(memory).unwrap(),
        false => tempfile::tempdir().unwrap(),
    }
}

pub(super) fn opened(dir: &tempfile::TempDir) -> Box<dyn Ledger + Send> {
    let how = Open::Command {
        id: siglum_domain::LedgerId::from_uuid(Uuid::from_u128(1)),
        key: [3; 32],
    };
    Box::new(SqliteLedger::open(&dir.path().join("ledger.db"), how).unwrap())
}

/// Whether a context key belongs to one run alone.
pub(super) fn is_of_one_run(key: &ContextKey, session: SessionId) -> bool {
    key.as_str().ends_with(&format!("-run:{session}"))
}
