//! Sessions that go wrong.

use siglum_domain::intake::{AgentVariable, Place};
use siglum_domain::process::ProcessIdentity;
use siglum_domain::{
    AgentName, ConversationId, NativeId, Oid, RepositoryId, SessionId, Timestamp, TurnId,
};
use siglum_ledger::{
    Binding, LedgerError, Relation, RepositoryIdentity, RepositoryRecord, SessionFilter,
    SessionListing, SessionRecord, Sessions, Statement, StatementRecord, Summary, TurnRecord,
};

use super::verbs::broken;
use super::{BrokenTx, Kind};

broken! { Sessions, SESSIONS, LIMITED;
    Find repository(common_dir: &str) -> Option<RepositoryRecord>;
    List repositories() -> Vec<RepositoryRecord>;
    Own note_place(place: &Place, fresh: RepositoryId, at: Timestamp) -> RepositoryId;
    Write set_identity(repository: RepositoryId, identity: &RepositoryIdentity) -> ();
    Write move_repository(repository: RepositoryId, common_dir: &str, renamed: &[(String, String)]) -> ();
    Write set_swept(repository: RepositoryId, worktree: &str, head: &Oid) -> ();
    Find session(id: SessionId) -> Option<SessionRecord>;
    Find session_by_alias(agent: &AgentName, native: &NativeId) -> Option<SessionId>;
    List sessions_by_native(native: &NativeId) -> Vec<(AgentName, SessionId)>;
    List sessions_by_native_start(start: &str) -> Vec<(AgentName, SessionId)>;
    List sessions_by_link_start(field: &str, start: &str) -> Vec<(String, SessionId)>;
    List sessions_by_tail(tail: &str) -> Vec<SessionId>;
    Own sessions(filter: &SessionFilter) -> Vec<SessionListing>;
    Write create_session(record: &SessionRecord) -> ();
    Write add_alias(agent: &AgentName, native: &NativeId, session: SessionId, at: Timestamp) -> ();
    Write add_caller_name(agent: &AgentName, name: &NativeId, session: SessionId, at: Timestamp) -> ();
    List aliases(session: SessionId) -> Vec<NativeId>;
    Write touch(session: SessionId, at: Timestamp, place: Option<(RepositoryId, &str)>, cwd: Option<&str>) -> ();
    Write set_agent(session: SessionId, agent: &AgentName) -> ();
    Write set_conversation(session: SessionId, conversation: &ConversationId) -> ();
    Write set_ended(session: SessionId, at: Option<Timestamp>) -> ();
    Write set_unseen(session: SessionId) -> ();
    Write set_parent(session: SessionId, parent: SessionId, relation: Relation) -> ();
    Write put_summary(session: SessionId, summary: &Summary, folded: u64) -> ();
    Write refold(session: Option<SessionId>) -> ();
    List unfolded(; limit) -> Vec<SessionId>;
    Write bind(session: SessionId, process: &ProcessIdentity, carried: Option<&[AgentVariable]>, at: Timestamp) -> ();
    List bound_to(process: &str) -> Vec<Binding>;
    List bindings(session: SessionId) -> Vec<Binding>;
    Own turn(session: SessionId, native: &str, fresh: TurnId, at: Timestamp) -> TurnId;
    Own begin_turn(turn: &TurnRecord, prompt: Option<u64>) -> TurnId;
    Find last_turn(session: SessionId) -> Option<TurnRecord>;
    List turns_of(session: SessionId) -> Vec<TurnRecord>;
    Write note_prompt(turn: TurnId, sequence: u64) -> ();
    Find first_prompt(session: SessionId) -> Option<(TurnId, u64)>;
    Find last_prompt(session: SessionId, until: Timestamp) -> Option<(TurnId, u64)>;
    Own state(at: Timestamp, by: &str, source: &str, statement: &Statement) -> u64;
    Write state_all(at: Timestamp, by: &str, statements: &[(&str, &Statement)]) -> ();
    List statements_of_session(session: SessionId) -> Vec<StatementRecord>;
    List statements_of_commit(repository: RepositoryId, commit: &Oid) -> Vec<StatementRecord>;
    List statements_of_commit_anywhere(commit: &Oid) -> Vec<StatementRecord>;
}
