//! The mark of a repository: its id, in its directory of Siglum. It goes wherever the repository is moved to, and no clone
//! has it.
//!
//! Each ledger that knows the repository has its own id for it, so there may be several. Whoever reads them looks for those
//! that it knows.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use siglum_domain::RepositoryId;

use crate::bounded;
use crate::owner::give_to_owner;
use crate::place::{is_on, siglum_dir};

/// The name of the file with the marks, in the repository's directory of Siglum.
const MARK: &str = "repository";
/// What a file with marks is called until it is whole, before a number.
const UNFINISHED: &str = "repository.new-";
const LENGTH_MOST: u64 = 4 << 10;
/// How many ledgers may know one repository. The oldest give way.
const MARKS_MOST: usize = 16;

/// The ids by which ledgers know the repository with this common directory, the oldest first.
#[must_use]
pub fn marks(common_dir: &Path) -> Vec<RepositoryId> {
    let text = bounded::read_text(&siglum_dir(common_dir).join(MARK), LENGTH_MOST);
    let text = text.unwrap_or_default();
    text.lines().filter_map(|id| id.parse().ok()).collect()
}

/// Tells whether a file in a directory of Siglum has marks, or was to get them.
#[must_use]
pub fn is_mark(name: &str) -> bool {
    name == MARK || name.starts_with(UNFINISHED)
}

/// Tells whether a repository may still be in a place: it has its mark there, or nobody can tell.
#[must_use]
pub fn may_be_at(common_dir: &Path, id: RepositoryId) -> bool {
    let path = siglum_dir(common_dir).join(MARK);
    match bounded::open_regular(&path) {
        Ok(_) => marks(common_dir).contains(&id),
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

/// Marks a repository with these ids and no others. Where Siglum is not switched on, nothing is written.
///
/// # Errors
/// The file cannot be written.
pub fn set_marks(common_dir: &Path, ids: &[RepositoryId]) -> io::Result<()> {
    if !is_on(common_dir) {
        return Ok(());
    }
    let dir = siglum_dir(common_dir);
    let unfinished = dir.join(format!("{UNFINISHED}{}", std::process::id()));
    // One that was left behind by a process of the same number.
    let _ = fs::remove_file(&unfinished);
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&unfinished)?;
    give_to_owner(&file, &dir)?;
    for id in &ids[ids.len().saturating_sub(MARKS_MOST)..] {
        writeln!(file, "{id}")?;
    }
    // After a power cut an empty file would say that another repository is in this place.
    file.sync_data()?;
    fs::rename(&unfinished, dir.join(MARK))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_mark_is_read_as_it_was_written_and_only_where_siglum_is_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path();
        let id = |n: u32| -> RepositoryId { format!("rep_{n:032x}").parse().unwrap() };
        let all: Vec<RepositoryId> = (1..=20).map(id).collect();
        set_marks(path, &all).unwrap();
        assert_eq!((marks(path), may_be_at(path, id(1))), (vec![], false));
        fs::create_dir(path.join("siglum")).unwrap();
        assert!(!may_be_at(path, id(1)));
        set_marks(path, &all).unwrap();
        assert_eq!(marks(path), all[4..]);
        assert_eq!(
            (may_be_at(path, id(4)), may_be_at(path, id(5))),
            (false, true)
        );
        let file = path.join("siglum").join(MARK);
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        let link = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(path.join("siglum"), link.path().join("siglum")).unwrap();
        set_marks(link.path(), &[id(9)]).unwrap();
        assert_eq!(marks(path), all[4..]);
        // What cannot be read does not say that it is gone.
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert_eq!((marks(path), may_be_at(path, id(1))), (vec![], true));
    }
}
