//! The suite on good stores, and stores with a row of every kind.

mod plans;
mod sums;
mod tallies;

use std::path::Path;
use std::sync::OnceLock;

use siglum_domain::LedgerId;
use siglum_ledger::sqlite::Open;
use siglum_ledger::{Ledger, LedgerError, SqliteLedger};
use uuid::Uuid;

use super::check::Desk;
use super::{Server, Shelf, run, survey, tenant_shelf};

struct Sqlite(tempfile::TempDir);

impl Sqlite {
    fn new() -> Self {
        Self(directory())
    }
}

impl Shelf for Sqlite {
    fn open(&self) -> Result<Box<dyn Ledger + Send>, LedgerError> {
        open_or_copy(&self.0.path().join("ledger.db"))
    }
}

/// A directory for stores, in memory where there is such a place: the suite asks nothing of a disk.
pub(super) fn directory() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let dir = if memory.is_dir() {
        tempfile::tempdir_in(memory)
    } else {
        tempfile::tempdir()
    };
    dir.unwrap()
}

/// An empty store, made once: to copy it is faster than to make another one.
fn template() -> &'static [u8] {
    static TEMPLATE: OnceLock<Vec<u8>> = OnceLock::new();
    TEMPLATE.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger.db");
        drop(open(&path).unwrap());
        let db = rusqlite::Connection::open(&path).unwrap();
        db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .unwrap();
        drop(db);
        std::fs::read(&path).unwrap()
    })
}

/// Opens a store, which is empty the first time.
pub(super) fn open_or_copy(path: &Path) -> Result<Box<dyn Ledger + Send>, LedgerError> {
    if !path.exists() {
        std::fs::write(path, template()).unwrap();
    }
    open(path)
}

fn command() -> Open {
    Open::Command {
        id: LedgerId::from_uuid(Uuid::from_u128(1)),
        key: [3; 32],
    }
}

fn open(path: &Path) -> Result<Box<dyn Ledger + Send>, LedgerError> {
    Ok(Box::new(SqliteLedger::open(path, command())?))
}

/// Writes at least one row through every verb that writes.
fn fill(ledger: Box<dyn Ledger + Send>) {
    survey::fill(&mut Desk(ledger)).expect("because the suite fills every store so");
}

#[track_caller]
fn passes(fresh: &dyn Fn() -> Box<dyn Shelf>) {
    let failures: Vec<_> = run(fresh)
        .iter()
        .map(|f| format!("{}: {}\n", f.check, f.reason))
        .collect();
    assert!(failures.is_empty(), "\n{}", failures.concat());
}

#[test]
fn sqlite_passes() {
    passes(&|| Box::new(Sqlite::new()));
}

#[test]
fn postgres_passes() {
    let Some(address) = Server::address() else {
        println!("not tested: SIGLUM_TEST_PG is not set");
        return;
    };
    let server = Server::shared(&address).unwrap();
    passes(&|| tenant_shelf(&server));
}
