//! Commits that no hook saw landing, and intents whose git died.
//!
//! A hook may be killed, switched off or bypassed. Each command and the worker look again: at the
//! HEAD of each checkout, and at the intents that are open although their git is gone.

use std::path::Path;

use siglum_domain::commit::CommitFacts;
use siglum_domain::draft::draft_digest;
use siglum_domain::process::{Chain, ProcessIdentity};
use siglum_domain::{CheckpointId, Oid, RepositoryId, Timestamp};
use siglum_gitstore::{HeadRead, ReflogEntry, discover};
use siglum_ledger::{
    Durability, IntentRecord, IntentState, Ledger, OutputMention, RepositoryRecord, SeenBy, read,
    write,
};

use crate::commits::rivals::SOON_MS;
use crate::commits::scene::Unseen;
use crate::commits::{landing, rivals, scene};
use crate::identity::repositories;
use crate::{EngineError, World};

/// How many commits one look at a checkout goes back at most.
const LOOK_BACK: usize = 1000;
/// How much earlier than its git began a commit may seem to be made, in ms: git's clock has whole seconds, the kernel's has
/// ticks, and a hook reads the clock only once it runs, which takes its time on a busy machine.
const COARSE_MS: i64 = 2_000;
/// An intent of another host or namespace, whose git cannot be seen, stays open this long, in ms.
const UNSEEN_MS: i64 = 24 * 60 * 60 * 1000;

/// Looks at all checkouts of a repository.
///
/// # Errors
/// Those of the ledger. A checkout that git cannot read is left out, and its intents wait for the next look.
pub fn sweep(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    repository: &RepositoryRecord,
) -> Result<(), EngineError> {
    let mut open = dead_intents(world, ledger, repository.id)?;
    for (worktree, swept) in &repository.worktrees {
        if !repositories::leads_to(worktree, repository) {
            continue;
        }
        if let Err(error) = checkout(
            world,
            ledger,
            repository.id,
            worktree,
            swept.as_ref(),
            &mut open,
        ) {
            match error {
                EngineError::Git(error) => {
                    tracing::warn!("left {worktree} out: {error}");
                    repositories::set_aside(world, ledger, repository, &error)?;
                    open.retain(|i| i.scene.place.worktree != *worktree);
                }
                other => return Err(other),
            }
        }
    }
    for intent in open {
        let id = intent.scene.checkpoint;
        write(ledger, Durability::Disk, |tx| match tx.intent(id)? {
            Some(still) if still.state == IntentState::Open => {
                tx.close_intent(id, &IntentState::Expired)
            }
            _ => Ok(()),
        })?;
    }
    Ok(())
}

fn dead_intents(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    repository: RepositoryId,
) -> Result<Vec<IntentRecord>, EngineError> {
    let now = world.now();
    let mut open = read(ledger, |tx| tx.open_intents(Some(repository)))?;
    open.retain(|intent| {
        let lives = watched(&intent.scene.chain).and_then(world.alive);
        match lives {
            Some(lives) => !lives,
            None => now.millis_since(intent.at) > UNSEEN_MS,
        }
    });
    Ok(open)
}

/// The process whose death ends an intent: its git, or where that had died before its hook looked
/// around, the hook.
fn watched(chain: &Chain) -> Option<&ProcessIdentity> {
    let git = chain.git_process().map(|(_, git)| git);
    let watched = git.or_else(|| chain.ancestors.first());
    watched.map(|process| &process.identity)
}

fn checkout(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    repository: RepositoryId,
    worktree: &str,
    swept: Option<&Oid>,
    open: &mut Vec<IntentRecord>,
) -> Result<(), EngineError> {
    let git = world.git(worktree);
    let head = match discover(Path::new(worktree), None, None).map(|repo| repo.head()) {
        Some(HeadRead::Commit(head)) => Some(head),
        Some(HeadRead::NeedsGit) => git.head()?,
        Some(HeadRead::Unborn) | None => None,
    };
    let Some(head) = head else { return Ok(()) };
    let here = open.iter().any(|i| i.scene.place.worktree == worktree);
    if swept == Some(&head) && !here {
        return Ok(());
    }
    let mut commits = match swept {
        Some(swept) => git.commits_since(Some(swept), &head, LOOK_BACK)?,
        None => Vec::new(),
    };
    let log = match here {
        true => git.reflog(50)?,
        false => Vec::new(),
    };
    if here {
        commits.extend(log.iter().map(|entry| entry.new.clone()));
        commits.push(head.clone());
        commits.sort();
        commits.dedup();
    }
    let CommitsToCheck { unknown, late } = look_up(ledger, repository, &commits, here)?;
    let to_check = unknown
        .iter()
        .filter(|(_, moved)| here || *moved != Moved::Not);
    let to_check = to_check.map(|(c, _)| c).chain(&late);
    let facts = git.facts(&to_check.cloned().collect::<Vec<_>>())?.known;
    let now = world.now();
    for (commit, moved) in unknown {
        let Some(facts) = facts.iter().find(|f| f.commit == commit) else {
            continue;
        };
        let mut found = named(open, facts);
        if found.is_none() && moved != Moved::Made && alone(ledger, repository, facts)? {
            found = fitting(open, facts);
        }
        let settled = match found {
            Some(found) => settle_one(world, ledger, open, found, facts, &log)?,
            None => false,
        };
        if !settled && moved != Moved::Not {
            let fresh = CheckpointId::mint(world.ids);
            write(ledger, Durability::Process, |tx| {
                let unseen = Unseen {
                    repository,
                    facts,
                    at: now,
                };
                landing::unannounced(tx, &unseen, fresh)
            })?;
        }
    }
    for facts in facts.iter().filter(|f| late.contains(&f.commit)) {
        if let Some(found) = named(open, facts) {
            settle_one(world, ledger, open, found, facts, &log)?;
        }
    }
    write(ledger, Durability::Process, |tx| {
        tx.set_swept(repository, worktree, &head)
    })?;
    Ok(())
}

/// What tool calls say of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moved {
    /// HEAD came there in no call.
    Not,
    /// HEAD came there during a call.
    There,
    /// A call has git's own line of making it in its output.
    Made,
}

/// Commits that the ledger should look at again.
struct CommitsToCheck {
    unknown: Vec<(Oid, Moved)>,
    /// Known without an intent: a hook was late, or there was none.
    late: Vec<Oid>,
}

fn look_up(
    ledger: &mut dyn Ledger,
    repository: RepositoryId,
    commits: &[Oid],
    here: bool,
) -> Result<CommitsToCheck, EngineError> {
    let found = read(ledger, |tx| {
        let (mut unknown, mut late) = (Vec::new(), Vec::new());
        for commit in commits {
            match tx.commit(repository, commit)? {
                None => {
                    let moves = tx.moves_to(repository, commit)?;
                    let moved = match moves.iter().map(|m| m.mention).max() {
                        None => Moved::Not,
                        Some(OutputMention::Made) => Moved::Made,
                        Some(_) => Moved::There,
                    };
                    unknown.push((commit.clone(), moved));
                }
                Some(known) if here && known.intent.is_none() => late.push(commit.clone()),
                Some(_) => {}
            }
        }
        Ok(CommitsToCheck { unknown, late })
    })?;
    Ok(found)
}

/// Closes an intent with its commit, unless a hook was quicker. Where a hook saw somebody else making
/// the commit, or a call of somebody else says so in git's own words, the intent became none; while
/// somebody lives who may be making it, it waits. Returns whether there is no more to do.
fn settle_one(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    open: &mut Vec<IntentRecord>,
    found: usize,
    facts: &CommitFacts,
    log: &[ReflogEntry],
) -> Result<bool, EngineError> {
    let intent = open.swap_remove(found);
    let lives = |i: &IntentRecord| watched(&i.scene.chain).and_then(world.alive) == Some(true);
    let became = write(ledger, Durability::Disk, |tx| {
        let still = tx.intent(intent.scene.checkpoint)?;
        if still.is_none_or(|i| i.state != IntentState::Open) {
            return Ok(true);
        }
        if rivals::seen_otherwise(tx, &intent, &facts.commit)?
            || rivals::made_otherwise(tx, &intent, &facts.commit)?
        {
            return Ok(false);
        }
        let rivals = rivals::open_rivals(tx, &intent, facts)?;
        if !rivals.iter().any(lives) {
            landing::close(tx, &intent, &facts.commit, intent.at, SeenBy::Sweep)?;
            if !facts.named.contains(&intent.scene.checkpoint) {
                rivals::doubt_landing(tx, &intent, &facts.commit)?;
            }
            let made = Some(facts.committed);
            let beside = rivals::beside(tx, &intent, &facts.commit, made)?;
            rivals::doubt(tx, &intent, &rivals, &beside, &facts.commit)?;
            if is_picked(log, &facts.commit) {
                rivals::doubt_picked(tx, &intent, &facts.commit)?;
            }
        }
        Ok(true)
    })?;
    if !became {
        open.push(intent);
    }
    Ok(became)
}

/// Whether a rebase that ran by itself made the commit, by the log of HEAD: nobody announces those.
fn is_picked(log: &[ReflogEntry], commit: &Oid) -> bool {
    let mut ways = log.iter().filter(|entry| entry.new == *commit).peekable();
    ways.peek().is_some() && ways.all(ReflogEntry::is_of_running_rebase)
}

/// The intent that became a commit by its trailer.
fn named(open: &[IntentRecord], facts: &CommitFacts) -> Option<usize> {
    open.iter()
        .position(|i| facts.named.contains(&i.scene.checkpoint))
}

/// Tells whether no session was open when a commit was made. An agent whose hooks were killed may have
/// made it, and the message that all share may have lost its trailer to somebody else's.
fn alone(
    ledger: &mut dyn Ledger,
    repository: RepositoryId,
    facts: &CommitFacts,
) -> Result<bool, EngineError> {
    // Git's clock has whole seconds.
    let made = facts.committed.plus_millis(1_000);
    let around = read(ledger, |tx| scene::around(tx, repository, made))?;
    Ok(around.is_empty())
}

/// When the git of an intent began: as long before its hook as the kernel says.
fn git_began(intent: &IntentRecord) -> Timestamp {
    let chain = &intent.scene.chain;
    let Some(((_, git), hook)) = chain.git_process().zip(chain.ancestors.first()) else {
        return intent.at;
    };
    let age = hook.identity.start.saturating_sub(git.identity.start);
    let ms = age
        .saturating_mul(1_000)
        .checked_div(chain.per_second.into());
    let ms = ms.and_then(|ms| i64::try_from(ms).ok());
    intent.at.plus_millis(-ms.unwrap_or(0))
}

/// The intent that became a commit without a trailer: the only one with this parent, tree and subject at this moment.
fn fitting(open: &[IntentRecord], facts: &CommitFacts) -> Option<usize> {
    // Git dates a commit as it starts, and hooks in front of ours (linters, tests) may run for minutes after that.
    let soon = |i: &IntentRecord| {
        facts.committed.millis_since(git_began(i)) >= -COARSE_MS
            && facts.committed.millis_since(i.at) <= SOON_MS
    };
    let draft = |i: &IntentRecord| draft_digest(i.scene.checkpoint, &facts.tree, &facts.subject);
    // Its own trailer would name it: what the message names was there before.
    let named = facts.named.last().copied();
    let fits = |i: &IntentRecord| {
        i.scene.named == named
            && i.scene.agents.is_empty()
            && i.scene.variables.is_empty()
            && i.scene.head.as_ref() == facts.parents.first()
            && soon(i)
            && i.scene.draft.as_ref() == Some(&draft(i))
    };
    let mut fitting = open
        .iter()
        .enumerate()
        .filter(|(_, i)| fits(i))
        .map(|(n, _)| n);
    let first = fitting.next()?;
    fitting.next().is_none().then_some(first)
}
