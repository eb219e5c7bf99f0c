//! What the hooks of an agent do not report. Its transcript or its process tells it later, or nobody does.

/// What hooks may not report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unreported {
    /// That git made a commit: git's own hooks are switched off in the agent's shell.
    Commits,
    /// Which turn something is of.
    Turns,
    /// Which call something is of, where several do the same.
    Calls,
    /// Whether a command failed.
    Failures,
    /// What was done by a sub-agent.
    Subagents,
    /// That a session ended which has no screen.
    Ends,
    /// Which session another one was forked from.
    Origins,
}

impl Unreported {
    /// The word in lists.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Commits => "commits",
            Self::Turns => "turns",
            Self::Calls => "calls",
            Self::Failures => "failures",
            Self::Subagents => "sub-agents",
            Self::Ends => "ends",
            Self::Origins => "origins",
        }
    }

    /// What is done instead, in a sentence.
    #[must_use]
    pub const fn instead(self) -> &'static str {
        match self {
            Self::Commits => {
                "git's hooks do not run in its shell; commits are found around tool calls"
            }
            Self::Turns => "turns are told apart by their prompts",
            Self::Calls => "calls that do the same are told apart by their order",
            Self::Failures => "the transcript tells whether a command failed",
            Self::Subagents => "the transcript tells what a sub-agent did",
            Self::Ends => "a session without a screen ends with its process",
            Self::Origins => "the transcript tells what a session was forked from",
        }
    }
}

/// The rows, by the agent's name.
static ROWS: &[(&str, &[Unreported])] = &[
    ("claude-code", &[Unreported::Origins]),
    ("codex", &[Unreported::Failures, Unreported::Origins]),
    (
        "gemini",
        &[
            Unreported::Commits,
            Unreported::Turns,
            Unreported::Calls,
            Unreported::Subagents,
        ],
    ),
    ("qwen", &[Unreported::Ends, Unreported::Origins]),
    ("copilot", &[Unreported::Turns, Unreported::Calls]),
    ("opencode", &[Unreported::Origins]),
    ("pi", &[Unreported::Turns]),
];

/// What the hooks of an agent do not report; nothing for one that has no row.
#[must_use]
pub fn unreported(agent: &str) -> Option<&'static [Unreported]> {
    let row = ROWS.iter().find(|(name, _)| *name == agent);
    row.map(|(_, unreported)| *unreported)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AGENTS;

    #[test]
    fn every_agent_has_a_row_that_agrees_with_its_spec() {
        for agent in AGENTS {
            let row = unreported(agent.name);
            let row = row.unwrap_or_else(|| panic!("{} has no row in `unreported.rs`", agent.name));
            let failures = row.contains(&Unreported::Failures);
            assert_eq!(failures, !agent.hooks_tell_failure, "{}", agent.name);
        }
        assert_eq!(unreported("aider"), None);
    }
}
