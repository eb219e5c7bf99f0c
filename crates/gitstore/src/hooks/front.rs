//! Siglum's directory of hooks in front of another one: each hook does ours, if it is one of ours, and
//! becomes theirs. Links lead to all else that is beside theirs: what hooks look for where git says that
//! hooks are.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::block::{Company, THEIRS, block, quoted};
use super::site::{HookSite, Theirs};
use super::{CHAINED, FRONT, HOOKS, script};
use crate::error::GitError;

/// Hooks that git may find in the directory of the others any day, beside those that Siglum has a block
/// in. Git does the same without such a hook as with one that does nothing.
const PASSED_ON: [&str; 12] = [
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "pre-rebase",
    "pre-push",
    "pre-auto-gc",
    "update",
    "pre-receive",
    "post-receive",
    "post-update",
];

/// Hooks that git runs often, or whose presence changes what it does: they are there if theirs are.
const PASSED_ON_IF_THERE: [&str; 9] = [
    "reference-transaction",
    "post-index-change",
    "push-to-checkout",
    "proc-receive",
    "sendemail-validate",
    "p4-changelist",
    "p4-prepare-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
];

/// Those of them that git does not find in a directory that is named from the checkout: it looks for them from within
/// its own. Without one it does something in its place.
const IN_GIT_DIR: [&str; 2] = ["push-to-checkout", "proc-receive"];

/// The names of the hooks in the directory.
pub(super) fn names(site: &HookSite) -> Vec<&'static str> {
    match &site.theirs {
        Theirs::Usual => names_before(&site.usual_dir(), &site.worktree),
        Theirs::Named(dir) => names_before(Path::new(dir), &site.worktree),
    }
}

/// The same in front of a directory, as git knows it in this checkout.
pub(super) fn names_before(theirs: &Path, worktree: &Path) -> Vec<&'static str> {
    let is_found = |name: &&str| theirs.is_absolute() || !IN_GIT_DIR.contains(name);
    let is_there = |name: &&str| is_executable(&worktree.join(theirs).join(name));
    let there = PASSED_ON_IF_THERE.into_iter().filter(is_found);
    let there = there.filter(is_there);
    HOOKS.into_iter().chain(PASSED_ON).chain(there).collect()
}

pub(super) fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// The block of a hook in the directory.
pub(super) fn front_block(site: &HookSite, hook: &str, shim: &Path) -> Result<String, GitError> {
    block(hook, shim, Company::Behind(&theirs_word(site, hook)))
}

/// The whole script of a hook in the directory.
pub(super) fn front_hook(site: &HookSite, hook: &str, shim: &Path) -> Result<Vec<u8>, GitError> {
    front_block(site, hook, shim).map(|text| script::own(&text))
}

/// The path by which git would call their hook, as what a variable of the shell is set to.
fn theirs_word(site: &HookSite, hook: &str) -> String {
    match &site.theirs {
        // Git calls ours by an absolute path, and theirs by one that is relative to the checkout.
        Theirs::Usual => {
            format!("${{0%/{FRONT}/*}}\n{THEIRS}=\"${{{THEIRS}#\"$PWD\"/}}/hooks/{hook}\"")
        }
        Theirs::Named(dir) => quoted(&format!("{}/{hook}", dir.trim_end_matches('/'))),
    }
}

/// Links in the directory: what each is called, and where it leads.
pub(super) type Links = BTreeMap<String, PathBuf>;

/// The links of ours that are there.
pub(super) fn links(front: &Path) -> Links {
    let link = |name: String| Some((own_link(&front.join(&name))?, name));
    let links = linked_names(front).into_iter().filter_map(link);
    links.map(|(target, name)| (name, target)).collect()
}

/// The links that should be there.
pub(super) fn wanted_links(site: &HookSite) -> Links {
    let theirs = Path::new("..").join(from_common_dir(site));
    let names = linked_names(&linked_dir(site)).into_iter();
    names
        .map(|name| (name.clone(), theirs.join(name)))
        .collect()
}

/// Where a link of ours leads; none if something else has this path. One that has another name than what it
/// leads to, or the name of a hook, was made by somebody else.
pub(super) fn own_link(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?;
    let target = fs::read_link(path).ok()?;
    (is_linked(name.to_str()?) && target.ends_with(name)).then_some(target)
}

/// The directory of theirs that the links lead to. A path that is relative to a checkout is that of the main one.
pub(super) fn linked_dir(site: &HookSite) -> PathBuf {
    site.common_dir.join(from_common_dir(site))
}

/// The same from the git directory, so that what moves together stays together.
fn from_common_dir(site: &HookSite) -> PathBuf {
    match &site.theirs {
        Theirs::Usual => PathBuf::from("hooks"),
        Theirs::Named(path) => {
            let beside = Path::new("..").join(path);
            let is_there =
                site.common_dir.ends_with(".git") && site.common_dir.join(&beside).is_dir();
            if is_there { beside } else { site.theirs_dir() }
        }
    }
}

/// What hooks may look for beside them and do not find in the directory in front.
pub(super) fn unlinked(theirs: &Path, front: &Path) -> Vec<String> {
    let lacks = |name: &String| theirs.join(name).exists() && !front.join(name).exists();
    let names = linked_names(theirs).into_iter();
    names
        .filter(|name| is_looked_for(name) && lacks(name))
        .collect()
}

/// Hooks look for none of git's samples, nor for what editors and interpreters leave.
fn is_looked_for(name: &str) -> bool {
    !name.starts_with(['.', '_']) && !name.ends_with(".sample") && !name.ends_with('~')
}

fn linked_names(dir: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| is_linked(name)).collect()
}

/// Git would run a link under the name of a hook.
fn is_linked(name: &str) -> bool {
    let is_hook =
        HOOKS.contains(&name) || PASSED_ON.contains(&name) || PASSED_ON_IF_THERE.contains(&name);
    !is_hook && name != ".git" && !name.ends_with(CHAINED)
}
