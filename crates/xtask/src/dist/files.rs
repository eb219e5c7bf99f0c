//! Files of packages: written, copied, named and digested, with errors that name them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::Failure;

pub(crate) fn at(path: &Path) -> impl Fn(io::Error) -> Failure + '_ {
    move |e| Failure::new(format!("{}: {e}", path.display()))
}

pub(crate) fn make_dir(dir: &Path) -> Result<(), Failure> {
    fs::create_dir_all(dir).map_err(at(dir))
}

/// Makes a folder that is empty.
pub(crate) fn clean(dir: &Path) -> Result<(), Failure> {
    if dir.exists() {
        fs::remove_dir_all(dir).map_err(at(dir))?;
    }
    make_dir(dir)
}

/// Writes a file, and the folders that it is in.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    make_parent(path)?;
    fs::write(path, content).map_err(at(path))?;
    mode(path, 0o644)
}

/// Copies a file, and makes the folders that it is in.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    make_parent(to)?;
    fs::copy(from, to).map_err(at(from))?;
    mode(to, 0o644)
}

/// Makes a file a program. Whatever umask a package is made with, everybody can use it.
pub(crate) fn executable(path: &Path) -> Result<(), Failure> {
    mode(path, 0o755)
}

fn make_parent(path: &Path) -> Result<(), Failure> {
    path.parent().map_or(Ok(()), make_dir)
}

fn mode(path: &Path, mode: u32) -> Result<(), Failure> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(at(path))
}

/// The names of the files in a folder, sorted.
pub(crate) fn names(dir: &Path) -> Result<Vec<String>, Failure> {
    let entries = fs::read_dir(dir).map_err(at(dir))?.flatten();
    let files = entries.filter(|entry| entry.path().is_file());
    let mut names: Vec<String> = files
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}

/// All files below a folder, sorted.
pub(crate) fn below(dir: &Path) -> Result<Vec<PathBuf>, Failure> {
    let (mut found, mut open) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).map_err(at(&dir))?.flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The SHA-256 of a file in hex.
pub(crate) fn digest(path: &Path) -> Result<String, Failure> {
    let bytes = fs::read(path).map_err(at(path))?;
    let digest = Sha256::digest(bytes);
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}
