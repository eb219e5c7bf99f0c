//! Verbs of the audit: adding to the chain, and reading it.

use siglum_domain::audit::{Body, Entry, Header};
use siglum_domain::{SessionId, Timestamp};

use crate::LedgerError;
use crate::integrity::Stored;

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// Which entries are meant; nothing is said of what is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    pub session: Option<SessionId>,
    /// Those of an action, by its word.
    pub action: Option<String>,
    /// Those of an actor, by the whole name or by its first words.
    pub actor: Option<String>,
    pub pipeline: Option<String>,
    /// Those from this time on.
    pub since: Option<Timestamp>,
    /// Those before this time.
    pub until: Option<Timestamp>,
    /// Those with this outcome: `done` or `refused`.
    pub outcome: Option<String>,
    /// Those before the entry of this number: where a page ends, the next one begins.
    pub before: Option<u64>,
    /// At most so many; 0 means all.
    pub limit: usize,
}

/// The audit. Its entries are added and never changed.
#[expect(
    clippy::missing_errors_doc,
    reason = "every verb fails as its transaction does"
)]
pub trait Audit {
    /// Adds an entry behind the last one. Nobody else adds one before this transaction ends, so that it comes
    /// last in a transaction, and there are no gaps.
    fn append_audit(&mut self, header: &Header, body: &Body) -> Result<Entry>;
    /// The entries that are meant, newest first.
    fn audit(&mut self, filter: &AuditFilter) -> Result<Vec<Entry>>;
    /// The entries behind a number, in order, as far as they can be read.
    fn audit_after(&mut self, number: u64, limit: usize) -> Result<Vec<Stored<Entry>>>;
    /// The number and the digest of the entry that was added last.
    fn audit_end(&mut self) -> Result<Option<(u64, String)>>;
}
