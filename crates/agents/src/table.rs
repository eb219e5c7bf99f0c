//! The table of agents that are recorded.

use crate::spec::AgentSpec;
use crate::{claude_code, codex, copilot, gemini, opencode, pi, qwen};

/// The agents that are recorded.
pub static AGENTS: &[AgentSpec] = &[
    claude_code::SPEC,
    codex::SPEC,
    gemini::SPEC,
    opencode::SPEC,
    pi::SPEC,
    qwen::SPEC,
    copilot::SPEC,
];

/// Finds an agent by its name.
#[must_use]
pub fn find(name: &str) -> Option<&'static AgentSpec> {
    AGENTS.iter().find(|agent| agent.name == name)
}

#[cfg(test)]
mod tests {
    use siglum_domain::AgentName;

    use super::*;
    use crate::known::known;

    #[test]
    fn recorded_agents_are_known_agents() {
        for agent in AGENTS {
            let known = known(agent.name).expect("every recorded agent is known");
            assert_eq!(known.executables, agent.executables);
            assert_eq!(known.scripts, agent.scripts);
            assert_eq!(known.session_variable, agent.session_variable);
            assert_eq!(known.presence_variables, agent.presence_variables);
            assert!(AgentName::new(agent.name).is_ok());
            assert_eq!(find(agent.name).map(|a| a.title), Some(agent.title));
        }
        assert!(find("aider").is_none());
    }
}
