//! Paths that agents name.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// The file that a payload names, if it lies below `root`, by its name and by what the file system
/// makes of it, and has this ending. It need not exist yet.
pub(crate) fn accept_below(root: &Path, ending: &str, path: &str) -> Option<PathBuf> {
    let plain = path.len() <= 4096 && !path.chars().any(char::is_control);
    let path = PathBuf::from(path);
    let climbs = path.components().any(|part| part == Component::ParentDir);
    let named = path.extension().is_some_and(|own| own == ending);
    if !plain || climbs || !named || !path.is_absolute() {
        return None;
    }
    let real_root = fs::canonicalize(root).ok();
    let below = path.starts_with(root)
        || real_root
            .as_ref()
            .is_some_and(|real| path.starts_with(real));
    let inside = real_root.is_none_or(|real| stays_below(&real, &path));
    (below && inside).then_some(path)
}

/// A name of a file that is nothing but a name, and no option of a program either.
pub(crate) fn plain_name(name: &str) -> Option<&str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let is_plain = (1..=128).contains(&name.len()) && name.chars().all(plain);
    (is_plain && !name.starts_with('-')).then_some(name)
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

/// The path relative to the worktree, if it lies in it.
pub(crate) fn relative(path: &Path, worktree: Option<&Path>) -> PathBuf {
    let inside = worktree.and_then(|root| path.strip_prefix(normal(root)).ok());
    inside
        .filter(|p| !p.as_os_str().is_empty())
        .unwrap_or(path)
        .to_owned()
}

/// Resolves `.` and `..` by name alone.
pub(crate) fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(out.pop()),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn projects(dir: &Path) -> PathBuf {
        dir.join("projects")
    }

    fn accept(dir: &Path, path: &str) -> Option<PathBuf> {
        accept_below(&projects(dir), "jsonl", path)
    }

    #[test]
    fn paths_are_relative_to_the_worktree_they_lie_in() {
        let root = Some(Path::new("/repo/"));
        for (path, expected) in [
            ("/repo/a/b", "a/b"),
            ("/repo/x/../a", "a"),
            ("/repo/../etc/passwd", "/etc/passwd"),
            ("/repository/a", "/repository/a"),
            ("/repo", "/repo"),
        ] {
            assert_eq!(
                relative(&normal(Path::new(path)), root),
                PathBuf::from(expected),
                "{path}"
            );
        }
    }

    #[test]
    fn only_paths_below_the_projects_are_taken() {
        let dir = tempfile::tempdir().expect("a directory");
        let dir = dir.path();
        let inside = projects(dir).join("-repo/a.jsonl");
        let text = |path: &Path| path.to_str().map(str::to_owned).expect("UTF-8");
        assert_eq!(
            accept(dir, &text(&inside)),
            Some(inside.clone()),
            "before anything exists"
        );
        fs::create_dir_all(projects(dir).join("-repo")).expect("directories");
        assert_eq!(accept(dir, &text(&inside)), Some(inside.clone()));
        fs::write(&inside, "").expect("a file");
        assert_eq!(accept(dir, &text(&inside)), Some(inside.clone()));
        for bad in [
            "relative.jsonl".to_owned(),
            "/etc/passwd".to_owned(),
            text(&dir.join("projects/../secrets.jsonl")),
            text(&dir.join("projects-evil/a.jsonl")),
            text(&projects(dir).join("a.txt")),
            text(&projects(dir).join("a\n.jsonl")),
            String::new(),
        ] {
            assert_eq!(accept(dir, &bad), None, "{bad:?}");
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
                accept(dir.path(), &root.join(bad).to_string_lossy()),
                None,
                "{bad}"
            );
        }
        let other = tempfile::tempdir().expect("a directory");
        symlink(dir.path().join("projects"), other.path().join("projects")).expect("a link");
        let through = projects(other.path()).join("-repo/a.jsonl");
        assert_eq!(
            accept(other.path(), &through.to_string_lossy()),
            Some(through)
        );
    }
}
