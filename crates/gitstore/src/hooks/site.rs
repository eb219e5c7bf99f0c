//! Where git takes the hooks of a repository from, and where Siglum's can stand.
//!
//! In git's own directory of the repository Siglum's block stands in the hooks themselves, as long as
//! all that is there are plain shell scripts. Everywhere else (a directory that the settings name, links,
//! other programs) nothing of what is there is touched: git is given a directory of Siglum's instead,
//! in front, whose hooks call the others by the very path that git would have called them by.

use std::fs;
use std::path::{Path, PathBuf};

use super::FRONT;
use super::setting::{self, Position};
use crate::bounded;
use crate::error::GitError;
use crate::git::Git;
use crate::history::path_of;
use crate::place::Repo;

/// No settings file of a repository is larger.
const SETTINGS_LIMIT: u64 = 1 << 20;
/// What stands for no directory of hooks at all.
const NOWHERE: &str = "/dev/null";

/// Whose hooks git would run without Siglum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Theirs {
    /// Those in the git directory.
    Usual,
    /// Those in a directory that the settings name, as they name it.
    Named(String),
}

/// Why git cannot be given hooks of Siglum's in a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Obstacle {
    /// Somebody switched hooks off, with this value of `core.hooksPath`.
    SwitchedOff(String),
    /// The setting comes from where a repository's own settings do not count: from this scope.
    Elsewhere(String),
    /// The settings file is a link, or says it in a way that cannot be taken back.
    Settings(PathBuf),
}

/// One value of the setting.
struct Setting {
    scope: String,
    /// The file that it stands in, if it does.
    file: Option<PathBuf>,
    value: String,
}

/// The hooks of one repository.
#[derive(Debug, Clone)]
pub struct HookSite {
    pub(super) common_dir: PathBuf,
    pub(super) worktree: PathBuf,
    pub(super) theirs: Theirs,
    /// The repository's own settings; none if they cannot be read as a file.
    pub(super) settings: Option<String>,
    /// Git takes hooks from Siglum's directory, and from no other one of that name.
    pub(super) is_in_front: bool,
    /// Where the settings have to lead there.
    pub(super) position: Position,
    pub(super) obstacle: Option<Obstacle>,
}

impl HookSite {
    /// Asks git and looks at the settings of a repository.
    ///
    /// # Errors
    /// Git fails.
    pub fn find(git: &Git, repo: &Repo) -> Result<Self, GitError> {
        let common_dir = repo.common_dir().to_owned();
        let path = common_dir.join("config");
        let is_file = fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file());
        let settings = is_file
            .then(|| bounded::read_text(&path, SETTINGS_LIMIT))
            .flatten();
        let text = settings.as_deref().unwrap_or_default();
        let values = values(git)?;
        let is_ours = |setting: &&Setting| !["worktree", "command"].contains(&&*setting.scope);
        let last = values.iter().rfind(is_ours);
        let front = common_dir.join(FRONT).canonicalize().ok();
        let is_in_front = front.is_some() && last.is_some_and(|last| last.dir(repo) == front);
        let is_included = |setting: &Setting| setting.is_included(repo, &path, front.as_deref());
        let is_included = values.iter().any(is_included);
        let is_others = |setting: &&Setting| !setting::is_front(&setting.value);
        let mut others = values.iter().filter(is_others);
        let foreign = others.clone().rfind(|setting| !is_ours(setting));
        let named = match setting::kept_line(text).filter(|_| !is_included) {
            Some(line) => kept_value(git, line)?,
            None => others.rfind(is_ours).map(|setting| setting.value.clone()),
        };
        let off = named.as_ref().filter(|v| v.is_empty() || *v == NOWHERE);
        let is_unreadable = |value: &String| value.contains(char::REPLACEMENT_CHARACTER);
        let obstacle = match (foreign, off) {
            _ if named.as_ref().is_some_and(is_unreadable) => {
                Some(Obstacle::Settings(path.clone()))
            }
            (Some(setting), _) => Some(Obstacle::Elsewhere(setting.scope.clone())),
            (None, off) => off.cloned().map(Obstacle::SwitchedOff),
        };
        let mut site = Self {
            common_dir,
            worktree: repo.worktree().to_owned(),
            theirs: named.map_or(Theirs::Usual, Theirs::Named),
            settings,
            is_in_front,
            position: match is_included {
                true => Position::Last,
                false => Position::First,
            },
            obstacle,
        };
        // A setting that names git's own directory says what holds without it.
        if site.theirs_dir().canonicalize().ok() == site.usual_dir().canonicalize().ok()
            && site.usual_dir().is_dir()
        {
            site.theirs = Theirs::Usual;
        }
        Ok(site)
    }

    /// The directory in the git directory.
    pub(super) fn usual_dir(&self) -> PathBuf {
        self.common_dir.join("hooks")
    }

    /// The directory that git takes hooks from without Siglum.
    #[must_use]
    pub fn theirs_dir(&self) -> PathBuf {
        match &self.theirs {
            Theirs::Usual => self.usual_dir(),
            Theirs::Named(path) => self.worktree.join(path),
        }
    }

    /// Siglum's directory.
    pub(super) fn front_dir(&self) -> PathBuf {
        self.common_dir.join(FRONT)
    }

    /// The directory that git takes hooks from now.
    #[must_use]
    pub fn present_dir(&self) -> PathBuf {
        match self.is_in_front {
            true => self.front_dir(),
            false => self.theirs_dir(),
        }
    }

    /// Whether the directory of the others belongs to this repository alone.
    #[must_use]
    pub fn is_own(&self) -> bool {
        let dir = self.theirs_dir();
        dir.starts_with(&self.common_dir) || dir.starts_with(&self.worktree)
    }

    /// Why Siglum's hooks cannot stand here, if so.
    #[must_use]
    pub const fn obstacle(&self) -> Option<&Obstacle> {
        self.obstacle.as_ref()
    }

    /// The settings file of the repository.
    pub(super) fn settings_file(&self) -> PathBuf {
        self.common_dir.join("config")
    }

    /// Whether the settings have nothing of Siglum's in them.
    pub(super) fn is_without_front(&self) -> bool {
        let is_without = |text: &str| setting::without_front(text) == text;
        !self.is_in_front && self.settings.as_deref().is_none_or(is_without)
    }
}

impl Obstacle {
    /// The obstacle in words.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::SwitchedOff(value) => format!(
                "git's hooks are switched off here by core.hooksPath={value}, so siglum's are, too; \
                 commits are seen through the agents' hooks alone"
            ),
            Self::Elsewhere(scope) => format!(
                "core.hooksPath is set for this {scope} alone, where siglum does not change it; commits \
                 here are seen through the agents' hooks alone"
            ),
            Self::Settings(path) => format!(
                "{} cannot be edited so that it can be restored; commits here are seen through the \
                 agents' hooks alone",
                path.display()
            ),
        }
    }
}

impl Setting {
    /// The directory that it names, if it is there.
    fn dir(&self, repo: &Repo) -> Option<PathBuf> {
        repo.worktree().join(&self.value).canonicalize().ok()
    }

    /// Whether a file of somebody says it that the repository's own settings include.
    fn is_included(&self, repo: &Repo, settings: &Path, front: Option<&Path>) -> bool {
        let file = self.file.as_ref().filter(|_| self.scope == "local");
        file.is_some_and(|file| {
            let file = repo.worktree().join(file).canonicalize().ok();
            file != settings.canonicalize().ok() && file.as_deref().and_then(Path::parent) != front
        })
    }
}

/// All values of the setting, the one that counts last.
fn values(git: &Git) -> Result<Vec<Setting>, GitError> {
    let args = [
        "config",
        "--null",
        "--show-scope",
        "--show-origin",
        "--type=path",
        "--get-all",
        "core.hooksPath",
    ];
    let output = git.clone().seeing_hooks().run(&args, b"")?;
    match output.code {
        Some(0) => {
            let text = String::from_utf8_lossy(&output.stdout);
            let fields: Vec<&str> = text.split_terminator('\0').collect();
            let setting = |fields: &[&str]| Setting {
                scope: fields[0].to_owned(),
                file: fields[1].strip_prefix("file:").map(PathBuf::from),
                value: fields[2].to_owned(),
            };
            Ok(fields.chunks_exact(3).map(setting).collect())
        }
        Some(1) => Ok(Vec::new()),
        _ => Err(output.refusal("config")),
    }
}

/// What git makes of the line that was there before.
fn kept_value(git: &Git, line: &str) -> Result<Option<String>, GitError> {
    let args = [
        "config",
        "--null",
        "--file",
        "-",
        "--type=path",
        "--get",
        "core.hooksPath",
    ];
    let output = git.run(&args, format!("[core]\n{line}\n").as_bytes())?;
    match output.code {
        Some(0) => {
            let value = output.stdout.strip_suffix(b"\0").unwrap_or(&output.stdout);
            Ok(path_of(value).to_str().map(str::to_owned))
        }
        _ => Err(output.refusal("config")),
    }
}

/// Whether a directory is one in itself, and no link to one.
pub(super) fn is_real_or_missing(dir: &Path) -> bool {
    fs::symlink_metadata(dir).map_or(true, |meta| meta.is_dir())
}
