//! Siglum's directory of hooks in front of another one: each hook does ours, if it is one of ours, and
//! becomes theirs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::block::{Company, THEIRS, block, quoted};
use super::site::{HookSite, Theirs};
use super::{FRONT, HOOKS, script};
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
