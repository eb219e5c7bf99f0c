//! The file that holds a commit message while git works on it.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use siglum_domain::CheckpointId;
use siglum_domain::trailer;

/// A message that is larger than this is left alone, in bytes.
const MOST: u64 = 4 << 20;

/// A message file.
pub struct Message {
    path: PathBuf,
    text: String,
}

impl Message {
    /// Reads a message. One that is no UTF-8 or too large is left alone.
    pub fn read(path: &Path) -> io::Result<Self> {
        if fs::metadata(path)?.len() > MOST {
            return Err(io::Error::other("the message is too large"));
        }
        Ok(Self {
            path: path.to_owned(),
            text: fs::read_to_string(path)?,
        })
    }

    /// The checkpoint it names already.
    pub fn named(&self) -> Option<CheckpointId> {
        trailer::named(&self.text).into_iter().next_back()
    }

    /// What git would keep of it.
    pub fn cleaned(&self, comment: &str) -> String {
        trailer::cleaned(&self.text, comment)
    }

    /// Adds the trailer. The message is replaced whole or not at all.
    pub fn add(&self, comment: &str, checkpoint: CheckpointId) -> io::Result<()> {
        let text = trailer::add(&self.text, comment, checkpoint);
        let aside = self.path.with_extension("siglum");
        let mut file = fs::File::create(&aside)?;
        file.write_all(text.as_bytes())?;
        drop(file);
        fs::rename(&aside, &self.path)
    }
}

/// What `prepare-commit-msg` leaves for `commit-msg` while the person edits.
#[derive(Debug, Serialize, Deserialize)]
pub struct Pending {
    /// The checkpoint that the message is to name.
    pub checkpoint: CheckpointId,
    /// The key of the git process that edits.
    pub git: String,
    /// The template, as git would keep it, if the message began as one: left untouched, it is none.
    pub template: Option<String>,
}

fn pending_path(git_dir: &Path) -> PathBuf {
    git_dir.join("siglum-pending")
}

impl Pending {
    /// Leaves it.
    pub fn leave(&self, git_dir: &Path) -> io::Result<()> {
        fs::write(pending_path(git_dir), serde_json::to_vec(self)?)
    }

    /// Takes what this git process left; what another one left is taken away.
    pub fn take(git_dir: &Path, git: Option<&str>) -> Option<Self> {
        let path = pending_path(git_dir);
        let bytes = fs::read(&path).ok()?;
        let _ = fs::remove_file(&path);
        let pending: Self = serde_json::from_slice(&bytes).ok()?;
        (Some(pending.git.as_str()) == git).then_some(pending)
    }
}
