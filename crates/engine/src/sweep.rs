//! Commits that no hook saw landing, and intents whose git died.
//!
//! A hook may be killed, switched off or bypassed. Each command and the worker look again: at the
//! HEAD of each checkout, and at the intents that are open although their git is gone.

use std::path::Path;

use siglum_domain::commit::CommitFacts;
use siglum_domain::{CheckpointId, Oid, RepositoryId, Timestamp};
use siglum_gitstore::{HeadRead, discover};
use siglum_ledger::{
    Durability, IntentRecord, IntentState, Ledger, RepositoryRecord, SeenBy, read, write,
};

use crate::{EngineError, World, landing};

/// How many commits one look at a checkout goes back at most.
const LOOK_BACK: usize = 1000;
/// A commit without our trailer belongs to an intent only if git made it this soon after, in ms.
const SOON_MS: i64 = 10_000;
/// An intent of another host or namespace, whose git cannot be seen, stays open this long, in ms.
const UNSEEN_MS: i64 = 24 * 60 * 60 * 1000;

/// Looks at all checkouts of a repository.
///
/// # Errors
/// Those of the ledger. A checkout that git cannot read is left out.
pub fn sweep(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    repository: &RepositoryRecord,
) -> Result<(), EngineError> {
    let mut open = dead_intents(world, ledger, repository.id)?;
    for (worktree, swept) in &repository.worktrees {
        if !Path::new(worktree).is_dir() {
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
                EngineError::Git(error) => tracing::warn!("left {worktree} out: {error}"),
                other => return Err(other),
            }
        }
    }
    for intent in open {
        write(ledger, Durability::Disk, |tx| {
            tx.close_intent(intent.scene.checkpoint, &IntentState::Expired)
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
        let lives = intent
            .scene
            .chain
            .git_process()
            .and_then(|(_, git)| (world.alive)(&git.identity));
        match lives {
            Some(lives) => !lives,
            None => now.millis_since(intent.at) > UNSEEN_MS,
        }
    });
    Ok(open)
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
    if here {
        commits.extend(git.reflog(50)?.into_iter().map(|entry| entry.new));
        commits.push(head.clone());
        commits.sort();
        commits.dedup();
    }
    let unknown = read(ledger, |tx| {
        let mut unknown = Vec::new();
        for commit in &commits {
            if tx.commit(repository, commit)?.is_none() {
                unknown.push((commit.clone(), !tx.moves_to(repository, commit)?.is_empty()));
            }
        }
        Ok(unknown)
    })?;
    let asked = unknown.iter().filter(|(_, moved)| here || *moved);
    let facts = git
        .facts(&asked.map(|(c, _)| c.clone()).collect::<Vec<_>>())?
        .known;
    let now = world.now();
    for (commit, moved) in unknown {
        let Some(facts) = facts.iter().find(|f| f.commit == commit) else {
            continue;
        };
        if let Some(found) = matching(open, facts) {
            let intent = open.swap_remove(found);
            write(ledger, Durability::Disk, |tx| {
                landing::close(tx, &intent, &commit, intent.at, SeenBy::Sweep)
            })?;
        } else if moved {
            let fresh = CheckpointId::mint(world.ids);
            write(ledger, Durability::Process, |tx| {
                landing::unannounced(tx, repository, &commit, fresh, now, facts.committed)
            })?;
        }
    }
    write(ledger, Durability::Process, |tx| {
        tx.set_swept(repository, worktree, &head)
    })?;
    Ok(())
}

/// The intent that became a commit: the one its trailer names, else the only one with this parent at
/// this moment.
fn matching(open: &[IntentRecord], facts: &CommitFacts) -> Option<usize> {
    if let Some(named) = open
        .iter()
        .position(|i| facts.named.contains(&i.scene.checkpoint))
    {
        return Some(named);
    }
    let soon = |at: Timestamp| {
        let later = facts.committed.millis_since(at);
        (-1_000..=SOON_MS).contains(&later)
    };
    let fits = |i: &IntentRecord| {
        i.scene.agents.is_empty()
            && i.scene.variables.is_empty()
            && i.scene.head.as_ref() == facts.parents.first()
            && soon(i.at)
    };
    let mut fitting = open
        .iter()
        .enumerate()
        .filter(|(_, i)| fits(i))
        .map(|(n, _)| n);
    let first = fitting.next()?;
    fitting.next().is_none().then_some(first)
}
