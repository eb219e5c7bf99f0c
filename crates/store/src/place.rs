//! Where a ledger is, and the process that this runs in.

use std::path::PathBuf;

use siglum_domain::LedgerId;
use siglum_domain::redact::Redactor;
use siglum_engine::Here;
use siglum_ledger::sqlite::Open;
use siglum_ledger::{Ledger, LedgerError, SqliteLedger};
use siglum_platform::clock::{self, Ids};

/// The process that this runs in.
pub(crate) fn here() -> Here<'static> {
    Here {
        ids: &Ids,
        clock: &clock::now,
        alive: &siglum_platform::alive,
        redactor: Redactor::shared(),
    }
}

/// Where a ledger is.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// A file on this machine.
    File(PathBuf),
    /// A tenant's part of a PostgreSQL store.
    #[cfg(feature = "postgres")]
    Server(Box<siglum_ledger::PostgresSettings>),
}

impl Place {
    pub(crate) fn connect(&self) -> Result<Box<dyn Ledger + Send>, LedgerError> {
        let how = Open::Command {
            id: LedgerId::mint(&Ids),
            key: clock::secret(),
        };
        Ok(match self {
            Self::File(path) => Box::new(SqliteLedger::open(path, how)?),
            #[cfg(feature = "postgres")]
            Self::Server(at) => Box::new(siglum_ledger::PostgresLedger::open(at, how)?),
        })
    }
}
