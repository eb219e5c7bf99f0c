//! Hints from process to process that something was committed.
//!
//! Asking is the truth: whoever waits finds everything that is due by asking now and then. A hint only makes it
//! sooner, so it is told after the commit and outside of it, it may be lost, and a database that knows no
//! notifications lacks nothing but speed.

use std::time::Duration;

use postgres::fallible_iterator::FallibleIterator;
use siglum_domain::LedgerId;

use super::connection::Link;
use super::error;
use super::settings::PostgresSettings;
use crate::LedgerError;

/// The channel of all ledgers in a database. What is told is the id of one: it names no tenant.
const CHANNEL: &str = "siglum";

/// Tells everybody who waits that something was committed in a ledger.
pub(super) fn tell(link: &mut Link, ledger: LedgerId) -> Result<(), postgres::Error> {
    let statement = link.prepare("SELECT pg_notify($1, $2)")?;
    let id = ledger.to_string();
    link.client.query(&statement, &[&CHANNEL, &id]).map(drop)
}

/// Waits for hints of one ledger, on a connection of its own.
pub struct PostgresHints {
    link: Link,
    ledger: String,
}

impl PostgresHints {
    /// Begins to listen.
    ///
    /// # Errors
    /// [`LedgerError::Unreachable`] where there is no connection; [`LedgerError::Storage`] where the database knows
    /// no notifications.
    pub fn listen(settings: &PostgresSettings, ledger: LedgerId) -> Result<Self, LedgerError> {
        let mut link = Link::make(settings)?;
        let listen = format!("LISTEN {CHANNEL}");
        link.client.batch_execute(&listen).map_err(error::refused)?;
        let ledger = ledger.to_string();
        Ok(Self { link, ledger })
    }

    /// Waits for a hint, `most` at most, and tells whether there was one.
    ///
    /// # Errors
    /// [`LedgerError::Unreachable`] where the connection was lost.
    pub fn wait(&mut self, most: Duration) -> Result<bool, LedgerError> {
        let mut notifications = self.link.client.notifications();
        let mut incoming = notifications.timeout_iter(most);
        while let Some(notification) = incoming.next().map_err(error::refused)? {
            if notification.payload() == self.ledger {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl std::fmt::Debug for PostgresHints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PostgresHints").field(&self.ledger).finish()
    }
}
