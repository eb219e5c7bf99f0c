//! Our hooks in `~/.gemini/settings.json`.
//!
//! Not hooked: `BeforeModel`, `AfterModel` and `BeforeToolSelection` carry the whole conversation, and
//! `PreCompress` comes before every call of the model, compressed or not.

use crate::command_hooks::{CommandHooks, Hooked};
use crate::known::GEMINI;

/// Which tool calls are reported.
const TOOLS: &str = "^(run_shell_command|write_file|replace|edit|invoke_agent)$";

/// The hooks; the timeout is in milliseconds.
pub(super) const HOOKS: CommandHooks = CommandHooks {
    agent: GEMINI.name,
    hooked: &[
        Hooked::plain("SessionStart"),
        Hooked::plain("SessionEnd"),
        Hooked::plain("BeforeAgent"),
        Hooked::plain("AfterAgent"),
        Hooked::tool("BeforeTool", TOOLS),
        Hooked::tool("AfterTool", TOOLS),
    ],
    timeout: 10_000,
};
