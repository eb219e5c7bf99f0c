//! Verbs of replicas: what other ledgers lack of this one, and what this one holds of others.
//!
//! A destination is a projection of the kind `gateway`. What it lacks of the logs is counted in receipts, as for every
//! projection. What changes as a whole is counted here, by document, from the transaction on that changes it.

use siglum_domain::observation::Source;
use siglum_domain::{
    LedgerId, NativeId, ObservationId, Oid, RepositoryId, SessionId, Timestamp, TurnId,
};

use crate::LedgerError;
use crate::record::{
    CommitRecord, RepositoryIdentity, RepositoryRecord, SessionRecord, StatementRecord,
};

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// The kind of a projection that is another ledger.
pub const DESTINATION: &str = "gateway";

/// What a destination has, beside receipts, and how it fares.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Destination {
    /// The last statement of this ledger that it has.
    pub stated: u64,
    /// How often it failed since something was taken.
    pub tries: u32,
    /// Why it failed last.
    pub reason: Option<String>,
    /// Nothing is sent before.
    pub retry_at: Timestamp,
}

/// A document that a destination lacks in its newest state.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DueDocument {
    /// `repository`, `session`, `checkpoint` or `commit`.
    pub kind: String,
    /// Its id in hex; of a commit the repository's, a colon and its own.
    pub document: String,
    /// Which change of it this is.
    pub due: u64,
}

/// An entry of a log as one ledger hands it to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaRow {
    /// Its place in the log.
    pub sequence: u64,
    pub turn: Option<TurnId>,
    pub id: ObservationId,
    pub source: Source,
    /// What its source calls it.
    pub key: String,
    pub event: String,
    pub subagent: Option<String>,
    /// The word for its kind of fact.
    pub kind: String,
    /// When it happened.
    pub at: Timestamp,
    /// When its home took it.
    pub recorded_at: Timestamp,
    /// The salt of its payload's digest; none where the payload is not what the digest was made of any more.
    pub salt: Option<[u8; 32]>,
    /// The salted digest of its payload as it was sealed, in hex.
    pub digest: String,
    /// Its payload in JSON, unless it was erased.
    pub fact: Option<String>,
}

/// A turn as one ledger hands it to another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaTurn {
    pub id: TurnId,
    /// The agent's name for it.
    pub native: String,
    pub opened_at: Timestamp,
    /// The entry that holds its prompt.
    pub prompt: Option<u64>,
}

/// A repository that is somewhere else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaRepository {
    pub id: RepositoryId,
    /// The ledger that works beside it.
    pub home: LedgerId,
    pub host: String,
    pub common_dir: String,
    /// What tells its clones from others, as its ledger says; it is a clone of none by more than that.
    pub identity: RepositoryIdentity,
}

impl From<ReplicaRepository> for RepositoryRecord {
    /// The same among those of this ledger. Its place says nothing here: it is called by that and its machine.
    fn from(replica: ReplicaRepository) -> Self {
        Self {
            id: replica.id,
            common_dir: format!("{}:{}", replica.host, replica.common_dir),
            worktrees: Vec::new(),
            identity: replica.identity,
        }
    }
}

/// A commit that git made of another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RewriteRecord {
    pub old: Oid,
    pub command: String,
    pub at: Timestamp,
}

/// What destinations lack, and replicas.
#[expect(
    clippy::missing_errors_doc,
    reason = "every verb fails as its transaction does"
)]
pub trait Replicas {
    /// How a destination fares; nothing where the projection is none.
    fn destination(&mut self, name: &str) -> Result<Option<Destination>>;
    /// Notes how a destination fares.
    fn put_destination(&mut self, name: &str, destination: &Destination) -> Result<()>;
    /// Documents that a destination lacks in their newest state, by kind and document.
    fn due_documents(&mut self, name: &str, limit: usize) -> Result<Vec<DueDocument>>;
    /// How many documents a destination lacks.
    fn documents_due(&mut self, name: &str) -> Result<u64>;
    /// Notes that a destination has a document as it was at that change.
    fn document_sent(&mut self, name: &str, document: &DueDocument) -> Result<()>;
    /// Everything but receipts is due at a destination once more.
    fn restart_documents(&mut self, name: &str) -> Result<()>;
    /// Gives back what was claimed until then: others may claim it at `at`.
    fn release(
        &mut self,
        name: &str,
        session: SessionId,
        until: Timestamp,
        at: Timestamp,
    ) -> Result<()>;
    /// The statements that a ledger made behind a number, in order.
    fn statements_of_ledger(
        &mut self,
        ledger: LedgerId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<StatementRecord>>;
    /// The number of the last statement of a ledger that is here; 0 if there is none.
    fn last_stated(&mut self, ledger: LedgerId) -> Result<u64>;
    /// The entries of a log behind a sequence, in order, with those that were erased.
    fn log_rows(&mut self, session: SessionId, after: u64, limit: usize)
    -> Result<Vec<ReplicaRow>>;
    /// These turns of a session, in the order in which they were opened.
    fn turns_named(&mut self, session: SessionId, turns: &[TurnId]) -> Result<Vec<ReplicaTurn>>;
    /// What git made a commit of, oldest first.
    fn rewrites_to(&mut self, repository: RepositoryId, new: &Oid) -> Result<Vec<RewriteRecord>>;

    /// When the state of a document that is here was read at its home; nothing where it is not here.
    fn stamp(&mut self, home: LedgerId, kind: &str, document: &str) -> Result<Option<Timestamp>>;
    /// Notes when the state of a document was read at its home.
    fn put_stamp(
        &mut self,
        home: LedgerId,
        kind: &str,
        document: &str,
        stamp: Timestamp,
    ) -> Result<()>;
    /// Stores a repository that is somewhere else. It is not among those of this machine.
    fn put_replica_repository(
        &mut self,
        repository: &ReplicaRepository,
        at: Timestamp,
    ) -> Result<()>;
    /// A repository that is somewhere else.
    fn replica_repository(&mut self, id: RepositoryId) -> Result<Option<ReplicaRepository>>;
    /// All repositories that are somewhere else, by id.
    fn replica_repositories(&mut self) -> Result<Vec<ReplicaRepository>>;
    /// Stores the record of a session that is at home elsewhere, and the names that its agent gave it, oldest first;
    /// what was there is replaced. How far its log is here, and what was erased here, stays.
    fn put_replica_session(&mut self, record: &SessionRecord, natives: &[NativeId]) -> Result<()>;
    /// Adds entries and their turns behind the log of such a session.
    fn put_replica_rows(
        &mut self,
        session: SessionId,
        turns: &[ReplicaTurn],
        rows: &[ReplicaRow],
    ) -> Result<()>;
    /// Replaces the payload of an entry, or erases it; its salt goes in either case. One that has none stays so.
    fn replace_fact(&mut self, session: SessionId, sequence: u64, fact: Option<&str>)
    -> Result<()>;
    /// Up to which receipt the home of a replica sent it again since a batch erased something of it; nothing where none
    /// did, or this ledger itself forgot something of it since then.
    fn erasure(&mut self, session: SessionId) -> Result<Option<u64>>;
    /// Notes that a batch erased something of a replica, and how far its home sent it again; with nothing, that all is
    /// here again.
    fn put_erasure(&mut self, session: SessionId, restored: Option<u64>) -> Result<()>;
    /// Gives back their payloads to entries of a replica that have no salt, where those here have one or a payload. The
    /// session counts as forgotten no more.
    fn restore_rows(&mut self, session: SessionId, rows: &[ReplicaRow]) -> Result<()>;
    /// Stores a statement that another ledger made, unless it is here; `false` if it is.
    fn put_statement(&mut self, statement: &StatementRecord) -> Result<bool>;
    /// Takes away what is here under the number of a statement of another ledger, since that one says otherwise.
    fn drop_statement(&mut self, ledger: LedgerId, sequence: u64) -> Result<()>;
    /// Sessions that are at home here of which a destination has receipts, by id from behind `after` on.
    fn delivered(
        &mut self,
        name: &str,
        after: Option<SessionId>,
        limit: usize,
    ) -> Result<Vec<SessionId>>;
    /// What is known of a commit in any repository, oldest first.
    fn commits_named(&mut self, commit: &Oid) -> Result<Vec<CommitRecord>>;
}
