//! The form in which one ledger hands over to another. [`VERSION`] goes with it.

use serde::{Deserialize, Serialize};
use siglum_domain::commit::CommitFacts;
use siglum_domain::evidence::Judgement;
use siglum_domain::observation::Source;
use siglum_domain::provenance::Span;
use siglum_domain::receipt::Receipt;
use siglum_domain::{
    AgentName, CheckpointId, ConversationId, LedgerId, NativeId, ObservationId, Oid, RepositoryId,
    SessionId, Timestamp, TurnId,
};
use siglum_ledger::{CheckpointKind, Mode, Relation, SeenBy, SessionOrigin, Statement};

/// The version of the form. A reader takes its own and older ones.
pub const VERSION: u32 = 1;

/// What one ledger hands to another at once. It stands by itself: what a document speaks of is in it, too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// The version of the form.
    pub version: u32,
    /// The ledger that sends it.
    pub ledger: LedgerId,
    /// When what it says was read there; grows with every batch of a ledger.
    pub stamp: Timestamp,
    /// Repositories there.
    #[serde(default)]
    pub repositories: Vec<RepositoryDocument>,
    /// Sessions that are at home there.
    #[serde(default)]
    pub sessions: Vec<SessionDocument>,
    /// Receipts with what they seal, in order within a session.
    #[serde(default)]
    pub receipts: Vec<ReceiptDocument>,
    /// Statements that were made there, in order.
    #[serde(default)]
    pub statements: Vec<StatementDocument>,
    /// Checkpoints.
    #[serde(default)]
    pub checkpoints: Vec<CheckpointDocument>,
    /// Commits.
    #[serde(default)]
    pub commits: Vec<CommitDocument>,
    /// Sessions of which the sender wants to know how far the receiver is with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<SessionId>,
    /// The stamp of the last batch of which the receiver said that it remembers it; zero before the first one. Absent
    /// where the sender notes nothing of the receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Timestamp>,
}

impl Batch {
    /// A batch with nothing in it.
    #[must_use]
    pub const fn new(ledger: LedgerId, stamp: Timestamp) -> Self {
        Self {
            version: VERSION,
            ledger,
            stamp,
            repositories: Vec::new(),
            sessions: Vec::new(),
            receipts: Vec::new(),
            statements: Vec::new(),
            checkpoints: Vec::new(),
            commits: Vec::new(),
            asks: Vec::new(),
            after: None,
        }
    }
}

/// A repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryDocument {
    /// Its id.
    pub id: RepositoryId,
    /// The git common directory, on the sender's machine.
    pub common_dir: String,
    /// The name of that machine.
    pub host: String,
    /// The commits without parents that it goes back to; none where its ledger does not know them, or does not tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roots: Vec<Oid>,
    /// Where it is fetched from, as `host/o/r`, by one name for all forms of an address; absent where that is a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
}

/// The record of a session, without what its ledger alone is concerned with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionDocument {
    /// Its id.
    pub id: SessionId,
    /// The product; `unknown` where nobody named it, as programs of every version read it.
    pub agent: AgentName,
    /// What the outside world calls it.
    pub conversation_id: ConversationId,
    /// The ledger that alone extends its chain.
    pub home: LedgerId,
    /// Who runs it.
    pub mode: Mode,
    /// How it came there.
    pub origin: SessionOrigin,
    /// The session it came from.
    pub parent: Option<ParentDocument>,
    /// So much of the parent's log is its own history, too.
    pub parent_at: Option<u64>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When anything was last heard of it.
    pub last_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Since when nothing of it is written any more, for good.
    pub archived_at: Option<Timestamp>,
    /// The directory it started in.
    pub cwd: Option<String>,
    /// The repository it works in.
    pub repository: Option<RepositoryId>,
    /// The checkout it works in.
    pub worktree: Option<String>,
    /// The ids that its agent gave it, oldest first.
    pub natives: Vec<NativeId>,
    /// When all of it was erased that had been seen by then.
    pub forgotten_at: Option<Timestamp>,
    /// Sealed entries of which parts were erased, in the form that is left.
    #[serde(default)]
    pub erased: Vec<ErasedDocument>,
}

/// Where a session came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentDocument {
    /// The other session.
    pub session: SessionId,
    /// How.
    pub relation: Relation,
}

/// What is left of an entry of which something was erased.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErasedDocument {
    /// Its place in the log.
    pub sequence: u64,
    /// Its payload in JSON; nothing where all of it was erased.
    pub fact: Option<String>,
}

/// A receipt with what it seals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptDocument {
    /// The receipt.
    pub receipt: Receipt,
    /// The turns that it names.
    pub turns: Vec<TurnDocument>,
    /// The entries that it seals, in order.
    pub entries: Vec<EntryDocument>,
}

/// A turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnDocument {
    /// Its id.
    pub id: TurnId,
    /// The agent's name for it.
    pub native: String,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// The entry that holds its prompt.
    pub prompt: Option<u64>,
}

/// A sealed entry of a log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryDocument {
    /// Its place in the log.
    pub sequence: u64,
    /// The turn.
    pub turn: Option<TurnId>,
    /// Its id.
    pub id: ObservationId,
    /// Who saw it.
    pub source: Source,
    /// What its source calls it.
    pub key: String,
    /// The event that it speaks of.
    pub event: String,
    /// The sub-agent that it happened in.
    pub subagent: Option<String>,
    /// The word for its kind of fact.
    pub kind: String,
    /// When it happened.
    pub at: Timestamp,
    /// When its home took it.
    pub recorded_at: Timestamp,
    /// The salt of its payload's digest, in hex; absent where the payload was changed or erased since it was sealed.
    pub salt: Option<String>,
    /// The salted digest of its payload as it was sealed, in hex.
    pub digest: String,
    /// Its payload in JSON, byte by byte as it was sealed where there is a salt; absent where it was erased.
    pub fact: Option<String>,
}

/// A statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementDocument {
    /// Its number in the ledger that sends it.
    pub sequence: u64,
    /// When.
    pub at: Timestamp,
    /// By whom.
    pub by: String,
    /// Through what.
    pub source: String,
    /// What it says; the digest of a launch token is empty.
    pub statement: Statement,
}

/// A checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointDocument {
    /// Its id.
    pub id: CheckpointId,
    /// What it pins; absent where it was withdrawn.
    pub pinned: Option<PinnedDocument>,
}

/// What a checkpoint pins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedDocument {
    /// What it is for.
    pub kind: CheckpointKind,
    /// The repository.
    pub repository: Option<RepositoryId>,
    /// The commit.
    pub commit: Option<Oid>,
    /// When.
    pub at: Timestamp,
    /// The sessions.
    pub pins: Vec<PinDocument>,
}

/// A session that a checkpoint pins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinDocument {
    /// The session.
    pub session: SessionId,
    /// Up to this place of its log.
    pub sequence: u64,
}

/// What is known of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitDocument {
    /// The repository.
    pub repository: RepositoryId,
    /// The commit.
    pub commit: Oid,
    /// The checkpoint that it is.
    pub checkpoint: Option<CheckpointId>,
    /// Who made it, as its home judged.
    pub judgement: Judgement,
    /// What git says of it.
    pub facts: Option<CommitFacts>,
    /// Its patch id.
    pub patch: Option<String>,
    /// When it was noticed.
    pub at: Timestamp,
    /// How it was noticed.
    pub seen_by: SeenBy,
    /// Who wrote its lines, once somebody looked.
    pub authors: Option<Vec<FileDocument>>,
    /// What git made it of.
    #[serde(default)]
    pub rewritten: Vec<RewriteDocument>,
}

/// The origins of the lines of one file of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDocument {
    /// The path after the commit.
    pub path: String,
    /// Its lines.
    pub spans: Vec<Span>,
}

/// A commit that another one was made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewriteDocument {
    /// The one before.
    pub old: Oid,
    /// What git did.
    pub command: String,
    /// When.
    pub at: Timestamp,
}

/// How far a ledger is after a batch: its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Positions {
    /// The version of the form.
    pub version: u32,
    /// The ledger that answers.
    pub ledger: LedgerId,
    /// The last receipt that it has of each session of the batch, and of those that were asked about.
    pub receipts: Vec<Position>,
    /// The number of the last statement of the sender that it has.
    pub statements: u64,
    /// Where it has newer states of documents than the batch: when the newest of them was read. The sender's clock went
    /// back, and what it says next must be newer than that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newer: Option<Timestamp>,
    /// Whether the batch that this one comes `after` is known here; from now on this one is, too. Where it is not, this
    /// ledger was restored from an older backup, and lacks what it had taken since. Absent where the batch names none, where
    /// a session's token sends it, and from older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remembers: Option<bool>,
    /// What of the batch was left out, since others are concerned; the rest was taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<SetAside>,
}

/// A document that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetAside {
    /// Its name.
    pub document: String,
    /// Why.
    pub rule: String,
}

/// How far a ledger is with a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// The session.
    pub session: SessionId,
    /// The number of its last receipt; 0 if there is none.
    pub number: u64,
    /// The digest of that.
    pub digest: Option<String>,
}
