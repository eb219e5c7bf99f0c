//! Verbs of what is kept for a time only: what is old enough to go, and letting go of it.

use siglum_domain::{SessionId, Timestamp};

use crate::LedgerError;
use crate::telemetry::TelemetryStore;

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// What is old, and letting go of it.
#[expect(
    clippy::missing_errors_doc,
    reason = "every verb fails as its transaction does"
)]
pub trait Retention {
    /// Sessions that have been silent since before a time, were not forgotten since then, and that nothing holds `now`;
    /// longest silent first. With `which`, only that one. In a transaction that writes, nobody changes them meanwhile.
    ///
    /// A session is held by an open turn, a lease, entries that no receipt seals, a transcript that is to be read, a
    /// receipt that a projection is to get and has not refused, telemetry that waits for a destination, a checkpoint that a person asked for, its archiving or
    /// quarantine, and by a later fork or context that reads its log, over others, too.
    fn idle_sessions(
        &mut self,
        which: Option<SessionId>,
        before: Timestamp,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<SessionId>>;
    /// Lets go of telemetry that has been kept in a place since before a time, oldest first; gives how many rows went.
    fn drop_old_telemetry(
        &mut self,
        store: TelemetryStore,
        before: Timestamp,
        limit: usize,
    ) -> Result<u64>;
    /// Lets go of the audit's entries up to a number; gives how many went. The next entry is chained to the last one all
    /// the same.
    fn drop_audit(&mut self, number: u64) -> Result<u64>;
    /// Notes that the store's files are to be scrubbed once nothing more goes, since something goes in this transaction.
    /// Where a store has none for which that is worth waiting, there is nothing to note.
    fn owe_scrub(&mut self) -> Result<()>;
}
