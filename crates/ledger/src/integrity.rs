//! Verbs that look at what is stored row by row, and go on where a row cannot be read.
//!
//! All other verbs fail where one of their rows is damaged. Here each row has an outcome of its own, so that one that
//! went bad is told and hides no other.

use siglum_domain::fold::Entry;
use siglum_domain::receipt::{Receipt, SealedEntry};
use siglum_domain::{Oid, RepositoryId, SessionId, Timestamp};

use crate::record::SessionRecord;
use crate::{LedgerError, Miscount, Unlike};

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// A row, as far as it can be read; else what is wrong with it, in words.
pub type Read<T> = std::result::Result<T, String>;

/// A numbered row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored<T> {
    pub number: u64,
    pub row: Read<T>,
}

/// A session, whether its record can be read or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSession {
    pub id: SessionId,
    pub record: Read<SessionRecord>,
}

/// An entry of a log as it is stored, with what its digest was made of.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredEntry {
    /// The row as a receipt sees it.
    pub sealed: SealedEntry,
    /// The word for its kind of fact.
    pub kind: String,
    /// The earlier of the moments when it happened and when the ledger took it.
    pub at: Timestamp,
    /// The salt of its digest; empty where its payload was forgotten, as a whole or in parts.
    pub salt: Vec<u8>,
    /// Its payload in JSON; nothing where there is none.
    pub payload: Option<Read<String>>,
    /// The entry, where it has a payload.
    pub entry: Option<Read<Entry>>,
}

/// A run of transcript lines, whether it can be read or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredSegment {
    pub stream: String,
    /// The offset of its first line.
    pub first: u64,
    /// How many lines it has.
    pub lines: Read<u64>,
}

/// How far a session was verified, and was sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// What was there of it, as [`SessionState`] has it.
    pub state: String,
    /// Up to when things of it had been forgotten.
    pub forgotten: Option<Timestamp>,
    /// The number of its last receipt; 0 where it had none.
    pub receipt: u64,
    /// The last entry under that receipt.
    pub sequence: u64,
    /// The digest of that receipt.
    pub digest: String,
    pub at: Timestamp,
}

/// What is there of a session, without a look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionState {
    pub session: SessionId,
    /// Numbers of which one changes whenever its record, its log, its receipts, its transcripts, its edits or its open turn
    /// do. They mean nothing but that.
    pub state: String,
    /// How far it was verified last.
    pub verified: Option<Verified>,
}

impl SessionState {
    /// Whether nothing happened to it since it was verified.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        let verified = self.verified.as_ref();
        verified.is_some_and(|verified| verified.state == self.state)
    }
}

/// Rows that belong to nothing that is there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stray {
    pub what: String,
    /// What they say that they belong to.
    pub of: String,
    pub rows: u64,
}

/// Looking at every row, and what a restored store needs.
#[expect(
    clippy::missing_errors_doc,
    reason = "every verb fails as its transaction does"
)]
pub trait Integrity {
    /// The sessions behind an id, by id.
    fn stored_sessions(
        &mut self,
        after: Option<SessionId>,
        limit: usize,
    ) -> Result<Vec<StoredSession>>;
    /// One session.
    fn stored_session(&mut self, id: SessionId) -> Result<Option<StoredSession>>;
    /// The entries of a log behind a sequence, in order.
    fn stored_entries(
        &mut self,
        session: SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Stored<StoredEntry>>>;
    /// The receipts of a session behind a number, in order.
    fn stored_receipts(
        &mut self,
        session: SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Stored<Receipt>>>;
    /// The runs of transcript lines of a session behind the one of `stream` that begins at `first`, by stream and place.
    fn stored_segments(
        &mut self,
        session: SessionId,
        stream: &str,
        first: u64,
        limit: usize,
    ) -> Result<Vec<StoredSegment>>;
    /// The addresses of file versions that the edits of a session name, behind one, in order.
    fn edit_objects(
        &mut self,
        session: SessionId,
        after: &str,
        limit: usize,
    ) -> Result<Vec<String>>;
    /// What git calls a file version that an edit names by its address, and in which repository.
    fn blob_of(&mut self, object: &str) -> Result<Option<(RepositoryId, Oid)>>;
    /// Rows beside the logs whose columns are not what was stored, so many of each table, of those that nothing else
    /// verifies; and sessions whose sums of usage are not what their messages come to.
    fn unlike(&mut self, limit: usize) -> Result<Vec<Unlike>>;
    /// The same of the entries of a log behind a sequence, as far as no receipt covers their columns.
    fn unlike_entries(
        &mut self,
        session: SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Unlike>>;
    /// What is there of the sessions behind an id, by id.
    fn session_states(
        &mut self,
        after: Option<SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionState>>;
    /// The same of one session.
    fn session_state(&mut self, id: SessionId) -> Result<Option<SessionState>>;
    /// Notes how far a session was verified, or, with nothing, that it is to be verified as a whole; what was noted before
    /// is replaced.
    fn put_verified(&mut self, session: SessionId, verified: Option<&Verified>) -> Result<()>;
    /// Tables that have lost rows since they were stored, or have others.
    fn miscounts(&mut self) -> Result<Vec<Miscount>>;
    /// Rows that belong to a session or transcript that is not there, or whose id cannot be read; in order.
    fn strays(&mut self) -> Result<Vec<Stray>>;

    /// The greatest epoch of all leases; 0 if there is none.
    fn greatest_epoch(&mut self) -> Result<u64>;
    /// Takes the lease of every driven session from whoever has it, at `at`: the epoch of each is above `floor` and
    /// above its own from then on. Gives how many.
    fn fence_all(&mut self, floor: u64, at: Timestamp) -> Result<u64>;
}
