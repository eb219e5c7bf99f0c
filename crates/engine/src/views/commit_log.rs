//! The log of commits: those of git or of the ledger, with who made them.

use std::collections::{BTreeMap, BTreeSet};

use siglum_domain::evidence::{Attestation, Case, Committer, Verdict, join_attestations, judge};
use siglum_domain::provenance::Origin;
use siglum_domain::{AgentName, CheckpointId, Oid, RepositoryId, SessionId, Timestamp};
use siglum_gitstore::{Git, ListedCommit, Listing};
use siglum_ledger::{
    CommitRecord, FileAuthors, Ledger, LedgerError, SeenBy, SessionRecord, StatementRecord,
    Transaction, read,
};

use crate::EngineError;
use crate::commits::answers::{Asker, CommitAnswer};
use crate::commits::attestations::attestations_among;
use crate::commits::elsewhere;
use crate::commits::origins::{makers, origins_of};
use crate::commits::shown::Shown;
use crate::commits::why::{self, Claim};
use crate::identity::repositories;
use crate::record::import;

/// How many commits a list that leaves some out looks at, at most.
const LOOK_AT: usize = 10_000;

/// Which commits to list.
#[derive(Debug, Clone, Default)]
pub struct LogFilter {
    /// A revision or range in git's words; HEAD if absent.
    pub range: Option<String>,
    /// Only those committed at or after this.
    pub since: Option<Timestamp>,
    /// Only those committed before this.
    pub until: Option<Timestamp>,
    /// Only those that sessions of this agent made.
    pub agent: Option<AgentName>,
    /// At most this many; 0 means all.
    pub limit: usize,
}

/// How many lines of a commit were written by whom.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lines {
    /// By sessions that were seen writing them.
    pub sessions: BTreeMap<SessionId, u64>,
    /// Those that nobody was seen writing.
    pub unknown: u64,
}

impl Lines {
    fn from_files(files: &[FileAuthors]) -> Self {
        let mut lines = Self::default();
        for span in files.iter().flat_map(|f| &f.spans) {
            let count = u64::from(span.lines());
            match span.origin {
                Origin::Parent => {}
                Origin::Session(session) => *lines.sessions.entry(session).or_default() += count,
                Origin::Unknown => lines.unknown += count,
            }
        }
        lines
    }

    /// Lines that sessions wrote.
    #[must_use]
    pub fn by_sessions(&self) -> u64 {
        self.sessions.values().sum()
    }

    /// All lines that the commit added.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.by_sessions() + self.unknown
    }
}

/// One commit and who made it.
#[derive(Debug, Clone)]
pub struct LoggedCommit {
    pub git: ListedCommit,
    /// The repository that it is recorded for, else the one that was asked.
    pub repository: Option<RepositoryId>,
    /// Whether the ledger knows it.
    pub recorded: bool,
    /// When it was recorded here.
    pub recorded_at: Option<Timestamp>,
    pub committer: Committer,
    pub verdict: Verdict,
    /// Whether only trusted platforms name the session: nobody was observed making the commit.
    pub is_attested: bool,
    /// The sessions that could have, where it is ambiguous.
    pub candidates: Vec<SessionId>,
    /// The sessions that made the commits that git made it of, without the one that rewrote them.
    pub origins: Vec<SessionId>,
    /// What a person says, beside the evidence.
    pub claim: Option<Claim>,
    pub checkpoint: Option<CheckpointId>,
    /// Who wrote its lines, once the worker has looked.
    pub lines: Option<Lines>,
    /// Whether a gateway answers for it, and not this ledger.
    pub by_gateway: bool,
}

/// Commits, newest first.
#[derive(Debug, Clone, Default)]
pub struct CommitLog {
    pub commits: Vec<LoggedCommit>,
    /// The sessions that they name.
    pub sessions: BTreeMap<SessionId, SessionRecord>,
    /// What their repositories are called.
    pub repositories: BTreeMap<RepositoryId, String>,
    pub more: bool,
    /// Whether an import of the repository runs, or did not come to its end.
    pub importing: bool,
}

impl CommitLog {
    /// What a repository is called; its id, where this ledger has no name for it.
    #[must_use]
    pub fn repository_name(&self, id: RepositoryId) -> String {
        let name = self.repositories.get(&id).cloned();
        name.unwrap_or_else(|| id.to_string())
    }
}

/// Lists commits with who made them. One git process, one transaction; with somebody to `ask` another transaction, and all
/// of those at once that nobody is known here to have made. Without a repository only other ledgers' records and who is
/// asked can tell anything.
///
/// # Errors
/// Git fails, or those of the ledger.
pub fn log(
    git: &Git,
    ledger: &mut dyn Ledger,
    repository: Option<RepositoryId>,
    filter: &LogFilter,
    ask: Option<Asker<'_>>,
) -> Result<CommitLog, EngineError> {
    let limit = match (filter.limit, &filter.agent) {
        (0, _) => 0,
        (_, Some(_)) => LOOK_AT,
        (limit, None) => limit + 1,
    };
    let mut listed = git.list(&Listing {
        range: filter.range.as_deref(),
        since: filter.since,
        until: filter.until,
        limit,
    })?;
    let answers = match ask {
        Some(ask) => ask(&read(ledger, |tx| unknown(tx, repository, &listed))?),
        None => BTreeMap::new(),
    };
    Ok(read(ledger, |tx| {
        join(tx, repository, filter, &mut listed, &answers)
    })?)
}

/// The commits that nobody is known here to have made.
fn unknown(
    tx: &mut dyn Transaction,
    repository: Option<RepositoryId>,
    listed: &[ListedCommit],
) -> Result<Vec<Oid>, LedgerError> {
    let mut unknown = Vec::new();
    for git in listed {
        let known = elsewhere::known_elsewhere(tx, repository, &git.commit)?;
        if known.is_none_or(|record| record.judgement.verdict == Verdict::Unknown) {
            unknown.push(git.commit.clone());
        }
    }
    Ok(unknown)
}

fn join(
    tx: &mut dyn Transaction,
    repository: Option<RepositoryId>,
    filter: &LogFilter,
    listed: &mut Vec<ListedCommit>,
    answers: &BTreeMap<Oid, CommitAnswer>,
) -> Result<CommitLog, LedgerError> {
    let importing = match repository {
        Some(repository) => import::is_owed(tx, repository)?,
        None => false,
    };
    let mut log = CommitLog {
        repositories: repositories::names_by_id(tx)?,
        importing,
        ..CommitLog::default()
    };
    for git in std::mem::take(listed) {
        let mut commit = logged(tx, repository, git)?;
        let (has_claim, has_authors) = (commit.claim.is_some(), has_authors(&commit));
        if let Some(answer) = answers.get(&commit.git.commit)
            && answer.adds_to(commit.verdict, has_claim, has_authors)
        {
            let cards = answer.cards().into_iter();
            log.sessions
                .extend(cards.map(|(id, card)| (id, card.record)));
            commit = answered(commit.git, answer);
        }
        let named = named(&commit);
        for id in &named {
            if !log.sessions.contains_key(id)
                && let Some(record) = tx.session(*id)?
            {
                log.sessions.insert(*id, record);
            }
        }
        let wanted = filter.agent.as_ref().is_none_or(|agent| {
            let of_agent = |id: &SessionId| {
                log.sessions
                    .get(id)
                    .is_some_and(|s| s.agent_key() == *agent)
            };
            made_by(&commit).iter().any(of_agent)
        });
        if !wanted {
            continue;
        }
        if filter.limit > 0 && log.commits.len() == filter.limit {
            log.more = true;
            break;
        }
        log.commits.push(commit);
    }
    let shown: BTreeSet<SessionId> = log.commits.iter().flat_map(named).collect();
    log.sessions.retain(|id, _| shown.contains(id));
    Ok(log)
}

fn logged(
    tx: &mut dyn Transaction,
    repository: Option<RepositoryId>,
    git: ListedCommit,
) -> Result<LoggedCommit, LedgerError> {
    let found = elsewhere::known_elsewhere(tx, repository, &git.commit)?;
    let place = found.as_ref().map(|r| r.repository).or(repository);
    let stated = tx.statements_of_commit_anywhere(&git.commit)?;
    let here = |place| [place, repository.unwrap_or(place)];
    let claim = place.and_then(|place| claim_in(&stated, &here(place)));
    let attestations = attestations_among(tx, stated, None)?;
    let Some(record) = found else {
        let judgement = join_attestations(judge(&Case::default()), &attestations);
        return Ok(LoggedCommit {
            git,
            repository,
            recorded: !attestations.is_empty(),
            recorded_at: None,
            committer: judgement.committer,
            verdict: judgement.verdict,
            is_attested: judgement.is_attested(),
            candidates: judgement.candidates,
            origins: Vec::new(),
            claim,
            checkpoint: None,
            lines: None,
            by_gateway: false,
        });
    };
    recorded_commit(tx, git, record, claim, &attestations)
}

/// What a person says of a commit in some repositories, of all that was stated of it.
fn claim_in(stated: &[StatementRecord], repositories: &[RepositoryId]) -> Option<Claim> {
    let mut stated = stated.to_vec();
    stated.retain(|s| {
        let place = s.statement.commit().map(|(repository, _)| repository);
        place.is_some_and(|place| repositories.contains(&place))
    });
    why::claim(&stated)
}

/// Recorded commits with who made them, in the order of the records and from the ledger alone. Of sessions that do not work
/// in one of the repositories of `within`, and of attestations that name another one, it has nothing.
///
/// # Errors
/// Those of the ledger.
pub fn recorded(
    tx: &mut dyn Transaction,
    records: Vec<CommitRecord>,
    within: Option<&[RepositoryId]>,
) -> Result<CommitLog, LedgerError> {
    let mut log = CommitLog {
        repositories: repositories::names_of(tx, records.iter().map(|r| r.repository))?,
        ..CommitLog::default()
    };
    for record in records {
        let stated = tx.statements_of_commit_anywhere(&record.commit)?;
        let claim = claim_in(&stated, &[record.repository]);
        let attestations = attestations_among(tx, stated, within)?;
        let facts = record.facts.as_ref();
        let git = ListedCommit {
            commit: record.commit.clone(),
            committed: facts.map_or(record.at, |f| f.committed),
            author: facts.map(|f| f.author.clone()).unwrap_or_default(),
            subject: facts.map(|f| f.subject.clone()).unwrap_or_default(),
        };
        let commit = recorded_commit(tx, git, record, claim, &attestations)?;
        log.commits.push(commit);
    }
    let shown = Shown::new(within);
    for id in log.commits.iter().flat_map(named).collect::<BTreeSet<_>>() {
        if let Some(record) = shown.record(tx, id)? {
            log.sessions.insert(id, record);
        }
    }
    Ok(log)
}

fn recorded_commit(
    tx: &mut dyn Transaction,
    git: ListedCommit,
    record: CommitRecord,
    claim: Option<Claim>,
    attestations: &[Attestation],
) -> Result<LoggedCommit, LedgerError> {
    let judgement = join_attestations(record.judgement, attestations);
    let lines = tx.authors(record.repository, &record.commit)?;
    let origins = match record.seen_by {
        SeenBy::Rewrite => {
            let origins = origins_of(tx, record.repository, &record.commit)?;
            makers(&origins, judgement.committer)
        }
        _ => Vec::new(),
    };
    Ok(LoggedCommit {
        git,
        repository: Some(record.repository),
        recorded: true,
        recorded_at: Some(record.at),
        committer: judgement.committer,
        verdict: judgement.verdict,
        is_attested: judgement.is_attested(),
        candidates: judgement.candidates,
        origins,
        claim,
        checkpoint: record.checkpoint,
        lines: lines.map(|files| Lines::from_files(&files)),
        by_gateway: false,
    })
}

/// A commit as a gateway has it.
fn answered(git: ListedCommit, answer: &CommitAnswer) -> LoggedCommit {
    let origins = match answer.seen_by {
        Some(SeenBy::Rewrite) => makers(&answer.origins, answer.judgement.committer),
        _ => Vec::new(),
    };
    let files = answer.authors();
    LoggedCommit {
        git,
        repository: Some(answer.repository),
        recorded: true,
        recorded_at: None,
        committer: answer.judgement.committer,
        verdict: answer.judgement.verdict,
        is_attested: answer.judgement.is_attested(),
        candidates: answer.judgement.candidates.clone(),
        origins,
        claim: answer.claim.clone(),
        checkpoint: answer.checkpoint,
        lines: (!files.is_empty()).then(|| Lines::from_files(&files)),
        by_gateway: true,
    }
}

/// Whether sessions were seen writing lines of a commit.
fn has_authors(commit: &LoggedCommit) -> bool {
    let lines = commit.lines.as_ref();
    lines.is_some_and(|lines| lines.by_sessions() > 0)
}

/// The sessions that made a commit, by evidence or by a person's word.
fn made_by(commit: &LoggedCommit) -> Vec<SessionId> {
    let judged = match commit.committer {
        Committer::Session { session } => Some(session),
        Committer::Human | Committer::Unknown => None,
    };
    let claimed = commit.claim.as_ref().map(|c| c.session);
    let origins = commit.origins.iter().copied();
    judged.into_iter().chain(claimed).chain(origins).collect()
}

fn named(commit: &LoggedCommit) -> Vec<SessionId> {
    let mut named = made_by(commit);
    named.extend(&commit.candidates);
    named.extend(commit.lines.iter().flat_map(|l| l.sessions.keys()));
    named
}

#[cfg(test)]
mod tests {
    use siglum_domain::provenance::Span;

    use super::*;

    #[test]
    fn lines_of_the_parent_are_nobodys_work() {
        let session: SessionId = "ses_01920000000070008000000000000001"
            .parse()
            .expect("an id");
        let span = |first, last, origin| Span {
            first,
            last,
            origin,
            bridged: false,
        };
        let file = FileAuthors {
            path: "a".into(),
            spans: vec![
                span(1, 10, Origin::Parent),
                span(11, 13, Origin::Session(session)),
                span(14, 14, Origin::Unknown),
                span(15, 15, Origin::Session(session)),
            ],
        };
        let lines = Lines::from_files(&[file]);
        assert_eq!((lines.by_sessions(), lines.all()), (4, 5));
    }
}
