//! What the first hook of a commit leaves for the later hooks of the same git process.
//!
//! A message that nobody else can have changed needs no second look: as long as one git alone commits in a repository,
//! its note and its message file have the very same time of change, which the hook's shell compares instead of starting
//! the program (`siglum_gitstore::hooks`). Whoever else writes the message gives it another time, and a hook that finds
//! the note of another living git gives both notes another time.
//!
//! By the same times the shell of the hook after the commit sees that all went as the note says, and only adds a line to
//! it. Whoever comes next tells the ledger of it ([`super::landings`]). Where the first hook needed no ledger to settle the
//! message, the intent is in the note, too, and is told in the same way; such a note goes only when that is done.

use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use siglum_domain::intake::Scene;
use siglum_domain::process::ProcessIdentity;
use siglum_domain::{CheckpointId, Oid, Timestamp};
use siglum_gitstore::hooks::COMMITS;
use siglum_gitstore::{Repo, create_siglum_subdirectory, siglum_subdirectory};

use super::process_files;
use crate::clock;
use crate::platform::{self, regular_file};

/// A note whose git cannot be seen from here is of no use to anybody after this time.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// How much of a note is read, in bytes: a message, escaped.
const NOTE_MOST: u64 = 32 << 20;

/// One git process has one note.
#[derive(Debug, Serialize, Deserialize)]
pub struct CommitNote {
    /// The key of the git process.
    pub git: String,
    /// Where HEAD stands, as far as that can be told without git.
    pub head: Option<Oid>,
    /// The checkpoint that the message is to name, if any.
    pub checkpoint: Option<CheckpointId>,
    /// The message, where no editor is started.
    pub message: Option<PreparedMessage>,
    /// The template, as git would keep it, if the message began as one: left untouched, it is none.
    pub template: Option<String>,
    /// What begins a comment in a message that goes through an editor.
    pub comment: Option<String>,
    /// What is told of the commit if the shell notes that it landed.
    #[serde(default)]
    pub announced: Option<Announced>,
}

/// A commit that a hook announced.
#[derive(Debug, Serialize, Deserialize)]
pub struct Announced {
    /// Siglum's home that it was announced to.
    pub home: PathBuf,
    /// When.
    pub at: Timestamp,
    /// What was seen then.
    pub scene: Scene,
    /// How long git's list of the moves of HEAD was.
    pub log: u64,
    /// Whether only this note has the intent: the ledger was not opened for it.
    #[serde(default)]
    pub untold: bool,
}

/// How far a commit is, by its note.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    UnderWay,
    Landed,
    /// Its git is gone, and none of its hooks said that it landed.
    GivenUp,
}

/// A commit that this user announced to this home, by its note.
pub struct NotedCommit {
    /// When the note was changed last.
    pub at: Timestamp,
    pub stage: Stage,
    pub announced: Announced,
}

impl NotedCommit {
    /// Reads a note.
    pub fn read(path: &Path, home: &Path) -> Option<Self> {
        let meta = fs::symlink_metadata(path).ok()?;
        let announced = load(path)?.announced?;
        let is_mine = meta.uid() == rustix::process::geteuid().as_raw();
        (is_mine && is_same_dir(&announced.home, home)).then(|| Self {
            at: changed_at(&meta),
            stage: stage(path),
            announced,
        })
    }

    /// Whether what was read is still there: a git that makes several commits leaves each of its notes in one place.
    pub fn is_at(&self, path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok_and(|meta| changed_at(&meta) == self.at)
    }
}

fn stage(path: &Path) -> Stage {
    if has_landed(path) {
        Stage::Landed
    } else if is_stale(path) {
        Stage::GivenUp
    } else {
        Stage::UnderWay
    }
}

fn changed_at(meta: &fs::Metadata) -> Timestamp {
    Timestamp::from_nanos(meta.mtime() * 1_000_000_000 + meta.mtime_nsec())
}

/// The message of a commit as its first hook left it.
#[derive(Debug, Serialize, Deserialize)]
pub struct PreparedMessage {
    /// The file that git reads it from.
    pub file: PathBuf,
    /// The message.
    pub text: String,
    /// Where HEAD stood.
    pub head: Option<Oid>,
    /// How long git's list of the moves of HEAD was.
    pub log: Option<u64>,
}

/// By its number alone, which is all that a shell below git knows of it; the note itself says of which process it is.
pub fn path(repo: &Repo, git: &ProcessIdentity) -> Option<PathBuf> {
    let directory = siglum_subdirectory(&repo.siglum_dir(), COMMITS)?;
    Some(directory.join(git.pid.to_string()))
}

/// Where the notes are, made if it is not there yet.
fn create_directory(siglum_dir: &Path) -> io::Result<PathBuf> {
    if let Some(directory) = siglum_subdirectory(siglum_dir, COMMITS) {
        return Ok(directory);
    }
    let directory = create_siglum_subdirectory(siglum_dir, COMMITS)?;
    // A later note may have an intent, and waits for this directory alone.
    fs::File::open(siglum_dir)?.sync_all()?;
    Ok(directory)
}

impl CommitNote {
    /// Writes the note, and removes those of git processes that died. Gives the time that the message file is to have,
    /// where no other git commits in this repository.
    pub fn leave(&self, repo: &Repo, git: &ProcessIdentity) -> io::Result<Option<SystemTime>> {
        let siglum_dir = repo.siglum_dir();
        let directory = create_directory(&siglum_dir)?;
        let own = directory.join(git.pid.to_string());
        let mut file = regular_file::create_own(&own)?;
        if let Err(error) = file.write_all(&serde_json::to_vec(self)?) {
            let _ = fs::remove_file(&own);
            return Err(error);
        }
        if self.has_intent() {
            // It survives the loss of power, as it does in the ledger.
            file.sync_data()?;
            fs::File::open(&directory)?.sync_all()?;
        }
        let time = SystemTime::UNIX_EPOCH + since_epoch();
        file.set_modified(time)?;
        // Where times are kept in seconds, another git's message may have the same one.
        let is_kept = file.metadata()?.modified()? == time;
        // Each of two hooks at once has written its own note by now, so that one at least finds the other's.
        let (stale, rivals): (Vec<_>, Vec<_>) = notes(&siglum_dir)
            .into_iter()
            .filter(|path| *path != own && !has_landed(path))
            .partition(|path| is_stale(path));
        for path in stale.iter().filter(|path| !has_intent(path)) {
            let _ = fs::remove_file(path);
        }
        if rivals.is_empty() {
            return Ok(is_kept.then_some(time));
        }
        rivals.iter().chain([&own]).for_each(|note| unsettle(note));
        Ok(None)
    }

    /// The note of a git process.
    pub fn read(repo: &Repo, git: &ProcessIdentity) -> Option<Self> {
        let note = load(&path(repo, git)?)?;
        (note.git == git.key()).then_some(note)
    }

    /// Removes the note of a git process.
    pub fn remove(repo: &Repo, git: &ProcessIdentity) {
        let _ = path(repo, git).map(fs::remove_file);
    }

    /// Whether the intent is in this note alone.
    fn has_intent(&self) -> bool {
        self.announced.as_ref().is_some_and(|a| a.untold)
    }
}

/// The notes below a repository's directory of Siglum, but for those of commits that are seen to be under way.
pub fn left(siglum_dir: &Path) -> Vec<PathBuf> {
    let mut left = notes(siglum_dir);
    left.retain(|path| {
        let git = load(path).and_then(|note| ProcessIdentity::from_key(&note.git));
        git.and_then(|git| platform::alive(&git)) != Some(true)
    });
    left
}

/// All notes, the oldest first.
pub fn in_order(siglum_dir: &Path) -> Vec<PathBuf> {
    let mut all = notes(siglum_dir);
    all.sort_by_cached_key(|path| {
        fs::symlink_metadata(path)
            .and_then(|meta| meta.modified())
            .ok()
    });
    all
}

fn is_same_dir(one: &Path, other: &Path) -> bool {
    let real = |dir: &Path| dir.canonicalize().ok();
    one == other || real(one).is_some_and(|one| Some(one) == real(other))
}

/// Removes the notes of git processes that died without a commit: a hook behind ours refused it. An intent that could not
/// be handed on stays, and one of another home does for [`KEPT`].
pub fn drop_dead(siglum_dir: &Path, home: &Path) {
    let waits = |path: &Path| {
        has_intent(path)
            && (!is_old(path, since_epoch()) || NotedCommit::read(path, home).is_some())
    };
    for path in notes(siglum_dir) {
        if is_stale(&path) && !waits(&path) {
            drop(fs::remove_file(path));
        }
    }
}

/// The notes below a repository's directory of Siglum, in no order.
pub fn notes(siglum_dir: &Path) -> Vec<PathBuf> {
    process_files(siglum_dir, COMMITS)
}

/// Whether the shell of the hook after the commit added its line.
fn has_landed(note: &Path) -> bool {
    let ends_so = |mut file: fs::File| {
        let mut last = [0];
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
        Ok(last == *b"\n")
    };
    regular_file::open_own(note, fs::OpenOptions::new().read(true))
        .and_then(ends_so)
        .unwrap_or(false)
}

fn has_intent(path: &Path) -> bool {
    load(path).is_some_and(|note| note.has_intent())
}

fn load(path: &Path) -> Option<CommitNote> {
    let text = regular_file::read_own_text(path, NOTE_MOST).ok()?;
    serde_json::from_str(&text).ok()
}

fn since_epoch() -> Duration {
    Duration::from_nanos(u64::try_from(clock::now().nanos()).unwrap_or(0))
}

/// Has the next hook of a commit look at its message, whatever time that has.
fn unsettle(note: &Path) {
    let mut options = fs::OpenOptions::new();
    options.write(true);
    // One that is gone belongs to a commit that is done, and one of several names may be somebody else's file.
    if let Ok(file) = regular_file::open_own(note, &mut options)
        && file.metadata().is_ok_and(|meta| meta.nlink() == 1)
    {
        let _ = file.set_modified(SystemTime::UNIX_EPOCH);
    }
}

/// Whether a note is of no use any more: its git process is dead and made no commit. One that cannot be told, that is
/// being written right now, or that landed for another home, is for [`KEPT`] from the last change of the note's state,
/// which nobody sets as [`unsettle`] sets its time of change. What is no note is nobody's to remove, unless it is empty: a
/// power cut took what was in it.
fn is_stale(path: &Path) -> bool {
    is_stale_by(path, since_epoch(), platform::alive)
}

/// The same by the time and by who tells whether a process lives. A note is looked at again once its git is dead: what the
/// shell added until then is there now, and nothing is added any more.
fn is_stale_by(
    path: &Path,
    now: Duration,
    alive: impl FnOnce(&ProcessIdentity) -> Option<bool>,
) -> bool {
    let Some(note) = load(path) else {
        return is_old(path, now) && fs::symlink_metadata(path).is_ok_and(|meta| meta.len() == 0);
    };
    let git = ProcessIdentity::from_key(&note.git);
    match git.and_then(|git| alive(&git)) {
        Some(true) => false,
        Some(false) if !has_landed(path) => true,
        _ => is_old(path, now),
    }
}

fn is_old(path: &Path, now: Duration) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| {
        let now = now.as_secs().cast_signed();
        now - meta.ctime() > KEPT.as_secs().cast_signed()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two others commit at once: one finds the note and unsettles it, the other one looks whether it is stale.
    #[test]
    fn a_note_that_is_being_written_is_not_stale() {
        let dir = tempfile::tempdir().unwrap();
        let note = dir.path().join("1");
        fs::write(&note, "").unwrap();
        assert!(!is_stale(&note), "as it was opened");
        unsettle(&note);
        assert!(!is_stale(&note), "and found by somebody else");
    }

    /// A note of no living git, without its commit.
    fn note_of(git: &ProcessIdentity) -> Vec<u8> {
        let note = CommitNote {
            git: git.key(),
            head: None,
            checkpoint: None,
            message: None,
            template: None,
            comment: None,
            announced: None,
        };
        serde_json::to_vec(&note).unwrap()
    }

    #[test]
    fn only_notes_in_a_directory_of_ours_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let (siglum_dir, theirs) = (dir.path().join("siglum"), dir.path().join("theirs"));
        fs::create_dir(&siglum_dir).unwrap();
        fs::create_dir(&theirs).unwrap();
        let mut git = siglum_platform::own().unwrap();
        git.start += 1;
        for name in ["7", "seven"] {
            fs::write(theirs.join(name), note_of(&git)).unwrap();
        }
        let commits = siglum_dir.join(COMMITS);
        std::os::unix::fs::symlink(&theirs, &commits).unwrap();
        drop_dead(&siglum_dir, dir.path());
        assert!(left(&siglum_dir).is_empty() && theirs.join("7").exists());
        fs::remove_file(&commits).unwrap();
        fs::rename(&theirs, &commits).unwrap();
        let linked = dir.path().join("linked");
        std::os::unix::fs::symlink(&siglum_dir, &linked).unwrap();
        drop_dead(&linked, dir.path());
        assert!(left(&linked).is_empty() && commits.join("7").exists());
        drop_dead(&siglum_dir, dir.path());
        assert!(!commits.join("7").exists() && commits.join("seven").exists());
    }

    #[test]
    fn what_is_no_note_goes_only_if_nothing_is_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("7");
        let is_stale = |now| is_stale_by(&path, now, |_| None);
        for (content, goes) in [("diary", false), ("{\"version\":2}", false), ("", true)] {
            fs::write(&path, content).unwrap();
            assert!(!is_stale(since_epoch()), "{content}");
            assert_eq!(is_stale(since_epoch() + 2 * KEPT), goes, "{content}");
        }
    }

    /// Git comes to its end while somebody looks at its note.
    #[test]
    fn a_note_that_lands_while_it_is_looked_at_is_not_stale() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1");
        let git = ProcessIdentity {
            host: "host".to_owned(),
            boot: "boot".to_owned(),
            namespace: 1,
            pid: 1,
            start: 1,
        };
        fs::write(&path, note_of(&git)).unwrap();
        let now = since_epoch();
        assert!(!is_stale_by(&path, now, |_| Some(true)));
        assert!(is_stale_by(&path, now, |_| Some(false)), "without a commit");
        let lands = |_: &ProcessIdentity| {
            let mut note = fs::OpenOptions::new().append(true).open(&path).unwrap();
            note.write_all(b"\n").unwrap();
            Some(false)
        };
        assert!(!is_stale_by(&path, now, lands));
    }
}
