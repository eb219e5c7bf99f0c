//! The ledger of a tenant on a connection that several threads share.
//!
//! A thread has the connection for the time of a transaction, and not while it waits for anything else, such as a server
//! that it hands something to. So any number of threads need one connection.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use siglum_domain::{LedgerId, Tenant, Timestamp};

use super::open::PostgresLedger;
use super::shared_connection::PostgresConnection;
use crate::{BlobWork, Durability, Ledger, LedgerError, Transaction};

/// The ledger of a tenant, which takes turns with others on one connection. A copy is the same ledger.
#[derive(Clone)]
pub struct SharedLedger {
    connection: Arc<Mutex<PostgresConnection>>,
    tenant: Tenant,
    id: LedgerId,
    key: [u8; 32],
}

impl SharedLedger {
    /// The ledger of a tenant.
    ///
    /// # Errors
    /// As [`PostgresConnection::with`].
    pub fn open(
        connection: &Arc<Mutex<PostgresConnection>>,
        tenant: Tenant,
    ) -> Result<Self, LedgerError> {
        let mut shared = connection.lock().unwrap_or_else(PoisonError::into_inner);
        let (id, key) = shared.with(&tenant, |ledger| (ledger.id(), ledger.key()))?;
        drop(shared);
        Ok(Self {
            connection: Arc::clone(connection),
            tenant,
            id,
            key,
        })
    }

    /// Takes the sole right to something in this ledger, for all threads of the connection; `false` where another
    /// connection has it. See [`PostgresConnection::hold`].
    ///
    /// # Errors
    /// Those of the server.
    pub fn hold(&self, what: &str) -> Result<bool, LedgerError> {
        self.shared().hold(&self.tenant, what)
    }

    /// Gives such a right back.
    pub fn release(&self, what: &str) {
        self.shared().release(&self.tenant, what);
    }

    /// Work that panicked dropped the connection itself, with its transaction.
    fn shared(&self) -> MutexGuard<'_, PostgresConnection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn turn(
        &self,
        work: impl FnOnce(&mut PostgresLedger) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        self.shared().with(&self.tenant, work)?
    }
}

impl Ledger for SharedLedger {
    fn id(&self) -> LedgerId {
        self.id
    }

    fn key(&self) -> [u8; 32] {
        self.key
    }

    fn read(
        &mut self,
        work: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        self.turn(|ledger| ledger.read(work))
    }

    fn write(
        &mut self,
        durability: Durability,
        work: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        self.turn(|ledger| ledger.write(durability, work))
    }

    fn maintain(&mut self) -> Result<(), LedgerError> {
        Ok(())
    }

    fn announce(&mut self) {
        // A hint may be lost.
        let _ = self.turn(|ledger| {
            ledger.announce();
            Ok(())
        });
    }

    fn keep_blobs(&mut self, at: Timestamp) -> Result<BlobWork, LedgerError> {
        self.shared()
            .with(&self.tenant, |ledger| ledger.keep_blobs(at))?
    }

    fn scrub(&mut self) -> Result<(), LedgerError> {
        self.turn(Ledger::scrub)
    }

    fn check(&mut self) -> Result<Vec<String>, LedgerError> {
        self.shared().with(&self.tenant, Ledger::check)?
    }
}
