//! The environment, read once and nowhere else.

#![expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the environment"
)]

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use siglum_agents::{AgentSpec, InstallError, SettingsError, SettingsFile, TelemetrySpec};
use siglum_domain::AgentName;

use crate::platform::regular_file;

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

/// A variable as it is, empty or not.
pub fn raw(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// The user's home.
pub fn home() -> PathBuf {
    path("HOME").unwrap_or_else(|| PathBuf::from("/"))
}

/// The directories in which programs are looked up.
pub fn programs() -> Vec<PathBuf> {
    let path = raw("PATH").unwrap_or_default();
    std::env::split_paths(&path).collect()
}

/// Whether a program of this name can be run without its path.
pub fn is_in_path(name: impl AsRef<Path>) -> bool {
    let mut dirs = programs().into_iter();
    dirs.any(|dir| is_program(&dir.join(&name)))
}

/// Whether a path leads to a program that can be run.
pub fn is_program(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// The git program.
pub fn git() -> PathBuf {
    path("SIGLUM_GIT").unwrap_or_else(|| PathBuf::from("git"))
}

/// The agent's own directory.
pub fn agent_dir(agent: &AgentSpec) -> PathBuf {
    let configured = agent.config_variable.and_then(path);
    configured.unwrap_or_else(|| {
        let home = agent.home_variable.and_then(path).unwrap_or_else(home);
        (agent.default_dir)(&home)
    })
}

/// Whether a path names what may be a transcript of an agent: a file in its own directory.
pub fn is_transcript(agent: &AgentName, path: &str) -> bool {
    let spec = siglum_agents::find(agent.as_str());
    spec.is_some_and(|spec| AgentSpec::may_be_transcript(&agent_dir(spec), path))
}

/// The agent's settings files as they are now, the main one first.
///
/// # Errors
/// One of them is there and cannot be read.
pub fn settings(agent: &AgentSpec) -> Result<Vec<SettingsFile>, SettingsError> {
    read_settings((agent.settings)(&agent_dir(agent)))
}

/// The settings files that decide whether our hooks run in a checkout: the agent's own, the main one first, and those of
/// the checkout and of the administrator.
///
/// # Errors
/// One of them is there and cannot be read.
pub fn settings_in(
    agent: &AgentSpec,
    checkout: Option<&Path>,
) -> Result<Vec<SettingsFile>, SettingsError> {
    let mut paths = (agent.settings)(&agent_dir(agent));
    paths.extend((agent.other_settings)(checkout));
    read_settings(paths)
}

/// The directory of an agent's own that its telemetry is switched on in.
pub fn telemetry_dir(agent: &TelemetrySpec) -> PathBuf {
    let configured = agent.config_variable.and_then(path);
    configured.unwrap_or_else(|| {
        let home = agent.home_variable.and_then(path).unwrap_or_else(home);
        (agent.default_dir)(&home)
    })
}

/// Settings files as they are now.
///
/// # Errors
/// One of them is there and cannot be read.
pub fn read_settings(paths: Vec<PathBuf>) -> Result<Vec<SettingsFile>, SettingsError> {
    let read = |path: PathBuf| match regular_file::read_settings(&path) {
        Ok(text) => Ok(SettingsFile {
            path,
            text: Some(text),
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(SettingsFile { path, text: None }),
        Err(error) => Err(SettingsError {
            path,
            error: InstallError::Unreadable(error.to_string()),
        }),
    };
    paths.into_iter().map(read).collect()
}
