//! A place for a store on the PostgreSQL server of the tests.

use siglum_domain::LedgerId;
use siglum_ledger::sqlite::Open;
use siglum_ledger::testing::Server;
use siglum_ledger::{Ledger, LedgerError, PostgresLedger, PostgresSettings};
use uuid::Uuid;

use super::Shelf;

/// One tenant's place.
struct TenantShelf(PostgresSettings);

impl Shelf for TenantShelf {
    fn open(&self) -> Result<Box<dyn Ledger + Send>, LedgerError> {
        let how = Open::Command {
            id: LedgerId::from_uuid(Uuid::from_u128(1)),
            key: [3; 32],
        };
        Ok(Box::new(PostgresLedger::open(&self.0, how)?))
    }
}

/// A fresh shelf for [`run`](super::run): the place of a tenant that nobody else uses.
#[must_use]
pub fn tenant_shelf(server: &Server) -> Box<dyn Shelf> {
    Box::new(TenantShelf(server.settings(server.tenant())))
}
