//! The suite on a good store.

use std::path::Path;

use crate::sqlite::{Open, SqliteLedger};
use crate::{Ledger, LedgerError};

use super::{Shelf, run};

struct Sqlite(tempfile::TempDir);

impl Shelf for Sqlite {
    fn open(&self) -> Result<Box<dyn Ledger + Send>, LedgerError> {
        open(&self.0.path().join("ledger.db"))
    }
}

pub(super) fn open(path: &Path) -> Result<Box<dyn Ledger + Send>, LedgerError> {
    let how = Open::Command {
        id: siglum_domain::LedgerId::from_uuid(uuid::Uuid::from_u128(1)),
        key: [3; 32],
    };
    Ok(Box::new(SqliteLedger::open(path, how)?))
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

#[cfg(feature = "postgres")]
#[test]
fn postgres_passes() {
    let Some(address) = super::Server::address() else {
        println!("not tested: SIGLUM_TEST_PG is not set");
        return;
    };
    let server = super::Server::shared(&address).unwrap();
    passes(&|| server.shelf());
}
