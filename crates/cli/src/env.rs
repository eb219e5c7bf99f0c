//! The environment, read once and nowhere else.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the environment"
)]

use std::ffi::OsString;
use std::path::PathBuf;

use siglum_agents::AgentSpec;

/// A variable as text; empty and unreadable ones are absent.
pub fn text(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// A variable as a path; an empty one is absent.
pub fn path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .filter(|value: &OsString| !value.is_empty())
        .map(PathBuf::from)
}

/// The user's home.
pub fn home() -> PathBuf {
    path("HOME").unwrap_or_else(|| PathBuf::from("/"))
}

/// The git program.
pub fn git() -> PathBuf {
    path("SIGLUM_GIT").unwrap_or_else(|| PathBuf::from("git"))
}

/// The agent's own directory.
pub fn agent_dir(agent: &AgentSpec) -> PathBuf {
    let told = agent.config_variable.and_then(path);
    told.unwrap_or_else(|| (agent.default_dir)(&home()))
}
