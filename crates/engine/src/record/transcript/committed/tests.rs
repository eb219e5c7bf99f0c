use std::process::Command;

use super::*;

const MADE: i64 = 1_795_000_000;

#[expect(clippy::disallowed_methods, reason = "the test plays a person at git")]
fn git(dir: &Path, args: &[&str], at: i64) {
    let date = format!("{} +0000", MADE + at);
    let done = Command::new("git")
        .args(["-c", "user.name=A", "-c", "user.email=a@b"])
        .args(args)
        .current_dir(dir)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_DATE", &date)
        .env("GIT_COMMITTER_DATE", &date)
        .status();
    assert!(done.unwrap().success(), "{args:?}");
}

#[test]
fn each_moment_has_the_content_that_was_committed_by_then() {
    let dir = tempfile::tempdir().unwrap();
    let worktree = dir.path().canonicalize().unwrap();
    git(&worktree, &["init", "-q", "-b", "main"], 0);
    for (at, text) in [(0, "one"), (600, "two"), (9_000, "three")] {
        std::fs::write(worktree.join("a.txt"), text).unwrap();
        git(&worktree, &["add", "-A"], at);
        git(&worktree, &["commit", "-q", "-m", text], at);
    }
    let history = InGit {
        git: Git::new("git", &worktree),
        worktree: worktree.clone(),
        lookups: AtomicUsize::new(0),
        known: Mutex::default(),
    };
    let check = |path: &str, at: i64, expected: &[&str]| {
        let at = Timestamp::from_seconds(MADE + at);
        let found = history.contents(&worktree.join(path), at, None);
        let expected: Vec<Vec<u8>> = expected.iter().map(|t| t.as_bytes().to_vec()).collect();
        assert_eq!(found, expected, "{path} at {at}");
    };
    check("a.txt", 10, &["one"]);
    // An hour on, HEAD has another commit, and a moment on, it has the same one.
    check("a.txt", 20, &["one"]);
    check("a.txt", 700, &["two"]);
    check("a.txt", 800, &["two"]);
    check("none.txt", 800, &[]);
    check("none.txt", 9_100, &[]);
    check("a.txt", 9_200, &["three"]);
    // Back, before all that was asked for.
    check("a.txt", 30, &["one"]);
    check("a.txt", -10, &[]);
}
