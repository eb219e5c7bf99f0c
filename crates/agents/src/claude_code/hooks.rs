//! Our hooks in `~/.claude/settings.json`.

use crate::command_hooks::{CommandHooks, Hooked};
use crate::known::CLAUDE_CODE;

/// Which tool calls are reported.
const TOOLS: &str = "Bash|Write|Edit|MultiEdit|NotebookEdit|Task|Agent";

/// The hooks; the timeout is in seconds.
pub(crate) const HOOKS: CommandHooks = CommandHooks {
    agent: CLAUDE_CODE.name,
    hooked: &[
        Hooked::plain("SessionStart"),
        Hooked::plain("SessionEnd"),
        Hooked::plain("UserPromptSubmit"),
        Hooked::tool("PreToolUse", TOOLS),
        Hooked::tool("PostToolUse", TOOLS),
        Hooked::tool("PostToolUseFailure", TOOLS),
        Hooked::plain("Stop"),
        Hooked::plain("SubagentStart"),
        Hooked::plain("SubagentStop"),
        Hooked::plain("PreCompact"),
        Hooked::plain("PostCompact"),
    ],
    timeout: 10,
};
