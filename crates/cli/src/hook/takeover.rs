//! Git's hooks that somebody else took over since `siglum init`: a hook manager that was installed
//! later replaces them, or gives git another directory, and commits are seen no longer.

use std::fs;

use siglum_gitstore::Repo;
use siglum_gitstore::hooks;

use super::delivery::Delivery;

/// The file that says which hooks were lacking when that was last recorded.
pub const STATE: &str = "hooks-taken-over";

/// Records that hooks were taken over, once for each way in which they are. Starts no git.
pub fn record(delivery: &mut Delivery, repo: &Repo) {
    if !repo.siglum_dir().is_dir() {
        return;
    }
    let known = repo.siglum_dir().join(STATE);
    let lacking = hooks::taken_over(repo).join(", ");
    if lacking.is_empty() {
        let _ = fs::remove_file(known);
        return;
    }
    if fs::read_to_string(&known).is_ok_and(|known| known == lacking) {
        return;
    }
    let _ = fs::write(known, &lacking);
    let detail = format!(
        "git runs other hooks instead of siglum's ({lacking}), so commits are not seen, or not \
         wholly; run `siglum init` again"
    );
    delivery.decline("git_hooks_taken_over", &detail, Some(repo));
}
