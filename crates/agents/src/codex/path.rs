//! Where Codex keeps its things.

use std::path::{Path, PathBuf};

use siglum_domain::NativeId;

use crate::paths::{accept_below, plain_name};

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

/// Where Codex looks for the transcript of a session that it resumes: by the day in its name. Nowhere while it lies among
/// those that were put aside: then it is not gone.
pub(super) fn resumed_transcript(
    agent_dir: &Path,
    native: &NativeId,
    stream: &str,
) -> Option<PathBuf> {
    let id = plain_name(native.as_str())?;
    if id_of(stream) != Some(id) {
        return None;
    }
    let name = format!("{stream}.jsonl");
    if archived(agent_dir).join(&name).exists() {
        return None;
    }
    let date = stream.get("rollout-".len().."rollout-0000-00-00".len())?;
    let path = date
        .split('-')
        .fold(sessions(agent_dir), |dir, part| dir.join(part));
    accept_below(&sessions(agent_dir), "jsonl", path.join(name).to_str()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_is_put_back_under_its_day() {
        let dir = tempfile::tempdir().unwrap();
        let path = |id: &str, stream: &str| {
            let native = NativeId::new(id).unwrap();
            resumed_transcript(dir.path(), &native, stream)
        };
        let stem = "rollout-2026-11-20T21-09-52-01a1-b";
        let expected = sessions(dir.path()).join(format!("2026/11/20/{stem}.jsonl"));
        assert_eq!(path("01a1-b", stem), Some(expected));
        for (id, stream) in [
            ("01a1", stem),
            ("01a1-b", "01a1-b"),
            ("01a1-b", "rollout-2026-11-20T21-09-52-x/../01a1-b"),
            ("01a1-b", "rollout-....-..-..T21-09-52-01a1-b"),
            ("a.b", "rollout-2026-11-20T21-09-52-a.b"),
        ] {
            assert_eq!(path(id, stream), None, "{id} {stream}");
        }
        std::fs::create_dir_all(archived(dir.path())).unwrap();
        std::fs::write(archived(dir.path()).join(format!("{stem}.jsonl")), "").unwrap();
        assert_eq!(path("01a1-b", stem), None);
    }

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
