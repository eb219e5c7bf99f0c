//! How the hooks of a repository stand, for `siglum doctor`. Changes nothing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::block::{BlockLocation, Company, THEIRS, block, calls, find, program};
use super::front::front_block;
use super::plan::{Hook, Slot};
use super::site::HookSite;
use super::{FRONT, HOOKS, SCRIPT_LIMIT, front, script, setting};
use crate::place::Repo;
use crate::{bounded, config};

/// How one hook stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookCondition {
    /// There is no block.
    Missing,
    /// Siglum's directory lacks a hook that calls theirs, which does not run.
    NotPassedOn,
    /// Siglum's directory lacks a link to what is beside their hooks, which may look for it.
    NotLinked,
    /// The block is the one that would be installed now.
    Current,
    /// The block is of another version, or damaged, or its script has changed around it, or git would take
    /// the hooks behind it from elsewhere by now.
    Outdated,
    /// The block calls another program.
    OtherShim,
    /// The block is there, but git will not run the script.
    NotExecutable,
}

/// One hook and how it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookState {
    pub name: String,
    pub state: HookCondition,
}

/// Looks at all hooks of a repository: at ours, and where they stand in front of others, at those that
/// call the others, and at what is not found beside them, too.
#[must_use]
pub fn inspect(site: &HookSite, shim: &Path) -> Vec<HookState> {
    let dir = site.present_dir();
    let state = |name: &'static str| {
        let slot = Slot::read(&dir, name);
        let state = match condition(site, &slot, shim) {
            HookCondition::Missing if HOOKS.contains(&name) => HookCondition::Missing,
            // Somebody put a hook there on purpose, and it is in the way of no other.
            HookCondition::Missing
                if !matches!(slot.hook, Hook::Missing)
                    && !front::is_executable(&site.theirs_dir().join(name)) =>
            {
                HookCondition::Current
            }
            HookCondition::Missing => HookCondition::NotPassedOn,
            state => state,
        };
        HookState {
            name: name.to_owned(),
            state,
        }
    };
    let names = match site.is_in_front {
        true => front::names(site),
        false => HOOKS.to_vec(),
    };
    let unlinked = match site.is_in_front {
        true => front::unlinked(&front::linked_dir(site), &dir),
        false => Vec::new(),
    };
    let unlinked = unlinked.into_iter().map(|name| HookState {
        name,
        state: HookCondition::NotLinked,
    });
    names.into_iter().map(state).chain(unlinked).collect()
}

/// The programs that hooks of Siglum in a repository call: of each user who switched it on.
#[must_use]
pub fn programs(site: &HookSite) -> BTreeSet<PathBuf> {
    let dirs = [site.usual_dir(), site.front_dir(), site.present_dir()];
    let slots = dirs
        .iter()
        .flat_map(|dir| HOOKS.map(|name| Slot::read(dir, name)));
    let called = |slot: Slot| match slot.hook {
        Hook::Script { content, .. } => match find(&content) {
            BlockLocation::At(range) => program(&content[range]),
            BlockLocation::None | BlockLocation::Broken => None,
        },
        Hook::Missing | Hook::Other => None,
    };
    slots.filter_map(called).collect()
}

/// The hooks that git runs in this repository without Siglum's block in them, where that can be told
/// without asking git: another directory of hooks in the repository's own settings, or some hooks
/// replaced beside others that are ours, or hooks of others that Siglum's directory does not call. Reads
/// the settings and the hooks, nothing else.
#[must_use]
pub fn taken_over(repo: &Repo) -> Vec<&'static str> {
    let common_dir = repo.common_dir();
    let settings = bounded::read_text(&common_dir.join("config"), SCRIPT_LIMIT);
    let settings = settings.unwrap_or_default();
    let front = common_dir.join(FRONT);
    let leads = setting::leads_to_front(&settings);
    let own = config::value(&settings, "core", "hookspath").filter(|_| !leads);
    let is_linked = repo.git_dir != common_dir;
    // Only git knows the homes of users.
    let named = |path: &str| (!path.starts_with(['~', '%'])).then(|| PathBuf::from(path));
    let kept = setting::kept_line(&settings).and_then(setting::value_of);
    let theirs = match &kept {
        Some(path) => named(path),
        None => Some(common_dir.join("hooks")),
    };
    let dir = match &own {
        // An earlier version named it otherwise in linked worktrees.
        Some(path) if is_linked && setting::is_front(path) => Some(front.clone()),
        Some(path) => named(path),
        None if leads && setting::is_for(&front) => Some(front.clone()),
        None => theirs.clone(),
    };
    let Some(dir) = dir.map(|dir| repo.worktree().join(dir)) else {
        return Vec::new();
    };
    let lacks = |name: &&str| {
        let content = bounded::read(&dir.join(name), SCRIPT_LIMIT).unwrap_or_default();
        find(&content) == BlockLocation::None
    };
    let mut lacking: Vec<_> = HOOKS.into_iter().filter(lacks).collect();
    if let Some(theirs) = theirs.filter(|_| is_same(&dir, &front)) {
        let names = front::names_before(&theirs, repo.worktree());
        let passed_on = names.into_iter().skip(HOOKS.len());
        let theirs = repo.worktree().join(theirs);
        let is_there = |name: &&str| front::is_executable(&theirs.join(name));
        lacking.extend(passed_on.filter(is_there).filter(lacks));
    }
    // A directory for all repositories, in the user's settings, holds the blocks instead.
    if own.is_none() && !leads && lacking.len() == HOOKS.len() {
        return Vec::new();
    }
    lacking
}

fn is_same(one: &Path, other: &Path) -> bool {
    let one = one.canonicalize().ok();
    one.is_some() && one == other.canonicalize().ok()
}

/// Whether nobody but Siglum runs in a hook: its script is ours and nothing else, or there is none.
#[must_use]
pub fn is_own_alone(hook: &Path) -> bool {
    match hook.symlink_metadata() {
        Err(_) => true,
        Ok(meta) if meta.is_file() => bounded::read(hook, SCRIPT_LIMIT).is_some_and(|content| {
            script::company(&content) == Company::Alone && !has_theirs(&content)
        }),
        Ok(_) => false,
    }
}

/// Whether a hook of somebody else may run behind this one.
fn has_theirs(content: &[u8]) -> bool {
    let mut windows = content.windows(THEIRS.len());
    windows.any(|window| window == THEIRS.as_bytes())
}

fn condition(site: &HookSite, slot: &Slot, shim: &Path) -> HookCondition {
    let Hook::Script { content, mode } = &slot.hook else {
        return HookCondition::Missing;
    };
    let range = match find(content) {
        BlockLocation::None => return HookCondition::Missing,
        BlockLocation::Broken => return HookCondition::Outdated,
        BlockLocation::At(range) => range,
    };
    let present = &content[range];
    let wanted = match site.is_in_front && script::is_own(content) {
        true => front_block(site, &slot.name, shim),
        false => block(&slot.name, shim, script::company(content)),
    };
    let wanted = wanted.unwrap_or_default();
    let is_ours = HOOKS.contains(&slot.name.as_str());
    if is_ours && !calls(present, shim) {
        HookCondition::OtherShim
    } else if present.trim_ascii_end() != wanted.trim_ascii_end().as_bytes() {
        HookCondition::Outdated
    } else if mode & 0o111 == 0 {
        HookCondition::NotExecutable
    } else {
        HookCondition::Current
    }
}

/// What is beside hooks of others, and what these do not find in Siglum's directory, as far as the settings of
/// the repository say it. Reads them and names of files, nothing else.
#[must_use]
pub fn unlinked(repo: &Repo) -> Vec<String> {
    let settings = bounded::read_text(&repo.common_dir().join("config"), SCRIPT_LIMIT);
    let settings = settings.unwrap_or_default();
    let front = repo.common_dir().join(FRONT);
    let theirs = match setting::kept_line(&settings).and_then(setting::value_of) {
        // Only git knows the homes of users, and the links are to the main checkout.
        Some(path) if path.starts_with(['~', '%']) || repo.git_dir != repo.common_dir() => None,
        Some(path) => Some(repo.worktree().join(path)),
        // The user's settings may name another directory.
        None => {
            let usual = Path::new("../hooks");
            let is_usual = front::links(&front)
                .values()
                .any(|to| to.starts_with(usual));
            is_usual.then(|| repo.common_dir().join("hooks"))
        }
    };
    let theirs = theirs.filter(|_| setting::leads_to_front(&settings));
    let unlinked = theirs.map(|theirs| front::unlinked(&theirs, &front));
    unlinked.unwrap_or_default()
}
