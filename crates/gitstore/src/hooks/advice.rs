//! What a person should know of hooks that others need in a repository. Changes nothing.

use std::path::Path;

use super::SCRIPT_LIMIT;
use super::site::{HookSite, Theirs};
use crate::bounded;

/// Programs whose hooks upload what Git LFS keeps outside of commits: its own, and a manager that does it
/// unasked.
const CALLERS: [&str; 3] = ["git lfs", "git-lfs", "lefthook"];

/// Remarks on hooks that do not run.
#[must_use]
pub fn advice(site: &HookSite) -> Vec<String> {
    let dir = site.theirs_dir();
    let missing = (matches!(site.theirs, Theirs::Named(_)) && !dir.is_dir()).then(|| {
        format!(
            "core.hooksPath names {}, which is no directory: no hook of yours runs until it is one",
            dir.display()
        )
    });
    let lfs = (uses_lfs(site) && !calls_lfs(site)).then(|| {
        "files of this repository are in Git LFS, and no pre-push hook calls it, so `git push` does not \
         upload them; run `siglum uninstall`, `git lfs install`, then `siglum init`"
            .to_owned()
    });
    missing.into_iter().chain(lfs).collect()
}

/// Whether the repository itself says that files are in Git LFS. That the user has it for any repository
/// says nothing of this one.
fn uses_lfs(site: &HookSite) -> bool {
    let attributes = [
        site.worktree.join(".gitattributes"),
        site.common_dir.join("info/attributes"),
    ];
    let settings = site.settings.as_deref().unwrap_or_default();
    settings.contains("[filter \"lfs\"]")
        || attributes
            .iter()
            .filter_map(|path| bounded::read_text(path, SCRIPT_LIMIT))
            .any(|text| text.contains("filter=lfs"))
}

fn calls_lfs(site: &HookSite) -> bool {
    let theirs = site.theirs_dir();
    // husky keeps its scripts above the directory that it gives git.
    let above = theirs.parent().unwrap_or(Path::new("/"));
    [&site.present_dir(), &theirs, above]
        .iter()
        .filter_map(|dir| bounded::read(&dir.join("pre-push"), SCRIPT_LIMIT))
        .any(|hook| {
            let text = String::from_utf8_lossy(&hook);
            CALLERS.iter().any(|caller| text.contains(caller))
        })
}
