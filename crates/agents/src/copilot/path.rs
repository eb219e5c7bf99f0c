//! Where Copilot CLI keeps its things.

use std::path::{Path, PathBuf};

use siglum_domain::NativeId;

/// The agent's own directory, where `COPILOT_HOME` names no other.
pub(super) fn default_dir(home: &Path) -> PathBuf {
    home.join(".copilot")
}

/// The file with our hooks, which is ours alone, and the settings that may switch them off.
pub(super) fn settings(agent_dir: &Path) -> Vec<PathBuf> {
    vec![
        agent_dir.join("hooks").join("siglum.json"),
        agent_dir.join("settings.json"),
        agent_dir.join("config.json"),
    ]
}

/// The settings of a checkout.
pub(super) fn other_settings(checkout: Option<&Path>) -> Vec<PathBuf> {
    let own = ["settings.local.json", "settings.json"];
    let in_checkout = |dir: &Path| own.map(|name| dir.join(".github").join("copilot").join(name));
    checkout.map(in_checkout).into_iter().flatten().collect()
}

/// The directory with a directory for each session.
pub(super) fn sessions(agent_dir: &Path) -> PathBuf {
    agent_dir.join("session-state")
}

/// The transcript in a session's directory.
pub(super) fn transcript(session: &Path) -> PathBuf {
    session.join("events.jsonl")
}

/// The session that a transcript is of, by its directory.
pub(super) fn session_of(transcript: &Path) -> Option<NativeId> {
    let session = transcript.parent()?.file_name()?.to_str()?;
    NativeId::new(session).ok()
}

/// Where sub-agents would write transcripts of their own: what they do stands in their session's.
pub(super) fn subagents(transcript: &Path, _: &NativeId) -> PathBuf {
    transcript.with_file_name("subagents")
}
