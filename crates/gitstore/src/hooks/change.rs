//! One change to one file, made only if the file is still what it was.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::FRONT;
use crate::error::GitError;
use crate::owner;

const DIRECTORY_MODE: u32 = 0o777;
/// The name of git's settings in a repository.
const SETTINGS: &str = "config";

/// One change to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChange {
    /// The file gets this content; it had the other one, or was not there.
    Write {
        path: PathBuf,
        /// Its content until now.
        before: Option<Vec<u8>>,
        /// Its content from now on.
        after: Vec<u8>,
        /// Its permissions from now on.
        mode: u32,
    },
    Delete {
        path: PathBuf,
        /// Its content until now.
        before: Vec<u8>,
    },
    /// The file gets another name; nothing has that name yet.
    Move { from: PathBuf, to: PathBuf },
    /// The symbolic link leads there; none stands for no link.
    Link {
        path: PathBuf,
        /// Where it led until now.
        before: Option<PathBuf>,
        /// Where it leads from now on.
        after: Option<PathBuf>,
    },
    /// The directory goes, if nothing is left in it.
    Leave {
        /// Which directory.
        path: PathBuf,
    },
}

impl FileChange {
    /// The file as people know it: the one that is a hook.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Write { path, .. } | Self::Delete { path, .. } | Self::Link { path, .. } => path,
            Self::Move { from, .. } => from,
            Self::Leave { path } => path,
        }
    }

    pub(super) fn apply(&self) -> Result<(), GitError> {
        match self {
            Self::Write {
                path,
                before,
                after,
                mode,
            } => replace(path, before.as_deref(), after, *mode),
            Self::Delete { path, before } => {
                unchanged(path, Some(before))?;
                fs::remove_file(path).map_err(GitError::io(path))
            }
            Self::Move { from, to } => {
                unchanged(to, None)?;
                fs::rename(from, to).map_err(GitError::io(from))
            }
            Self::Link {
                path,
                before,
                after,
            } => relink(path, before.as_deref(), after.as_deref()),
            Self::Leave { path } => match fs::remove_dir(path) {
                Err(error) if error.kind() != ErrorKind::DirectoryNotEmpty => {
                    Err(GitError::io(path)(error))
                }
                _ => Ok(()),
            },
        }
    }
}

/// Has a link lead elsewhere, if it still leads to where it led.
fn relink(path: &Path, before: Option<&Path>, after: Option<&Path>) -> Result<(), GitError> {
    match before {
        None => unchanged(path, None)?,
        Some(before) if fs::read_link(path).is_ok_and(|now| now == before) => {
            fs::remove_file(path).map_err(GitError::io(path))?;
        }
        Some(_) => return Err(GitError::Changed(path.to_owned())),
    }
    match after {
        Some(target) => owner::link(target, path).map_err(GitError::io(path)),
        None => Ok(()),
    }
}

fn unchanged(path: &Path, before: Option<&[u8]>) -> Result<(), GitError> {
    let same = match (fs::symlink_metadata(path), before) {
        (Err(_), None) => true,
        (Ok(meta), Some(before)) => meta.is_file() && fs::read(path).is_ok_and(|now| now == before),
        _ => false,
    };
    if same {
        Ok(())
    } else {
        Err(GitError::Changed(path.to_owned()))
    }
}

/// Writes a file beside the place and renames it, if there is still what was there. It belongs to whoever
/// owned the one before.
fn replace(path: &Path, before: Option<&[u8]>, content: &[u8], mode: u32) -> Result<(), GitError> {
    let dir = path.parent().unwrap_or(Path::new("/"));
    let is_missing = fs::symlink_metadata(dir).is_err();
    owner::create_directories(dir, DIRECTORY_MODE).map_err(GitError::io(path))?;
    // An earlier version made ours as the umask had it.
    if is_missing || dir.ends_with(FRONT) {
        open_like_parent(dir).map_err(GitError::io(dir))?;
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = match name == SETTINGS && dir.join("HEAD").exists() {
        // Git does not change its settings while this is there, and neither does Siglum.
        true => dir.join(format!("{SETTINGS}.lock")),
        false => {
            let own = dir.join(format!(".{name}.siglum-{}", std::process::id()));
            let _ = fs::remove_file(&own);
            own
        }
    };
    let mut options = OpenOptions::new();
    // A link that somebody else put there is not followed.
    let options = options.write(true).create_new(true).mode(0o600);
    let file = options.open(&temporary).map_err(GitError::io(&temporary))?;
    let written = fill(&file, path, content, mode)
        .map_err(GitError::io(path))
        .and_then(|()| unchanged(path, before))
        .and_then(|()| fs::rename(&temporary, path).map_err(GitError::io(path)));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Whoever may use a git directory may use a new one in it: git ends where it may not read what settings include.
fn open_like_parent(dir: &Path) -> io::Result<()> {
    let above = dir.parent().unwrap_or(dir);
    let wanted = fs::metadata(above)?.permissions();
    match fs::metadata(dir)?.permissions() == wanted {
        true => Ok(()),
        false => fs::set_permissions(dir, wanted),
    }
}

fn fill(mut file: &File, place: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    file.write_all(content)?;
    owner::give_to_owner(file, place)?;
    file.set_permissions(Permissions::from_mode(mode))
}
