//! Which words of the user's are the agent's own.

/// Openings of messages that the agent writes itself.
const SYNTHETIC: &[&str] = &[
    "<environment_context>",
    "<subagent_notification>",
    "<turn_aborted>",
    "<user_instructions>",
    "<user_shell_command>",
    "<skill>",
    "# AGENTS.md instructions",
];

/// Tells whether the agent wrote this prompt itself.
pub(super) fn is_synthetic(text: &str) -> bool {
    let text = text.trim_start();
    SYNTHETIC.iter().any(|opening| text.starts_with(opening))
}
