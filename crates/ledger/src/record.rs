//! The rows of a ledger as plain data.

pub use crate::launch::{Claim, Launch, LaunchEnd, OwnWorktree, Snapshot};
pub use crate::statement::{AttestedFacts, Statement, StatementRecord};
use serde::{Deserialize, Serialize};
use siglum_domain::commit::CommitFacts;
use siglum_domain::evidence::Judgement;
use siglum_domain::intake::{AgentVariable, Place, Scene};
use siglum_domain::link::Link;
use siglum_domain::observation::{CallWrite, DiskState, FileVersion, Tokens};
use siglum_domain::process::ProcessIdentity;
use siglum_domain::provenance::Span;
use siglum_domain::{
    AgentName, CheckpointId, ConversationId, LedgerId, NativeId, Oid, RepositoryId, SessionId,
    Timestamp, TurnId,
};

/// Who runs a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// It runs by itself, and we watch.
    Observed,
    /// One driver opens and commits its turns under a lease.
    Driven,
}

impl Mode {
    /// The word for it, which is stored and answered.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Observed => "observed",
            Self::Driven => "driven",
        }
    }
}

/// How a session came into the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionOrigin {
    /// A hook saw it while it ran, or its agent told of it then.
    Live,
    /// It was read from a transcript afterwards.
    Import,
    /// A driver created it.
    Api,
    /// A launcher created it before its agent ran.
    Launch,
}

/// How a session came from another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Relation {
    /// A copy of its history.
    Fork,
    /// The same conversation, gone back to an earlier turn: what came behind that is left as it is.
    Rewind,
    /// The screen was cleared in the same process.
    Clear,
    /// The other one's agent started this one's.
    Nested,
}

impl Relation {
    /// The word for it, which is stored and answered.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fork => "fork",
            Self::Rewind => "rewind",
            Self::Clear => "clear",
            Self::Nested => "nested",
        }
    }

    /// Tells whether what the other one said up to there is the history of both.
    #[must_use]
    pub const fn shares_history(self) -> bool {
        matches!(self, Self::Fork | Self::Rewind)
    }
}

/// One session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRecord {
    pub id: SessionId,
    /// The product that does the work; `None` where nobody named it.
    pub agent: Option<AgentName>,
    /// What the outside world calls it. Frozen.
    pub conversation: ConversationId,
    /// The ledger that alone extends its chain.
    pub home: LedgerId,
    /// Who runs it.
    pub mode: Mode,
    pub origin: SessionOrigin,
    pub parent: Option<(SessionId, Relation)>,
    pub created_at: Timestamp,
    /// When anything was last heard of it.
    pub last_at: Timestamp,
    /// When it ended; absent while it may go on.
    pub ended_at: Option<Timestamp>,
    /// The directory it started in.
    pub cwd: Option<String>,
    pub repository: Option<RepositoryId>,
    pub worktree: Option<String>,
    /// The last sequence of its log.
    pub head: u64,
    /// The last sealed sequence.
    pub sealed: u64,
    /// What was erased of it.
    pub forgotten: Option<Forgotten>,
    /// So much of the parent's log is its own history, too: a fork by reference.
    pub parent_at: Option<u64>,
    /// Since when nothing of it is written any more, for good.
    pub archived_at: Option<Timestamp>,
    /// What is damaged of it; nothing is written then.
    pub quarantined: Option<String>,
}

impl SessionRecord {
    /// A session that begins now: nothing is in its log, and nothing is known of where it runs.
    #[must_use]
    pub fn new(
        id: SessionId,
        agent: impl Into<Option<AgentName>>,
        conversation: ConversationId,
        home: LedgerId,
        mode: Mode,
        origin: SessionOrigin,
        at: Timestamp,
    ) -> Self {
        Self {
            id,
            agent: agent.into().and_then(AgentName::named),
            conversation,
            home,
            mode,
            origin,
            parent: None,
            created_at: at,
            last_at: at,
            ended_at: None,
            cwd: None,
            repository: None,
            worktree: None,
            head: 0,
            sealed: 0,
            forgotten: None,
            parent_at: None,
            archived_at: None,
            quarantined: None,
        }
    }
}

/// A sighting, without what was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighted {
    pub event: String,
    /// When it happened.
    pub at: Timestamp,
}

/// What was erased of a session. What was seen up to then keeps no payload if it is sighted once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Forgotten {
    /// Some of its texts, or parts of them.
    Parts { at: Timestamp },
    /// Everything that had been said and done by then.
    Whole { at: Timestamp },
}

impl Forgotten {
    /// When something was erased last.
    #[must_use]
    pub const fn at(self) -> Timestamp {
        match self {
            Self::Parts { at } | Self::Whole { at } => at,
        }
    }
}

/// The payload of an entry as the store has it, for looking through all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// Its place among all entries of the store.
    pub position: u64,
    pub session: SessionId,
    /// Its place in the log of the session.
    pub sequence: u64,
    /// The word for its kind of fact.
    pub kind: String,
    /// The fact, in JSON.
    pub fact: String,
}

/// How much of a session could be forgotten.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Holdings {
    /// Entries that have their payload.
    pub payloads: u64,
    /// Bytes of its transcripts.
    pub transcript_bytes: u64,
}

/// What a session amounts to, for listings. A fold of its log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// `working`, `waiting` or `ended`.
    pub state: String,
    /// The first line of its first prompt.
    pub title: Option<String>,
    /// The models that wrote its messages.
    pub models: Vec<String>,
    /// Turns with a prompt.
    pub turns: u64,
    pub tool_calls: u64,
    pub subagents: u64,
    pub tokens: Tokens,
}

/// A session with its summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionListing {
    pub record: SessionRecord,
    pub summary: Summary,
    /// How many commits name it as committer.
    pub commits: u64,
}

/// In which order sessions are listed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Order {
    /// Those that something was heard of last come first.
    #[default]
    LastActive,
    /// Those that were created last come first, by their ids: an order in which no session moves.
    Created {
        /// Only those that come after this one.
        after: Option<SessionId>,
    },
}

/// Which sessions to list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionFilter {
    pub id: Option<SessionId>,
    /// Only those that work in one of these repositories: their own, one that was stated, or one that they edit or commit in.
    pub repositories: Vec<RepositoryId>,
    pub agent: Option<AgentName>,
    /// Only those that the outside world calls so.
    pub conversation: Option<ConversationId>,
    /// Only with their last activity at or after this.
    pub since: Option<Timestamp>,
    /// Only with their last activity before this.
    pub until: Option<Timestamp>,
    /// Only created before this.
    pub created_before: Option<Timestamp>,
    /// Only that have not ended.
    pub open: bool,
    /// Only that were not given up as unseen.
    pub seen: bool,
    pub parent: Option<SessionId>,
    /// Only with all of these links attached, after all statements by their time.
    pub links: Vec<Link>,
    pub order: Order,
    /// At most this many; 0 means all.
    pub limit: usize,
}

/// A session bound to a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    pub session: SessionId,
    pub process: ProcessIdentity,
    /// When it was bound last.
    pub bound_at: Timestamp,
    /// The variables of other agents in its environment; absent where nobody looked.
    pub carried: Option<Vec<AgentVariable>>,
}

/// One turn as the ledger knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnRecord {
    pub id: TurnId,
    pub session: SessionId,
    /// The agent's name for it.
    pub native: String,
    pub opened_at: Timestamp,
}

/// A tool call that runs now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningCall {
    pub session: SessionId,
    pub event: String,
    pub started: Timestamp,
}

/// One change of one file by one tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditRecord {
    pub session: SessionId,
    /// The tool call.
    pub event: String,
    pub turn: Option<TurnId>,
    pub repository: RepositoryId,
    pub worktree: String,
    /// Relative to the checkout.
    pub path: String,
    /// When the content before was seen; where nobody saw it, when the one after was.
    pub began: Timestamp,
    /// When the content after was seen.
    pub at: Timestamp,
    /// The content before; absent if there was no file.
    pub before: Option<FileVersion>,
    /// The content after; absent if there is none.
    pub after: Option<FileVersion>,
    pub detail: EditDetail,
    /// The keyed hashes of the lines it added, once the worker has compared the versions.
    pub lines: Option<Vec<u64>>,
}

/// What surrounded an edit. Edits of older programs and of transcripts have none of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditDetail {
    /// The file and HEAD when the content before was seen.
    #[serde(default)]
    pub before: DiskState,
    /// The file and HEAD when the content after was seen.
    #[serde(default)]
    pub after: DiskState,
    /// What the tool itself says it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<CallWrite>,
}

impl EditDetail {
    /// The addresses in the object store of what the tool read and wrote.
    pub fn objects(&self) -> impl Iterator<Item = &str> {
        let versions = self.write.iter().flat_map(CallWrite::versions);
        versions.filter_map(|v| v.object.as_deref())
    }
}

/// What a tool call printed about a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputMention {
    /// Its output does not name it.
    Nothing,
    /// Its output names it.
    Named,
    /// Its output has the line that git prints when it has made the commit.
    Made,
}

/// A commit that HEAD came to while a tool call ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadMove {
    pub repository: RepositoryId,
    /// Where HEAD went.
    pub commit: Oid,
    /// Whose call.
    pub session: SessionId,
    /// The call.
    pub event: String,
    /// What the call's output says of it.
    pub mention: OutputMention,
    /// When it returned.
    pub at: Timestamp,
}

/// Where an intent stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentState {
    /// Its git may still commit.
    Open,
    /// It became this commit.
    Landed(Oid),
    /// Its git is dead and no commit matches.
    Expired,
}

/// Somebody is, or was, about to commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntentRecord {
    pub repository: RepositoryId,
    pub at: Timestamp,
    pub scene: Scene,
    pub state: IntentState,
}

/// How a commit was noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeenBy {
    /// `post-commit` or `post-merge`.
    Hook,
    /// `post-rewrite`.
    Rewrite,
    /// The agent's tool call moved HEAD to it.
    Tool,
    /// A sweep of HEAD and the reflog.
    Sweep,
    /// An import of transcripts.
    Import,
}

impl SeenBy {
    /// The word for it, which is stored and answered.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Rewrite => "rewrite",
            Self::Tool => "tool",
            Self::Sweep => "sweep",
            Self::Import => "import",
        }
    }
}

/// What is known of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitRecord {
    pub repository: RepositoryId,
    pub commit: Oid,
    /// The checkpoint that it is.
    pub checkpoint: Option<CheckpointId>,
    /// The intent that it closed.
    pub intent: Option<CheckpointId>,
    /// Who made it.
    pub judgement: Judgement,
    /// What git says of it, once the worker has asked.
    pub facts: Option<CommitFacts>,
    /// Its patch id, stored with the authors of its lines: a commit that has none is unfinished. Empty for a commit that
    /// changes nothing.
    pub patch: Option<String>,
    /// When it was noticed.
    pub at: Timestamp,
    pub seen_by: SeenBy,
}

/// The origins of the lines of one file of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAuthors {
    /// The path after the commit.
    pub path: String,
    /// Its lines.
    pub spans: Vec<Span>,
}

/// What a checkpoint is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointKind {
    /// A commit.
    Commit,
    /// The end of a session without one.
    End,
    /// A person asked for it.
    Manual,
}

/// A record that pins sessions to a commit or an end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckpointRecord {
    pub id: CheckpointId,
    pub kind: CheckpointKind,
    pub repository: Option<RepositoryId>,
    pub commit: Option<Oid>,
    pub at: Timestamp,
    /// The sessions, each up to a sequence of its log.
    pub pins: Vec<(SessionId, u64)>,
}

/// Something that was refused, deferred or lost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclineRecord {
    pub at: Timestamp,
    pub edge: String,
    /// A stable word for the reason.
    pub reason: String,
    pub detail: String,
}

/// How far a transcript was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptRecord {
    /// The name of the stream: the file's stem.
    pub stream: String,
    pub agent: AgentName,
    pub session: SessionId,
    /// The agent's id of that session.
    pub native: NativeId,
    pub path: String,
    /// The sub-agent, if it is one's own file.
    pub subagent: Option<String>,
    /// Which file it was (device and inode), to notice that another one took its name.
    pub file: String,
    /// The first byte that was not read yet.
    pub read_to: u64,
    /// A digest of the bytes before that one, to notice that the file was rewritten.
    pub tail: String,
    /// The agent's name for the turn that the last line belongs to.
    pub turn: Option<String>,
    /// Whether history copied from another session, if there was any, is over.
    pub own: bool,
}

/// A run of transcript lines, redacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    pub stream: String,
    /// The offset of its first line in the agent's own file.
    pub first: u64,
    /// An offset behind the start of its last line, and before the start of any later one.
    pub past: u64,
    /// The lines with the offset of each in the agent's own file.
    pub lines: Vec<(u64, String)>,
}

/// A repository and its checkouts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryRecord {
    pub id: RepositoryId,
    pub common_dir: String,
    /// The checkouts, each with the HEAD up to which commits were looked for.
    pub worktrees: Vec<(String, Option<Oid>)>,
    /// What tells its clones from others.
    pub identity: RepositoryIdentity,
}

/// What tells clones of one repository from others, wherever they are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RepositoryIdentity {
    /// The commits without parents that it goes back to, in order. None before anybody looked, and in a shallow clone.
    pub roots: Vec<Oid>,
    /// Where it is fetched from, by one name for all forms of an address.
    pub remote: Option<String>,
    /// The repository of this ledger that it is a clone of, where more than roots and remotes says so; itself, where a
    /// person said that it is of none.
    pub clone_of: Option<RepositoryId>,
}

impl RepositoryIdentity {
    /// The remote, unless that is a path, which means something on one machine only.
    #[must_use]
    pub fn hosted_remote(&self) -> Option<&str> {
        self.remote.as_deref().filter(|name| !name.starts_with('/'))
    }
}

impl RepositoryRecord {
    /// What it is called beside those of other ledgers: by its place on this machine, else by its remote, else by the name
    /// that others gave it.
    #[must_use]
    pub fn name(&self) -> &str {
        let remote = self.identity.hosted_remote().filter(|_| !self.is_here());
        remote.unwrap_or(&self.common_dir)
    }

    /// Whether it is a directory of this machine; else others gave it its name, which is no path.
    #[must_use]
    pub fn is_here(&self) -> bool {
        std::path::Path::new(&self.common_dir).is_absolute()
    }

    /// The checkout that people know it by: the one around its git directory, else the first.
    #[must_use]
    pub fn checkout(&self) -> &str {
        let around = self.common_dir.strip_suffix("/.git");
        let mut worktrees = self.worktrees.iter().map(|(worktree, _)| worktree.as_str());
        let main = worktrees.clone().find(|worktree| Some(*worktree) == around);
        main.or_else(|| worktrees.next())
            .unwrap_or(&self.common_dir)
    }

    /// The place of one of its checkouts.
    #[must_use]
    pub fn place(&self, worktree: &str) -> Place {
        Place {
            common_dir: self.common_dir.clone(),
            worktree: worktree.to_owned(),
        }
    }
}
