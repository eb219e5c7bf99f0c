//! Where Gemini CLI keeps its things.

use std::path::{Path, PathBuf};

/// The agent's own directory in a home directory; `GEMINI_CLI_HOME` stands in for the home directory.
pub(super) fn default_dir(home: &Path) -> PathBuf {
    home.join(".gemini")
}

/// The settings file in the agent's own directory.
pub(super) fn settings(agent_dir: &Path) -> PathBuf {
    agent_dir.join("settings.json")
}

/// The directory of all projects in the agent's own directory.
pub(super) fn projects(agent_dir: &Path) -> PathBuf {
    agent_dir.join("tmp")
}

/// The directory of the transcripts in a project's directory.
pub(super) fn chats(project: &Path) -> PathBuf {
    project.join("chats")
}

/// The file in a project's directory that names the directory that the agent works in.
pub(super) fn root_file(project: &Path) -> PathBuf {
    project.join(".project_root")
}
