//! What is kept for a time only, gone wrong.

use siglum_domain::{SessionId, Timestamp};
use siglum_ledger::{LedgerError, Retention, TelemetryStore};

use super::own::{EARLY, LATE};
use super::verbs::broken;
use super::{BrokenTx, Fault, Kind};

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// Faults of the verbs that have their own.
pub(super) const FAULTS: &[Fault] = &[
    Fault::Ignores("idle_sessions", "which"),
    Fault::Ignores("idle_sessions", "before"),
    Fault::Ignores("idle_sessions", "now"),
    Fault::Lost("drop_old_telemetry"),
    Fault::OneMore("drop_old_telemetry"),
    Fault::Ignores("drop_old_telemetry", "store"),
    Fault::Ignores("drop_old_telemetry", "before"),
    Fault::Lost("drop_audit"),
    Fault::OneMore("drop_audit"),
    Fault::Ignores("drop_audit", "number"),
];

/// Lists with faults of their own beside those of their kind.
pub(super) const LISTS: &[&str] = &["idle_sessions"];

broken! { Retention, RETENTION, LIMITED;
    Own idle_sessions(which: Option<SessionId>, before: Timestamp, now: Timestamp; limit) -> Vec<SessionId>;
    Own drop_old_telemetry(store: TelemetryStore, before: Timestamp; limit) -> u64;
    Own drop_audit(number: u64) -> u64;
    Own owe_scrub() -> ();
}

impl BrokenTx<'_> {
    fn idle_sessions(
        &mut self,
        which: Option<SessionId>,
        before: Timestamp,
        now: Timestamp,
        limit: usize,
    ) -> Result<Vec<SessionId>> {
        let which = which.filter(|_| !self.ignores("idle_sessions", "which"));
        let before = match self.ignores("idle_sessions", "before") {
            true => LATE,
            false => before,
        };
        let now = match self.ignores("idle_sessions", "now") {
            true => EARLY,
            false => now,
        };
        let rows = self.good.idle_sessions(which, before, now, limit)?;
        Ok(self.listed("idle_sessions", rows))
    }

    fn drop_old_telemetry(
        &mut self,
        store: TelemetryStore,
        before: Timestamp,
        limit: usize,
    ) -> Result<u64> {
        if self.lost("drop_old_telemetry") {
            return Ok(1);
        }
        let store = match self.ignores("drop_old_telemetry", "store") {
            true => TelemetryStore::Inbox,
            false => store,
        };
        let before = match self.ignores("drop_old_telemetry", "before") {
            true => LATE,
            false => before,
        };
        let gone = self.good.drop_old_telemetry(store, before, limit)?;
        Ok(gone + u64::from(self.state.fault == Fault::OneMore("drop_old_telemetry")))
    }

    fn drop_audit(&mut self, number: u64) -> Result<u64> {
        if self.lost("drop_audit") {
            return Ok(2);
        }
        let number = match self.ignores("drop_audit", "number") {
            true => 1_000,
            false => number,
        };
        let gone = self.good.drop_audit(number)?;
        Ok(gone + u64::from(self.state.fault == Fault::OneMore("drop_audit")))
    }
    /// What was noted says nothing to whoever asks for what is stored.
    fn owe_scrub(&mut self) -> Result<()> {
        self.good.owe_scrub()
    }
}
