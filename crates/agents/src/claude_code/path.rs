//! Where Claude Code keeps its things.

use std::fs;
use std::path::{Path, PathBuf};

use siglum_domain::NativeId;

use crate::paths::{accept_below, plain_name};

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
    managed_dir().join(MANAGED)
}

/// The settings of a checkout and the rest of the administrator's, each file before those that it gives way to.
pub(super) fn other_settings(checkout: Option<&Path>) -> Vec<PathBuf> {
    let mut paths = managed_parts(&managed_dir().join(MANAGED_PARTS));
    let own = ["settings.local.json", "settings.json"];
    paths.extend(
        checkout
            .into_iter()
            .flat_map(|dir| own.map(|name| dir.join(".claude").join(name))),
    );
    paths
}

/// Whether a file of settings is an administrator's.
pub(super) fn is_managed(path: &Path) -> bool {
    let dir = path.parent().and_then(Path::file_name);
    path.file_name().is_some_and(|name| name == MANAGED)
        || dir.is_some_and(|dir| dir == MANAGED_PARTS)
}

const MANAGED: &str = "managed-settings.json";
const MANAGED_PARTS: &str = "managed-settings.d";

fn managed_dir() -> &'static Path {
    Path::new(match cfg!(target_os = "macos") {
        true => "/Library/Application Support/ClaudeCode",
        false => "/etc/claude-code",
    })
}

/// The parts of the administrator's settings; the last by name comes first, since it has the last word.
fn managed_parts(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let is_part = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".json") && !name.starts_with('.')
    };
    let mut parts: Vec<_> = entries.map(|e| e.path()).filter(is_part).collect();
    parts.sort();
    parts.reverse();
    parts
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

/// Where Claude Code looks for the transcript of a session that it resumes in a directory.
pub(super) fn resumed_transcript(
    agent_dir: &Path,
    cwd: &str,
    native: &NativeId,
) -> Option<PathBuf> {
    let name = format!("{}.jsonl", plain_name(native.as_str())?);
    let path = project_dir(agent_dir, cwd)?.join(name);
    accept_below(&projects(agent_dir), "jsonl", path.to_str()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transcript_is_put_back_nowhere_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = |cwd: &str, id: &str| {
            let native = NativeId::new(id).unwrap();
            resumed_transcript(dir.path(), cwd, &native)
        };
        let expected = projects(dir.path()).join("-repo/82d2-9.jsonl");
        assert_eq!(path("/repo", "82d2-9"), Some(expected));
        // Whatever the directory is called, it is one name.
        let climbing = projects(dir.path()).join("-------etc/a.jsonl");
        assert_eq!(path("/../../etc", "a"), Some(climbing));
        for id in ["a.b", "a;b", "-a", "a:b"] {
            assert_eq!(path("/repo", id), None, "{id}");
        }
        // A project that leads elsewhere is not followed.
        let elsewhere = tempfile::tempdir().unwrap();
        fs::create_dir_all(projects(dir.path())).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), projects(dir.path()).join("-out")).unwrap();
        assert_eq!(path("/out", "a"), None);
    }

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
    fn parts_of_managed_settings_are_in_the_order_of_their_word() {
        let dir = tempfile::tempdir().unwrap();
        let parts = dir.path().join(MANAGED_PARTS);
        assert!(managed_parts(&parts).is_empty());
        fs::create_dir(&parts).unwrap();
        for name in ["10-a.json", "20-b.json", ".hidden.json", "notes.txt"] {
            fs::write(parts.join(name), "{}").unwrap();
        }
        let found = managed_parts(&parts);
        assert_eq!(found, ["20-b.json", "10-a.json"].map(|n| parts.join(n)));
        assert!(found.iter().all(|part| is_managed(part)));
        assert!(is_managed(&managed_settings()));
        let others = other_settings(Some(Path::new("/repo")));
        let own = ["settings.local.json", "settings.json"];
        let own = own.map(|name| Path::new("/repo/.claude").join(name));
        assert!(others.ends_with(&own));
        assert!(own.iter().all(|path| !is_managed(path)));
    }

    #[test]
    fn everything_lies_in_the_agents_own_directory() {
        let dir = default_dir(Path::new("/home/dev"));
        assert_eq!(dir, Path::new("/home/dev/.claude"));
        assert_eq!(settings(&dir), dir.join("settings.json"));
        assert_eq!(projects(&dir), dir.join("projects"));
    }
}
