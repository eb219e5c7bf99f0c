//! What a use case may know of the world around it.

use std::ops::Deref;
use std::path::{Path, PathBuf};

use siglum_domain::digest::Hasher;
use siglum_domain::process::ProcessIdentity;
use siglum_domain::redact::Redactor;
use siglum_domain::{IdSource, Timestamp};
use siglum_gitstore::{Git, ObjectStore};

/// The process that a use case runs in: all that turns and projections need.
#[derive(Clone, Copy)]
pub struct Here<'a> {
    pub ids: &'a dyn IdSource,
    pub clock: &'a dyn Fn() -> Timestamp,
    /// Tells whether a process lives; nothing where that cannot be seen from here.
    pub alive: &'a dyn Fn(&ProcessIdentity) -> Option<bool>,
    pub redactor: &'a Redactor,
}

/// Whether a queue holds more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slice {
    /// There was nothing to do.
    Idle,
    /// Something was done; there may be more.
    Worked,
}

impl Here<'_> {
    /// The time now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        (self.clock)()
    }
}

/// The world as the edge sees it: the process, and the repositories around it.
pub struct World<'a> {
    pub here: Here<'a>,
    pub git: PathBuf,
    /// The versions of edited files.
    pub objects: ObjectStore,
}

/// Whoever has the world has the process, too.
impl<'a> Deref for World<'a> {
    type Target = Here<'a>;

    fn deref(&self) -> &Here<'a> {
        &self.here
    }
}

impl World<'_> {
    /// Git in one checkout.
    #[must_use]
    pub fn git(&self, worktree: &str) -> Git {
        Git::new(&self.git, Path::new(worktree))
    }
}

/// A salt that was never used before.
pub(crate) fn salt(ids: &dyn IdSource) -> [u8; 32] {
    let mut hasher = Hasher::new();
    hasher.update(ids.fresh().as_bytes());
    hasher.update(ids.fresh().as_bytes());
    hasher.bytes()
}
