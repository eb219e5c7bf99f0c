//! What belongs to a server: its schema, its locks, its connection.

mod blobs;
mod cancelling;
mod losses;
mod opening;
mod shared_connection;
mod tallies;
mod together;
mod transactions;

use siglum_domain::intake::Decline;
use siglum_domain::observation::{Fact, Observation, Source};
use siglum_domain::{
    AgentName, ConversationId, LedgerId, NativeId, ObservationId, SessionId, Timestamp,
};
use uuid::Uuid;

use super::{PostgresConnection, PostgresHints, PostgresLedger, PostgresSettings, SharedLedger};
use crate::record::{Mode, SessionFilter, SessionOrigin, SessionRecord};
use crate::sqlite::Open;
use crate::testing::Server;
use crate::{Durability, Ledger, LedgerError, NewEntry, Transaction};

/// A store of the server, and a tenant of it.
struct Home {
    server: Server,
    settings: PostgresSettings,
}

impl Home {
    /// In the schema that all tests share; absent without a server.
    fn shared() -> Option<Self> {
        Server::address().map(|address| Self::new(Server::shared(&address).unwrap()))
    }

    /// In an empty schema of its own; absent without a server.
    fn own() -> Option<Self> {
        Server::address().map(|address| Self::new(Server::own(&address).unwrap()))
    }

    fn new(server: Server) -> Self {
        let settings = server.settings(server.tenant());
        Self { server, settings }
    }

    fn open(&self) -> PostgresLedger {
        PostgresLedger::open(&self.settings, command(1)).unwrap()
    }

    fn tenant(&self) -> &str {
        self.settings.tenant.as_str()
    }

    fn raw(&self) -> postgres::Client {
        self.server.client().unwrap()
    }

    /// A ledger with sessions 1 and 2.
    fn furnished(&self) -> PostgresLedger {
        let mut ledger = self.open();
        let home = ledger.id();
        put(&mut ledger, |tx| {
            tx.create_session(&session(1, home))?;
            tx.create_session(&session(2, home))
        })
        .unwrap();
        ledger
    }
}

fn command(id: u128) -> Open {
    Open::Command {
        id: LedgerId::from_uuid(Uuid::from_u128(id)),
        key: [u8::try_from(id).unwrap(); 32],
    }
}

fn session_id(n: u128) -> SessionId {
    SessionId::from_uuid(Uuid::from_u128(n))
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_nanos(seconds * 1_000_000_000)
}

fn session(n: u128, home: LedgerId) -> SessionRecord {
    SessionRecord::new(
        session_id(n),
        AgentName::new("claude-code").unwrap(),
        ConversationId::new(format!("c{n}")).unwrap(),
        home,
        Mode::Observed,
        SessionOrigin::Live,
        at(1),
    )
}

fn native(id: &str) -> (AgentName, NativeId) {
    let agent = AgentName::new("claude-code").unwrap();
    (agent, NativeId::new(id).unwrap())
}

/// Appends an entry with this key.
fn append(tx: &mut dyn Transaction, session: u128, key: &str) -> Result<(), LedgerError> {
    let seen = Observation {
        source: Source::Hook,
        key: key.to_owned(),
        event: key.to_owned(),
        at: at(2),
        turn: None,
        subagent: None,
        fact: Fact::Other {
            name: "n".to_owned(),
        },
    };
    let entry = NewEntry {
        id: ObservationId::from_uuid(Uuid::from_u128(9)),
        session: session_id(session),
        turn: None,
        recorded_at: at(3),
        salt: [1; 32],
        observation: &seen,
    };
    tx.append(&entry).map(drop)
}

fn put(
    ledger: &mut PostgresLedger,
    mut work: impl FnMut(&mut dyn Transaction) -> Result<(), LedgerError>,
) -> Result<(), LedgerError> {
    ledger.write(Durability::Process, &mut |tx| work(tx))
}

fn decline(ledger: &mut PostgresLedger, detail: &str) -> Result<(), LedgerError> {
    put(ledger, |tx| declined(tx, detail))
}

fn declined(tx: &mut dyn Transaction, detail: &str) -> Result<(), LedgerError> {
    let decline = Decline {
        edge: "test".into(),
        reason: "r".into(),
        detail: detail.into(),
        place: None,
    };
    let key = blake3::hash(detail.as_bytes()).to_hex();
    tx.decline(&key, at(1), &decline)
}

/// The details of what was declined, the last one first.
fn details(ledger: &mut PostgresLedger) -> Vec<String> {
    let found = crate::read(ledger, |tx| tx.declines(at(0), 1000)).unwrap();
    found.into_iter().map(|d| d.detail).collect()
}

/// An error with all that caused it.
fn error_chain(error: &LedgerError) -> String {
    let mut text = format!("{error:?} {error}");
    let mut cause: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(&format!(": {error} {error:?}"));
        cause = error.source();
    }
    text
}
