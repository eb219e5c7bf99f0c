//! The suite on a good store.

use std::path::Path;

use crate::sqlite::{Open, SqliteLedger};
use crate::{Ledger, LedgerError};

use super::{Shelf, run};

struct Sqlite(tempfile::TempDir);

impl Shelf for Sqlite {
    fn open(&self) -> Result<Box<dyn Ledger>, LedgerError> {
        open(&self.0.path().join("ledger.db"))
    }
}

pub(super) fn open(path: &Path) -> Result<Box<dyn Ledger>, LedgerError> {
    let how = Open::Command {
        id: siglum_domain::LedgerId::from_uuid(uuid::Uuid::from_u128(1)),
        key: [3; 32],
    };
    Ok(Box::new(SqliteLedger::open(path, how)?))
}

#[test]
fn sqlite_passes() {
    let failures = run(&|| Box::new(Sqlite(tempfile::tempdir().unwrap())));
    let told: Vec<_> = failures
        .iter()
        .map(|f| format!("{}: {}\n", f.check, f.reason))
        .collect();
    assert!(told.is_empty(), "\n{}", told.concat());
}
