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
        let mut options = OpenOptions::new();
        options.create(true).append(true).mode(0o600);
        let file = regular_file::open(path, &mut options).ok()?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
        Some(Self(file))
    }
}
