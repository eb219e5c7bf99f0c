//! Where Claude Code keeps its things, and whether a path from a payload lies there.

use std::fs;
use std::path::{Component, Path, PathBuf};

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

/// The directory of all transcripts in the agent's own directory.
pub(super) fn projects(agent_dir: &Path) -> PathBuf {
    agent_dir.join("projects")
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

/// The transcript that a payload names, if it lies below the projects in the agent's own
/// directory, by its name and by what the file system makes of it. The file need not exist yet.
pub(super) fn accept_transcript(agent_dir: &Path, path: &str) -> Option<PathBuf> {
    let root = projects(agent_dir);
    let plain = path.len() <= 4096 && !path.chars().any(char::is_control);
    let path = PathBuf::from(path);
    let climbs = path.components().any(|part| part == Component::ParentDir);
    let named = path.extension().is_some_and(|ending| ending == "jsonl");
    if !plain || climbs || !named || !path.is_absolute() {
        return None;
    }
    let real_root = fs::canonicalize(&root).ok();
    let below = path.starts_with(&root)
        || real_root
            .as_ref()
            .is_some_and(|real| path.starts_with(real));
    let inside = real_root.is_none_or(|real| stays_below(&real, &path));
    (below && inside).then_some(path)
}

/// Tells whether the part of `path` that exists really lies below `root`. A link to nowhere does
/// not.
fn stays_below(root: &Path, path: &Path) -> bool {
    let existing = path
        .ancestors()
        .find(|part| fs::symlink_metadata(part).is_ok());
    existing
        .and_then(|part| fs::canonicalize(part).ok())
        .is_some_and(|real| real.starts_with(root))
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
        for dir in [dir.as_path(), Path::new("/etc/agents/claude")] {
            assert_eq!(settings(dir), dir.join("settings.json"));
            let inside = dir.join("projects/-repo/a.jsonl");
            let named = |at: &Path| accept_transcript(at, &inside.to_string_lossy());
            assert_eq!(named(dir), Some(inside.clone()));
            assert_eq!(named(Path::new("/elsewhere")), None);
        }
    }

    #[test]
    fn only_paths_below_the_projects_are_taken() {
        let dir = tempfile::tempdir().expect("a directory");
        let dir = dir.path();
        let inside = projects(dir).join("-repo/a.jsonl");
        let text = |path: &Path| path.to_str().map(str::to_owned).expect("UTF-8");
        assert_eq!(
            accept_transcript(dir, &text(&inside)),
            Some(inside.clone()),
            "before anything exists"
        );
        fs::create_dir_all(projects(dir).join("-repo")).expect("directories");
        assert_eq!(accept_transcript(dir, &text(&inside)), Some(inside.clone()));
        fs::write(&inside, "").expect("a file");
        assert_eq!(accept_transcript(dir, &text(&inside)), Some(inside.clone()));
        for bad in [
            "relative.jsonl".to_owned(),
            "/etc/passwd".to_owned(),
            text(&dir.join("projects/../secrets.jsonl")),
            text(&dir.join("projects-evil/a.jsonl")),
            text(&projects(dir).join("a.txt")),
            text(&projects(dir).join("a\n.jsonl")),
            String::new(),
        ] {
            assert_eq!(accept_transcript(dir, &bad), None, "{bad:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_that_lead_out_are_refused_and_a_linked_root_is_not() {
        use std::os::unix::fs::symlink;
        let outside = tempfile::tempdir().expect("a directory");
        let dir = tempfile::tempdir().expect("a directory");
        let root = projects(dir.path());
        fs::create_dir_all(&root).expect("directories");
        fs::write(outside.path().join("a.jsonl"), "").expect("a file");
        symlink(outside.path(), root.join("dir")).expect("a link");
        symlink(outside.path().join("a.jsonl"), root.join("file.jsonl")).expect("a link");
        symlink(outside.path().join("absent"), root.join("nowhere.jsonl")).expect("a link");
        for bad in [
            "dir/a.jsonl",
            "dir/new.jsonl",
            "file.jsonl",
            "nowhere.jsonl",
        ] {
            assert_eq!(
                accept_transcript(dir.path(), &root.join(bad).to_string_lossy()),
                None,
                "{bad}"
            );
        }
        let other = tempfile::tempdir().expect("a directory");
        symlink(dir.path().join("projects"), other.path().join("projects")).expect("a link");
        let through = projects(other.path()).join("-repo/a.jsonl");
        assert_eq!(
            accept_transcript(other.path(), &through.to_string_lossy()),
            Some(through)
        );
    }
}
