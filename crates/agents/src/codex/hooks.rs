//! Our hooks in `~/.codex/hooks.json`.

use crate::command_hooks::{CommandHooks, Hooked};
use crate::known::CODEX;

/// Which tool calls are reported.
const TOOLS: &str = "Bash|apply_patch|spawn_agent|collaborationspawn_agent";

/// Codex waits no longer for these hooks, whatever the settings say, and complains about more.
pub(super) const BRIEF: u32 = 3;

/// The hooks; the timeout is in seconds.
pub(crate) const HOOKS: CommandHooks = CommandHooks {
    arguments: CODEX.name,
    hooked: &[
        Hooked::plain("SessionStart"),
        Hooked::brief("SessionEnd", BRIEF),
        Hooked::plain("UserPromptSubmit"),
        Hooked::tool("PreToolUse", TOOLS),
        Hooked::tool("PostToolUse", TOOLS),
        Hooked::plain("Stop"),
        Hooked::brief("Interrupt", BRIEF),
        Hooked::plain("SubagentStart"),
        Hooked::plain("SubagentStop"),
        Hooked::plain("PostCompact"),
    ],
    timeout: 10,
};
