//! What the hook after an amended commit leaves for the shell of `post-rewrite`: there is nothing more to tell.

use std::fs::{self, Metadata};
use std::io;
use std::time::{Duration, SystemTime};

use siglum_gitstore::hooks::AMENDS;
use siglum_gitstore::{Repo, create_siglum_subdirectory};

use super::process_files;
use crate::platform::regular_file;

/// Git starts `post-rewrite` right after `post-commit`.
const KEPT: Duration = Duration::from_secs(60);

/// Leaves the mark of a git process, named by its number, and removes older ones.
pub fn leave(repo: &Repo, git: u32) -> io::Result<()> {
    let siglum_dir = repo.siglum_dir();
    let directory = create_siglum_subdirectory(&siglum_dir, AMENDS)?;
    for path in process_files(&siglum_dir, AMENDS) {
        let is_old = |at: SystemTime| at.elapsed().is_ok_and(|age| age > KEPT);
        // A mark is empty: what is not was left by somebody else.
        let is_over = |meta: Metadata| meta.len() == 0 && meta.modified().is_ok_and(is_old);
        if fs::symlink_metadata(&path).is_ok_and(is_over) {
            let _ = fs::remove_file(path);
        }
    }
    regular_file::create_own(&directory.join(git.to_string())).map(drop)
}
