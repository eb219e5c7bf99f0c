//! Siglum's block in a repository's git hooks: put in, looked at, taken out.
//!
//! Nobody's hook is renamed, and none is edited but a plain shell script in git's own directory: there
//! the block goes right after the shebang, where no `exec` or `exit` can skip it. Everything else that
//! may be a hook is left as it is, and git is given a directory of Siglum's in front of it
//! ([`HookSite`]). What follows the block decides about the commit, as before; the block itself never
//! fails. Changes are planned first, shown, and written only if nothing changed meanwhile.

mod advice;
mod block;
mod change;
mod diff;
mod front;
mod inspect;
mod plan;
mod script;
mod setting;
mod site;

pub use advice::advice;
pub use block::BLOCK_VERSION;
pub use change::FileChange;
pub use diff::unified;
pub use inspect::{
    HookCondition, HookState, inspect, is_own_alone, programs, taken_over, unlinked,
};
pub use plan::{Plan, has_blocks, plan_install, plan_remove};
pub use site::{HookSite, Obstacle};

/// The hooks that Siglum has a block in.
pub const HOOKS: [&str; 6] = [
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-merge",
    "post-checkout",
    "post-rewrite",
];

/// Siglum's directory of hooks in a repository's common directory.
pub const FRONT: &str = "siglum-hooks";

/// Where hooks of a commit leave notes for the later ones, in the repository's directory of Siglum: a file for each git
/// process, named by its number. One with the very time of change of its message file has a message that is settled. The
/// shell of the hook after the commit adds an empty line to such a one: it landed.
pub const COMMITS: &str = "commits";

/// Where the hook after an amended commit leaves a file for each git process, named by its number, once nothing more is
/// to be told of the amend.
pub const AMENDS: &str = "amends";

/// No hook that is a script is larger; what is larger is left alone unread.
const SCRIPT_LIMIT: u64 = 1 << 20;

/// What the name of a hook ends in that an earlier version moved aside.
const CHAINED: &str = "-siglum-chained";
