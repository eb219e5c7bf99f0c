//! The verbs of intents, commits, checkpoints and authors.

use siglum_domain::commit::CommitFacts;
use siglum_domain::evidence::Judgement;
use siglum_domain::intake::Scene;
use siglum_domain::link::Link;
use siglum_domain::{CheckpointId, Oid, RepositoryId, SessionId, Timestamp};

use crate::LedgerError;
use crate::record::*;

type Result<T> = std::result::Result<T, LedgerError>;

/// Which commits to list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitFilter {
    /// Only of these repositories.
    pub repositories: Vec<RepositoryId>,
    /// Only those whose id begins with these digits, in lower case.
    pub prefix: Option<String>,
    /// Only those that come after the one of this time, id and repository.
    pub after: Option<(Timestamp, Oid, RepositoryId)>,
    /// At most this many; 0 means all.
    pub limit: usize,
}

impl CommitFilter {
    /// The newest commits of a repository.
    #[must_use]
    pub fn of_repository(repository: RepositoryId, limit: usize) -> Self {
        Self {
            repositories: vec![repository],
            limit,
            ..Self::default()
        }
    }
}

/// Which checkpoints to list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckpointFilter {
    /// Only those that pin this session.
    pub session: Option<SessionId>,
    /// Only those that pin a session to which all of these are attached now; that session, if one is given.
    pub links: Vec<Link>,
    /// Only of these repositories.
    pub repositories: Vec<RepositoryId>,
    /// Only made at or after this.
    pub since: Option<Timestamp>,
    /// Only made before this.
    pub until: Option<Timestamp>,
    /// Only those that come after the one of this time and id.
    pub after: Option<(Timestamp, CheckpointId)>,
    /// At most this many; 0 means all.
    pub limit: usize,
}

impl CheckpointFilter {
    /// The newest checkpoints of a session.
    #[must_use]
    pub fn of_session(session: SessionId, limit: usize) -> Self {
        Self {
            session: Some(session),
            limit,
            ..Self::default()
        }
    }
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
    /// Commits, by when they were noticed, newest first, then by their ids and repositories, downwards.
    fn commits(&mut self, filter: &CommitFilter) -> Result<Vec<CommitRecord>>;
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
    /// Checkpoints, newest first, then by their ids, downwards.
    fn checkpoints(&mut self, filter: &CheckpointFilter) -> Result<Vec<CheckpointRecord>>;
    /// Checkpoints that people may mean by these digits, 16 at most, as for sessions.
    fn checkpoints_by_tail(&mut self, tail: &str) -> Result<Vec<CheckpointId>>;
}
