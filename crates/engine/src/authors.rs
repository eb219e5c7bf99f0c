//! Who wrote the lines of a commit: facts from git, edits from the ledger, replayed.

use std::collections::BTreeMap;

use siglum_domain::commit::{Change, CommitFacts};
use siglum_domain::observation::FileVersion;
use siglum_domain::provenance::{Origin, Span, Step, count_lines, replay};
use siglum_domain::{CheckpointId, Oid, RepositoryId, Timestamp};
use siglum_gitstore::{Git, ObjectAddress};
use siglum_ledger::{
    CommitRecord, Durability, EditRecord, FileAuthors, Ledger, LedgerError, RepositoryRecord,
    Transaction, read, write,
};

use crate::{EngineError, World, landing};

/// Files above this size are not looked into, in bytes.
const FILE_MOST: u64 = 4 << 20;
/// In a commit with more files than this, the rest is left out.
const FILES_MOST: usize = 500;
/// Edits are looked at until this long after the commit was noticed, since clocks are read in turn.
const SLACK_MS: i64 = 2_000;

/// Asks git about commits that are new, and finds the authors of their lines.
pub(crate) fn finish(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    repository: &RepositoryRecord,
    commits: &[Oid],
) -> Result<(), EngineError> {
    let Some(git) = usable_git(world, repository) else {
        return Err(EngineError::NoCheckout(repository.common_dir.clone()));
    };
    let facts = git.facts(commits)?;
    let patches: BTreeMap<Oid, String> = git.patch_ids(commits)?.into_iter().collect();
    for fact in &facts.known {
        let patch = patches.get(&fact.commit).map_or("", String::as_str);
        finish_one(world, ledger, &git, repository.id, fact, patch)?;
    }
    for gone in &facts.missing {
        write(ledger, Durability::Process, |tx| {
            tx.finish(repository.id, &vanished(gone), "")
        })?;
    }
    Ok(())
}

/// Adds what git says of one commit to its record, and finds the authors of its lines.
pub(crate) fn finish_one(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    git: &Git,
    repository: RepositoryId,
    facts: &CommitFacts,
    patch: &str,
) -> Result<(), EngineError> {
    let known = write(ledger, Durability::Process, |tx| {
        tx.finish(repository, facts, patch)?;
        keep_promise(tx, repository, facts)?;
        landing::judge_again(tx, world.ids, repository, &facts.commit)?;
        tx.commit(repository, &facts.commit)
    })?;
    match known {
        Some(record) => of_commit(world, ledger, git, &record, facts),
        None => Ok(()),
    }
}

/// Git in a checkout of the repository that is still there.
pub(crate) fn usable_git(world: &World<'_>, repository: &RepositoryRecord) -> Option<Git> {
    if !repository.is_here() {
        return None;
    }
    let there = |w: &&(String, Option<Oid>)| std::path::Path::new(&w.0).is_dir();
    repository
        .worktrees
        .iter()
        .find(there)
        .map(|(worktree, _)| world.git(worktree))
}

/// A trailer that our own hook wrote names a checkpoint that exists.
fn keep_promise(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    facts: &CommitFacts,
) -> Result<(), LedgerError> {
    for named in &facts.named {
        let intent = tx.intent(*named)?;
        let ours = intent.is_some_and(|i| i.repository == repository);
        let Some(known) = tx.commit(repository, &facts.commit)? else {
            return Ok(());
        };
        if !ours || tx.checkpoint(*named)?.is_some() {
            continue;
        }
        let sessions = landing::concerned(&known.judgement);
        let (commit, at) = (&facts.commit, facts.committed);
        landing::pin(tx, *named, repository, commit, &sessions, at)?;
        // What the message shows is the checkpoint, and not one that no message names.
        if known
            .checkpoint
            .is_none_or(|own| !facts.named.contains(&own))
        {
            landing::withdraw_other(tx, repository, commit, *named)?;
            let checkpoint = Some(*named);
            tx.put_commit(&CommitRecord {
                checkpoint,
                ..known
            })?;
        }
    }
    Ok(())
}

/// What is left of a commit that git no longer has.
fn vanished(commit: &Oid) -> CommitFacts {
    CommitFacts {
        commit: commit.clone(),
        tree: commit.clone(),
        parents: Vec::new(),
        authored: Timestamp::default(),
        committed: Timestamp::default(),
        author: String::new(),
        subject: "(git no longer has this commit)".to_owned(),
        named: Vec::<CheckpointId>::new(),
        changes: Vec::new(),
    }
}

fn of_commit(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    git: &Git,
    record: &CommitRecord,
    facts: &CommitFacts,
) -> Result<(), EngineError> {
    let worktree = read(ledger, |tx| {
        let intent = record.intent.map(|id| tx.intent(id)).transpose()?.flatten();
        Ok(intent.map(|i| i.scene.place.worktree))
    })?;
    let until = record.at.plus_millis(SLACK_MS);
    let files = find(
        world,
        ledger,
        git,
        record.repository,
        facts,
        worktree.as_deref(),
        until,
    )?;
    write(ledger, Durability::Process, |tx| {
        tx.put_authors(record.repository, &facts.commit, &files)
    })?;
    Ok(())
}

/// The origins of the lines that a commit added, for the files that sessions were seen editing or
/// whose content they left.
///
/// # Errors
/// Git fails, or those of the ledger.
pub fn find(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    git: &Git,
    repository: RepositoryId,
    facts: &CommitFacts,
    worktree: Option<&str>,
    until: Timestamp,
) -> Result<Vec<FileAuthors>, EngineError> {
    let changes: Vec<&Change> = facts
        .changes
        .iter()
        .filter(|c| c.after.is_some())
        .take(FILES_MOST)
        .collect();
    let wanted: Vec<Oid> = changes
        .iter()
        .flat_map(|c| [c.before.clone(), c.after.clone()])
        .flatten()
        .collect();
    let contents: BTreeMap<Oid, Option<Vec<u8>>> =
        git.blobs(&wanted, FILE_MOST)?.into_iter().collect();
    let mut files = Vec::new();
    for change in changes {
        let content = |oid: &Option<Oid>| match oid {
            None => Some(Vec::new()),
            Some(oid) => contents.get(oid).cloned().flatten(),
        };
        let (Some(parent), Some(commit)) = (content(&change.before), content(&change.after)) else {
            continue;
        };
        let edits = read(ledger, |tx| {
            relevant(tx, repository, change, worktree, until)
        })?;
        let spans = if edits.is_empty() {
            untouched(&parent, &commit)
        } else {
            replay(parent, &steps(world, &edits, &contents), &commit)
        };
        files.push(FileAuthors {
            path: change.path.clone(),
            spans,
        });
    }
    Ok(files)
}

/// The lines of a file that nobody was seen editing.
fn untouched(parent: &[u8], commit: &[u8]) -> Vec<Span> {
    if parent.is_empty() {
        let last = u32::try_from(count_lines(commit)).unwrap_or(u32::MAX);
        return if last == 0 {
            Vec::new()
        } else {
            vec![Span {
                first: 1,
                last,
                origin: Origin::Unknown,
            }]
        };
    }
    replay(parent.to_vec(), &[], commit)
}

/// The edits between a file's content in the parent and in the commit: those of the path in this
/// checkout, from the last one that started at the parent's content.
fn relevant(
    tx: &mut dyn Transaction,
    repository: RepositoryId,
    change: &Change,
    worktree: Option<&str>,
    until: Timestamp,
) -> Result<Vec<EditRecord>, LedgerError> {
    let all = tx.edits(repository, &change.path, until)?;
    let mut here: Vec<EditRecord> = match worktree {
        Some(worktree) if all.iter().any(|e| e.worktree == worktree) => {
            all.into_iter().filter(|e| e.worktree == worktree).collect()
        }
        _ => all,
    };
    let blob = |v: &Option<FileVersion>| v.as_ref().map(|v| v.blob.clone());
    // What came after the edit that left the committed content is of a later commit.
    match here.iter().rposition(|e| blob(&e.after) == change.after) {
        Some(last) => here.truncate(last + 1),
        None => here.retain(|e| e.at <= until.plus_millis(-SLACK_MS)),
    }
    let starts = here.iter().rposition(|e| blob(&e.before) == change.before);
    let left = here
        .iter()
        .rposition(|e| blob(&e.after) == change.before)
        .map(|n| n + 1);
    let from = match (starts, left) {
        (Some(starts), Some(left)) => starts.max(left.min(here.len())),
        (Some(n), None) | (None, Some(n)) => n,
        (None, None) => 0,
    };
    here.drain(..from.min(here.len()));
    Ok(here)
}

/// The edits with their contents: from the object store, or where that could not be written to,
/// from git, which has the contents before and after the commit.
fn steps(
    world: &World<'_>,
    edits: &[EditRecord],
    committed: &BTreeMap<Oid, Option<Vec<u8>>>,
) -> Vec<Step> {
    let stored = |v: &FileVersion| {
        let address = v.object.as_ref()?.parse::<ObjectAddress>().ok()?;
        world.objects.get(&address).ok()
    };
    let content = |version: &Option<FileVersion>| match version {
        None => Some(Vec::new()),
        Some(v) => stored(v).or_else(|| committed.get(&v.blob).cloned().flatten()),
    };
    let step = |e: &EditRecord| {
        Some(Step {
            session: e.session,
            before: content(&e.before)?,
            after: content(&e.after)?,
        })
    };
    edits.iter().filter_map(step).collect()
}
