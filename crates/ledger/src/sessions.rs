//! The verbs of repositories, sessions, their names, processes, turns and links.

use siglum_domain::intake::{AgentVariable, Place};
use siglum_domain::process::ProcessIdentity;
use siglum_domain::{
    AgentName, ConversationId, NativeId, Oid, RepositoryId, SessionId, Timestamp, TurnId,
};

use crate::LedgerError;
use crate::record::*;

type Result<T> = std::result::Result<T, LedgerError>;

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
    /// The sessions with a link of this field attached whose value begins so, by value, 16 at most.
    fn sessions_by_link_start(
        &mut self,
        field: &str,
        start: &str,
    ) -> Result<Vec<(String, SessionId)>>;
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
    /// Lets a session be found by what a caller calls it, or by a sub-agent's id, as by a native id, which it is not. A
    /// known name stays with its session.
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
    /// A turn that is almost always new, with the entry that holds its prompt: the same as [`Sessions::turn`] and
    /// [`Sessions::note_prompt`], at once. Gives its id.
    fn begin_turn(&mut self, turn: &TurnRecord, prompt: Option<u64>) -> Result<TurnId>;
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
    /// Records statements in this order, each with its source, in the same way: what they come to is folded once.
    fn state_all(
        &mut self,
        at: Timestamp,
        by: &str,
        statements: &[(&str, &Statement)],
    ) -> Result<()>;
    /// What was stated of a session, in order.
    fn statements_of_session(&mut self, session: SessionId) -> Result<Vec<StatementRecord>>;
    /// What was stated of a commit, in order.
    fn statements_of_commit(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
    ) -> Result<Vec<StatementRecord>>;
    /// What was stated of a commit in any repository, in order.
    fn statements_of_commit_anywhere(&mut self, commit: &Oid) -> Result<Vec<StatementRecord>>;
}
