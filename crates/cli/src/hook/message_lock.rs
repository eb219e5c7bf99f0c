//! Who may have the message file of a checkout to itself, for the moment between the last hook of a
//! commit and git's reading of the file.
//!
//! Git has one message file for each checkout and no lock for it. Hooks make the time between git's
//! writing and its reading a hundred times as long, and so whoever commits at the same time a
//! hundred times as likely to write in between. While one git reads, the hooks of the others wait
//! here: nobody else writes, and git gets the processor to itself. Nobody waits long: a lock is void
//! as soon as its git is dead, or after [`HELD_MOST`], and after [`WAIT_MOST`] a hook goes on without.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use siglum_domain::process::ProcessIdentity;
use siglum_gitstore::Repo;

use crate::platform::{self, regular_file};

/// A hook waits at most this long.
const WAIT_MOST: Duration = Duration::from_millis(50);
/// A lock that is older than this is void: its git reads the message at once, or was stopped.
const HELD_MOST: Duration = Duration::from_millis(100);
/// How long a hook sleeps before it looks again.
const PAUSE: Duration = Duration::from_micros(500);

/// How much of a lock is read, in bytes.
const HOLDER_MOST: u64 = 1 << 10;

/// How waiting ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// Nobody is in the way, or nobody may be any longer.
    Free,
    /// HEAD moved meanwhile, so git will refuse this commit.
    Overtaken,
}

/// The lock of one checkout, for one git process.
pub struct MessageLock<'a> {
    repo: &'a Repo,
    path: PathBuf,
    git: String,
    /// How long git's list of the moves of HEAD was when this commit began.
    log: Option<u64>,
}

/// Whether a file of this name is a lock.
pub fn is_lock(name: &str) -> bool {
    name.starts_with("message-") && name.ends_with(".lock")
}

impl<'a> MessageLock<'a> {
    pub fn new(repo: &'a Repo, git: &ProcessIdentity, log: Option<u64>) -> Self {
        let checkout = repo.git_dir.file_name().unwrap_or_default();
        let name = format!("message-{}.lock", checkout.to_string_lossy());
        Self {
            repo,
            path: repo.siglum_dir().join(name),
            git: git.key(),
            log,
        }
    }

    /// Waits until no other git reads.
    pub fn wait(&self) -> Waited {
        self.poll(|| !is_held_by_another(&self.path, &self.git))
    }

    /// Takes the lock, for as long as git lives and reads.
    pub fn take(&self) -> Waited {
        self.poll(|| {
            let file = fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .open(&self.path);
            match file {
                Ok(mut file) => file.write_all(self.git.as_bytes()).is_ok(),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    if !is_held_by_another(&self.path, &self.git) {
                        let _ = fs::remove_file(&self.path);
                    }
                    false
                }
                // A checkout that cannot be written to has no lock.
                Err(_) => true,
            }
        })
    }

    /// Lets the next one go on.
    pub fn release(&self) {
        if holder(&self.path).is_some_and(|holder| holder == self.git) {
            let _ = fs::remove_file(&self.path);
        }
    }

    fn poll(&self, ready: impl Fn() -> bool) -> Waited {
        let begun = Instant::now();
        loop {
            if self.log.is_some() && self.repo.log_length() != self.log {
                return Waited::Overtaken;
            }
            if ready() || begun.elapsed() > WAIT_MOST {
                return Waited::Free;
            }
            thread::sleep(PAUSE);
        }
    }
}

/// The key of the git process that holds a lock.
fn holder(path: &Path) -> Option<String> {
    regular_file::read_own_text(path, HOLDER_MOST).ok()
}

fn is_held_by_another(path: &Path, git: &str) -> bool {
    let Some(holder) = holder(path) else {
        return false;
    };
    if holder == git {
        return false;
    }
    let old = fs::symlink_metadata(path)
        .and_then(|meta| meta.modified())
        .is_ok_and(|at| at.elapsed().is_ok_and(|age| age > HELD_MOST));
    let dead =
        ProcessIdentity::from_key(&holder).and_then(|git| platform::alive(&git)) == Some(false);
    !old && !dead
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_void_when_its_git_died_or_after_a_while() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        assert!(!is_held_by_another(&path, "me"), "nobody holds it");
        let mut living = siglum_platform::own().unwrap();
        fs::write(&path, living.key()).unwrap();
        assert!(is_held_by_another(&path, "me"));
        assert!(!is_held_by_another(&path, &living.key()), "it is ours");
        living.start += 1;
        fs::write(&path, living.key()).unwrap();
        assert!(!is_held_by_another(&path, "me"), "its git is dead");
        fs::write(&path, siglum_platform::own().unwrap().key()).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        let past = file.metadata().unwrap().modified().unwrap() - 2 * HELD_MOST;
        file.set_modified(past).unwrap();
        assert!(!is_held_by_another(&path, "me"), "its git stands still");
    }
}
