//! Finding the repository around a path without starting git.
//!
//! Hooks ask this on every call, so it costs a few system calls. It follows git's own rules for
//! `.git` directories, `.git` files (linked worktrees, submodules), `GIT_DIR` and `GIT_WORK_TREE`
//! (whose values the caller passes), `core.worktree` and `core.bare`. It does not check owners
//! (`safe.directory`) and does not stop at file system borders; nothing is written.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Component, Path, PathBuf};

use siglum_domain::Oid;
use siglum_domain::intake::Place;
use siglum_domain::observation::{Arrival, HeadStep};

use crate::refs::{self, HeadRead, ReflogMove};
use crate::{bounded, config, index};

const POINTER_LIMIT: u64 = 16 << 10;
const CONFIG_LIMIT: u64 = 1 << 20;
const WALK_LIMIT: usize = 256;

/// Which hash names the objects of a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectFormat {
    /// 40 hexadecimal digits.
    Sha1,
    /// 64 hexadecimal digits.
    Sha256,
}

/// A repository with a checkout, as found on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repo {
    /// Where it is, as the ledger writes it.
    pub place: Place,
    /// The git directory of this checkout; differs from the common one in a linked worktree.
    pub git_dir: PathBuf,
}

/// Finds the repository and checkout that `start` lies in. `git_dir` and `work_tree` are the
/// values of git's variables, which win over the search. None for no repository, for a bare one,
/// for a place inside a git directory, and for paths that are not UTF-8.
#[must_use]
pub fn discover(start: &Path, git_dir: Option<&Path>, work_tree: Option<&Path>) -> Option<Repo> {
    let start = start.canonicalize().ok()?;
    let (git_dir, top) = match git_dir {
        Some(dir) => (resolve_git_dir(&start.join(dir))?, start.clone()),
        None => walk_up(&start)?,
    };
    let git_dir = git_dir.canonicalize().ok()?;
    let common_dir = common_dir_of(&git_dir)?;
    let worktree = match work_tree {
        Some(path) => start.join(path),
        None => configured_worktree(&git_dir, &common_dir, top)?,
    };
    let worktree = worktree.canonicalize().ok().filter(|w| w.is_dir())?;
    let place = Place {
        common_dir: common_dir.to_str()?.to_owned(),
        worktree: worktree.to_str()?.to_owned(),
    };
    Some(Repo { place, git_dir })
}

/// The git directory around `start` that has no checkout there, if there is one: a bare repository, or
/// the inside of a git directory.
#[must_use]
pub fn without_checkout(start: &Path, git_dir: Option<&Path>) -> Option<PathBuf> {
    if let Some(dir) = git_dir {
        return resolve_git_dir(&start.join(dir));
    }
    let mut above = start.ancestors().take(WALK_LIMIT);
    above.find_map(|dir| match is_git_dir(dir) {
        true => Some(dir.to_owned()),
        false => resolve_git_dir(&dir.join(".git")),
    })
}

/// Whether no repository but those with these common directories lies around a directory, which may be gone.
#[must_use]
pub fn lies_in(dir: &Path, common_dirs: &[&str]) -> bool {
    let found = discover(dir, None, None).map(|repo| PathBuf::from(repo.place.common_dir));
    let found = found.or_else(|| {
        let git_dir = without_checkout(dir, None)?;
        Some(common_dir_of(&git_dir).unwrap_or(git_dir))
    });
    let is_known = |found: PathBuf| common_dirs.iter().any(|known| found == Path::new(known));
    dir.is_absolute() && found.is_none_or(is_known)
}

/// Whether the settings of a git directory call it bare (`core.bare`).
#[must_use]
pub fn is_bare(git_dir: &Path) -> bool {
    let text = bounded::read_text(&git_dir.join("config"), CONFIG_LIMIT).unwrap_or_default();
    has_bare(&text)
}

/// The git directory and the top of the checkout, from `start` upwards.
fn walk_up(start: &Path) -> Option<(PathBuf, PathBuf)> {
    for dir in start.ancestors().take(WALK_LIMIT) {
        let dot_git = dir.join(".git");
        if let Some(git_dir) = resolve_git_dir(&dot_git) {
            return Some((git_dir, dir.to_owned()));
        }
        if dot_git.is_file() || is_git_dir(dir) {
            return None;
        }
    }
    None
}

/// Follows a `.git` file to the directory it points to; takes a directory as it is.
fn resolve_git_dir(path: &Path) -> Option<PathBuf> {
    if is_git_dir(path) {
        return Some(path.to_owned());
    }
    let text = bounded::read_text(path, POINTER_LIMIT)?;
    let target = text
        .strip_prefix("gitdir:")?
        .trim_start()
        .trim_end_matches(['\n', '\r']);
    let target = path.parent()?.join(target);
    is_git_dir(&target).then_some(target)
}

fn is_git_dir(path: &Path) -> bool {
    let has_head = fs::symlink_metadata(path.join("HEAD")).is_ok();
    let is_common = || path.join("objects").is_dir() && path.join("refs").exists();
    has_head && (path.join("commondir").is_file() || is_common())
}

fn common_dir_of(git_dir: &Path) -> Option<PathBuf> {
    let pointer = git_dir.join("commondir");
    if !pointer.exists() {
        return Some(git_dir.to_owned());
    }
    let text = bounded::read_text(&pointer, POINTER_LIMIT)?;
    git_dir
        .join(text.trim_end_matches(['\n', '\r']))
        .canonicalize()
        .ok()
}

/// The checkout after `core.worktree` and `core.bare`, which do not count in linked worktrees
/// unless they stand in the worktree's own file.
fn configured_worktree(git_dir: &Path, common_dir: &Path, top: PathBuf) -> Option<PathBuf> {
    let read = |path: PathBuf| bounded::read_text(&path, CONFIG_LIMIT).unwrap_or_default();
    let shared = read(common_dir.join("config"));
    let mut text = if git_dir == common_dir {
        shared.clone()
    } else {
        String::new()
    };
    if config::value(&shared, "extensions", "worktreeconfig").is_some_and(|v| config::is_true(&v)) {
        text.push('\n');
        text.push_str(&read(git_dir.join("config.worktree")));
    }
    if let Some(path) = config::value(&text, "core", "worktree") {
        return Some(git_dir.join(path));
    }
    (!has_bare(&text)).then_some(top)
}

fn has_bare(settings: &str) -> bool {
    config::value(settings, "core", "bare").is_some_and(|v| config::is_true(&v))
}

/// The addresses of the remotes of the repository with this common directory, as its own settings
/// file has them.
#[must_use]
pub fn remotes(common_dir: &Path) -> Vec<String> {
    let text = bounded::read_text(&common_dir.join("config"), CONFIG_LIMIT);
    config::addresses(&text.unwrap_or_default())
}

/// Siglum's directory in the repository with this common directory, which need not be there.
#[must_use]
pub fn siglum_dir(common_dir: &Path) -> PathBuf {
    common_dir.join("siglum")
}

/// Tells whether Siglum is switched on for the repository with this common directory: its own directory is there.
#[must_use]
pub fn is_on(common_dir: &Path) -> bool {
    is_real_directory(&siglum_dir(common_dir))
}

/// A directory of this name in Siglum's directory of a repository, if both are directories. A link that came with a
/// repository may lead anywhere, so nothing is read, written or removed behind one.
#[must_use]
pub fn siglum_subdirectory(siglum_dir: &Path, name: &str) -> Option<PathBuf> {
    let dir = siglum_dir.join(name);
    (is_real_directory(siglum_dir) && is_real_directory(&dir)).then_some(dir)
}

/// The same, made where nothing has that name yet.
///
/// # Errors
/// It cannot be made, or one of the two is something else.
pub fn create_siglum_subdirectory(siglum_dir: &Path, name: &str) -> io::Result<PathBuf> {
    if is_real_directory(siglum_dir) {
        match DirBuilder::new().mode(0o700).create(siglum_dir.join(name)) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    siglum_subdirectory(siglum_dir, name).ok_or_else(|| ErrorKind::NotADirectory.into())
}

fn is_real_directory(dir: &Path) -> bool {
    dir.symlink_metadata().is_ok_and(|at| at.is_dir())
}

impl Repo {
    /// The directory that all checkouts of the repository share.
    #[must_use]
    pub fn common_dir(&self) -> &Path {
        Path::new(&self.place.common_dir)
    }

    /// The root of this checkout.
    #[must_use]
    pub fn worktree(&self) -> &Path {
        Path::new(&self.place.worktree)
    }

    /// Siglum's directory in this repository.
    #[must_use]
    pub fn siglum_dir(&self) -> PathBuf {
        siglum_dir(self.common_dir())
    }

    /// Tells whether Siglum is switched on here.
    #[must_use]
    pub fn is_on(&self) -> bool {
        is_on(self.common_dir())
    }

    /// Where HEAD of this checkout stands.
    #[must_use]
    pub fn head(&self) -> HeadRead {
        refs::head(&self.git_dir, self.common_dir())
    }

    /// The last moves of HEAD, newest first, from and to; nothing where git does not log them in a
    /// file.
    #[must_use]
    pub fn moves(&self) -> Vec<(Option<Oid>, Oid)> {
        refs::moves(&self.git_dir)
    }

    /// The commit that was amended, if HEAD's last move, to this one, was an amend and git logs moves in a file.
    #[must_use]
    pub fn amended(&self, commit: &Oid) -> Option<Oid> {
        refs::amended(&self.git_dir, commit)
    }

    /// How long git's list of the moves of HEAD is, in bytes; nothing where git keeps none.
    #[must_use]
    pub fn log_length(&self) -> Option<u64> {
        refs::log_length(&self.git_dir)
    }

    /// The last moves of HEAD, oldest first, each with its place in git's list of them.
    #[must_use]
    pub fn steps(&self) -> Vec<HeadStep> {
        refs::steps(&self.git_dir)
    }

    /// The moves of HEAD, oldest first, with what each does to files.
    #[must_use]
    pub fn head_moves(&self) -> Vec<ReflogMove> {
        refs::head_moves(&self.git_dir)
    }

    /// The first moves of HEAD behind this place in git's list of them, in bytes, oldest first; nothing where the list
    /// is shorter.
    #[must_use]
    pub fn head_moves_since(&self, position: u64) -> Vec<ReflogMove> {
        refs::head_moves_since(&self.git_dir, position)
    }

    /// Where HEAD was before the last merge, squash, reset or rebase in this checkout.
    #[must_use]
    pub fn orig_head(&self) -> Option<Oid> {
        refs::orig_head(&self.git_dir)
    }

    /// How HEAD came to this commit, by git's list of its moves; nothing where the list does not
    /// name it, or does not say.
    #[must_use]
    pub fn arrival(&self, commit: &Oid) -> Option<Arrival> {
        refs::arrival(&self.git_dir, commit)
    }

    /// Tells whether a rebase is under way. `git am` is none.
    #[must_use]
    pub fn rebasing(&self) -> bool {
        let exists = |path| self.git_dir.join(path).exists();
        exists("rebase-merge") || exists("rebase-apply/rebasing")
    }

    /// The tree that a commit of this index gets, where git has left it there.
    #[must_use]
    pub fn index_tree(&self, index: &Path) -> Option<Oid> {
        let length = match self.object_format() {
            ObjectFormat::Sha1 => 20,
            ObjectFormat::Sha256 => 32,
        };
        index::tree(index, length)
    }

    /// Which hash names the objects.
    #[must_use]
    pub fn object_format(&self) -> ObjectFormat {
        let text = bounded::read_text(&self.common_dir().join("config"), CONFIG_LIMIT);
        let format = text.and_then(|t| config::value(&t, "extensions", "objectformat"));
        match format.as_deref() {
            Some("sha256") => ObjectFormat::Sha256,
            _ => ObjectFormat::Sha1,
        }
    }

    /// The path of a file of this checkout relative to its root, with `/` between the parts. A
    /// relative `path` starts at the root. Symbolic links on the way are resolved, the file itself
    /// is not; the file need not exist. None for paths outside, in a git directory, or not UTF-8.
    ///
    /// A file of a repository inside this one also lies below the root: where that matters,
    /// [`discover`] from the file's directory first.
    #[must_use]
    pub fn relative(&self, path: &Path) -> Option<String> {
        let path = settled(&self.worktree().join(path))?;
        if path.starts_with(&self.git_dir) || path.starts_with(self.common_dir()) {
            return None;
        }
        let inner = path.strip_prefix(self.worktree()).ok()?;
        let parts: Option<Vec<&str>> = inner.iter().map(|part| part.to_str()).collect();
        let parts = parts.filter(|p| !p.is_empty())?;
        let forbidden = parts.iter().any(|part| part.eq_ignore_ascii_case(".git"));
        (!forbidden).then(|| parts.join("/"))
    }
}

/// The path with its deepest existing directory resolved and the rest as it is.
fn settled(path: &Path) -> Option<PathBuf> {
    let mut rest = vec![path.file_name()?];
    let mut dir = path.parent()?;
    loop {
        if let Ok(real) = dir.canonicalize() {
            return Some(rest.iter().rev().fold(real, |path, part| path.join(part)));
        }
        match dir.components().next_back()? {
            Component::Normal(part) => rest.push(part),
            _ => return None,
        }
        dir = dir.parent()?;
    }
}
