//! What SQL the ledgers of a process run, for tests of how stores answer it.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use rusqlite::trace::{TraceEvent, TraceEventCodes};

/// A kind of store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StoreKind {
    Sqlite,
    Postgres,
}

type Statements = BTreeSet<(StoreKind, String)>;

/// Absent while nobody wants to know.
static RECORDED: Mutex<Option<Statements>> = Mutex::new(None);

fn recorded() -> MutexGuard<'static, Option<Statements>> {
    RECORDED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records the statements of ledgers that are opened from now on in this process.
pub fn record_statements() {
    recorded().get_or_insert_with(Statements::new);
}

/// The statements that were recorded, each once.
#[must_use]
pub fn recorded_statements(kind: StoreKind) -> Vec<String> {
    let recorded = recorded();
    let all = recorded.iter().flatten();
    let of_kind = all.filter(|(of, _)| *of == kind);
    of_kind.map(|(_, sql)| sql.clone()).collect()
}

/// Records a statement, where that is wanted.
pub(crate) fn note_statement(kind: StoreKind, sql: &str) {
    if let Some(recorded) = recorded().as_mut() {
        recorded.insert((kind, sql.to_owned()));
    }
}

/// A connection whose statements are recorded, where that is wanted.
pub(crate) fn watched(mut db: Connection) -> rusqlite::Result<Connection> {
    if recorded().is_some() {
        let note = |event: TraceEvent<'_>| {
            if let TraceEvent::Profile(statement, _) = event {
                note_statement(StoreKind::Sqlite, &statement.sql());
            }
        };
        db.trace_v2(TraceEventCodes::SQLITE_TRACE_PROFILE, Some(note))?;
    }
    Ok(db)
}
