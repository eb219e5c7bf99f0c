//! Siglum's directory in front: what leads git to it, and what has to be in it.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

use siglum_gitstore::GitError;
use siglum_gitstore::hooks::{FRONT, HOOKS, HookCondition, HookState, plan_remove, taken_over};

use super::{Scene, listing};
use crate::sandbox::{Tree, script};

const PYTHON: &str = "#!/usr/bin/env python3\npass\n";

impl Scene {
    fn complaints(&self) -> Vec<(String, HookCondition)> {
        let states = self.states(&self.shim).into_iter();
        states
            .filter(|hook| hook.state != HookCondition::Current)
            .map(|hook| (hook.name, hook.state))
            .collect()
    }

    /// Commits and tells how many of our hooks ran.
    fn runs(&self, content: &str) -> usize {
        let before = self.log("log").len();
        self.tree.commit("f", content, content);
        self.log("log").len() - before
    }
}

/// The only copy of the user's setting is in what they include.
#[test]
fn settings_that_cannot_be_edited_go_on_saying_where_hooks_are() {
    let mut scene = Scene::new();
    scene.hooks = scene.tree.0.join(".githooks");
    scene.tree.git(&["config", "core.hooksPath", ".githooks"]);
    script(&scene.hooks.join("commit-msg"), PYTHON, 0o755);
    scene.install();
    let path = scene.tree.0.join(".git/config");
    let mut settings = fs::read(&path).unwrap();
    settings.extend(b"[alias]\n\tj = log --author=J\xf6rg\n");
    fs::write(&path, settings).unwrap();
    let plan = plan_remove(&scene.site(), &[scene.hooks.clone()]).unwrap();
    plan.apply().unwrap();
    assert!(
        plan.notes.iter().any(|note| note.contains("by hand")),
        "{plan:?}"
    );
    assert_eq!(scene.tree.git(&["config", "core.hooksPath"]), ".githooks\n");
}

/// Two names of one file stay two names of one file.
#[test]
fn hooks_with_two_names_are_left_alone() {
    let scene = Scene::new();
    let theirs = scene.sandbox.path("theirs");
    let text = format!("#!/bin/sh\necho \"${{0##*/}}\" >>{}\n", theirs.display());
    let hook = scene.hooks.join("commit-msg");
    script(&hook, &text, 0o755);
    fs::hard_link(&hook, scene.hooks.join("post-commit")).unwrap();
    let before = scene.all();
    scene.install();
    assert_eq!(fs::metadata(&hook).unwrap().nlink(), 2);
    assert_eq!(listing(&scene.hooks), before.0);
    assert_eq!(scene.runs("1"), 3);
    assert_eq!(scene.log("theirs"), ["commit-msg", "post-commit"]);
    scene.remove();
    assert_eq!(scene.all(), before);
}

/// A backup by links gives a hook with our block a second name.
#[test]
fn blocks_in_hooks_with_two_names_are_found() {
    let scene = Scene::new();
    script(&scene.hooks.join("commit-msg"), "#!/bin/sh\ntrue\n", 0o755);
    scene.install();
    let hook = scene.hooks.join("commit-msg");
    fs::hard_link(&hook, scene.sandbox.path("backup")).unwrap();
    assert_eq!(scene.complaints(), []);
    assert!(scene.plan().changes.is_empty());
    scene.remove();
    assert_eq!(fs::read_to_string(&hook).unwrap(), "#!/bin/sh\ntrue\n");
}

#[test]
fn settings_that_are_included_further_down_count_less_than_ours() {
    let scene = Scene::new();
    let theirs = scene.sandbox.path("theirs");
    let hook = format!("#!/bin/sh\necho \"$0\" >>{}\n", theirs.display());
    script(&scene.tree.0.join(".githooks/commit-msg"), &hook, 0o755);
    scene
        .tree
        .write(".gitconfig", "[core]\n\thooksPath = .githooks\n");
    scene.tree.commit("f", "0", "base");
    fs::create_dir_all(&scene.hooks).unwrap();
    scene.tree.git(&["config", "include.path", "../.gitconfig"]);
    let included = scene.all();
    scene.install();
    assert_eq!(scene.complaints(), []);
    assert_eq!(scene.runs("1"), 3);
    assert_eq!(scene.log("theirs"), [".githooks/commit-msg"]);
    let side = Tree(scene.sandbox.path("side"));
    scene.tree.git(&["worktree", "add", "-q", "../side"]);
    let ran = scene.log("log").len();
    side.commit("f", "2", "two");
    assert_eq!(scene.log("log").len() - ran, 3, "a linked worktree, too");
    scene.remove();
    assert_eq!(scene.all(), included);

    // The same by somebody who comes later.
    scene.tree.git(&["config", "--unset", "include.path"]);
    script(&scene.hooks.join("pre-commit"), PYTHON, 0o755);
    script(&scene.hooks.join("commit-msg"), PYTHON, 0o755);
    scene.install();
    scene.tree.git(&["config", "include.path", "../.gitconfig"]);
    assert_eq!(scene.complaints().len(), 6, "git does not run ours");
    scene.install();
    assert_eq!(scene.complaints(), []);
    assert_eq!(scene.runs("3"), 3);
    scene.remove();
    assert_eq!(scene.tree.git(&["config", "core.hooksPath"]), ".githooks\n");
}

#[test]
fn of_settings_that_say_it_twice_the_last_one_counts() {
    let scene = Scene::new();
    let theirs = scene.sandbox.path("theirs");
    let hook = format!("#!/bin/sh\necho \"$0\" >>{}\n", theirs.display());
    script(&scene.tree.0.join(".githooks/commit-msg"), &hook, 0o755);
    scene
        .tree
        .write(".gitconfig", "[core]\n\thooksPath = .githooks\n");
    scene.tree.git(&["config", "core.hooksPath", "mine"]);
    scene.tree.git(&["config", "include.path", "../.gitconfig"]);
    fs::create_dir_all(&scene.hooks).unwrap();
    let before = scene.all();
    scene.install();
    assert_eq!(scene.runs("1"), 3);
    assert_eq!(scene.log("theirs"), [".githooks/commit-msg"]);
    scene.remove();
    assert_eq!(scene.all(), before);
}

#[test]
fn hooks_that_are_not_passed_on_are_named_and_mended() {
    let scene = Scene::new();
    script(&scene.hooks.join("commit-msg"), PYTHON, 0o755);
    script(&scene.hooks.join("pre-push"), "#!/bin/sh\nexit 1\n", 0o755);
    scene.install();
    assert_eq!(scene.complaints(), []);
    let repo = scene.tree.repo();
    assert_eq!(taken_over(&repo), [""; 0]);
    let front = scene.tree.0.join(".git").join(FRONT);
    fs::remove_file(front.join("pre-push")).unwrap();
    let added = scene.hooks.join("reference-transaction");
    script(&added, "#!/bin/sh\nexit 0\n", 0o755);
    let names = ["pre-push", "reference-transaction"];
    let expected = names.map(|name| (name.to_owned(), HookCondition::NotPassedOn));
    assert_eq!(scene.complaints(), expected);
    assert_eq!(taken_over(&repo), names);
    scene.install();
    assert_eq!(scene.complaints(), []);
    assert_eq!(taken_over(&repo), [""; 0]);
    // One that is no longer needed goes, since git does more where there is one.
    fs::remove_file(&added).unwrap();
    scene.install();
    assert!(!front.join("reference-transaction").exists());
    // One of somebody else is in the way of none.
    script(&front.join("pre-rebase"), "#!/bin/sh\ntrue\n", 0o755);
    assert_eq!(scene.complaints(), []);
    script(&scene.hooks.join("pre-rebase"), "#!/bin/sh\nfalse\n", 0o755);
    let one = [("pre-rebase".to_owned(), HookCondition::NotPassedOn)];
    assert_eq!(scene.complaints(), one);
}

/// Hooks look for a library where git says that hooks are, or in the directory that its settings name.
#[test]
fn what_is_beside_their_hooks_is_found() {
    for named in [false, true] {
        let mut scene = Scene::new();
        if named {
            scene.hooks = scene.tree.0.join(".githooks");
            scene.tree.git(&["config", "core.hooksPath", ".githooks"]);
        }
        let theirs = scene.sandbox.path("theirs");
        let look = format!(
            "#!/bin/sh\nset -e\nfor dir in \"$(git rev-parse --git-path hooks)\" \
             \"$(git config core.hooksPath || echo .git/hooks)\"; do\n\
             . \"$dir/lib.sh\"; . \"$dir/config\"; cat \"$dir\"/lib.d/* >>'{}'; done\n",
            theirs.display()
        );
        script(&scene.hooks.join("pre-commit"), &look, 0o755);
        script(&scene.hooks.join("commit-msg"), PYTHON, 0o755);
        script(&scene.hooks.join("lib.sh"), "true\n", 0o644);
        script(&scene.hooks.join("config"), "MAX=3\n", 0o644);
        script(&scene.hooks.join("lib.d/one"), "part\n", 0o644);
        script(&scene.hooks.join("pre-push.sample"), "true\n", 0o644);
        scene.tree.commit("f", "0", "base");
        let before = scene.all();
        scene.install();
        assert_eq!(scene.complaints(), []);
        scene.tree.commit("f", "1", "one");
        let side = Tree(scene.sandbox.path("side"));
        scene.tree.git(&["worktree", "add", "-q", "../side"]);
        side.commit("f", "2", "two");
        // What comes later is named, and what goes is no longer led to.
        let repo = scene.tree.repo();
        let unlinked = || siglum_gitstore::hooks::unlinked(&repo);
        assert_eq!(unlinked(), [""; 0]);
        script(&scene.hooks.join("later.sh"), "true\n", 0o644);
        script(&scene.hooks.join("lib.sh~"), "true\n", 0o644);
        let one = [("later.sh".to_owned(), HookCondition::NotLinked)];
        assert_eq!(scene.complaints(), one);
        assert_eq!(unlinked(), ["later.sh"]);
        scene.install();
        assert_eq!(scene.complaints(), []);
        for name in ["later.sh", "lib.sh~"] {
            fs::remove_file(scene.hooks.join(name)).unwrap();
        }
        scene.install();
        let front = scene.tree.0.join(".git").join(FRONT);
        assert!(fs::symlink_metadata(front.join("later.sh")).is_err());
        // Relative links hold where the repository goes.
        fs::rename(&scene.tree.0, scene.sandbox.path("moved")).unwrap();
        let moved = Tree(scene.sandbox.path("moved"));
        let library = moved.0.join(".git").join(FRONT).join("lib.sh");
        assert_eq!(fs::read_to_string(library).unwrap(), "true\n");
        fs::rename(&moved.0, &scene.tree.0).unwrap();
        // One of somebody else goes where hooks are from then on.
        symlink("lib.sh", front.join("mine.sh")).unwrap();
        scene.remove();
        assert!(scene.hooks.join("mine.sh").is_symlink());
        fs::remove_file(scene.hooks.join("mine.sh")).unwrap();
        assert_eq!(scene.all(), before);
        assert_eq!(scene.log("theirs"), ["part"; 6], "two of each commit");
    }
}

#[test]
fn a_directory_that_is_missing_is_remarked() {
    let scene = Scene::new();
    scene.tree.git(&["config", "core.hooksPath", ".husky/_"]);
    let plan = scene.plan();
    assert!(!plan.changes.is_empty());
    assert!(plan.notes[0].contains(".husky/_"), "{plan:?}");
    assert!(plan.notes[0].contains("is no directory"), "{plan:?}");
}

/// Links and programs stay what they are, and are called by their own names.
#[test]
fn ours_stands_in_front_of_what_is_no_plain_script() {
    let scene = Scene::new();
    let theirs = scene.sandbox.path("theirs");
    script(
        &scene.tree.0.join("tools/hook"),
        &format!("#!/bin/sh\necho \"$0 $1\" >>{}\n", theirs.display()),
        0o755,
    );
    let names = format!(
        "#!/usr/bin/env python3\nimport sys\nopen('{}', 'a').write(sys.argv[0] + '\\n')\n",
        theirs.display()
    );
    script(&scene.hooks.join("overcommit"), &names, 0o755);
    symlink("../../tools/hook", scene.hooks.join("commit-msg")).unwrap();
    symlink("overcommit", scene.hooks.join("pre-commit")).unwrap();
    symlink("overcommit", scene.hooks.join("post-commit")).unwrap();
    let before = scene.all();
    let plan = scene.install();
    assert_eq!(plan.notes, [""; 0]);
    assert_eq!(
        listing(&scene.hooks),
        before.0,
        "nothing of theirs is touched"
    );
    scene.tree.commit("f", "1", "one");
    let ran = [
        ".git/hooks/pre-commit",
        ".git/hooks/commit-msg .git/COMMIT_EDITMSG",
        ".git/hooks/post-commit",
    ];
    assert_eq!(scene.log("theirs"), ran);
    let current = |s: &HookState| s.state == HookCondition::Current;
    assert!(scene.states(&scene.shim).iter().all(current));
    scene.remove();
    assert_eq!(scene.all(), before);
}

/// A linked worktree has its hooks from the same place, and a moved or copied repository its own.
#[test]
#[expect(clippy::disallowed_methods, reason = "a copy as people make one")]
fn ours_stands_in_front_wherever_the_repository_is() {
    let scene = Scene::new();
    let theirs = scene.sandbox.path("theirs");
    let python = format!(
        "#!/usr/bin/env python3\nimport sys\nopen('{}', 'a').write(sys.argv[0] + '\\n')\n",
        theirs.display()
    );
    script(&scene.hooks.join("commit-msg"), &python, 0o755);
    scene.install();
    scene.tree.commit("f", "1", "one");
    let side = Tree(scene.sandbox.path("side"));
    scene.tree.git(&["worktree", "add", "-q", "../side"]);
    side.commit("f", "2", "two");
    let copy = Tree(scene.sandbox.path("copy"));
    let copied = std::process::Command::new("cp");
    let status = { copied }.arg("-a").args([&scene.tree.0, &copy.0]).status();
    assert!(status.unwrap().success());
    fs::rename(&scene.tree.0, scene.sandbox.path("gone")).unwrap();
    copy.commit("f", "3", "three");
    let usual = scene.hooks.join("commit-msg");
    let ran = [
        ".git/hooks/commit-msg",
        usual.to_str().unwrap(),
        ".git/hooks/commit-msg",
    ];
    assert_eq!(scene.log("theirs"), ran);
    let ours = || {
        let log = scene.log("log").into_iter();
        log.filter(|l| l == "hook git post-commit").count()
    };
    assert_eq!(ours(), 2, "the copy has its own hooks alone");
    assert_eq!(taken_over(&copy.repo()), HOOKS);
    let scene = Scene {
        tree: copy,
        ..scene
    };
    assert_eq!(scene.complaints().len(), HOOKS.len());
    scene.install();
    assert_eq!(scene.complaints(), []);
    assert_eq!(taken_over(&scene.tree.repo()), [""; 0]);
    assert_eq!(scene.runs("4"), 3);
}

/// A git directory that moved out of its checkout has the hooks that the settings named before ours.
#[test]
fn hooks_of_a_git_directory_that_moves_are_those_that_were_named() {
    for named in [None, Some(".githooks")] {
        let scene = Scene::new();
        let theirs = scene.sandbox.path("theirs");
        let python = format!(
            "#!/usr/bin/env python3\nimport sys\nopen('{}', 'a').write(sys.argv[0] + '\\n')\n",
            theirs.display()
        );
        let dir = scene.tree.0.join(named.unwrap_or(".git/hooks"));
        script(&dir.join("commit-msg"), &python, 0o755);
        if let Some(named) = named {
            scene.tree.git(&["config", "core.hooksPath", named]);
        }
        scene.install();
        assert_eq!(scene.runs("1"), 3);
        let moved = scene.sandbox.path("moved");
        let moved = moved.to_str().unwrap();
        scene.tree.git(&["init", "-q", "--separate-git-dir", moved]);
        assert_eq!(scene.runs("2"), 0);
        assert_eq!(scene.log("theirs").len(), 2, "{named:?}");
        assert_eq!(scene.complaints().len(), HOOKS.len());
        assert_eq!(taken_over(&scene.tree.repo()).len(), HOOKS.len());
        scene.install();
        assert_eq!(scene.complaints(), []);
        assert_eq!(scene.runs("3"), 3);
        assert_eq!(scene.log("theirs").len(), 3, "{named:?}");
        let places = [scene.site().theirs_dir()];
        let plan = plan_remove(&scene.site(), &places);
        plan.unwrap().apply().unwrap();
        let set = scene.tree.try_git(&["config", "core.hooksPath"], b"");
        let set = String::from_utf8(set.stdout).unwrap();
        assert_eq!(set.trim(), named.unwrap_or_default());
    }
}

/// What is set after ours counts in every worktree, and is behind ours once that is installed again.
#[test]
fn a_directory_that_is_named_later_wins() {
    let scene = Scene::new();
    script(&scene.hooks.join("commit-msg"), PYTHON, 0o755);
    scene.tree.commit("f", "0", "base");
    let settings = || fs::read_to_string(scene.tree.0.join(".git/config")).unwrap();
    let before = settings();
    scene.install();
    let local = scene
        .tree
        .try_git(&["config", "--local", "core.hooksPath"], b"");
    assert_eq!(local.stdout, b"");
    let side = Tree(scene.sandbox.path("side"));
    scene.tree.git(&["worktree", "add", "-q", "../side"]);
    for name in [".one", ".two"] {
        scene.tree.git(&["config", "core.hooksPath", name]);
        assert_eq!(side.git(&["config", "core.hooksPath"]).trim(), name);
        assert_eq!(scene.complaints().len(), HOOKS.len());
        scene.install();
        assert_eq!(scene.site().theirs_dir(), scene.tree.0.join(name));
        assert_eq!(settings().matches("kept by siglum").count(), 1);
    }
    scene.remove();
    let expected = format!("{before}\thooksPath = .two\n");
    assert_eq!(settings(), expected);
}

/// What earlier versions wrote: a path that held where git stood in the checkout.
#[test]
fn what_an_earlier_version_wrote_is_replaced_and_removed() {
    for named in [None, Some(".githooks")] {
        let scene = Scene::new();
        script(&scene.hooks.join("commit-msg"), PYTHON, 0o755);
        if let Some(named) = named {
            scene.tree.git(&["config", "core.hooksPath", named]);
        }
        scene.tree.commit("f", "0", "base");
        let before = scene.all();
        let path = scene.tree.0.join(".git/config");
        let text = fs::read_to_string(&path).unwrap();
        scene.install();
        let front = scene.tree.0.join(".git").join(FRONT);
        let earlier = || {
            let line = "\thooksPath = .git/siglum-hooks\n";
            let core = match named {
                Some(named) => {
                    let own = format!("\thooksPath = {named}\n");
                    text.replace(&own, &format!("# kept by siglum: {own}{line}"))
                }
                None => text.replace("[core]\n", &format!("[core]\n{line}")),
            };
            let others = "[includeIf \"gitdir:.git/worktrees/\"]\n\tpath = siglum-hooks/config\n";
            fs::write(&path, core + others).unwrap();
            fs::rename(front.join("siglum-here"), front.join("config")).unwrap();
        };
        earlier();
        assert_eq!(scene.runs("1"), 3);
        scene.install();
        let now = fs::read_to_string(&path).unwrap();
        assert!(now.starts_with("[includeIf \"gitdir:/\"]\n"), "{now}");
        assert!(!now.contains("worktrees"), "{now}");
        assert_eq!(scene.runs("2"), 3);
        earlier();
        scene.remove();
        assert_eq!(scene.all(), before);
    }
}

/// Signs that patterns and settings have for themselves, and a line break.
#[test]
fn ours_stands_in_front_below_any_name() {
    let scene = Scene::called("~ we*ird [a]? \\ \"q\"\n#;%");
    script(&scene.hooks.join("commit-msg"), PYTHON, 0o755);
    scene.install();
    assert_eq!(scene.complaints(), []);
    assert_eq!(scene.runs("1"), 3);
    let side = Tree(scene.sandbox.path("side"));
    scene.tree.git(&["worktree", "add", "-q", "../side"]);
    // Git names the message by a path with the line break.
    let ran = || {
        let log = scene.log("log").into_iter();
        log.filter(|line| line.starts_with("hook git ")).count()
    };
    let before = ran();
    side.commit("f", "2", "two");
    assert_eq!(ran() - before, 3, "a linked worktree, too");
}

#[test]
fn whoever_may_use_the_repository_may_use_ours() {
    let scene = Scene::new();
    script(&scene.hooks.join("commit-msg"), PYTHON, 0o755);
    let git_dir = scene.tree.0.join(".git");
    fs::set_permissions(&git_dir, fs::Permissions::from_mode(0o771)).unwrap();
    scene.install();
    let mode = |path: &str| {
        let meta = fs::metadata(git_dir.join(FRONT).join(path)).unwrap();
        meta.permissions().mode() & 0o777
    };
    assert_eq!(
        [mode(""), mode("siglum-config"), mode("siglum-here")],
        [0o771, 0o644, 0o644]
    );
}

#[test]
fn settings_that_git_changes_at_the_moment_are_not_changed() {
    let scene = Scene::new();
    script(&scene.hooks.join("commit-msg"), PYTHON, 0o755);
    let settings = scene.tree.0.join(".git/config");
    let lock = scene.tree.0.join(".git/config.lock");
    let before = fs::read(&settings).unwrap();
    fs::write(&lock, "git's").unwrap();
    let result = scene.plan().apply();
    assert!(matches!(result, Err(GitError::Io { path, .. }) if path == lock));
    assert_eq!(fs::read(&settings).unwrap(), before);
    assert_eq!(fs::read_to_string(&lock).unwrap(), "git's");
    fs::remove_file(&lock).unwrap();
    scene.install();
    assert!(!lock.exists());
    assert_eq!(scene.runs("1"), 3);
}

/// A submodule has its git directory within another one, and a bare repository has worktrees alone.
#[test]
fn ours_stands_in_front_of_submodules_and_bare_repositories() {
    let mut scene = Scene::new();
    scene.tree.commit("f", "0", "base");
    let source = scene.tree.0.to_str().unwrap().to_owned();
    let above = scene.sandbox.init("above", &[]);
    above.git(&["submodule", "add", "-q", &source, "sub"]);
    above.git(&["clone", "-q", "--bare", &source, "../bare.git"]);
    let bare = Tree(scene.sandbox.path("bare.git"));
    bare.git(&["worktree", "add", "-q", "--detach", "../of bare"]);
    for (tree, git_dir) in [
        (above.0.join("sub"), above.0.join(".git/modules/sub")),
        (scene.sandbox.path("of bare"), bare.0),
    ] {
        scene.tree = Tree(tree);
        script(&git_dir.join("hooks/commit-msg"), PYTHON, 0o755);
        let settings = || fs::read(git_dir.join("config")).unwrap();
        let before = settings();
        scene.install();
        assert_eq!(scene.complaints(), []);
        assert_eq!(taken_over(&scene.tree.repo()), [""; 0]);
        assert_eq!(scene.runs("1"), 3);
        let hooks = Tree(git_dir.clone()).git(&["rev-parse", "--git-path", "hooks"]);
        assert_eq!(hooks.trim(), git_dir.join(FRONT).to_str().unwrap());
        scene.remove();
        assert_eq!(settings(), before);
    }
}
