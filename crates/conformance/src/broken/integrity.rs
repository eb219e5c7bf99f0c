//! Looking at every row, gone wrong.

use siglum_domain::receipt::Receipt;
use siglum_domain::{Oid, RepositoryId, SessionId, Timestamp};
use siglum_ledger::{
    Integrity, LedgerError, Miscount, SessionState, Stored, StoredEntry, StoredSegment,
    StoredSession, Stray, Unlike, Verified,
};

use super::verbs::broken;
use super::{BrokenTx, Fault, Kind};

broken! { Integrity, INTEGRITY, LIMITED;
    List stored_sessions(after: Option<SessionId>; limit) -> Vec<StoredSession>;
    Find stored_session(id: SessionId) -> Option<StoredSession>;
    List stored_entries(session: SessionId, after: u64; limit) -> Vec<Stored<StoredEntry>>;
    List stored_receipts(session: SessionId, after: u64; limit) -> Vec<Stored<Receipt>>;
    List stored_segments(session: SessionId, stream: &str, first: u64; limit) -> Vec<StoredSegment>;
    List edit_objects(session: SessionId, after: &str; limit) -> Vec<String>;
    Find blob_of(object: &str) -> Option<(RepositoryId, Oid)>;
    Own unlike(limit: usize) -> Vec<Unlike>;
    Own unlike_entries(session: SessionId, after: u64, limit: usize) -> Vec<Unlike>;
    List session_states(after: Option<SessionId>; limit) -> Vec<SessionState>;
    Find session_state(id: SessionId) -> Option<SessionState>;
    Write put_verified(session: SessionId, verified: Option<&Verified>) -> ();
    Own miscounts() -> Vec<Miscount>;
    Own strays() -> Vec<Stray>;
    Own greatest_epoch() -> u64;
    Own fence_all(floor: u64, at: Timestamp) -> u64;
}

/// Faults that a verb has beside those of its kind.
pub(super) const FAULTS: &[Fault] = &[Fault::Blind("greatest_epoch"), Fault::Lost("fence_all")];

impl BrokenTx<'_> {
    /// No verb changes a row without its sum, so the suite has none to show.
    fn unlike(&mut self, limit: usize) -> Result<Vec<Unlike>, LedgerError> {
        self.good.unlike(limit)
    }

    /// The same of entries.
    fn unlike_entries(
        &mut self,
        session: SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Unlike>, LedgerError> {
        self.good.unlike_entries(session, after, limit)
    }

    /// No verb writes or drops a row beside its tally, so the suite has none to show.
    fn miscounts(&mut self) -> Result<Vec<Miscount>, LedgerError> {
        self.good.miscounts()
    }

    /// Verbs leave no strays behind, so the suite has none to show.
    fn strays(&mut self) -> Result<Vec<Stray>, LedgerError> {
        self.good.strays()
    }

    fn greatest_epoch(&mut self) -> Result<u64, LedgerError> {
        let greatest = self.good.greatest_epoch()?;
        Ok(self
            .faulty_lookup("greatest_epoch", Some(greatest))
            .unwrap_or(0))
    }

    fn fence_all(&mut self, floor: u64, at: Timestamp) -> Result<u64, LedgerError> {
        if self.lost("fence_all") {
            return Ok(1);
        }
        self.good.fence_all(floor, at)
    }
}
