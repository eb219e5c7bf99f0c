//! Who wrote a prompt, and which user records are none.

/// Openings of prompts that the agent writes itself.
const SYNTHETIC: &[&str] = &[
    "<task-notification>",
    "<system-reminder>",
    "<bash-notification>",
    "<agent-notification>",
    "<teammate-message",
    "Stop hook feedback:",
];

/// Openings of user records that echo a command or an event of the screen.
const ECHOES: &[&str] = &[
    "<command-name>",
    "<command-message>",
    "<command-args>",
    "<local-command-",
    "<bash-input>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<user-memory-input>",
    "[Request interrupted by user",
];

/// Tells whether the agent wrote this prompt itself.
pub(super) fn is_synthetic(text: &str) -> bool {
    let text = text.trim_start();
    SYNTHETIC.iter().any(|opening| text.starts_with(opening))
}

/// Tells whether this user record is no prompt.
pub(super) fn is_echo(text: &str) -> bool {
    let text = text.trim_start();
    ECHOES.iter().any(|opening| text.starts_with(opening))
}
