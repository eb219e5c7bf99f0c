//! Who made a commit, who wrote its lines, and how that is known.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use siglum_domain::commit::CommitFacts;
use siglum_domain::evidence::{
    Attestation, Basis, Committer, Evidence, Judgement, Verdict, join_attestations, judge,
};
use siglum_domain::provenance::{self, Span};
use siglum_domain::{CheckpointId, Oid, RepositoryId, SessionId, Timestamp};
use siglum_ledger::{
    CommitRecord, FileAuthors, Ledger, LedgerError, RepositoryRecord, SeenBy, Statement,
    StatementRecord, Transaction, read, stored_facts,
};

use crate::commits::attestations::{StandingAttestation, attestations_of, standing_attestations};
use crate::commits::cards::SessionCard;
use crate::commits::elsewhere;
use crate::commits::origins::{Origin, origins_of};
use crate::commits::prompts::{Prompt, made_at, prompt_at, prompt_of_last_edit};
use crate::commits::scene::{self, Unseen};
use crate::commits::shown::Shown;
use crate::commits::{authors, landing};
use crate::identity::repositories;
use crate::{EngineError, World};

/// One author of a commit.
#[derive(Debug, Clone)]
pub struct Author {
    /// Who; absent for lines that nobody was seen writing.
    pub session: Option<SessionId>,
    pub verdict: Verdict,
    /// Which lines of which files.
    pub files: Vec<(String, Vec<Span>)>,
    pub evidence: Vec<Evidence>,
}

impl Author {
    /// How many lines.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.files
            .iter()
            .flat_map(|(_, spans)| spans)
            .map(|s| u64::from(s.lines()))
            .sum()
    }
}

/// A statement of a person about a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Which session it is said to be of.
    pub session: SessionId,
    pub by: String,
    pub at: Timestamp,
}

/// The answer.
#[derive(Debug, Clone)]
pub struct Why {
    pub facts: CommitFacts,
    pub repository: RepositoryId,
    pub checkpoint: Option<CheckpointId>,
    /// How it was noticed; absent if nothing noticed it.
    pub seen_by: Option<SeenBy>,
    pub judgement: Judgement,
    /// What a person says, beside the evidence.
    pub claim: Option<Claim>,
    /// What trusted platforms state, as the evidence has it, too.
    pub attestations: Vec<Attestation>,
    /// Who wrote its lines, those with most lines first.
    pub authors: Vec<Author>,
    /// All sessions that the answer names.
    pub sessions: BTreeMap<SessionId, SessionCard>,
    /// What led to it: the prompt of who made it, and where that is no session, of who wrote most of its lines.
    pub prompt: Option<Prompt>,
    pub rewritten_from: Vec<Oid>,
    /// The same, and those that they were rewritten from, each with who made it.
    pub origins: Vec<Origin>,
    pub same_patch: Vec<Oid>,
}

/// Answers for one commit of a repository.
///
/// # Errors
/// Git does not know the commit or fails, or those of the ledger.
pub fn why(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    repository: &RepositoryRecord,
    commit: &Oid,
) -> Result<Option<Why>, EngineError> {
    let Some(found) = find_commit(world, ledger, repository, commit)? else {
        return Ok(None);
    };
    Ok(Some(read(ledger, |tx| {
        answer(
            tx,
            (found.place, repository.id),
            found.record.as_ref(),
            stored_facts(&found.facts),
            &found.files,
            &mut Shown::new(None),
        )
    })?))
}

/// A commit with who wrote its lines.
pub(crate) struct FoundCommit {
    pub(crate) record: Option<CommitRecord>,
    /// The repository that it is recorded for.
    pub(crate) place: RepositoryId,
    pub(crate) facts: CommitFacts,
    pub(crate) files: Vec<FileAuthors>,
}

/// Finds a commit in the ledger, and asks git for what is not there.
pub(crate) fn find_commit(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    repository: &RepositoryRecord,
    commit: &Oid,
) -> Result<Option<FoundCommit>, EngineError> {
    let record = read(ledger, |tx| {
        elsewhere::known_elsewhere(tx, Some(repository.id), commit)
    })?;
    let place = record.as_ref().map_or(repository.id, |r| r.repository);
    let stored = record
        .as_ref()
        .and_then(|r| r.facts.clone())
        .filter(|f| !f.parents.is_empty() || !f.changes.is_empty());
    let git = repositories::usable_git(world, repository);
    let facts = match (stored, &git) {
        (Some(facts), _) => facts,
        (None, Some(git)) => match git.facts(std::slice::from_ref(commit))?.known.pop() {
            Some(facts) => facts,
            None => return Ok(None),
        },
        (None, None) => return Ok(None),
    };
    let known = read(ledger, |tx| tx.authors(place, commit))?;
    let files = match (known, &git) {
        (Some(files), _) => files,
        (None, Some(git)) => {
            let until = record
                .as_ref()
                .map_or(facts.committed.plus_millis(2_000), |r| {
                    r.at.plus_millis(2_000)
                });
            authors::find(world, ledger, git, repository.id, (&facts, ""), None, until)?
        }
        (None, None) => Vec::new(),
    };
    Ok(Some(FoundCommit {
        record,
        place,
        facts,
        files,
    }))
}

/// Answers from what the ledger has alone, without git: for a commit that nothing is recorded of, nothing. Attestations
/// that name a repository outside of `within` do not count.
///
/// # Errors
/// Those of the ledger.
pub fn recorded(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    commit: &Oid,
    within: Option<&[RepositoryId]>,
) -> Result<Option<Why>, LedgerError> {
    recorded_in(tx, repository, commit, &mut Shown::new(within))
}

fn recorded_in(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    commit: &Oid,
    shown: &mut Shown<'_>,
) -> Result<Option<Why>, LedgerError> {
    let record = tx.commit(repository, commit)?;
    let mut attested = standing_attestations(tx, commit)?;
    attested.retain(|a| a.repository == repository);
    let is_known = record.is_some() || !attested.is_empty();
    if !is_known && tx.checkpoints_of_commit(repository, commit)?.is_empty() {
        return Ok(None);
    }
    let facts = record.as_ref().and_then(|r| r.facts.clone());
    let facts = facts.unwrap_or_else(|| bare(commit, record.as_ref(), attested.first()));
    let files = tx.authors(repository, commit)?.unwrap_or_default();
    let place = (repository, repository);
    answer(tx, place, record.as_ref(), facts, &files, shown).map(Some)
}

/// Answers for a commit from what the ledger has alone, in whichever repository that may be shown: what says most, where
/// several have it.
pub(crate) fn recorded_anywhere(
    tx: &mut dyn Transaction,
    commit: &Oid,
    shown: &mut Shown<'_>,
) -> Result<Option<Why>, LedgerError> {
    let within = shown.within();
    let is_inside = |id: RepositoryId| within.is_none_or(|ids| ids.contains(&id));
    let mut records = tx.commits_named(commit)?;
    records.retain(|r| is_inside(r.repository));
    let Some(record) = elsewhere::most_telling(records, None) else {
        let mut attested = standing_attestations(tx, commit)?.into_iter();
        return match attested.find(|a| is_inside(a.repository)) {
            Some(attested) => recorded_in(tx, attested.repository, commit, shown),
            None => Ok(None),
        };
    };
    let place = record.repository;
    let facts = record.facts.clone();
    let facts = facts.unwrap_or_else(|| bare(commit, Some(&record), None));
    let files = tx.authors(place, commit)?.unwrap_or_default();
    answer(tx, (place, place), Some(&record), facts, &files, shown).map(Some)
}

/// What is known of a commit that git was not asked about.
fn bare(
    commit: &Oid,
    record: Option<&CommitRecord>,
    attested: Option<&StandingAttestation>,
) -> CommitFacts {
    let stated_at = |a: &StandingAttestation| a.attested.committed_at.unwrap_or(a.attestation.at);
    let at = record.map(|r| r.at).or(attested.map(stated_at));
    let at = at.unwrap_or_default();
    let facts = attested.map(|a| a.attested.clone()).unwrap_or_default();
    CommitFacts {
        commit: commit.clone(),
        tree: facts.tree.unwrap_or_else(authors::no_object),
        parents: facts.parents.unwrap_or_default(),
        authored: at,
        committed: at,
        author: String::new(),
        subject: String::new(),
        named: Vec::new(),
        changes: Vec::new(),
    }
}

/// The sessions that recorded a checkpoint of this commit themselves: what they claim, beside the evidence.
fn claimed_by_sessions(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    facts: &CommitFacts,
    record: Option<&CommitRecord>,
    judgement: &mut Judgement,
    shown: &mut Shown<'_>,
) -> Result<(), LedgerError> {
    let own = record.and_then(|r| r.checkpoint);
    for checkpoint in tx.checkpoints_of_commit(repository, &facts.commit)? {
        if Some(checkpoint.id) == own || facts.named.contains(&checkpoint.id) {
            continue;
        }
        let short = checkpoint.id.short();
        for (session, _) in shown.pins(tx, checkpoint.pins)? {
            judgement.evidence.push(Evidence {
                session: Some(session),
                basis: Basis::Claimed,
                counted: false,
                text: format!("the session recorded checkpoint {short} of this commit"),
            });
            let is_named = judgement.committer == (Committer::Session { session });
            if !is_named && !judgement.candidates.contains(&session) {
                judgement.candidates.push(session);
            }
        }
    }
    Ok(())
}

fn answer(
    tx: &mut dyn Transaction,
    (repository, here): (RepositoryId, RepositoryId),
    record: Option<&CommitRecord>,
    facts: CommitFacts,
    files: &[FileAuthors],
    shown: &mut Shown<'_>,
) -> Result<Why, LedgerError> {
    let judgement = match record {
        Some(record) => elsewhere::judgement_for(tx, record, here)?,
        None => judge(&scene::unwitnessed(
            tx,
            &Unseen {
                repository,
                facts: &facts,
                at: facts.committed,
            },
        )?),
    };
    let attestations = attestations_of(tx, &facts.commit, shown.within())?;
    let mut judgement = join_attestations(judgement, &attestations);
    named_by_message(tx, &facts, record, &mut judgement, shown)?;
    claimed_by_sessions(tx, repository, &facts, record, &mut judgement, shown)?;
    if judgement.verdict == Verdict::Unknown && facts.named.is_empty() {
        let at = record.map_or(facts.committed, |r| r.at);
        for session in scene::around(tx, repository, at)? {
            if !judgement.candidates.contains(&session) && !judgement.outer.contains(&session) {
                judgement.candidates.push(session);
            }
        }
    }
    let patch = record
        .and_then(|r| r.patch.clone())
        .filter(|p| !p.is_empty());
    let same_patch = match patch {
        Some(patch) => tx
            .commits_by_patch(repository, &patch)?
            .into_iter()
            .map(|c| c.commit)
            .filter(|c| *c != facts.commit)
            .collect(),
        None => Vec::new(),
    };
    let claim = claim(&stated(tx, (repository, here), &facts.commit)?);
    let authors = authors_of(files);
    let origins = origins_of(tx, repository, &facts.commit)?;
    let origins = shown.origins(tx, origins)?;
    let mut named: Vec<SessionId> = landing::concerned(&judgement);
    named.extend(judgement.candidates.iter().chain(&judgement.outer));
    named.extend(authors.iter().filter_map(|a| a.session));
    named.extend(claim.as_ref().map(|c| c.session));
    named.extend(judgement.evidence.iter().filter_map(|e| e.session));
    for origin in &origins {
        named.extend(landing::concerned(&origin.judgement));
        named.extend(&origin.judgement.candidates);
    }
    let sessions = shown.cards(tx, named)?;
    let at = made_at(record, &facts);
    let prompt = match (judgement.committer, authors.first()) {
        (Committer::Session { session }, _) => prompt_at(tx, session, at)?,
        (_, Some(author)) => match (author.session, author.files.first()) {
            (Some(session), Some((path, _))) => {
                prompt_of_last_edit(tx, (repository, path, at), session)?
            }
            _ => None,
        },
        _ => None,
    };
    let prompt = prompt.filter(|prompt| sessions.contains_key(&prompt.session));
    Ok(Why {
        rewritten_from: tx.rewritten_from(repository, &facts.commit)?,
        origins,
        checkpoint: record.and_then(|r| r.checkpoint),
        seen_by: record.map(|r| r.seen_by),
        facts,
        repository,
        judgement,
        claim,
        attestations,
        authors,
        sessions,
        prompt,
        same_patch,
    })
}

/// What the message claims, beside the evidence: a trailer names a checkpoint.
fn named_by_message(
    tx: &mut dyn Transaction,
    facts: &CommitFacts,
    record: Option<&CommitRecord>,
    judgement: &mut Judgement,
    shown: &mut Shown<'_>,
) -> Result<(), LedgerError> {
    for named in &facts.named {
        let own = record.is_some_and(|r| r.checkpoint == Some(*named));
        let checkpoint = tx.checkpoint(*named)?;
        // One that pins sessions from elsewhere alone is not there, as one that nobody knows.
        let mut pins = shown.pins(tx, checkpoint.map(|c| c.pins).unwrap_or_default())?;
        if own {
            let concerned = landing::concerned(judgement);
            pins.retain(|(session, _)| !concerned.contains(session));
        } else if pins.is_empty() {
            let text = format!(
                "the message names checkpoint {}, which is not in this ledger",
                named.short()
            );
            judgement.evidence.push(Evidence {
                session: None,
                basis: Basis::Claimed,
                counted: false,
                text,
            });
        }
        for (session, _) in pins {
            let text = format!(
                "the message names checkpoint {} of this session",
                named.short()
            );
            judgement.evidence.push(Evidence {
                session: Some(session),
                basis: Basis::Claimed,
                counted: false,
                text,
            });
            if judgement.committer != (Committer::Session { session })
                && !judgement.candidates.contains(&session)
            {
                judgement.candidates.push(session);
            }
        }
    }
    Ok(())
}

/// What was stated of a commit, in the repository that answers for it and in the one here.
pub(crate) fn stated(
    tx: &mut dyn Transaction,
    (repository, here): (RepositoryId, RepositoryId),
    commit: &Oid,
) -> Result<Vec<StatementRecord>, LedgerError> {
    let mut stated = tx.statements_of_commit(repository, commit)?;
    if repository != here {
        stated.extend(tx.statements_of_commit(here, commit)?);
        stated.sort_by_key(|s| (s.at, s.ledger, s.sequence));
    }
    Ok(stated)
}

/// The adoption that stands: the last one, unless it was taken back.
pub(crate) fn claim(statements: &[StatementRecord]) -> Option<Claim> {
    let last = statements.iter().rev().find(|s| {
        matches!(
            s.statement,
            Statement::Adopted { .. } | Statement::Disowned { .. }
        )
    })?;
    match &last.statement {
        Statement::Adopted { session, .. } => Some(Claim {
            session: *session,
            by: last.by.clone(),
            at: last.at,
        }),
        _ => None,
    }
}

/// The authors of files of a commit, those with most lines first.
pub(crate) fn authors_of(files: &[FileAuthors]) -> Vec<Author> {
    let mut by_session: BTreeMap<Option<SessionId>, Vec<(String, Vec<Span>)>> = BTreeMap::new();
    for file in files {
        let mut parts: BTreeMap<Option<SessionId>, Vec<Span>> = BTreeMap::new();
        for span in &file.spans {
            let who = match span.origin {
                provenance::Origin::Parent => continue,
                provenance::Origin::Session(session) => Some(session),
                provenance::Origin::Unknown => None,
            };
            let lines = parts.entry(who).or_default();
            match lines.last_mut() {
                Some(last) if last.last + 1 == span.first => {
                    last.last = span.last;
                    last.bridged |= span.bridged;
                }
                _ => lines.push(*span),
            }
        }
        for (who, spans) in parts {
            by_session
                .entry(who)
                .or_default()
                .push((file.path.clone(), spans));
        }
    }
    let author = |(session, files): (Option<SessionId>, Vec<(String, Vec<Span>)>)| {
        // No more is claimed of all lines than of the weakest.
        let bridged = files.iter().flat_map(|(_, spans)| spans).any(|s| s.bridged);
        let text = match session {
            Some(_) if bridged => {
                "its edits left these lines, some of them across changes that nobody saw"
            }
            Some(_) => "its edits, replayed from the parent's content, left these lines",
            None => "nobody was seen writing these lines",
        };
        let evidence = vec![Evidence {
            session,
            basis: Basis::Derived,
            counted: session.is_some(),
            text: text.to_owned(),
        }];
        let verdict = match session {
            Some(_) if bridged => Verdict::Likely,
            Some(_) => Verdict::Certain,
            None => Verdict::Unknown,
        };
        Author {
            session,
            verdict,
            files,
            evidence,
        }
    };
    let mut authors: Vec<Author> = by_session.into_iter().map(author).collect();
    authors.sort_by_key(|a| (a.session.is_none(), std::cmp::Reverse(a.lines()), a.session));
    authors
}
