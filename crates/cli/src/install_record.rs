//! Where `siglum init` wrote something, kept in Siglum's home: `siglum uninstall` looks there, too, wherever
//! git takes its hooks from by then, and leaves no file and no directory that was not there before.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::{Deserialize, Serialize};

use crate::error::CommandError;
use crate::home::Home;
use crate::platform::regular_file;

/// What `siglum init` wrote where.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InstallRecord {
    /// Directories of hooks with a block in some of them, by the common directory of their repository.
    hooks: BTreeMap<PathBuf, BTreeSet<PathBuf>>,
    /// Directories that were made.
    directories: BTreeSet<PathBuf>,
    /// Files that were there with nothing but blanks in them, and these.
    blank: BTreeMap<PathBuf, String>,
}

impl InstallRecord {
    /// The record in a home; one that cannot be read is none, since it only ever adds places.
    pub fn load(home: &Home) -> Self {
        let text = regular_file::read_settings(&home.install_record()).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Writes it whole or not at all; an empty one goes.
    pub fn store(&self, home: &Home) -> Result<(), CommandError> {
        let path = home.install_record();
        let failed = |e: io::Error| CommandError::failed(format!("{}: {e}", path.display()));
        if *self == Self::default() {
            return match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(error)),
                _ => Ok(()),
            };
        }
        let text = serde_json::to_string_pretty(self).map_err(io::Error::from);
        let write = |text: String| {
            let mut file = tempfile::NamedTempFile::new_in(home.dir())?;
            file.write_all(text.as_bytes())?;
            file.persist(&path).map(drop).map_err(|e| e.error)
        };
        text.and_then(write).map_err(failed)
    }

    /// Notes that hooks in a directory have a block.
    pub fn add_hooks(&mut self, common_dir: &Path, directory: PathBuf) {
        let known = self.hooks.entry(common_dir.to_owned()).or_default();
        known.insert(directory);
    }

    /// Notes directories that are made.
    pub fn add_directories(&mut self, made: Vec<PathBuf>) {
        self.directories.extend(made);
    }

    /// Notes a file that is there and empty.
    pub fn add_blank(&mut self, path: &Path, text: &str) {
        self.blank.insert(path.to_owned(), text.to_owned());
    }

    /// The directories with hooks of a repository.
    pub fn hooks_of(&self, common_dir: &Path) -> Vec<PathBuf> {
        let known = self.hooks.get(common_dir).into_iter().flatten();
        known.cloned().collect()
    }

    /// What a file held that was there and empty.
    pub fn blank(&self, path: &Path) -> Option<&str> {
        self.blank.get(path).map(String::as_str)
    }

    /// Forgets a repository, whose hooks have no block any more.
    pub fn drop_hooks(&mut self, common_dir: &Path) {
        self.hooks.remove(common_dir);
    }

    /// Forgets a file.
    pub fn drop_blank(&mut self, path: &Path) {
        self.blank.remove(path);
    }

    /// Takes the directories away that were made and are empty again, the innermost first. The others
    /// stay, and are nobody's business any more if they are gone.
    pub fn remove_empty_directories(&mut self) {
        let is_left = |path: &PathBuf| fs::remove_dir(path).is_err() && path.is_dir();
        let mut left: Vec<PathBuf> = self.directories.iter().rev().cloned().collect();
        left.retain(is_left);
        self.directories = left.into_iter().collect();
    }
}

/// The directories above a file that are not there yet.
pub fn missing_directories(path: &Path) -> Vec<PathBuf> {
    let above = path.ancestors().skip(1);
    let missing = above.take_while(|dir| fs::symlink_metadata(dir).is_err());
    missing.map(Path::to_owned).collect()
}

/// The file that a path leads to, through links that need not lead to anything yet.
pub fn link_target(path: &Path) -> PathBuf {
    let mut target = path.to_owned();
    for _ in 0..LINKS_MOST {
        let Ok(next) = fs::read_link(&target) else {
            break;
        };
        target = target.parent().unwrap_or(Path::new("/")).join(next);
    }
    target
}

/// How many links lead to a file at most, as on Linux.
const LINKS_MOST: usize = 40;
