//! Where Codex keeps its things.

use std::path::{Path, PathBuf};

/// The agent's own directory, where `CODEX_HOME` names no other.
pub(super) fn default_dir(home: &Path) -> PathBuf {
    home.join(".codex")
}

/// The settings files in the agent's own directory: the hooks, and which of them are trusted.
pub(super) fn settings(agent_dir: &Path) -> Vec<PathBuf> {
    vec![agent_dir.join("hooks.json"), agent_dir.join("config.toml")]
}

/// The directory of all transcripts, by day.
pub(super) fn sessions(agent_dir: &Path) -> PathBuf {
    agent_dir.join("sessions")
}

/// The directory of the transcripts that were put aside.
pub(super) fn archived(agent_dir: &Path) -> PathBuf {
    agent_dir.join("archived_sessions")
}

/// The id at the end of a transcript's name: `rollout-2026-11-20T21-09-52-<id>`.
pub(super) fn id_of(stem: &str) -> Option<&str> {
    let rest = stem.strip_prefix("rollout-")?;
    let id = rest.get(TIME.len()..)?.strip_prefix('-')?;
    let shaped = |(shape, found): (u8, u8)| match shape {
        b'0' => found.is_ascii_digit(),
        other => other == found,
    };
    let timed = TIME.bytes().zip(rest.bytes()).all(shaped);
    (timed && !id.is_empty()).then_some(id)
}

/// How the time in a transcript's name looks.
const TIME: &str = "0000-00-00T00-00-00";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_ends_the_name() {
        let check =
            |stem: &str, expected: Option<&str>| assert_eq!(id_of(stem), expected, "{stem}");
        check("rollout-2026-11-20T21-09-52-01a1-b", Some("01a1-b"));
        check("rollout-2026-11-20T21-09-52-", None);
        check("rollout-2026-11-20T21-09-52", None);
        check("rollout-2026-11-20 21-09-52-a", None);
        check("rollout-ä", None);
        check("session-2026-11-20T21-09-52-a", None);
    }
}
