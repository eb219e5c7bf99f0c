//! Locks on files, which the system takes back when their holder dies.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use super::regular_file;

/// A lock that is held until this is dropped.
pub struct Lock(#[expect(dead_code, reason = "the lock lives as long as the file is open")] File);

impl Lock {
    /// Takes the lock, if nobody holds it. Only a regular file can be one.
    pub fn try_take(path: &Path) -> Option<Self> {
        Self::locked(path, FlockOperation::NonBlockingLockExclusive)
    }

    /// Whether nobody holds the lock. Those who ask at the same time are not in each other's way; who takes the lock may
    /// have to try again.
    pub fn is_free(path: &Path) -> bool {
        Self::locked(path, FlockOperation::NonBlockingLockShared).is_some()
    }

    fn locked(path: &Path, how: FlockOperation) -> Option<Self> {
        let mut options = OpenOptions::new();
        options.create(true).append(true).mode(0o600);
        let file = regular_file::open(path, &mut options).ok()?;
        flock(&file, how).ok()?;
        Some(Self(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_only_asks_is_in_nobodys_way() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let asking = Lock::locked(&path, FlockOperation::NonBlockingLockShared);
        assert!(asking.is_some() && Lock::is_free(&path));
        drop(asking);
        let held = Lock::try_take(&path);
        assert!(held.is_some() && !Lock::is_free(&path));
        drop(held);
        assert!(Lock::is_free(&path) && Lock::try_take(&path).is_some());
    }
}
