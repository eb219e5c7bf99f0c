//! The traits that a store implements.

use siglum_domain::commit::CommitFacts;
use siglum_domain::evidence::Judgement;
use siglum_domain::fold::Entry;
use siglum_domain::intake::{AgentVariable, Decline, Place, Scene};
use siglum_domain::observation::{Observation, Source};
use siglum_domain::process::ProcessIdentity;
use siglum_domain::receipt::{Receipt, SealedEntry};
use siglum_domain::{
    AgentName, CheckpointId, ConversationId, LedgerId, NativeId, ObservationId, Oid, RepositoryId,
    SessionId, Timestamp, TurnId,
};

use crate::LedgerError;
use crate::access::Access;
use crate::audit::Audit;
use crate::contexts::Contexts;
use crate::forgetting::Forgetting;
use crate::heartbeats::Heartbeats;
use crate::integrity::Integrity;
use crate::pipelines::Pipelines;
use crate::projections::Projections;
use crate::record::*;
use crate::replicas::Replicas;
use crate::requests::Requests;
use crate::runs::Runs;
use crate::telemetry::Telemetry;
use crate::turns::Turns;
use crate::usage::Usages;

/// How safe a write is when the call returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// It survives the death of the process.
    Process,
    /// It survives the loss of power: receipts and intents.
    Disk,
}

/// A store, opened for one tenant.
pub trait Ledger {
    /// Its id.
    fn id(&self) -> LedgerId;

    /// The secret key of line hashes and of the digests of withheld texts. Never leaves the ledger.
    fn key(&self) -> [u8; 32];

    /// Runs `work` in one transaction that only reads one state of the store.
    ///
    /// # Errors
    /// Those of `work`, or of the store.
    fn read(
        &mut self,
        work: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError>;

    /// Runs `work` in one transaction. All of it happens or nothing; `work` may run again after a
    /// conflict, so it must have no effect outside.
    ///
    /// # Errors
    /// Those of `work`, or of the store; nothing was written then.
    fn write(
        &mut self,
        durability: Durability,
        work: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError>;

    /// Brings what waits in the store's own log into its files, if that is worth it.
    ///
    /// # Errors
    /// Those of the store.
    fn maintain(&mut self) -> Result<(), LedgerError>;

    /// The same between two steps of long work, which may write more than all that was there before:
    /// only once so much waits that others would be held up. Where the store has no log of its own,
    /// or this is part of a transaction, there is nothing to do.
    ///
    /// # Errors
    /// Those of the store.
    fn maintain_at_work(&mut self) -> Result<(), LedgerError> {
        Ok(())
    }

    /// Tells whoever waits in another process that something was committed, where the store has a way to. It is a
    /// hint that may be lost: whoever waits looks by itself now and then.
    fn announce(&mut self) {}

    /// Takes what was erased out of the store's files, too, so that not even their bytes hold it.
    ///
    /// # Errors
    /// Those of the store: [`LedgerError::Busy`] while another process reads.
    fn scrub(&mut self) -> Result<(), LedgerError>;

    /// Checks the store's own files and gives what is wrong in words; nothing means sound.
    ///
    /// # Errors
    /// Those of the store.
    fn check(&mut self) -> Result<Vec<String>, LedgerError>;
}

/// [`Ledger::read`] with a result.
///
/// # Errors
/// Those of `work`, or of the store.
pub fn read<T>(
    ledger: &mut dyn Ledger,
    mut work: impl FnMut(&mut dyn Transaction) -> Result<T, LedgerError>,
) -> Result<T, LedgerError> {
    let mut result = None;
    ledger.read(&mut |tx| {
        result = Some(work(tx)?);
        Ok(())
    })?;
    Ok(result.expect("because a transaction that succeeds has run its work"))
}

/// [`Ledger::write`] with a result.
///
/// # Errors
/// Those of `work`, or of the store; nothing was written then.
pub fn write<T>(
    ledger: &mut dyn Ledger,
    durability: Durability,
    mut work: impl FnMut(&mut dyn Transaction) -> Result<T, LedgerError>,
) -> Result<T, LedgerError> {
    let mut result = None;
    ledger.write(durability, &mut |tx| {
        result = Some(work(tx)?);
        Ok(())
    })?;
    Ok(result.expect("because a transaction that succeeds has run its work"))
}

/// Everything that can be done inside a transaction.
pub trait Transaction:
    Sessions
    + Log
    + Commits
    + Queue
    + Forgetting
    + Turns
    + Projections
    + Integrity
    + Access
    + Audit
    + Pipelines
    + Replicas
    + Requests
    + Usages
    + Telemetry
    + Heartbeats
    + Contexts
    + Runs
{
    /// Runs `work` as a part of this transaction: if it fails, what it wrote is taken back, and what was written
    /// before it stays. `work` runs once.
    ///
    /// # Errors
    /// Those of `work`, or of the store. Where it is the store's, the whole transaction may be lost: its end says so.
    fn nested(
        &mut self,
        work: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError>;
}

/// A transaction as a ledger of its own: what is read and written in it is a part of that transaction, and stored
/// with it or not at all. So use cases that know a ledger alone can share one transaction.
pub struct Joined<'a> {
    tx: &'a mut dyn Transaction,
    id: LedgerId,
    key: [u8; 32],
}

impl<'a> Joined<'a> {
    /// The ledger of this id and key, within its transaction.
    pub fn new(tx: &'a mut dyn Transaction, id: LedgerId, key: [u8; 32]) -> Self {
        Self { tx, id, key }
    }
}

impl Joined<'_> {
    fn outside<T>() -> Result<T, LedgerError> {
        let why = "the files of a store are not touched within a transaction";
        Err(LedgerError::Storage(why.into()))
    }
}

impl Ledger for Joined<'_> {
    fn id(&self) -> LedgerId {
        self.id
    }

    fn key(&self) -> [u8; 32] {
        self.key
    }

    fn read(
        &mut self,
        work: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        work(self.tx)
    }

    /// As a part of the transaction; how safe that is, it says itself.
    fn write(
        &mut self,
        _durability: Durability,
        work: &mut dyn FnMut(&mut dyn Transaction) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        self.tx.nested(work)
    }

    fn maintain(&mut self) -> Result<(), LedgerError> {
        Ok(())
    }

    fn scrub(&mut self) -> Result<(), LedgerError> {
        Self::outside()
    }

    fn check(&mut self) -> Result<Vec<String>, LedgerError> {
        Self::outside()
    }
}

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// Repositories, sessions, their names, processes, turns, links.
#[expect(
    clippy::missing_errors_doc,
    reason = "every verb fails as its transaction does"
)]
pub trait Sessions {
    /// The repository at this common directory, if it is known.
    fn repository(&mut self, common_dir: &str) -> Result<Option<RepositoryRecord>>;
    /// All repositories.
    fn repositories(&mut self) -> Result<Vec<RepositoryRecord>>;
    /// The repository of a place, created under `fresh` if it is new; its checkout is noted.
    fn note_place(
        &mut self,
        place: &Place,
        fresh: RepositoryId,
        at: Timestamp,
    ) -> Result<RepositoryId>;
    /// Stores what tells clones of a repository from others.
    fn set_identity(
        &mut self,
        repository: RepositoryId,
        identity: &RepositoryIdentity,
    ) -> Result<()>;
    /// Notes that a repository is in another place, which no other one may have. Checkouts are renamed from their old path
    /// to their new one; one whose new path is known already stays as it is.
    fn move_repository(
        &mut self,
        repository: RepositoryId,
        common_dir: &str,
        renamed: &[(String, String)],
    ) -> Result<()>;
    /// Notes up to which HEAD a checkout was looked through for commits.
    fn set_swept(&mut self, repository: RepositoryId, worktree: &str, head: &Oid) -> Result<()>;

    /// One session.
    fn session(&mut self, id: SessionId) -> Result<Option<SessionRecord>>;
    /// The session that an agent calls by this id, or a caller who named it.
    fn session_by_alias(
        &mut self,
        agent: &AgentName,
        native: &NativeId,
    ) -> Result<Option<SessionId>>;
    /// The sessions that any agent, or a caller, calls by this id, by the name of the agent.
    fn sessions_by_native(&mut self, native: &NativeId) -> Result<Vec<(AgentName, SessionId)>>;
    /// The same for ids that begin so, 16 at most.
    fn sessions_by_native_start(&mut self, start: &str) -> Result<Vec<(AgentName, SessionId)>>;
    /// Sessions that people may mean by these digits, 16 at most: those whose id ends in them, or has
    /// them within the last eight.
    fn sessions_by_tail(&mut self, tail: &str) -> Result<Vec<SessionId>>;
    /// Sessions, newest first.
    fn sessions(&mut self, filter: &SessionFilter) -> Result<Vec<SessionListing>>;
    /// Creates a session.
    fn create_session(&mut self, record: &SessionRecord) -> Result<()>;
    /// Gives a session another native id. A known one stays with its session; where only a caller called it so before,
    /// it is a native id from now on.
    fn add_alias(
        &mut self,
        agent: &AgentName,
        native: &NativeId,
        session: SessionId,
        at: Timestamp,
    ) -> Result<()>;
    /// Lets a session be found by what a caller calls it, as by a native id, which it is not. A known name stays with its
    /// session.
    fn add_caller_name(
        &mut self,
        agent: &AgentName,
        name: &NativeId,
        session: SessionId,
        at: Timestamp,
    ) -> Result<()>;
    /// The native ids of a session, oldest first: what its agent calls it, and nobody else.
    fn aliases(&mut self, session: SessionId) -> Result<Vec<NativeId>>;
    /// Something was heard of a session; sets its place if it has none.
    fn touch(
        &mut self,
        session: SessionId,
        at: Timestamp,
        place: Option<(RepositoryId, &str)>,
        cwd: Option<&str>,
    ) -> Result<()>;
    /// Says which agent runs a session that was launched without a word about it.
    fn set_agent(&mut self, session: SessionId, agent: &AgentName) -> Result<()>;
    /// Says what the outside world calls a session of which nobody could say that when it was made.
    fn set_conversation(&mut self, session: SessionId, conversation: &ConversationId)
    -> Result<()>;
    /// Says when a session ended, or that it goes on.
    fn set_ended(&mut self, session: SessionId, at: Option<Timestamp>) -> Result<()>;
    /// Says that nobody can tell from here whether a session runs, and that it has been silent for
    /// long. It holds until something new is heard of it.
    fn set_unseen(&mut self, session: SessionId) -> Result<()>;
    /// Says which session a session came from, unless that is known.
    fn set_parent(
        &mut self,
        session: SessionId,
        parent: SessionId,
        relation: Relation,
    ) -> Result<()>;
    /// Stores what a session amounts to, folded up to `folded`.
    fn put_summary(&mut self, session: SessionId, summary: &Summary, folded: u64) -> Result<()>;
    /// Lets the summary of a session be folded again, or those of all.
    fn refold(&mut self, session: Option<SessionId>) -> Result<()>;
    /// Sessions whose log is longer than their summary.
    fn unfolded(&mut self, limit: usize) -> Result<Vec<SessionId>>;

    /// Binds a session to a process, with the variables of other agents in its environment, if it was
    /// looked at.
    fn bind(
        &mut self,
        session: SessionId,
        process: &ProcessIdentity,
        carried: Option<&[AgentVariable]>,
        at: Timestamp,
    ) -> Result<()>;
    /// The sessions that were ever bound to a process, by its key.
    fn bound_to(&mut self, process: &str) -> Result<Vec<Binding>>;
    /// The processes that a session was ever bound to, newest first.
    fn bindings(&mut self, session: SessionId) -> Result<Vec<Binding>>;

    /// The turn that an agent calls so, created under `fresh` if it is new.
    fn turn(
        &mut self,
        session: SessionId,
        native: &str,
        fresh: TurnId,
        at: Timestamp,
    ) -> Result<TurnId>;
    /// The turn opened last.
    fn last_turn(&mut self, session: SessionId) -> Result<Option<TurnRecord>>;
    /// The turns of a session, in the order in which they were opened.
    fn turns_of(&mut self, session: SessionId) -> Result<Vec<TurnRecord>>;

    /// Notes the entry that holds the prompt of a turn, by its sequence, where somebody else than
    /// the agent wrote it. The first one noted stands.
    fn note_prompt(&mut self, turn: TurnId, sequence: u64) -> Result<()>;
    /// The first turn that somebody asked for, and the sequence of its prompt.
    fn first_prompt(&mut self, session: SessionId) -> Result<Option<(TurnId, u64)>>;
    /// The last turn that somebody asked for at or before a time, and the sequence of its prompt.
    fn last_prompt(
        &mut self,
        session: SessionId,
        until: Timestamp,
    ) -> Result<Option<(TurnId, u64)>>;

    /// Records a statement and gives it the next number of this ledger.
    fn state(
        &mut self,
        at: Timestamp,
        by: &str,
        source: &str,
        statement: &Statement,
    ) -> Result<u64>;
    /// What was stated of a session, in order.
    fn statements_of_session(&mut self, session: SessionId) -> Result<Vec<StatementRecord>>;
    /// What was stated of a commit, in order.
    fn statements_of_commit(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
    ) -> Result<Vec<StatementRecord>>;
}

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

/// Intents, commits, checkpoints, authors.
#[expect(
    clippy::missing_errors_doc,
    reason = "every verb fails as its transaction does"
)]
pub trait Commits {
    /// Stores an intent, unless it is there.
    fn put_intent(&mut self, repository: RepositoryId, at: Timestamp, scene: &Scene) -> Result<()>;
    /// One intent.
    fn intent(&mut self, checkpoint: CheckpointId) -> Result<Option<IntentRecord>>;
    /// The intents of a git process, by its key, newest first.
    fn intents_of_git(&mut self, process: &str) -> Result<Vec<IntentRecord>>;
    /// The intents that are open, oldest first; of one repository, or of all.
    fn open_intents(&mut self, repository: Option<RepositoryId>) -> Result<Vec<IntentRecord>>;
    /// Closes an intent.
    fn close_intent(&mut self, checkpoint: CheckpointId, state: &IntentState) -> Result<()>;

    /// Stores what is known of a commit; what was there is replaced.
    fn put_commit(&mut self, record: &CommitRecord) -> Result<()>;
    /// What is known of a commit.
    fn commit(&mut self, repository: RepositoryId, commit: &Oid) -> Result<Option<CommitRecord>>;
    /// The commits that are this checkpoint, newest first.
    fn commits_of_checkpoint(&mut self, checkpoint: CheckpointId) -> Result<Vec<CommitRecord>>;
    /// The commits that a session made, newest first.
    fn commits_of_session(&mut self, session: SessionId, limit: usize)
    -> Result<Vec<CommitRecord>>;
    /// The commits of a repository, newest first; of all repositories if none is given.
    fn commits(
        &mut self,
        repository: Option<RepositoryId>,
        limit: usize,
    ) -> Result<Vec<CommitRecord>>;
    /// The commits with the same patch.
    fn commits_by_patch(
        &mut self,
        repository: RepositoryId,
        patch: &str,
    ) -> Result<Vec<CommitRecord>>;
    /// Commits of a repository that have no patch yet, oldest first: what a commit is made of comes before it.
    fn unfinished(&mut self, repository: RepositoryId, limit: usize) -> Result<Vec<Oid>>;
    /// Adds what git says of a commit. It is unfinished until its patch is there, too.
    fn put_facts(&mut self, repository: RepositoryId, facts: &CommitFacts) -> Result<()>;
    /// Adds the patch id of a commit, which may be empty: the commit is finished. One whose facts are not there, or are
    /// not there any more, stays as it is.
    fn finish(&mut self, repository: RepositoryId, commit: &Oid, patch: &str) -> Result<()>;
    /// Replaces the judgement over a commit.
    fn rejudge(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
        judgement: &Judgement,
    ) -> Result<()>;
    /// Notes that git rewrote a commit.
    fn put_rewrite(
        &mut self,
        repository: RepositoryId,
        old: &Oid,
        new: &Oid,
        command: &str,
        at: Timestamp,
    ) -> Result<()>;
    /// The commits that this one was rewritten from.
    fn rewritten_from(&mut self, repository: RepositoryId, new: &Oid) -> Result<Vec<Oid>>;

    /// Stores the origins of the lines of a commit's files; what was there is replaced.
    fn put_authors(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
        files: &[FileAuthors],
    ) -> Result<()>;
    /// The origins of the lines of a commit's files, by path; nothing if they were not looked for yet.
    fn authors(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
    ) -> Result<Option<Vec<FileAuthors>>>;
    /// The commits that hold lines of a session, newest first.
    fn authored(&mut self, session: SessionId) -> Result<Vec<(RepositoryId, Oid, u64)>>;

    /// Stores a checkpoint with its pins; more pins are added to one that is there.
    fn put_checkpoint(&mut self, record: &CheckpointRecord) -> Result<()>;
    /// Takes a checkpoint back, with its pins, that no message names and another one replaces.
    fn withdraw_checkpoint(&mut self, id: CheckpointId) -> Result<()>;
    /// One checkpoint.
    fn checkpoint(&mut self, id: CheckpointId) -> Result<Option<CheckpointRecord>>;
    /// The checkpoints of a commit, oldest first: each session that had a part in it may have one.
    fn checkpoints_of_commit(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
    ) -> Result<Vec<CheckpointRecord>>;
    /// Checkpoints, newest first; of a session, of a repository, or of all; those that come after the one of this time and
    /// id, if one is given.
    fn checkpoints(
        &mut self,
        session: Option<SessionId>,
        repository: Option<RepositoryId>,
        after: Option<(Timestamp, CheckpointId)>,
        limit: usize,
    ) -> Result<Vec<CheckpointRecord>>;
    /// Checkpoints that people may mean by these digits, 16 at most, as for sessions.
    fn checkpoints_by_tail(&mut self, tail: &str) -> Result<Vec<CheckpointId>>;
}

/// Declines, transcripts, the outbox and its cursors.
#[expect(
    clippy::missing_errors_doc,
    reason = "every verb fails as its transaction does"
)]
pub trait Queue {
    /// Records that something was refused, deferred or lost; the same key twice is one row.
    fn decline(&mut self, key: &str, at: Timestamp, decline: &Decline) -> Result<()>;
    /// What was declined since, newest first.
    fn declines(&mut self, since: Timestamp, limit: usize) -> Result<Vec<DeclineRecord>>;

    /// Wants a transcript to be read (on); creates it if it is new.
    fn want_transcript(&mut self, record: &TranscriptRecord) -> Result<()>;
    /// Transcripts that want to be read.
    fn wanted_transcripts(&mut self, limit: usize) -> Result<Vec<TranscriptRecord>>;
    /// One transcript.
    fn transcript(&mut self, stream: &str) -> Result<Option<TranscriptRecord>>;
    /// Notes how far a transcript was read, and whether there is more.
    fn transcript_read(&mut self, record: &TranscriptRecord, wanted: bool) -> Result<()>;
    /// Stores a run of lines; what was there at its place is replaced.
    fn put_segment(&mut self, segment: &Segment) -> Result<()>;
    /// The run of lines that holds this offset.
    fn segment(&mut self, stream: &str, offset: u64) -> Result<Option<Segment>>;

    /// Puts a change where projections find it.
    fn push(&mut self, at: Timestamp, topic: &str, body: &str) -> Result<()>;
    /// The last position of the outbox.
    fn outbox_end(&mut self) -> Result<u64>;
    /// How far a projection came.
    fn cursor(&mut self, projection: &str) -> Result<u64>;
    /// Notes how far a projection came.
    fn set_cursor(&mut self, projection: &str, position: u64) -> Result<()>;
    /// Writes about as much as a small turn, which says nothing: whoever asks learns whether anything can be written.
    fn write_probe(&mut self) -> Result<()>;
    /// Notes that an item is about to be tried, so that one which is the end of its worker is known to the next.
    fn tried(&mut self, queue: &str, item: &str, at: Timestamp) -> Result<()>;
    /// How often an item was tried since it was last taken back, if it was.
    fn tries(&mut self, queue: &str, item: &str) -> Result<Option<u64>>;
    /// Sets an item aside that failed too often.
    fn park(&mut self, queue: &str, item: &str, at: Timestamp, reason: &str) -> Result<()>;
    /// The items that were set aside: queue, item, when, why.
    fn parked(&mut self) -> Result<Vec<(String, String, Timestamp, String)>>;
    /// Takes an item back that was set aside, or came to its end: it was never tried.
    fn unpark(&mut self, queue: &str, item: &str) -> Result<()>;
}
