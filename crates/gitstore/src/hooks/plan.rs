//! Changes to hooks: planned by reading only, shown, then applied.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::path::{Path, PathBuf};

use super::block::{BlockLocation, Company, block, find};
use super::change::FileChange;
use super::front::Links;
use super::site::{HookSite, Obstacle, Theirs, is_real_or_missing};
use super::{CHAINED, HOOKS, SCRIPT_LIMIT, advice, front, script, setting};
use crate::bounded;
use crate::error::GitError;

const NEW_MODE: u32 = 0o755;
const FILE_MODE: u32 = 0o644;
const EXECUTABLE: u32 = 0o111;

/// What would be changed, and what is left alone and why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The changes, in the order they must be made.
    pub changes: Vec<FileChange>,
    /// What a person should know.
    pub notes: Vec<String>,
    /// Why git runs no hook of ours, if so.
    pub obstacle: Option<Obstacle>,
}

/// What stands under the name of a hook.
pub(super) enum Hook {
    Missing,
    /// A regular file that is small enough to be read.
    Script {
        content: Vec<u8>,
        mode: u32,
    },
    /// A link of either kind, a large file, anything else.
    Other,
}

pub(super) struct Slot {
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) chained: PathBuf,
    pub(super) hook: Hook,
    pub(super) has_chained: bool,
}

impl Slot {
    /// Reads what stands under a name.
    pub(super) fn read(dir: &Path, name: &str) -> Self {
        let (path, chained) = (dir.join(name), dir.join(format!("{name}{CHAINED}")));
        let has_chained = fs::symlink_metadata(&chained).is_ok();
        let hook = match fs::symlink_metadata(&path) {
            Err(_) => Hook::Missing,
            Ok(meta) if meta.is_file() => match bounded::read(&path, SCRIPT_LIMIT) {
                // A file with another name beside is not cut off from it. One with a block already was.
                Some(content) if meta.nlink() == 1 || find(&content) != BlockLocation::None => {
                    Hook::Script {
                        content,
                        mode: meta.permissions().mode() & 0o7777,
                    }
                }
                _ => Hook::Other,
            },
            Ok(_) => Hook::Other,
        };
        Self {
            name: name.to_owned(),
            path,
            chained,
            hook,
            has_chained,
        }
    }

    /// Whether Siglum's block may stand in this hook: there is none, or a plain script that git runs.
    fn is_plain(&self) -> bool {
        match &self.hook {
            Hook::Missing => true,
            Hook::Other => false,
            Hook::Script { content, .. } if script::is_own(content) => !self.has_chained,
            Hook::Script { content, mode } => {
                let theirs = script::without(content);
                let has_block = theirs.is_some();
                let is_run = mode & EXECUTABLE != 0 || has_block;
                is_run && script::is_plain(&theirs.unwrap_or_else(|| content.clone()), &self.name)
            }
        }
    }
}

/// Everything in a directory of hooks.
fn slots(dir: &Path) -> Vec<Slot> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| !name.ends_with(CHAINED))
        .collect();
    names.sort();
    names.iter().map(|name| Slot::read(dir, name)).collect()
}

/// Whether a directory has hooks with a block in them.
#[must_use]
pub fn has_blocks(dir: &Path) -> bool {
    let has_block = |slot: &Slot| match &slot.hook {
        Hook::Script { content, .. } => find(content) != BlockLocation::None,
        Hook::Missing | Hook::Other => false,
    };
    slots(dir).iter().any(has_block)
}

/// Whether the block can stand in the hooks themselves.
pub(super) fn stands_in_place(site: &HookSite) -> bool {
    let dir = site.usual_dir();
    site.is_without_front()
        && site.theirs == Theirs::Usual
        && is_real_or_missing(&dir)
        && HOOKS.iter().all(|name| Slot::read(&dir, name).is_plain())
}

/// Plans what has git run the current block at every hook of ours. `shim` is the program that the hooks
/// call, by a path that outlives upgrades.
///
/// # Errors
/// The shim's path cannot be written into a script, or a directory cannot be written to.
pub fn plan_install(site: &HookSite, shim: &Path) -> Result<Plan, GitError> {
    let mut plan = Plan::default();
    block(HOOKS[0], shim, Company::Alone)?;
    if let Some(obstacle) = site.obstacle() {
        plan.stop_at(obstacle.clone());
        return Ok(plan);
    }
    plan.notes.extend(advice(site));
    if stands_in_place(site) {
        let dir = site.usual_dir();
        for name in HOOKS {
            plan.install(&Slot::read(&dir, name), shim)?;
        }
    } else {
        plan.stand_in_front(site, shim)?;
    }
    plan.checked()
}

/// Plans what takes every block out again and leaves all else as it was: in git's own directory, and in
/// `places`, other directories where blocks were put or may have got to.
///
/// # Errors
/// A directory cannot be written to.
pub fn plan_remove(site: &HookSite, places: &[PathBuf]) -> Result<Plan, GitError> {
    let mut plan = Plan::default();
    let dirs = [&[site.usual_dir()][..], places].concat();
    plan.clear_all(&dirs, &[site.front_dir()], |_| true);
    plan.leave_front(site);
    plan.checked()
}

impl Plan {
    fn install(&mut self, slot: &Slot, shim: &Path) -> Result<(), GitError> {
        let Hook::Script { content, mode } = &slot.hook else {
            let new = block(&slot.name, shim, Company::Alone)?;
            self.write(slot, None, script::own(&new), NEW_MODE);
            return Ok(());
        };
        let text = block(&slot.name, shim, script::company(content))?;
        let before = Some((content, *mode));
        match find(content) {
            BlockLocation::At(_) => {
                let after = script::exchanged(content, &text).unwrap_or_else(|| content.clone());
                let switched_off = mode & EXECUTABLE == 0;
                let mode = if switched_off {
                    mode | EXECUTABLE
                } else {
                    *mode
                };
                self.write(slot, before, after, mode);
            }
            BlockLocation::Broken => self.note(slot, "has half a siglum block; it was left alone"),
            BlockLocation::None => self.write(slot, before, script::with(content, &text), *mode),
        }
        Ok(())
    }

    /// Nothing of theirs has a block, and git finds ours first.
    fn stand_in_front(&mut self, site: &HookSite, shim: &Path) -> Result<(), GitError> {
        let planned = site.settings.as_ref().and_then(|before| {
            let after = setting::with_front(before, site.position)?;
            let files = setting::files(site.common_dir.to_str()?, setting::kept_line(&after))?;
            Some((before, after, files))
        });
        let Some((before, after, files)) = planned else {
            self.stop_at(Obstacle::Settings(site.settings_file()));
            return Ok(());
        };
        let theirs = site.theirs_dir();
        let dirs: Vec<PathBuf> = site.is_own().then_some(theirs).into_iter().collect();
        // What managers of hooks took along they still call.
        self.clear_all(&dirs, &[site.front_dir()], |slot| {
            HOOKS.contains(&slot.name.as_str())
        });
        let front = site.front_dir();
        let names = front::names(site);
        for slot in slots(&front) {
            let name = slot.name.as_str();
            if !names.contains(&name) && !setting::FILES.contains(&name) {
                self.delete_own(&slot);
            }
        }
        for name in names {
            let slot = Slot::read(&front, name);
            let after = front::front_hook(site, name, shim)?;
            match &slot.hook {
                Hook::Missing => self.write(&slot, None, after, NEW_MODE),
                Hook::Script { content, mode } if script::is_own(content) => {
                    self.write(&slot, Some((content, *mode)), after, NEW_MODE);
                }
                _ if HOOKS.contains(&name) && slot.is_plain() => self.install(&slot, shim)?,
                _ => self.note(&slot, "was replaced by somebody; it was left alone"),
            }
        }
        for (name, text) in setting::FILES.into_iter().zip(files) {
            let slot = Slot::read(&front, name);
            let before = match &slot.hook {
                Hook::Script { content, mode } => Some((content, *mode)),
                _ => None,
            };
            self.write(&slot, before, text.into_bytes(), FILE_MODE);
        }
        self.link(&front, &front::wanted_links(site));
        self.write_settings(site, before, after);
        Ok(())
    }

    /// Makes these Siglum's links in its directory, and no other ones. What else is there under such a name stays.
    fn link(&mut self, front: &Path, wanted: &Links) {
        let present = front::links(front);
        let new = wanted.keys().filter(|name| !present.contains_key(*name));
        for name in present.keys().chain(new) {
            let (path, before, after) = (front.join(name), present.get(name), wanted.get(name));
            let is_planned = |change: &FileChange| change.path() == path;
            let is_free = before.is_some()
                || fs::symlink_metadata(&path).is_err() && !self.changes.iter().any(is_planned);
            if before != after && is_free {
                self.changes.push(FileChange::Link {
                    path,
                    before: before.cloned(),
                    after: after.cloned(),
                });
            }
        }
    }

    /// Takes the block out of hooks in directories, each once.
    fn clear_all(&mut self, dirs: &[PathBuf], but: &[PathBuf], is_meant: impl Fn(&Slot) -> bool) {
        let real = |dir: &PathBuf| dir.canonicalize().ok();
        let mut done: Vec<PathBuf> = but.iter().filter_map(real).collect();
        for dir in dirs.iter().filter_map(real) {
            if !done.contains(&dir) {
                let slots = slots(&dir);
                slots
                    .iter()
                    .filter(|slot| is_meant(slot))
                    .for_each(|slot| self.clear(slot));
                done.push(dir);
            }
        }
    }

    fn clear(&mut self, slot: &Slot) {
        let Hook::Script { content, mode } = &slot.hook else {
            return;
        };
        let Some(rest) = script::without(content) else {
            if find(content) == BlockLocation::Broken {
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

    /// Gives git back the directory that it had, and takes Siglum's away. What others put there since
    /// goes where git looks for it from now on.
    fn leave_front(&mut self, site: &HookSite) {
        if let Some(before) = &site.settings {
            self.write_settings(site, before, setting::without_front(before));
        }
        let front = site.front_dir();
        // Settings that cannot be edited go on including what says where the user's hooks are.
        let is_stuck = site.settings.is_none() && site.settings_file().exists();
        self.link(&front, &Links::new());
        for slot in slots(&front) {
            if is_stuck && slot.name == setting::FILES[0] {
                self.note(&slot, "stays: git's settings, which include it, cannot be edited; delete Siglum's lines there by hand");
                continue;
            }
            if !self.delete_own(&slot) {
                self.hand_over(&slot, &site.theirs_dir());
            }
        }
        if front.is_dir() {
            self.changes.push(FileChange::Leave { path: front });
        }
    }

    /// Deletes a file of Siglum's in its directory. Gives whether it was one.
    fn delete_own(&mut self, slot: &Slot) -> bool {
        let Hook::Script { content, .. } = &slot.hook else {
            return false;
        };
        let is_own = script::is_own(content) || setting::is_own_file(&slot.name, content);
        if is_own {
            self.changes.push(FileChange::Delete {
                path: slot.path.clone(),
                before: content.clone(),
            });
        }
        is_own
    }

    fn write_settings(&mut self, site: &HookSite, before: &str, after: String) {
        if before == after {
            return;
        }
        let path = site.settings_file();
        let mode = fs::metadata(&path).map_or(FILE_MODE, |meta| meta.permissions().mode());
        self.changes.push(FileChange::Write {
            path,
            before: Some(before.as_bytes().to_vec()),
            after: after.into_bytes(),
            mode: mode & 0o7777,
        });
    }

    fn hand_over(&mut self, slot: &Slot, theirs: &Path) {
        let to = theirs.join(&slot.name);
        if front::own_link(&slot.path).is_some() {
            return;
        }
        if theirs.is_dir() && fs::symlink_metadata(&to).is_err() {
            let from = slot.path.clone();
            self.changes.push(FileChange::Move { from, to });
        } else {
            self.note(slot, "is somebody else's; it was left there");
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

    fn stop_at(&mut self, obstacle: Obstacle) {
        self.notes.push(obstacle.text());
        self.obstacle = Some(obstacle);
    }

    fn note(&mut self, slot: &Slot, text: &str) {
        self.notes.push(format!("{} {text}", slot.path.display()));
    }

    /// The plan, if the directories that it changes can be written to.
    fn checked(self) -> Result<Self, GitError> {
        for change in &self.changes {
            let dir = change.path().parent().unwrap_or(Path::new("/"));
            if fs::symlink_metadata(dir).is_err() {
                continue;
            }
            let access = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
            let result = match dir.is_dir() {
                true => rustix::fs::access(dir, access).map_err(io::Error::from),
                false => Err(io::Error::from(ErrorKind::NotADirectory)),
            };
            result.map_err(GitError::io(dir))?;
        }
        Ok(self)
    }

    /// The directories that this makes, the outermost first.
    #[must_use]
    pub fn new_directories(&self) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = Vec::new();
        for change in &self.changes {
            let FileChange::Write { path, .. } = change else {
                continue;
            };
            let above = path.ancestors().skip(1);
            let missing = above.take_while(|dir| fs::symlink_metadata(dir).is_err());
            for dir in missing.map(Path::to_owned) {
                if !found.contains(&dir) {
                    found.push(dir);
                }
            }
        }
        found.sort();
        found
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
