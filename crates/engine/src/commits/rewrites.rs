//! Commits that git made of others: an amend, a rebase.
//!
//! Such a commit has a rewriter of its own, judged by what was seen of the git that made it, and its origins, each
//! with theirs. Who made the one before says nothing of who made it.

use siglum_domain::evidence::{Basis, Case, Evidence, Judgement, Verdict, judge};
use siglum_domain::intake::{RewriteRun, Rewritten, Scene};
use siglum_domain::{Oid, RepositoryId, Timestamp};
use siglum_ledger::{CommitRecord, IntentRecord, IntentState, LedgerError, SeenBy, Transaction};

use crate::commits::{landing, scene};

/// What git calls a rebase, and where the scene of one has its message from.
const REBASE: &str = "rebase";

/// Notes what git rewrote into what, and who did.
pub(crate) fn rewrite(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    at: Timestamp,
    rewritten: &Rewritten,
) -> Result<(), LedgerError> {
    let mut commits: Vec<(&Oid, Vec<&Oid>)> = Vec::new();
    for (old, new) in rewritten.pairs.iter().filter(|(old, new)| old != new) {
        tx.put_rewrite(repository, old, new, &rewritten.command, at)?;
        match commits.iter_mut().find(|(commit, _)| *commit == new) {
            Some((_, origins)) => origins.push(old),
            None => commits.push((new, vec![old])),
        }
    }
    let mut rewriters = Vec::with_capacity(rewritten.runs.len());
    for run in &rewritten.runs {
        // One that git took back, and whose hook was killed before it said so, is recorded nowhere.
        let is_left = |made: &&Oid| commits.iter().any(|(new, _)| new == made);
        if let Some(first) = run.commits.iter().find(is_left) {
            tx.put_intent(repository, run.at, &run.scene)?;
            let landed = IntentState::Landed(first.clone());
            tx.close_intent(run.scene.checkpoint, &landed)?;
        }
        let seen = Some((&run.scene, run.at));
        rewriters.push((run, judge(&case_with(tx, repository, seen, at)?)));
    }
    let batch = Batch {
        repository,
        at,
        rewritten,
        rewriters,
        nobody: judge(&case_with(tx, repository, None, at)?),
    };
    for (new, origins) in commits {
        batch.settle(tx, new, &origins)?;
    }
    Ok(())
}

/// What one `post-rewrite` tells.
struct Batch<'a> {
    repository: RepositoryId,
    at: Timestamp,
    rewritten: &'a Rewritten,
    /// The processes that rewrote, each judged once for all that it made.
    rewriters: Vec<(&'a RewriteRun, Judgement)>,
    /// The judgement of what no hook saw being made.
    nobody: Judgement,
}

impl Batch<'_> {
    /// Settles who made one of the new commits.
    fn settle(
        &self,
        tx: &mut dyn Transaction,
        new: &Oid,
        origins: &[&Oid],
    ) -> Result<(), LedgerError> {
        // Where git made one of several, its message begins with that of the first.
        let first = match origins.first() {
            Some(first) => tx.commit(self.repository, first)?,
            None => None,
        };
        if self.rewritten.command == "amend"
            && let Some((run, _)) = self.rewriter_of(new)
        {
            self.close_own_intent(tx, run, new)?;
        }
        let known = tx.commit(self.repository, new)?;
        let weak = |known: &CommitRecord| {
            matches!(known.seen_by, SeenBy::Tool | SeenBy::Sweep | SeenBy::Import)
        };
        match known {
            Some(known) if !weak(&known) => self.keep_checkpoint(tx, known, first.as_ref()),
            known => self.put(tx, new, origins, first, known.as_ref()),
        }
    }

    fn rewriter_of(&self, new: &Oid) -> Option<&(&RewriteRun, Judgement)> {
        let made = |(run, _): &&(&RewriteRun, Judgement)| run.commits.contains(new);
        self.rewriters.iter().find(made)
    }

    /// An amend whose `post-commit` was killed is what its git had announced.
    fn close_own_intent(
        &self,
        tx: &mut dyn Transaction,
        run: &RewriteRun,
        new: &Oid,
    ) -> Result<(), LedgerError> {
        let Some((_, git)) = run.scene.chain.git_process() else {
            return Ok(());
        };
        let mut open = tx.intents_of_git(&git.identity.key())?;
        open.retain(|i| i.repository == self.repository && i.state == IntentState::Open);
        match open.first() {
            Some(intent) => landing::close(tx, intent, new, self.at, SeenBy::Rewrite),
            None => Ok(()),
        }
    }

    /// Records a commit that none of its own hooks settled.
    fn put(
        &self,
        tx: &mut dyn Transaction,
        new: &Oid,
        origins: &[&Oid],
        first: Option<CommitRecord>,
        known: Option<&CommitRecord>,
    ) -> Result<(), LedgerError> {
        let rewriter = self.rewriter_of(new);
        if rewriter.is_none() && self.rewritten.command == "amend" {
            return Ok(());
        }
        let judgement = rewriter.map_or(&self.nobody, |(_, judgement)| judgement);
        let command = &self.rewritten.command;
        let judgement = with_origins(judgement.clone(), command, origins, rewriter.is_some());
        let unseen = judgement.verdict == Verdict::Unknown;
        match known {
            // What a call of an agent shows says more than a git that nobody was seen above.
            Some(known) if unseen && known.judgement.verdict != Verdict::Unknown => {
                return self.keep_checkpoint(tx, known.clone(), first.as_ref());
            }
            None if unseen && !self.knows_any(tx, origins)? => return Ok(()),
            Some(known) => landing::take_back(tx, known)?,
            None => {}
        }
        tx.put_commit(&CommitRecord {
            repository: self.repository,
            commit: new.clone(),
            checkpoint: first.and_then(|f| f.checkpoint),
            intent: rewriter.map(|(run, _)| run.scene.checkpoint),
            judgement,
            facts: None,
            patch: None,
            at: self.at,
            seen_by: SeenBy::Rewrite,
        })
    }

    fn knows_any(&self, tx: &mut dyn Transaction, commits: &[&Oid]) -> Result<bool, LedgerError> {
        for commit in commits {
            if tx.commit(self.repository, commit)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A commit whose message still names the checkpoint of the one before is that checkpoint. With a new message, which
    /// names the checkpoint of its own intent, it is not.
    fn keep_checkpoint(
        &self,
        tx: &mut dyn Transaction,
        known: CommitRecord,
        before: Option<&CommitRecord>,
    ) -> Result<(), LedgerError> {
        let Some(checkpoint) = before.and_then(|b| b.checkpoint) else {
            return Ok(());
        };
        let intent = known.intent.map(|id| tx.intent(id)).transpose()?.flatten();
        let named = intent.as_ref().and_then(|i| i.scene.named) == Some(checkpoint);
        let amended = self.rewritten.command == "amend";
        let unnamed = amended && (intent.is_none() || known.checkpoint.is_none());
        if !named && !unnamed {
            return Ok(());
        }
        tx.put_commit(&CommitRecord {
            checkpoint: Some(checkpoint),
            ..known
        })
    }
}

/// The case of who rewrote, by what was seen of the git that did: as of that moment, since somebody else may have
/// continued it.
fn case_with(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    seen: Option<(&Scene, Timestamp)>,
    at: Timestamp,
) -> Result<Case, LedgerError> {
    match seen {
        Some((seen, at)) => scene::past_case(tx, repository, seen, at),
        None => Ok(Case {
            witnessed: true,
            at,
            ..Case::default()
        }),
    }
}

fn with_origins(
    mut judgement: Judgement,
    command: &str,
    origins: &[&Oid],
    seen: bool,
) -> Judgement {
    let mut say = |counted, text| {
        judgement.evidence.push(Evidence {
            session: None,
            basis: Basis::Observed,
            counted,
            text,
        });
    };
    for origin in origins {
        say(seen, format!("git {command} made it of {}", origin.short()));
    }
    if !seen {
        say(false, format!("no hook saw who ran that git {command}"));
    }
    judgement
}

/// What a hook saw of the git that rewrote a commit. Before rewriters were judged at all, a commit got the judgement
/// and the intent of the one that it was made of: nobody saw who rewrote that one.
fn own_intent(
    tx: &mut dyn Transaction,
    known: &CommitRecord,
) -> Result<Option<IntentRecord>, LedgerError> {
    let intent = known.intent.map(|id| tx.intent(id)).transpose()?.flatten();
    let own = |intent: &IntentRecord| match &intent.state {
        IntentState::Landed(commit) => *commit == known.commit || intent.scene.message == REBASE,
        IntentState::Open | IntentState::Expired => false,
    };
    Ok(intent.filter(own))
}

/// The case of who rewrote a commit, from what was kept of it.
pub(crate) fn case_of(tx: &mut dyn Transaction, known: &CommitRecord) -> Result<Case, LedgerError> {
    let intent = own_intent(tx, known)?;
    let seen = intent.as_ref().map(|i| (&i.scene, i.at));
    case_with(tx, known.repository, seen, known.at)
}

/// Judges who rewrote a commit again.
pub(crate) fn judge_again(
    tx: &mut dyn Transaction,
    known: &CommitRecord,
) -> Result<Judgement, LedgerError> {
    let intent = own_intent(tx, known)?;
    let judgement = judge(&case_of(tx, known)?);
    let origins = tx.rewritten_from(known.repository, &known.commit)?;
    let origins: Vec<&Oid> = origins.iter().collect();
    let is_rebase = |i: &IntentRecord| i.scene.message == REBASE;
    let command = if intent.as_ref().is_none_or(is_rebase) {
        REBASE
    } else {
        "amend"
    };
    Ok(with_origins(judgement, command, &origins, intent.is_some()))
}
