//! Changes to hooks: planned by reading only, shown, then applied.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::block::{Company, Found, block, find};
use super::{CHAINED, HOOKS, script};
use crate::bounded;
use crate::error::GitError;

/// No hook that is a script is larger; what is larger is moved aside unread.
pub(super) const SCRIPT_LIMIT: u64 = 1 << 20;
const NEW_MODE: u32 = 0o755;
const EXECUTABLE: u32 = 0o111;

/// One change to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileChange {
    /// The file gets this content; it had the other one, or was not there.
    Write {
        /// Which file.
        path: PathBuf,
        /// Its content until now.
        before: Option<Vec<u8>>,
        /// Its content from now on.
        after: Vec<u8>,
        /// Its permissions from now on.
        mode: u32,
    },
    /// The file goes.
    Delete {
        /// Which file.
        path: PathBuf,
        /// Its content until now.
        before: Vec<u8>,
    },
    /// The file gets another name; nothing has that name yet.
    Move {
        /// Its name until now.
        from: PathBuf,
        /// Its name from now on.
        to: PathBuf,
    },
}

/// What would be changed, and what is left alone and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The changes, in the order they must be made.
    pub changes: Vec<FileChange>,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// What stands under the name of a hook.
pub(super) enum Hook {
    Missing,
    /// A regular file that is small enough to be read.
    Script {
        content: Vec<u8>,
        mode: u32,
    },
    /// A symbolic link, a large file, anything else.
    Other,
}

pub(super) struct Slot {
    pub(super) name: &'static str,
    pub(super) path: PathBuf,
    pub(super) chained: PathBuf,
    pub(super) hook: Hook,
    pub(super) has_chained: bool,
}

/// Reads what stands under the name of each hook.
pub(super) fn slots(hooks_dir: &Path) -> Vec<Slot> {
    let slot = |name: &'static str| {
        let (path, chained) = (
            hooks_dir.join(name),
            hooks_dir.join(format!("{name}{CHAINED}")),
        );
        let has_chained = fs::symlink_metadata(&chained).is_ok();
        let hook = match fs::symlink_metadata(&path) {
            Err(_) => Hook::Missing,
            Ok(meta) if meta.is_file() => match bounded::read(&path, SCRIPT_LIMIT) {
                Some(content) => Hook::Script {
                    content,
                    mode: meta.permissions().mode() & 0o7777,
                },
                None => Hook::Other,
            },
            Ok(_) => Hook::Other,
        };
        Slot {
            name,
            path,
            chained,
            hook,
            has_chained,
        }
    };
    HOOKS.into_iter().map(slot).collect()
}

/// Plans what puts the current block into every hook. `shim` is the program that the hooks call, by
/// a path that outlives upgrades.
///
/// # Errors
/// The shim's path cannot be written into a script, or the directory cannot be written to.
pub fn plan_install(hooks_dir: &Path, shim: &Path) -> Result<Plan, GitError> {
    let mut plan = Plan::default();
    for slot in slots(hooks_dir) {
        plan.install(&slot, shim)?;
    }
    plan.checked(hooks_dir)
}

/// Plans what takes every block out again and leaves all else as it was.
///
/// # Errors
/// The directory cannot be written to.
pub fn plan_remove(hooks_dir: &Path) -> Result<Plan, GitError> {
    let mut plan = Plan::default();
    for slot in slots(hooks_dir) {
        plan.remove(&slot);
    }
    plan.checked(hooks_dir)
}

impl Plan {
    fn install(&mut self, slot: &Slot, shim: &Path) -> Result<(), GitError> {
        let new = |chained| {
            let company = if chained {
                Company::Chained
            } else {
                Company::Alone
            };
            block(slot.name, shim, company).map(|text| script::own(&text))
        };
        let Hook::Script { content, mode } = &slot.hook else {
            if matches!(slot.hook, Hook::Other) && !self.move_aside(slot) {
                return Ok(());
            }
            let chained = slot.has_chained || matches!(slot.hook, Hook::Other);
            self.write(slot, None, new(chained)?, NEW_MODE);
            return Ok(());
        };
        let chained = slot.has_chained && script::is_own(content);
        let text = block(slot.name, shim, script::company(content, chained))?;
        match find(content) {
            Found::At(_) => {
                let after = script::exchanged(content, &text).unwrap_or_else(|| content.clone());
                let switched_off = mode & EXECUTABLE == 0;
                let mode_after = if switched_off {
                    mode | EXECUTABLE
                } else {
                    *mode
                };
                self.write(slot, Some((content, *mode)), after, mode_after);
            }
            Found::Broken => self.note(slot, "has half a siglum block; it was left alone"),
            Found::None if mode & EXECUTABLE != 0 && script::is_shell(content) => {
                self.write(
                    slot,
                    Some((content, *mode)),
                    script::with(content, &text),
                    *mode,
                );
            }
            Found::None => {
                if self.move_aside(slot) {
                    self.write(slot, None, new(true)?, NEW_MODE);
                }
            }
        }
        Ok(())
    }

    /// Gives a hook its other name, unless that is taken or the hook needs its own.
    fn move_aside(&mut self, slot: &Slot) -> bool {
        let content = bounded::read(&slot.path, SCRIPT_LIMIT).unwrap_or_default();
        if slot.has_chained {
            self.note(
                slot,
                "was replaced after another one had been moved aside; it was left alone",
            );
        } else if script::asks_its_name(&content) {
            self.note(
                slot,
                "asks what it is called and so cannot be moved aside; it was left alone",
            );
        } else {
            self.changes.push(FileChange::Move {
                from: slot.path.clone(),
                to: slot.chained.clone(),
            });
            return true;
        }
        false
    }

    fn remove(&mut self, slot: &Slot) {
        let Hook::Script { content, mode } = &slot.hook else {
            return;
        };
        let Some(rest) = script::without(content) else {
            if find(content) == Found::Broken {
                self.note(slot, "has half a siglum block; it was left alone");
            }
            return;
        };
        if !script::is_own(content) || !rest.is_empty() {
            self.write(slot, Some((content, *mode)), rest, *mode);
            if slot.has_chained {
                self.note(
                    slot,
                    "has lines of somebody else now; the one moved aside stays there",
                );
            }
            return;
        }
        self.changes.push(FileChange::Delete {
            path: slot.path.clone(),
            before: content.clone(),
        });
        if slot.has_chained {
            self.changes.push(FileChange::Move {
                from: slot.chained.clone(),
                to: slot.path.clone(),
            });
        }
    }

    fn write(&mut self, slot: &Slot, before: Option<(&Vec<u8>, u32)>, after: Vec<u8>, mode: u32) {
        if before.is_none_or(|(content, old)| *content != after || old != mode) {
            let before = before.map(|(content, _)| content.clone());
            self.changes.push(FileChange::Write {
                path: slot.path.clone(),
                before,
                after,
                mode,
            });
        }
    }

    fn note(&mut self, slot: &Slot, text: &str) {
        self.notes.push(format!("{} {text}", slot.path.display()));
    }

    /// The plan, if the directory that it changes can be written to.
    fn checked(self, hooks_dir: &Path) -> Result<Self, GitError> {
        if !self.changes.is_empty() && hooks_dir.exists() {
            let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
            let result = match hooks_dir.is_dir() {
                true => rustix::fs::access(hooks_dir, access).map_err(io::Error::from),
                false => Err(io::Error::from(ErrorKind::NotADirectory)),
            };
            result.map_err(GitError::io(hooks_dir))?;
        }
        Ok(self)
    }

    /// Makes the changes, each only if its file is still what it was. What was done before an error
    /// stays; planning again goes on from there.
    ///
    /// # Errors
    /// A file changed meanwhile, or the file system refuses.
    pub fn apply(&self) -> Result<(), GitError> {
        self.changes.iter().try_for_each(FileChange::apply)
    }
}

impl FileChange {
    /// The file as people know it: the one that is a hook.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Write { path, .. } | Self::Delete { path, .. } => path,
            Self::Move { from, .. } => from,
        }
    }

    fn apply(&self) -> Result<(), GitError> {
        match self {
            Self::Write {
                path,
                before,
                after,
                mode,
            } => {
                unchanged(path, before.as_deref())?;
                replace(path, after, *mode).map_err(GitError::io(path))
            }
            Self::Delete { path, before } => {
                unchanged(path, Some(before))?;
                fs::remove_file(path).map_err(GitError::io(path))
            }
            Self::Move { from, to } => {
                unchanged(to, None)?;
                fs::rename(from, to).map_err(GitError::io(from))
            }
        }
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

/// Writes a file beside the place and renames it.
fn replace(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let dir = path.parent().ok_or(ErrorKind::InvalidInput)?;
    fs::create_dir_all(dir)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = dir.join(format!(".{name}.siglum-{}", std::process::id()));
    let written = (|| {
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&temporary)?;
        file.write_all(content)?;
        file.set_permissions(Permissions::from_mode(mode))?;
        drop(file);
        fs::rename(&temporary, path)
    })();
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}
