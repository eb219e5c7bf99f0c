//! What the first hook of a commit leaves for the later hooks of the same git process.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use siglum_domain::process::ProcessIdentity;
use siglum_domain::{CheckpointId, Oid};
use siglum_gitstore::Repo;

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

/// Where notes lie in the repository's directory of Siglum.
pub const DIRECTORY: &str = "commits";

fn directory(repo: &Repo) -> PathBuf {
    repo.siglum_dir().join(DIRECTORY)
}

fn path(repo: &Repo, git: &ProcessIdentity) -> PathBuf {
    directory(repo).join(format!("{}-{}", git.pid, git.start))
}

impl CommitNote {
    /// Writes the note, and removes those of git processes that died.
    pub fn leave(&self, repo: &Repo, git: &ProcessIdentity) -> io::Result<()> {
        let directory = directory(repo);
        let own = path(repo, git);
        match fs::read_dir(&directory) {
            Ok(entries) => entries
                .flatten()
                .map(|entry| entry.path())
                .filter(|path| *path != own && is_stale(path))
                .for_each(|path| drop(fs::remove_file(path))),
            Err(_) => fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&directory)?,
        }
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = regular_file::open(&own, &mut options)?;
        file.write_all(&serde_json::to_vec(self)?)
    }

    /// The note of a git process.
    pub fn read(repo: &Repo, git: &ProcessIdentity) -> Option<Self> {
        let note = load(&path(repo, git))?;
        (note.git == git.key()).then_some(note)
    }

    /// Removes the note of a git process and gives it.
    pub fn take(repo: &Repo, git: &ProcessIdentity) -> Option<Self> {
        let note = Self::read(repo, git);
        let _ = fs::remove_file(path(repo, git));
        note
    }
}

fn load(path: &Path) -> Option<CommitNote> {
    let text = regular_file::read_text(path, NOTE_MOST).ok()?;
    serde_json::from_str(&text).ok()
}

/// Whether the git process of a note is dead.
fn is_stale(path: &Path) -> bool {
    let git = load(path).and_then(|note| ProcessIdentity::from_key(&note.git));
    match git.and_then(|git| platform::alive(&git)) {
        Some(alive) => !alive,
        None => fs::metadata(path)
            .and_then(|meta| meta.modified())
            .is_ok_and(|at| at.elapsed().is_ok_and(|age| age > KEPT)),
    }
}
