//! The file that holds a commit message while git works on it.

use std::fs;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use siglum_domain::{CheckpointId, commit_message, trailer};

use crate::platform::regular_file;

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
        commit_message::cleaned(&self.text, comment)
    }

    /// Adds the trailer. The message is replaced whole or not at all.
    pub fn add(&self, comment: &str, checkpoint: CheckpointId) -> io::Result<()> {
        let text = trailer::add(&self.text, comment, checkpoint);
        replace(&self.path, &text, None)
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// The time of change of a message that somebody else wrote into. It is none that a note ever has: with the same one, the
/// message would pass for settled.
fn unsettled() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1)
}

/// Gives the file of a message this time of change, if the message is still this one.
pub fn set_time(path: &Path, text: &str, time: SystemTime) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    let mut file = regular_file::open(path, options.read(true).write(true))?;
    file.set_modified(time)?;
    // Looked at afterwards: what another git writes from now on gives the file another time by itself.
    let mut present = String::new();
    Read::take(&mut file, MOST).read_to_string(&mut present)?;
    match present == text {
        true => Ok(()),
        false => file.set_modified(unsettled()),
    }
}

/// Replaces a message whole or not at all, and gives its file this time of change, if any. Hooks of several commits may
/// do so at once, so each has a file of its own beside the message.
pub fn replace(path: &Path, text: &str, time: Option<SystemTime>) -> io::Result<()> {
    let aside = path.with_extension(format!("siglum-{}", std::process::id()));
    let mut file = fs::File::create(&aside)?;
    let replaced = file
        .write_all(text.as_bytes())
        .and_then(|()| time.map_or(Ok(()), |time| file.set_modified(time)))
        .and_then(|()| fs::rename(&aside, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&aside);
    }
    replaced
}
