//! What the hook after an amended commit leaves for the shell of `post-rewrite`: there is nothing more to tell.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::time::Duration;

use siglum_gitstore::Repo;
use siglum_gitstore::hooks::AMENDS;

use crate::platform::regular_file;

/// Git starts `post-rewrite` right after `post-commit`.
const KEPT: Duration = Duration::from_secs(60);

/// Leaves the mark of a git process, named by its number, and removes older ones.
pub fn leave(repo: &Repo, git: u32) -> io::Result<()> {
    let directory = repo.siglum_dir().join(AMENDS);
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(&directory)?;
    for entry in fs::read_dir(&directory)?.flatten() {
        let modified = entry.metadata().and_then(|meta| meta.modified());
        if modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > KEPT)) {
            let _ = fs::remove_file(entry.path());
        }
    }
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    regular_file::open(&directory.join(git.to_string()), &mut options).map(drop)
}
