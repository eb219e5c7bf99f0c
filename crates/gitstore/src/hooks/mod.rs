//! Siglum's block in a repository's git hooks: put in, looked at, taken out.
//!
//! A hook that is there keeps working. Into a shell script the block goes right after the shebang,
//! where no `exit` or `exec` can skip it; any other hook is moved aside and called from a script of
//! ours. What follows the block decides about the commit, as before; the block itself never fails.
//! Changes are planned first, shown, and written only if nothing changed meanwhile.
//!
//! Which directory git takes hooks from is asked elsewhere ([`crate::Git::hooks_path`]), and no
//! git setting is ever changed.

mod block;
mod diff;
mod inspect;
mod plan;
mod script;

pub use block::BLOCK_VERSION;
pub use diff::unified;
pub use inspect::{HookCondition, HookState, inspect, is_own_alone, taken_over};
pub use plan::{FileChange, Plan, plan_install, plan_remove};

/// The hooks that Siglum has a block in.
pub const HOOKS: [&str; 6] = [
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-merge",
    "post-checkout",
    "post-rewrite",
];

/// What the name of a hook ends in that was moved aside.
pub const CHAINED: &str = "-siglum-chained";
