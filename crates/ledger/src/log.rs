//! The verbs of the log of a session.

use siglum_domain::fold::Entry;
use siglum_domain::observation::{Observation, Source};
use siglum_domain::receipt::{Receipt, SealedEntry};
use siglum_domain::{ObservationId, Oid, RepositoryId, SessionId, Timestamp, TurnId};

use crate::LedgerError;
use crate::record::*;

type Result<T> = std::result::Result<T, LedgerError>;

/// An observation on its way into a log.
#[derive(Debug, Clone)]
pub struct NewEntry<'a> {
    /// Its id, if it is new.
    pub id: ObservationId,
    pub session: SessionId,
    pub turn: Option<TurnId>,
    /// When the ledger takes it.
    pub recorded_at: Timestamp,
    /// The salt of its payload's digest.
    pub salt: [u8; 32],
    pub observation: &'a Observation,
}

/// What became of an observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    /// It is new, at this place of the log.
    New(u64),
    Known,
}

/// The log of a session, its receipts, and folds that must be quick to read.
#[expect(
    clippy::missing_errors_doc,
    reason = "every verb fails as its transaction does"
)]
pub trait Log {
    /// Appends an observation, unless the same one is there.
    fn append(&mut self, entry: &NewEntry<'_>) -> Result<Appended>;
    /// The entries after `after`, in order, at most `limit` (0: all). Forgotten payloads are left out.
    fn entries(&mut self, session: SessionId, after: u64, limit: usize) -> Result<Vec<Entry>>;
    /// The entries of a turn up to `until`, in order. Forgotten payloads are left out.
    fn entries_of_turn(
        &mut self,
        session: SessionId,
        turn: TurnId,
        until: u64,
    ) -> Result<Vec<Entry>>;
    /// The entries of a kind up to `until`, in order. Forgotten payloads are left out.
    fn entries_of_kind(&mut self, session: SessionId, kind: &str, until: u64)
    -> Result<Vec<Entry>>;
    /// The place of the last entry of a kind up to `until` that no sub-agent said and that is not forgotten.
    fn last_of_kind(&mut self, session: SessionId, kind: &str, until: u64) -> Result<Option<u64>>;
    /// The entry that its source calls by this key.
    fn entry(&mut self, session: SessionId, source: Source, key: &str) -> Result<Option<Entry>>;
    /// When its source saw what it calls by this key, and of which event: told of forgotten payloads,
    /// too.
    fn sighted(&mut self, session: SessionId, source: Source, key: &str)
    -> Result<Option<Sighted>>;

    /// A tool call that runs commands began in a checkout.
    fn begin_call(
        &mut self,
        session: SessionId,
        event: &str,
        worktree: &str,
        at: Timestamp,
    ) -> Result<()>;
    /// A tool call returned.
    fn end_call(&mut self, session: SessionId, event: &str) -> Result<()>;
    /// No tool call of the session runs any more.
    fn end_calls(&mut self, session: SessionId) -> Result<()>;
    /// The tool calls that run in a checkout, begun at or after `since`.
    fn running_calls(&mut self, worktree: &str, since: Timestamp) -> Result<Vec<RunningCall>>;

    /// Notes that a tool call moved HEAD.
    fn put_move(&mut self, moved: &HeadMove) -> Result<()>;
    /// The tool calls that moved HEAD to a commit.
    fn moves_to(&mut self, repository: RepositoryId, commit: &Oid) -> Result<Vec<HeadMove>>;

    /// Stores the edit of one file by one call; a later fold of the same one replaces it.
    fn put_edit(&mut self, edit: &EditRecord) -> Result<()>;
    /// The edits of a path that had begun by `until`, in the order in which they ended.
    fn edits(
        &mut self,
        repository: RepositoryId,
        path: &str,
        until: Timestamp,
    ) -> Result<Vec<EditRecord>>;
    /// The newest edit of a path.
    fn last_edit(&mut self, repository: RepositoryId, path: &str) -> Result<Option<EditRecord>>;
    /// The edits that left this content, oldest first.
    fn edits_leaving(&mut self, blob: &Oid) -> Result<Vec<EditRecord>>;
    /// Edits whose lines were not hashed yet.
    fn unhashed_edits(&mut self, limit: usize) -> Result<Vec<EditRecord>>;

    /// Observed sessions that have entries behind their last receipt, longest silent first. One whose store is
    /// damaged is not sealed.
    fn unsealed(&mut self, limit: usize) -> Result<Vec<SessionRecord>>;
    /// The entries `first ..= last` as a receipt sees them, each with its turn.
    fn to_seal(
        &mut self,
        session: SessionId,
        first: u64,
        last: u64,
    ) -> Result<Vec<(SealedEntry, Option<TurnId>)>>;
    /// Stores a receipt, if it follows the last one; `false` if another came first. It is due at every
    /// projection.
    fn put_receipt(&mut self, receipt: &Receipt) -> Result<bool>;
    /// The receipts of a session in order.
    fn receipts(&mut self, session: SessionId) -> Result<Vec<Receipt>>;
}
