//! What agents have been doing: commits with who made them, sessions with where they stand, and
//! what waits.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use siglum_domain::evidence::{Case, Committer, Verdict, join_attestations, judge};
use siglum_domain::fold::SessionView;
use siglum_domain::link::Link;
use siglum_domain::provenance::Origin;
use siglum_domain::{AgentName, CheckpointId, Oid, RepositoryId, SessionId, Timestamp};
use siglum_gitstore::{Git, ListedCommit, Listing};
use siglum_ledger::{
    CommitRecord, DeclineRecord, FileAuthors, Ledger, LedgerError, RepositoryRecord, SeenBy,
    SessionFilter, SessionListing, SessionOrigin, SessionRecord, StatementRecord, Summary,
    Transaction, read,
};

use crate::commits::answers::{Asker, CommitAnswer};
use crate::commits::attestations::{answered_record, attestations_of};
use crate::commits::elsewhere;
use crate::commits::origins::{makers, origins_of};
use crate::commits::shown::Shown;
use crate::commits::why::{self, Claim};
use crate::damage::undamaged;
use crate::identity::{names, repositories, statements};
use crate::record::import;
use crate::{EngineError, Here, World};

/// How many commits a list that leaves some out looks at, at most.
const LOOK_AT: usize = 10_000;
/// How many open sessions are looked at for whether they run.
const OPEN_MOST: usize = 500;
/// A session whose process cannot be seen from here counts as running this long, in ms.
pub(crate) const UNSEEN_MS: i64 = 24 * 60 * 60 * 1000;
/// How far back declines are told, in ms.
const DECLINES_MS: i64 = 24 * 60 * 60 * 1000;
/// How many of each queue are counted at most.
pub const COUNT_MOST: usize = 1_000;

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
    /// What the repositories of this ledger are called.
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
    let claim = match place {
        Some(place) => {
            let here = repository.unwrap_or(place);
            why::claim(&why::stated(tx, (place, here), &git.commit)?)
        }
        None => None,
    };
    let Some(record) = found else {
        let attestations = attestations_of(tx, &git.commit, None)?;
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
    recorded_commit(tx, git, record, claim, None)
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
        repositories: repositories::names_by_id(tx)?,
        ..CommitLog::default()
    };
    let mut shown = Shown::new(within);
    for record in records {
        let place = record.repository;
        let claim = why::claim(&why::stated(tx, (place, place), &record.commit)?);
        let facts = record.facts.as_ref();
        let git = ListedCommit {
            commit: record.commit.clone(),
            committed: facts.map_or(record.at, |f| f.committed),
            author: facts.map(|f| f.author.clone()).unwrap_or_default(),
            subject: facts.map(|f| f.subject.clone()).unwrap_or_default(),
        };
        let commit = recorded_commit(tx, git, record, claim, within)?;
        for id in named(&commit) {
            if !log.sessions.contains_key(&id)
                && shown.has(tx, id)?
                && let Some(record) = tx.session(id)?
            {
                log.sessions.insert(id, record);
            }
        }
        log.commits.push(commit);
    }
    Ok(log)
}

fn recorded_commit(
    tx: &mut dyn Transaction,
    git: ListedCommit,
    record: CommitRecord,
    claim: Option<Claim>,
    within: Option<&[RepositoryId]>,
) -> Result<LoggedCommit, LedgerError> {
    let record = answered_record(tx, record, within)?;
    let lines = tx.authors(record.repository, &record.commit)?;
    let origins = match record.seen_by {
        SeenBy::Rewrite => {
            let origins = origins_of(tx, record.repository, &record.commit)?;
            makers(&origins, record.judgement.committer)
        }
        _ => Vec::new(),
    };
    Ok(LoggedCommit {
        git,
        repository: Some(record.repository),
        recorded: true,
        recorded_at: Some(record.at),
        committer: record.judgement.committer,
        verdict: record.judgement.verdict,
        is_attested: record.judgement.is_attested(),
        candidates: record.judgement.candidates,
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

/// Where a session stands, as far as it can be told from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stand {
    /// A turn is open.
    Working,
    /// The last turn came to its stop.
    Waiting,
    /// It ended, or its process is gone.
    Ended,
    /// It was read from a transcript; nobody saw it run.
    Imported,
}

impl Stand {
    /// The word that listings use.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Waiting => "waiting",
            Self::Ended => "ended",
            Self::Imported => "imported",
        }
    }
}

/// A session with where it stands.
#[derive(Debug, Clone)]
pub struct Listed {
    pub listing: SessionListing,
    pub stand: Stand,
    /// Whether its process lives; absent where that cannot be seen.
    pub alive: Option<bool>,
    pub links: Vec<Link>,
    /// What was stated of it.
    pub statements: Vec<StatementRecord>,
}

impl Listed {
    /// The name that a person gave to it, else the first line of its first prompt.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        names::name(&self.links).or(self.listing.summary.title.as_deref())
    }
}

/// Sessions, newest first, with where they stand.
///
/// # Errors
/// Those of the ledger.
pub fn sessions(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    filter: &SessionFilter,
) -> Result<Vec<Listed>, LedgerError> {
    read(ledger, |tx| {
        let listings = tx.sessions(filter)?;
        let stand = |listing| stand(world, tx, listing);
        listings.into_iter().map(stand).collect()
    })
}

/// Where one session stands.
///
/// # Errors
/// Those of the ledger.
pub fn stand(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    listing: SessionListing,
) -> Result<Listed, LedgerError> {
    let stated = undamaged(tx.statements_of_session(listing.record.id))?.unwrap_or_default();
    let links = statements::links(&stated);
    if listing.record.ended_at.is_some() {
        return Ok(Listed {
            listing,
            links,
            statements: stated,
            stand: Stand::Ended,
            alive: None,
        });
    }
    let bindings = undamaged(tx.bindings(listing.record.id))?.unwrap_or_default();
    let process = bindings.into_iter().next();
    let alive = process.as_ref().and_then(|p| (here.alive)(&p.process));
    let stand = match (&process, alive) {
        (_, Some(false)) => Stand::Ended,
        (None, _) if listing.record.origin == SessionOrigin::Import => Stand::Imported,
        _ if listing.summary.state == "working" => Stand::Working,
        _ => Stand::Waiting,
    };
    Ok(Listed {
        listing,
        links,
        statements: stated,
        stand,
        alive,
    })
}

/// What a session amounts to by its log.
pub(crate) fn summary(view: &SessionView, over: bool) -> Summary {
    let state = if over { "ended" } else { view.state.word() };
    Summary {
        state: state.to_owned(),
        title: view.title.clone(),
        models: view.models.iter().cloned().collect(),
        turns: view.prompted_turns() as u64,
        tool_calls: view.tool_calls() as u64,
        subagents: view.subagents.len() as u64,
        tokens: view.tokens,
    }
}

/// What is going on, and what waits.
#[derive(Debug, Clone, Default)]
pub struct Overview {
    /// The sessions that run, newest first.
    pub running: Vec<Listed>,
    /// The newest session of this repository.
    pub last: Option<Listed>,
    /// Transcripts to be read, [`COUNT_MOST`] at most.
    pub transcripts: usize,
    /// Sessions that do not run and have entries to be sealed, [`COUNT_MOST`] at most.
    pub unsealed: usize,
    /// Commits under way in this repository.
    pub intents: usize,
    /// Whether an import of this repository runs, or did not come to its end.
    pub importing: bool,
    /// What was set aside: queue, item, when, why.
    pub parked: Vec<(String, String, Timestamp, String)>,
    /// What was declined in the last day, newest first, [`COUNT_MOST`] at most.
    pub declines: Vec<DeclineRecord>,
}

/// Tells what is going on.
///
/// # Errors
/// Those of the ledger.
pub fn overview(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    repository: Option<&RepositoryRecord>,
) -> Result<Overview, LedgerError> {
    let open = SessionFilter {
        open: true,
        seen: true,
        limit: OPEN_MOST,
        ..SessionFilter::default()
    };
    let mut running = sessions(world, ledger, &open)?;
    let now = world.now();
    running.retain(|s| runs(s, now));
    let last = match repository {
        Some(repository) => {
            let newest = SessionFilter {
                repositories: read(ledger, |tx| repositories::clones(tx, &[repository.id]))?,
                limit: 1,
                ..SessionFilter::default()
            };
            sessions(world, ledger, &newest)?.pop()
        }
        None => None,
    };
    let busy: BTreeSet<SessionId> = running.iter().map(|s| s.listing.record.id).collect();
    read(ledger, |tx| {
        let unsealed = tx.unsealed(COUNT_MOST)?;
        Ok(Overview {
            running: running.clone(),
            last: last.clone(),
            transcripts: tx.wanted_transcripts(COUNT_MOST)?.len(),
            unsealed: unsealed.iter().filter(|s| !busy.contains(&s.id)).count(),
            intents: match repository {
                Some(repository) => tx.open_intents(Some(repository.id))?.len(),
                None => 0,
            },
            importing: match repository {
                Some(repository) => import::is_owed(tx, repository.id)?,
                None => false,
            },
            parked: tx.parked()?,
            declines: tx.declines(now.plus_millis(-DECLINES_MS), COUNT_MOST)?,
        })
    })
}

fn runs(session: &Listed, now: Timestamp) -> bool {
    let open = matches!(session.stand, Stand::Working | Stand::Waiting);
    let is_recent = now.millis_since(session.listing.record.last_at) < UNSEEN_MS;
    open && session.alive.unwrap_or(is_recent)
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
