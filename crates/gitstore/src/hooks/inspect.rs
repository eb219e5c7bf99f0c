//! How the hooks of a repository stand, for `siglum doctor`. Changes nothing.

use std::path::Path;

use super::block::{Found, block, calls, find};
use super::plan::{Hook, Slot, slots};
use super::script;

/// How one hook stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HookCondition {
    /// There is no block.
    Missing,
    /// The block is the one that would be installed now.
    Current,
    /// The block is of another version, or damaged, or its script has changed around it.
    Outdated,
    /// The block calls another program.
    OtherShim,
    /// The block is there, but git will not run the script.
    NotExecutable,
}

/// One hook and how it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookState {
    /// The name of the hook.
    pub name: &'static str,
    /// How it stands.
    pub state: HookCondition,
}

/// Looks at all hooks in a directory.
#[must_use]
pub fn inspect(hooks_dir: &Path, shim: &Path) -> Vec<HookState> {
    let states = slots(hooks_dir);
    states
        .iter()
        .map(|slot| HookState {
            name: slot.name,
            state: condition(slot, shim),
        })
        .collect()
}

fn condition(slot: &Slot, shim: &Path) -> HookCondition {
    let Hook::Script { content, mode } = &slot.hook else {
        return HookCondition::Missing;
    };
    let range = match find(content) {
        Found::None => return HookCondition::Missing,
        Found::Broken => return HookCondition::Outdated,
        Found::At(range) => range,
    };
    let present = &content[range];
    let chained = slot.has_chained && script::is_own(content);
    let wanted = block(slot.name, shim, script::company(content, chained)).unwrap_or_default();
    if !calls(present, shim) {
        HookCondition::OtherShim
    } else if present.trim_ascii_end() != wanted.trim_ascii_end().as_bytes() {
        HookCondition::Outdated
    } else if mode & 0o111 == 0 {
        HookCondition::NotExecutable
    } else {
        HookCondition::Current
    }
}
