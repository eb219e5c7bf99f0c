//! Where Qwen Code keeps its things.

use std::path::{Path, PathBuf};

use siglum_domain::NativeId;

/// The agent's own directory, where `QWEN_HOME` names no other.
pub(super) fn default_dir(home: &Path) -> PathBuf {
    home.join(".qwen")
}

/// The settings file in the agent's own directory.
pub(super) fn settings(agent_dir: &Path) -> PathBuf {
    agent_dir.join("settings.json")
}

/// The settings of a checkout, which the agent puts before a person's own.
pub(super) fn other_settings(checkout: Option<&Path>) -> Vec<PathBuf> {
    let own = |dir: &Path| dir.join(".qwen").join("settings.json");
    checkout.into_iter().map(own).collect()
}

/// The directory of all projects in the agent's own directory.
pub(super) fn projects(agent_dir: &Path) -> PathBuf {
    agent_dir.join("projects")
}

/// The directory of the transcripts in a project's directory.
pub(super) fn chats(project: &Path) -> PathBuf {
    project.join("chats")
}

/// The directory in a project's directory with a directory for each session that had sub-agents.
pub(super) fn subagents_of(project: &Path) -> PathBuf {
    project.join("subagents")
}

/// Where the sub-agents of a session write transcripts of their own.
pub(super) fn subagents(transcript: &Path, session: &NativeId) -> PathBuf {
    let project = transcript.parent().and_then(Path::parent);
    subagents_of(project.unwrap_or(transcript)).join(file_name(session.as_str()))
}

/// The directory of the transcripts of sessions that were started in `cwd`: it is named after the path, every UTF-16 unit
/// that is no ASCII letter or digit as `-`.
pub(super) fn project_dir(agent_dir: &Path, cwd: &str) -> Option<PathBuf> {
    let plain = |unit: u16| {
        u8::try_from(unit)
            .ok()
            .filter(u8::is_ascii_alphanumeric)
            .map_or('-', char::from)
    };
    let slug: String = cwd.encode_utf16().map(plain).collect();
    (1..=255)
        .contains(&slug.len())
        .then(|| chats(&projects(agent_dir).join(slug)))
}

/// An id as it stands in names of files.
fn file_name(id: &str) -> String {
    let plain = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => c,
        _ => '_',
    };
    id.chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_is_named_after_its_path() {
        let dir = Path::new("/home/dev/.qwen");
        let check = |cwd: &str, expected: Option<&str>| {
            let expected = expected.map(|slug| dir.join("projects").join(slug).join("chats"));
            assert_eq!(project_dir(dir, cwd), expected, "{cwd}");
        };
        check("/home/dev/my_app.rs", Some("-home-dev-my-app-rs"));
        check("/ä😀", Some("----"));
        check("", None);
        check(&"/x".repeat(200), None);
    }

    #[test]
    fn sub_agents_lie_beside_the_chats() {
        let transcript = Path::new("/home/dev/.qwen/projects/-repo/chats/s.1.jsonl");
        let session = NativeId::new("s.1").expect("a native id");
        assert_eq!(
            subagents(transcript, &session),
            Path::new("/home/dev/.qwen/projects/-repo/subagents/s_1")
        );
        let own = other_settings(Some(Path::new("/repo")));
        assert_eq!(own, [Path::new("/repo/.qwen/settings.json")]);
    }
}
