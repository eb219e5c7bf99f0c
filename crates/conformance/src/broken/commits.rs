//! Commits that go wrong.

use siglum_domain::commit::CommitFacts;
use siglum_domain::evidence::Judgement;
use siglum_domain::intake::Scene;
use siglum_domain::{CheckpointId, Oid, RepositoryId, SessionId, Timestamp};
use siglum_ledger::{
    CheckpointFilter, CheckpointRecord, CommitFilter, CommitRecord, Commits, FileAuthors,
    IntentRecord, IntentState, LedgerError,
};

use super::verbs::broken;
use super::{BrokenTx, Kind};

broken! { Commits, COMMITS, LIMITED;
    Write put_intent(repository: RepositoryId, at: Timestamp, scene: &Scene) -> ();
    Find intent(checkpoint: CheckpointId) -> Option<IntentRecord>;
    List intents_of_git(process: &str) -> Vec<IntentRecord>;
    Own open_intents(repository: Option<RepositoryId>) -> Vec<IntentRecord>;
    Write close_intent(checkpoint: CheckpointId, state: &IntentState) -> ();
    Write put_commit(record: &CommitRecord) -> ();
    Find commit(repository: RepositoryId, commit: &Oid) -> Option<CommitRecord>;
    List commits_of_checkpoint(checkpoint: CheckpointId) -> Vec<CommitRecord>;
    List commits_of_session(session: SessionId; limit) -> Vec<CommitRecord>;
    Own commits(filter: &CommitFilter) -> Vec<CommitRecord>;
    List commits_by_patch(repository: RepositoryId, patch: &str) -> Vec<CommitRecord>;
    List unfinished(repository: RepositoryId; limit) -> Vec<Oid>;
    WriteOnce put_facts(repository: RepositoryId, facts: &CommitFacts) -> ();
    WriteOnce finish(repository: RepositoryId, commit: &Oid, patch: &str) -> ();
    Write rejudge(repository: RepositoryId, commit: &Oid, judgement: &Judgement) -> ();
    Write put_rewrite(repository: RepositoryId, old: &Oid, new: &Oid, command: &str, at: Timestamp) -> ();
    List rewritten_from(repository: RepositoryId, new: &Oid) -> Vec<Oid>;
    Write put_authors(repository: RepositoryId, commit: &Oid, files: &[FileAuthors]) -> ();
    Find authors(repository: RepositoryId, commit: &Oid) -> Option<Vec<FileAuthors>>;
    List authored(session: SessionId) -> Vec<(RepositoryId, Oid, u64)>;
    Own put_checkpoint(record: &CheckpointRecord) -> ();
    Write withdraw_checkpoint(id: CheckpointId) -> ();
    Find checkpoint(id: CheckpointId) -> Option<CheckpointRecord>;
    Own checkpoints(filter: &CheckpointFilter) -> Vec<CheckpointRecord>;
    List checkpoints_of_commit(repository: RepositoryId, commit: &Oid) -> Vec<CheckpointRecord>;
    List checkpoints_by_tail(tail: &str) -> Vec<CheckpointId>;
}
