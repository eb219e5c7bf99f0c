//! Which agents the gateway may run, and where: the operator's word alone.

use std::path::PathBuf;

use siglum_domain::AgentName;

/// What may be run. Nothing, unless the operator says so.
#[derive(Debug, Clone, Default)]
pub struct RunSettings {
    /// The agents.
    pub agents: Vec<RunAgent>,
    /// A run works in one of these directories, or within one.
    pub workdirs: Vec<PathBuf>,
}

/// An agent that may be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunAgent {
    /// Its name.
    pub name: AgentName,
    /// The program that speaks the Agent Client Protocol for it, where it is not to be looked up.
    pub program: Option<PathBuf>,
}
