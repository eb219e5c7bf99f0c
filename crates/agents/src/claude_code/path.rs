//! Where Claude Code keeps its things.

use std::path::{Path, PathBuf};

/// Longest name of a project's directory that is made of the path alone.
const SLUG_MAX: usize = 200;

/// The agent's own directory, where `CLAUDE_CONFIG_DIR` names no other.
pub(super) fn default_dir(home: &Path) -> PathBuf {
    home.join(".claude")
}

/// The settings file in the agent's own directory.
pub(super) fn settings(agent_dir: &Path) -> PathBuf {
    agent_dir.join("settings.json")
}

/// The settings that an administrator gives everybody on this machine.
pub(super) fn managed_settings() -> PathBuf {
    let dir = match cfg!(target_os = "macos") {
        true => "/Library/Application Support/ClaudeCode",
        false => "/etc/claude-code",
    };
    Path::new(dir).join("managed-settings.json")
}

/// The directory of all transcripts in the agent's own directory.
pub(super) fn projects(agent_dir: &Path) -> PathBuf {
    agent_dir.join("projects")
}

/// The directory of the transcripts of sub-agents, beside the transcript of their session.
pub(super) fn subagents(transcript: &Path) -> PathBuf {
    transcript.with_extension("").join("subagents")
}

/// The directory of the transcripts of sessions that were started in `cwd`. Claude Code names it
/// after the path, every UTF-16 unit that is no ASCII letter or digit as `-`; longer names end in a
/// hash and are not told.
pub(super) fn project_dir(agent_dir: &Path, cwd: &str) -> Option<PathBuf> {
    let plain = |unit: u16| {
        u8::try_from(unit)
            .ok()
            .filter(u8::is_ascii_alphanumeric)
            .map_or('-', char::from)
    };
    let slug: String = cwd.encode_utf16().map(plain).collect();
    ((1..=SLUG_MAX).contains(&slug.len())).then(|| projects(agent_dir).join(slug))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_named_after_its_path() {
        let dir = Path::new("/home/dev/.claude");
        let check = |cwd: &str, expected: Option<&str>| {
            let expected = expected.map(|slug| dir.join("projects").join(slug));
            assert_eq!(project_dir(dir, cwd), expected, "{cwd}");
        };
        check("/repo", Some("-repo"));
        check("/home/dev/my_app.rs", Some("-home-dev-my-app-rs"));
        check("/ä😀", Some("----"));
        check("", None);
        check(&"/x".repeat(101), None);
    }

    #[test]
    fn everything_lies_in_the_agents_own_directory() {
        let dir = default_dir(Path::new("/home/dev"));
        assert_eq!(dir, Path::new("/home/dev/.claude"));
        assert_eq!(settings(&dir), dir.join("settings.json"));
        assert_eq!(projects(&dir), dir.join("projects"));
    }
}
