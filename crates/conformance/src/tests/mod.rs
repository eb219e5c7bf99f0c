//! The suite on good stores, and stores with a row of every kind.

mod plans;
mod sums;
mod tallies;

use std::path::Path;

use siglum_domain::LedgerId;
use siglum_ledger::sqlite::Open;
use siglum_ledger::{Ledger, LedgerError, SqliteLedger};
use uuid::Uuid;

use super::check::Desk;
use super::{Server, Shelf, run, survey, tenant_shelf};

struct Sqlite(tempfile::TempDir);

impl Shelf for Sqlite {
    fn open(&self) -> Result<Box<dyn Ledger + Send>, LedgerError> {
        open(&self.0.path().join("ledger.db"))
    }
}

fn command() -> Open {
    Open::Command {
        id: LedgerId::from_uuid(Uuid::from_u128(1)),
        key: [3; 32],
    }
}

pub(super) fn open(path: &Path) -> Result<Box<dyn Ledger + Send>, LedgerError> {
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
    passes(&|| Box::new(Sqlite(tempfile::tempdir().unwrap())));
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
