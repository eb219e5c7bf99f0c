//! Who wrote the lines of a commit: facts from git, edits from the ledger, replayed.

use std::collections::BTreeMap;

use siglum_domain::commit::{Change, CommitFacts};
use siglum_domain::provenance::{Canvas, Span, count_lines, lines_of_commit};
use siglum_domain::{CheckpointId, Oid, RepositoryId, Timestamp};
use siglum_gitstore::{Git, Repo, blob_id};
use siglum_ledger::{
    CommitRecord, Durability, FileAuthors, Ledger, LedgerError, RepositoryRecord, Transaction,
    read, stored_name, write,
};

use crate::commits::checkout::Checkout;
use crate::commits::committed_file::CommittedFile;
use crate::commits::contents::Contents;
use crate::commits::copies::Copies;
use crate::commits::file_life::{SLACK_MS, known_elsewhere, known_here};
use crate::commits::{judgements, landing, reopened};
use crate::identity::repositories::usable_git;
use crate::{EngineError, World};

/// Among how many removed files of a commit the former place of a new one is looked for.
const MOVES_MOST: usize = 50;
/// In a commit with more files than this, the rest is left out.
const FILES_MOST: usize = 500;

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
    // What is said of one of them may need what git says of another.
    for fact in &facts.known {
        store_facts(world, ledger, repository.id, fact)?;
    }
    for fact in &facts.known {
        let patch = patches.get(&fact.commit).map_or("", String::as_str);
        store_authors(world, ledger, &git, repository.id, (fact, patch))?;
        ledger.maintain_at_work()?;
    }
    for gone in &facts.missing {
        write(ledger, Durability::Process, |tx| {
            tx.put_facts(repository.id, &vanished(gone))?;
            tx.put_authors(repository.id, gone, &[])?;
            tx.finish(repository.id, gone, "")
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
    store_facts(world, ledger, repository, facts)?;
    store_authors(world, ledger, git, repository, (facts, patch))?;
    Ok(ledger.maintain_at_work()?)
}

/// Adds what git says of one commit, and judges it again by that.
fn store_facts(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    repository: RepositoryId,
    facts: &CommitFacts,
) -> Result<(), LedgerError> {
    write(ledger, Durability::Process, |tx| {
        tx.put_facts(repository, facts)?;
        keep_promise(tx, repository, facts)?;
        judgements::judge_again(tx, world.ids, repository, &facts.commit)
    })
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

/// Finds the authors of a commit's lines and stores them with its patch: it is finished.
///
/// Until then it is unfinished for everybody, and whoever asks finds the authors, too: nobody waits for another process,
/// and none takes a commit for finished that somebody died over. An edit that comes meanwhile takes the facts away, and the
/// commit is finished the next time.
fn store_authors(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    git: &Git,
    repository: RepositoryId,
    (facts, patch): (&CommitFacts, &str),
) -> Result<(), EngineError> {
    let (known, worktree) = read(ledger, |tx| {
        let known = tx.commit(repository, &facts.commit)?;
        let intent = known.as_ref().and_then(|record| record.intent);
        let intent = intent.map(|id| tx.intent(id)).transpose()?.flatten();
        Ok((known, intent.map(|i| i.scene.place.worktree)))
    })?;
    let Some(record) = known else { return Ok(()) };
    let until = record.at.plus_millis(SLACK_MS);
    let files = find(
        world,
        ledger,
        git,
        repository,
        (facts, patch),
        worktree.as_deref(),
        until,
    )?;
    write(ledger, Durability::Process, |tx| {
        let now = tx.commit(repository, &facts.commit)?;
        if now.is_none_or(|record| record.facts.is_none()) {
            return Ok(());
        }
        if tx.authors(repository, &facts.commit)?.as_ref() != Some(&files) {
            tx.put_authors(repository, &facts.commit, &files)?;
            reopened::copies_again(tx, &record, facts)?;
        }
        tx.finish(repository, &facts.commit, patch)
    })?;
    Ok(())
}

/// The origins of the lines that a commit added, file by file.
///
/// What counts, and how much:
///
/// | what is known of the committed content | the lines are |
/// | --- | --- |
/// | the edits of the checkout that made the commit lead to exactly this content | certain |
/// | they lead to an earlier content of the same file on disk, or git carried it into a copy | likely for what is still there |
/// | nobody saw where the commit was made, and one checkout's edits lead from exactly the parent's content to exactly this one | likely |
/// | the same text stands in another checkout, on another branch, in a file of this name that is gone | unknown |
///
/// # Errors
/// Git fails, or those of the ledger.
pub fn find(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    git: &Git,
    repository: RepositoryId,
    (facts, patch): (&CommitFacts, &str),
    worktree: Option<&str>,
    until: Timestamp,
) -> Result<Vec<FileAuthors>, EngineError> {
    let mut contents = Contents::new(world, git);
    let mut copies = Copies::default();
    let checkout = checkout_of(ledger, repository, facts, worktree)?;
    let files: Vec<Moved<'_>> = moved_files(&mut contents, facts)?;
    let others = other_parents(&contents, facts, &files)?;
    contents.fetch(others.iter().flatten().flatten())?;
    let mut found = Vec::new();
    for (moved, others) in files.iter().zip(others) {
        let change = moved.change;
        let Some(blob) = &change.after else { continue };
        let (Some(parent), Some(content)) =
            (contents.blob(moved.parent)?, contents.blob(Some(blob))?)
        else {
            continue;
        };
        let file = CommittedFile {
            repository,
            commit: &facts.commit,
            path: &change.path,
            moved_from: moved.from,
            parent: moved.parent,
            blob,
            content: &content,
            until,
        };
        let mut known: Vec<Canvas> = Vec::new();
        known.extend(match &checkout {
            Some(checkout) => known_here(ledger, &mut contents, &mut copies, checkout, &file)?,
            None => known_elsewhere(ledger, &mut contents, &file)?,
        });
        let carried = checkout.as_ref().is_none_or(Checkout::has_carried);
        let of = (facts, patch, carried);
        known.extend(copies.known(ledger, &mut contents, of, &file)?);
        let squashed = checkout.as_ref().is_some_and(|c| is_squash(c, facts));
        if squashed {
            let mut canvas = copies.canvas_of(ledger, &mut contents, &file, blob)?;
            canvas.doubt();
            known.push(canvas);
        }
        let mut parents = vec![parent];
        for other in others.iter().flatten() {
            parents.extend(contents.blob(Some(other))?);
        }
        found.push(FileAuthors {
            path: stored_name(&change.path).into_owned(),
            spans: lines_of_commit(&parents, &content, &known),
        });
    }
    Ok(found)
}

/// The origins of the lines of a file as it stands in a checkout: what its edits there made of the content of HEAD.
///
/// # Errors
/// Git fails, or those of the ledger.
pub(crate) fn find_uncommitted(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    git: &Git,
    repository: RepositoryId,
    file: &FileHere<'_>,
) -> Result<Vec<Span>, EngineError> {
    let mut contents = Contents::new(world, git);
    let commit = no_object();
    let blob = blob_id(file.repo.object_format(), file.content);
    let changed = CommittedFile {
        repository,
        commit: &commit,
        path: file.path,
        moved_from: None,
        parent: file.parent,
        blob: &blob,
        content: file.content,
        until: world.now().plus_millis(SLACK_MS),
    };
    let mut known = Vec::new();
    if let Some(checkout) = Checkout::open(&file.repo.place.worktree, &commit) {
        let mut copies = Copies::default();
        known.extend(known_here(
            ledger,
            &mut contents,
            &mut copies,
            &checkout,
            &changed,
        )?);
    }
    let parent = contents.blob(file.parent)?.unwrap_or_default();
    Ok(lines_of_commit(&[parent], file.content, &known))
}

/// A file as it stands in a checkout.
pub(crate) struct FileHere<'a> {
    pub(crate) repo: &'a Repo,
    /// Relative to the root.
    pub(crate) path: &'a str,
    /// The blob that HEAD has there.
    pub(crate) parent: Option<&'a Oid>,
    pub(crate) content: &'a [u8],
}

/// What git calls an object that is none.
pub(crate) fn no_object() -> Oid {
    Oid::new("0".repeat(40)).expect("because it is git's word for no object")
}

/// The checkout that a commit was made in: by what its hook saw, else by the logs of HEAD.
fn checkout_of(
    ledger: &mut dyn Ledger,
    repository: RepositoryId,
    facts: &CommitFacts,
    worktree: Option<&str>,
) -> Result<Option<Checkout>, EngineError> {
    let open = |worktree: &str| Checkout::open(worktree, &facts.commit);
    if let Some(checkout) = worktree.and_then(open) {
        return Ok(Some(checkout));
    }
    let known = read(ledger, |tx| tx.repositories())?;
    let known = known.into_iter().find(|r| r.id == repository);
    let worktrees = known.into_iter().flat_map(|r| r.worktrees);
    let checkouts = worktrees.filter_map(|(worktree, _)| open(&worktree));
    Ok(checkouts.into_iter().find(Checkout::has_made))
}

/// Whether the commit seems to be what `git merge --squash` left: git noted its parent before that.
fn is_squash(checkout: &Checkout, facts: &CommitFacts) -> bool {
    let noted = checkout.repo.orig_head();
    matches!(facts.parents.as_slice(), [parent] if noted.as_ref() == Some(parent))
}

/// A change of a commit, with where the file was before.
struct Moved<'f> {
    change: &'f Change,
    /// The path in the parent, where that is another.
    from: Option<&'f str>,
    /// The content in the parent.
    parent: Option<&'f Oid>,
}

/// The changed files that are still there. One that is new may be one of those that are gone: the one with
/// the same content, else the one of which most is left, if that is at least half of it.
fn moved_files<'f>(
    contents: &mut Contents<'_>,
    facts: &'f CommitFacts,
) -> Result<Vec<Moved<'f>>, EngineError> {
    let there = facts.changes.iter().filter(|c| c.after.is_some());
    let changes: Vec<&Change> = there.take(FILES_MOST).collect();
    let gone: Vec<&Change> = facts
        .changes
        .iter()
        .filter(|c| c.after.is_none())
        .take(MOVES_MOST)
        .collect();
    let blobs = changes.iter().flat_map(|c| [&c.before, &c.after]);
    let blobs = blobs.chain(gone.iter().map(|c| &c.before)).flatten();
    contents.fetch(blobs)?;
    let mut files = Vec::with_capacity(changes.len());
    for change in changes {
        let from = match change.before {
            None => source_of(contents, change, &gone)?,
            Some(_) => None,
        };
        files.push(Moved {
            change,
            from: from.map(|c| &*c.path),
            parent: from.map_or(change.before.as_ref(), |c| c.before.as_ref()),
        });
    }
    Ok(files)
}

fn source_of<'f>(
    contents: &mut Contents<'_>,
    added: &Change,
    gone: &[&'f Change],
) -> Result<Option<&'f Change>, EngineError> {
    let exact = gone.iter().find(|g| g.before == added.after);
    let Some(content) = contents
        .blob(added.after.as_ref())?
        .filter(|_| exact.is_none())
    else {
        return Ok(exact.copied());
    };
    let mut best = None;
    for candidate in gone {
        let Some(old) = contents.blob(candidate.before.as_ref())? else {
            continue;
        };
        let longer = count_lines(&old).max(count_lines(&content));
        let kept = Canvas::new(old).known_lines_in(&content);
        if 2 * kept >= longer && best.is_none_or(|(most, _)| kept > most) && kept > 0 {
            best = Some((kept, *candidate));
        }
    }
    Ok(best.map(|(_, candidate)| candidate))
}

/// The blobs that the files of a merge have in its parents but the first.
fn other_parents(
    contents: &Contents<'_>,
    facts: &CommitFacts,
    files: &[Moved<'_>],
) -> Result<Vec<Vec<Option<Oid>>>, EngineError> {
    let others = facts.parents.get(1..).unwrap_or_default();
    if others.is_empty() {
        return Ok(vec![Vec::new(); files.len()]);
    }
    let places = files.iter().flat_map(|file| {
        let path = &file.change.path;
        others
            .iter()
            .map(move |parent| (parent.clone(), path.clone()))
    });
    let blobs = contents.blob_ids(&places.collect::<Vec<_>>())?;
    Ok(blobs.chunks(others.len()).map(<[_]>::to_vec).collect())
}
