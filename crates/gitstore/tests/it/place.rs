use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use siglum_gitstore::{HeadRead, ObjectFormat, discover};

use crate::sandbox::{Sandbox, Tree};

/// What git says must be what the hand-written reading says.
fn check(tree: &Tree) {
    let repo = tree.repo();
    let say = |args: &[&str]| tree.git(args).trim().to_owned();
    assert_eq!(repo.place.worktree, say(&["rev-parse", "--show-toplevel"]));
    let common = say(&["rev-parse", "--path-format=absolute", "--git-common-dir"]);
    assert_eq!(
        repo.common_dir(),
        Path::new(&common).canonicalize().unwrap()
    );
    let git_dir = say(&["rev-parse", "--absolute-git-dir"]);
    assert_eq!(repo.git_dir, Path::new(&git_dir).canonicalize().unwrap());
    if repo.head() != HeadRead::NeedsGit {
        let head = tree.gitstore().head().unwrap();
        assert_eq!(repo.head(), head.map_or(HeadRead::Unborn, HeadRead::Commit));
    }
    let format = say(&["rev-parse", "--show-object-format"]);
    assert_eq!(
        repo.object_format() == ObjectFormat::Sha256,
        format == "sha256"
    );
}

#[test]
fn a_plain_repository_at_every_stage() {
    let sandbox = Sandbox::new();
    let tree = sandbox.init("a", &[]);
    check(&tree);
    assert_eq!(tree.repo().head(), HeadRead::Unborn);
    tree.commit("sub/dir/f", "1", "one");
    check(&tree);
    check(&Tree(tree.0.join("sub/dir")));
    tree.git(&["pack-refs", "--all"]);
    assert!(!tree.0.join(".git/refs/heads/main").exists());
    check(&tree);
    tree.commit("f", "2", "two");
    check(&tree);
    tree.git(&["checkout", "-q", "--detach", "HEAD^"]);
    check(&tree);
    assert!(!tree.repo().siglum_dir().exists());
    assert!(!tree.repo().rebasing());
}

#[test]
fn linked_worktrees_share_the_common_directory() {
    let sandbox = Sandbox::new();
    let main = sandbox.init("main", &[]);
    main.commit("f", "1", "one");
    main.git(&["worktree", "add", "-q", "../linked", "-b", "other"]);
    let linked = Tree(sandbox.path("linked"));
    linked.commit("f", "2", "two");
    check(&main);
    check(&linked);
    assert_eq!(main.repo().common_dir(), linked.repo().common_dir());
    assert_ne!(main.repo().head(), linked.repo().head());
    main.git(&["config", "core.bare", "true"]);
    assert!(discover(&main.0, None, None).is_none());
    check(&linked);
    assert_eq!(linked.gitstore().worktrees().unwrap().len(), 2);
}

#[test]
fn a_submodule_is_its_own_repository() {
    let sandbox = Sandbox::new();
    sandbox.init("inner", &[]).commit("f", "1", "one");
    let outer = sandbox.init("outer", &[]);
    outer.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        "../inner",
        "inner",
    ]);
    let inner = Tree(outer.0.join("inner"));
    check(&outer);
    check(&inner);
    assert_ne!(outer.repo().common_dir(), inner.repo().common_dir());
}

#[test]
fn other_formats() {
    let sandbox = Sandbox::new();
    let tree = sandbox.init("sha256", &["--object-format=sha256"]);
    tree.commit("f", "1", "one");
    check(&tree);
    let tree = sandbox.init("reftable", &["--ref-format=reftable"]);
    let one = tree.commit("f", "1", "one");
    check(&tree);
    assert_eq!(tree.repo().head(), HeadRead::NeedsGit);
    assert_eq!(tree.gitstore().head().unwrap(), Some(one));
    assert_eq!(tree.gitstore().reflog(9).unwrap().len(), 1);
}

#[test]
fn no_checkout_is_no_place() {
    let sandbox = Sandbox::new();
    let bare = sandbox.init("bare", &["--bare"]);
    assert!(discover(&bare.0, None, None).is_none());
    assert!(discover(&bare.0.join("refs"), None, None).is_none());
    let tree = sandbox.init("tree", &[]);
    assert!(discover(&tree.0.join(".git/refs"), None, None).is_none());
    fs::create_dir(sandbox.path("plain")).unwrap();
    assert!(discover(&sandbox.path("plain"), None, None).is_none());
    fs::write(sandbox.path("plain/.git"), "gitdir: ../nowhere\n").unwrap();
    assert!(discover(&sandbox.path("plain"), None, None).is_none());
    assert!(discover(&sandbox.path("missing"), None, None).is_none());
}

#[test]
fn variables_of_git_win() {
    let sandbox = Sandbox::new();
    let tree = sandbox.init("tree", &[]);
    let elsewhere = sandbox.path("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let found = discover(&tree.0, Some(Path::new(".git")), None).unwrap();
    assert_eq!(found, tree.repo());
    let found = discover(&elsewhere, Some(&tree.0.join(".git")), None).unwrap();
    assert_eq!(found.worktree(), elsewhere);
    let found = discover(&elsewhere, Some(&tree.0.join(".git")), Some(&tree.0)).unwrap();
    assert_eq!(found, tree.repo());
    symlink(tree.0.join(".git"), elsewhere.join(".git")).unwrap();
    let found = discover(&elsewhere, None, None).unwrap();
    assert_eq!(
        (found.common_dir(), found.worktree()),
        (tree.repo().common_dir(), &*elsewhere)
    );
    tree.git(&["config", "core.worktree", elsewhere.to_str().unwrap()]);
    check(&tree);
}

#[test]
fn a_rebase_is_under_way_and_am_is_not() {
    let sandbox = Sandbox::new();
    let tree = sandbox.init("a", &[]);
    tree.commit("f", "1", "one");
    tree.git(&["checkout", "-q", "-b", "side"]);
    tree.commit("f", "2", "two");
    let patch = tree.git(&["format-patch", "-1", "--stdout"]);
    tree.git(&["checkout", "-q", "main"]);
    tree.commit("f", "3", "three");
    assert!(
        !tree
            .try_git(&["am", "-q"], patch.as_bytes())
            .status
            .success()
    );
    assert!(!tree.repo().rebasing());
    tree.git(&["am", "--abort"]);
    for backend in ["--merge", "--apply"] {
        tree.git(&["checkout", "-q", "side"]);
        assert!(
            !tree
                .try_git(&["rebase", backend, "main"], b"")
                .status
                .success()
        );
        assert!(tree.repo().rebasing(), "{backend}");
        tree.git(&["rebase", "--abort"]);
    }
}

#[test]
fn paths_below_the_root() {
    let sandbox = Sandbox::new();
    let tree = sandbox.init("a", &[]);
    tree.write("src/ä b.rs", "");
    fs::create_dir(sandbox.path("outside")).unwrap();
    symlink(sandbox.path("outside"), tree.0.join("out")).unwrap();
    symlink(tree.0.join("src"), tree.0.join("alias")).unwrap();
    symlink("/etc/passwd", tree.0.join("link")).unwrap();
    let repo = tree.repo();
    let check = |path: &str, expected: Option<&str>| {
        assert_eq!(
            repo.relative(Path::new(path)).as_deref(),
            expected,
            "{path}"
        );
        let absolute = tree.0.join(path);
        assert_eq!(
            repo.relative(&absolute).as_deref(),
            expected,
            "{}",
            absolute.display()
        );
    };
    check("src/ä b.rs", Some("src/ä b.rs"));
    check("./src/../src/new.rs", Some("src/new.rs"));
    check("new/deep/er.rs", Some("new/deep/er.rs"));
    check("new/../../x", None);
    check("alias/x", Some("src/x"));
    check("link", Some("link"));
    check("out/x", None);
    check("../outside/x", None);
    check("..", None);
    check(".", None);
    check(".git/config", None);
    check("src/.GIT/x", None);
    check("/etc/passwd", None);
}

#[test]
fn a_hostile_head_is_left_to_git() {
    let sandbox = Sandbox::new();
    let tree = sandbox.init("a", &[]);
    for text in [
        "ref: refs/../../../etc/passwd",
        "ref: /etc/passwd",
        "nonsense",
        "",
        "ref: HEAD",
    ] {
        fs::write(tree.0.join(".git/HEAD"), text).unwrap();
        assert_eq!(tree.repo().head(), HeadRead::NeedsGit, "{text}");
    }
    fs::write(tree.0.join(".git/HEAD"), "ref: refs/heads/loop").unwrap();
    fs::write(tree.0.join(".git/refs/heads/loop"), "ref: refs/heads/loop").unwrap();
    assert_eq!(tree.repo().head(), HeadRead::NeedsGit);
}

#[test]
fn finding_a_place_costs_microseconds() {
    let sandbox = Sandbox::new();
    let tree = sandbox.init("a", &[]);
    tree.commit("a/b/c/d/f", "1", "one");
    let start = std::time::Instant::now();
    for _ in 0..200 {
        let repo = discover(&tree.0.join("a/b/c/d"), None, None).unwrap();
        assert!(repo.head() != HeadRead::NeedsGit && !repo.rebasing());
    }
    let each = start.elapsed() / 200;
    eprintln!("place and head in {each:?}");
    assert!(each.as_millis() < 5, "{each:?}");
}
