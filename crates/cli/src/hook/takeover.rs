//! Git's hooks that somebody else took over since `siglum init`: a hook manager that was installed
//! later replaces them, or gives git another directory, and commits are seen no longer.

use std::fs;
use std::io::Write as _;

use siglum_gitstore::Repo;
use siglum_gitstore::hooks;

use super::delivery::Delivery;
use crate::platform::regular_file;

/// The file that says which hooks were lacking when that was last recorded.
pub const STATE: &str = "hooks-taken-over";
/// How much of it is read, in bytes.
const STATE_MOST: u64 = 4 << 10;

/// Records that hooks were taken over, once for each way in which they are. Starts no git.
pub fn record(delivery: &mut Delivery, repo: &Repo) {
    if !repo.is_on() {
        return;
    }
    let known = repo.siglum_dir().join(STATE);
    let (taken_over, unlinked) = (hooks::taken_over(repo), hooks::unlinked(repo));
    let is_seen = taken_over.is_empty();
    let lacking = taken_over.into_iter().map(str::to_owned).chain(unlinked);
    let lacking = lacking.collect::<Vec<_>>().join(", ");
    if lacking.is_empty() {
        let _ = fs::remove_file(known);
        return;
    }
    if regular_file::read_own_text(&known, STATE_MOST).is_ok_and(|known| known == lacking) {
        return;
    }
    // Without it the same is recorded again.
    let _ =
        regular_file::create_own(&known).and_then(|mut file| file.write_all(lacking.as_bytes()));
    let detail = match is_seen {
        true => format!(
            "siglum's directory of hooks lacks what yours may look for in it ({lacking}); run `siglum \
             init` again"
        ),
        false => format!(
            "git runs other hooks instead of siglum's ({lacking}), so commits are not seen, or not \
             wholly; run `siglum init` again"
        ),
    };
    delivery.decline("git_hooks_taken_over", &detail, Some(repo));
}
