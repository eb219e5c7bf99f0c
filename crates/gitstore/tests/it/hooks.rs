mod fronts;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use siglum_gitstore::GitError;
use siglum_gitstore::hooks::{
    BLOCK_VERSION, FRONT, FileChange, HOOKS, HookCondition, HookSite, HookState, Obstacle, Plan,
    inspect, plan_install, plan_remove, programs,
};

use crate::sandbox::{Sandbox, Tree, script};

/// A repository and a shim that writes down how it was called.
struct Scene {
    sandbox: Sandbox,
    tree: Tree,
    shim: PathBuf,
    hooks: PathBuf,
}

impl Scene {
    fn new() -> Self {
        Self::called("a tree")
    }

    /// With the repository under this name.
    fn called(name: &str) -> Self {
        let sandbox = Sandbox::new();
        let tree = sandbox.init(name, &[]);
        let shim = sandbox.path("it's a \"shim\" $HOME");
        let log = sandbox.path("log");
        let body = format!(
            "#!/bin/sh\nname=$3\n[ $name = post-rewrite ] && input=$(cat | wc -l)\n\
             echo \"$*\" $input >>'{}'\nexit 1\n",
            log.display()
        );
        script(&shim, &body, 0o755);
        let hooks = tree.0.join(".git/hooks");
        let _ = fs::remove_dir_all(&hooks);
        Self {
            sandbox,
            tree,
            shim,
            hooks,
        }
    }

    fn site(&self) -> HookSite {
        HookSite::find(&self.tree.gitstore(), &self.tree.repo()).unwrap()
    }

    fn plan(&self) -> Plan {
        plan_install(&self.site(), &self.shim).unwrap()
    }

    fn install(&self) -> Plan {
        let plan = self.plan();
        plan.apply().unwrap();
        let again = self.plan();
        assert!(
            again.changes.is_empty(),
            "installing twice is installing once: {again:?}"
        );
        plan
    }

    fn states(&self, shim: &Path) -> Vec<HookState> {
        inspect(&self.site(), shim)
    }

    fn remove(&self) -> Plan {
        let places = [self.site().theirs_dir()];
        let plan = plan_remove(&self.site(), &places).unwrap();
        plan.apply().unwrap();
        let again = plan_remove(&self.site(), &places).unwrap();
        assert!(again.changes.is_empty(), "{again:?}");
        plan
    }

    /// Everything that a person may miss: the hooks, the settings, what git says of the checkout.
    fn all(&self) -> (Listing, Vec<u8>, bool) {
        let settings = fs::read(self.tree.0.join(".git/config")).unwrap();
        let front = self.tree.0.join(".git").join(FRONT).exists();
        (listing(&self.hooks), settings, front)
    }

    fn log(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.sandbox.path(name)).unwrap_or_default();
        text.lines().map(|l| l.trim_end().to_owned()).collect()
    }

    /// Puts a hook in, installs, commits and tells whether ours, then theirs ran; takes ours out
    /// and compares what is left with what was there.
    fn check(&self, content: &str, mode: u32) {
        let path = self.hooks.join("commit-msg");
        script(&path, content, mode);
        let before = self.all();
        self.install();
        let states = self.states(&self.shim);
        assert!(
            states.iter().all(|s| s.state == HookCondition::Current),
            "{states:?}"
        );
        let _ = fs::remove_file(self.sandbox.path("log"));
        let _ = fs::remove_file(self.sandbox.path("theirs"));
        self.tree
            .commit("f", &format!("{content}{mode}"), "message");
        assert!(
            self.log("log")
                .contains(&"hook git commit-msg .git/COMMIT_EDITMSG".to_owned())
        );
        let theirs = if mode & 0o100 == 0 {
            vec![]
        } else {
            vec![".git/COMMIT_EDITMSG".to_owned()]
        };
        assert_eq!(self.log("theirs"), theirs, "{content}");
        self.remove();
        assert_eq!(self.all(), before);
        fs::remove_file(path).unwrap();
    }
}

/// What is in a directory: names, contents or targets, and permissions.
type Listing = Vec<(PathBuf, Vec<u8>, u32)>;

/// Names, contents or targets, and permissions.
fn listing(dir: &Path) -> Listing {
    let mut all: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let content = match fs::read_link(&path) {
                Ok(target) => target.to_string_lossy().into_owned().into_bytes(),
                Err(_) => fs::read(&path).unwrap_or_default(),
            };
            (path, content, meta.permissions().mode())
        })
        .collect();
    all.sort();
    all
}

#[test]
fn hooks_of_ours_alone() {
    let scene = Scene::new();
    scene.install();
    scene.tree.commit("f", "1", "one");
    let expected = [
        "hook git prepare-commit-msg .git/COMMIT_EDITMSG message",
        "hook git commit-msg .git/COMMIT_EDITMSG",
        "hook git post-commit",
    ];
    assert_eq!(scene.log("log"), expected);
    scene.tree.git(&["commit", "-q", "--amend", "-m", "two"]);
    assert_eq!(
        scene.log("log").last().unwrap(),
        "hook git post-rewrite amend 1"
    );
    let text = fs::read_to_string(scene.hooks.join("post-merge")).unwrap();
    assert_eq!(text.lines().count(), 5, "{text}");
    scene.remove();
    assert!(listing(&scene.hooks).is_empty());
    assert!(!scene.tree.0.join(".git").join(FRONT).exists());
}

/// The program may be gone, or be none that runs here, or break down: a block is silent, and the commit goes on.
#[test]
fn a_commit_succeeds_without_a_sound_shim() {
    for (what, shim) in [
        ("gone", None),
        ("a directory", None),
        ("half written", Some("\x7fELF\u{2}\u{1}")),
        ("without its loader", Some("#!/no/such/loader\n")),
        ("crashing", Some("#!/bin/sh\nkill -SEGV $$\n")),
    ] {
        let scene = Scene::new();
        let theirs = "#!/bin/sh\nset | grep siglum_ >&2\necho theirs >&2\n";
        script(&scene.hooks.join("commit-msg"), theirs, 0o755);
        scene.install();
        fs::remove_file(&scene.shim).unwrap();
        match shim {
            Some(text) => script(&scene.shim, text, 0o755),
            None if what == "gone" => {}
            None => fs::create_dir(&scene.shim).unwrap(),
        }
        scene.tree.write("f", "1");
        scene.tree.git(&["add", "f"]);
        let commit = scene.tree.try_git(&["commit", "-q", "-m", "one"], b"");
        let amend = ["commit", "-q", "--amend", "-m", "two"];
        let amend = scene.tree.try_git(&amend, b"");
        for output in [commit, amend] {
            let stderr = String::from_utf8(output.stderr).unwrap();
            assert!(output.status.success(), "{what}: {stderr}");
            assert_eq!(stderr, "theirs\n", "{what}");
        }
    }
}

#[test]
fn foreign_hooks_go_on() {
    let scene = Scene::new();
    let theirs = scene.sandbox.path("theirs");
    let theirs = theirs.display();
    // Plain shell with an early end, strict modes, no shebang, env, a last line without its end.
    scene.check(
        &format!("#!/bin/sh\nset -eu\necho \"$1\" >>{theirs}\nexit 0\n"),
        0o755,
    );
    scene.check(&format!("#!/bin/sh -e\necho \"$1\" >>{theirs}\n"), 0o700);
    scene.check(&format!("echo \"$1\" >>{theirs}"), 0o755);
    scene.check(
        &format!("#!/usr/bin/env bash\nset -euo pipefail\nexec echo \"$1\" >>{theirs}"),
        0o755,
    );
    // pre-commit
    scene.check(
        &format!(
            "#!/usr/bin/env bash\n# File generated by pre-commit: https://pre-commit.com\n# ID: 138fd403232d2ddd5efb44317e38bf03\n\n\
             # start templated\nINSTALL_PYTHON=/bin/echo\nARGS=()\n# end templated\n\
             HERE=\"$(cd \"$(dirname \"$0\")\" && pwd)\"\n[ \"$(basename \"$HERE\")\" = hooks ] || exit 1\nARGS+=(\"$@\")\n\n\
             if [ -x \"$INSTALL_PYTHON\" ]; then\n    exec \"$INSTALL_PYTHON\" \"${{ARGS[@]}}\" >>{theirs}\nelse\n    exit 1\nfi\n"
        ),
        0o755,
    );
    // lefthook
    scene.check(
        &format!(
            "#!/bin/sh\n\nif [ \"$LEFTHOOK_VERBOSE\" = \"1\" -o \"$LEFTHOOK_VERBOSE\" = \"true\" ]; then\n  set -x\nfi\n\
             if [ \"$LEFTHOOK\" = \"0\" ]; then\n  exit 0\nfi\n\ncall_lefthook()\n{{\n  echo \"$3\" >>{theirs}\n}}\n\n\
             call_lefthook run \"commit-msg\" \"$@\"\n"
        ),
        0o755,
    );
    // Python, and a shell script that is switched off.
    scene.check(&format!("#!/usr/bin/env -S python3 -u\nimport sys\nopen('{theirs}', 'a').write(sys.argv[1] + '\\n')\n"), 0o755);
    scene.check(&format!("#!/bin/sh\necho \"$1\" >>{theirs}\n"), 0o644);
    // Two scripts in one.
    scene.check(&format!("#!/bin/sh\n''':'\nexec python3 \"$0\" \"$@\"\n'''\nimport sys\nopen('{theirs}', 'a').write(sys.argv[1] + '\\n')\n"), 0o755);
}

#[test]
fn husky_keeps_its_stubs() {
    let mut scene = Scene::new();
    scene.hooks = scene.tree.0.join(".husky/_");
    fs::create_dir_all(&scene.hooks).unwrap();
    scene.tree.git(&["config", "core.hooksPath", ".husky/_"]);
    assert_eq!(scene.site().theirs_dir(), scene.hooks);
    let theirs = scene.sandbox.path("theirs");
    let runner = "#!/usr/bin/env sh\n[ \"$HUSKY\" = \"2\" ] && set -x\nn=$(basename \"$0\")\ns=$(dirname \"$(dirname \"$0\")\")/$n\n\n\
        [ ! -f \"$s\" ] && exit 0\n\nsh -e \"$s\" \"$@\"\nc=$?\n\n[ $c != 0 ] && echo \"husky - $n script failed (code $c)\"\nexit $c\n";
    script(&scene.hooks.join("h"), runner, 0o644);
    script(
        &scene.hooks.join("../commit-msg"),
        &format!("echo \"$1\" >>{}\n", theirs.display()),
        0o644,
    );
    scene.check("#!/usr/bin/env sh\n. \"$(dirname \"$0\")/h\"", 0o755);
}

#[test]
fn a_hook_that_runs_itself_again_has_one_block() {
    let mut scene = Scene::new();
    scene.hooks = scene.tree.0.join(".husky");
    scene.tree.git(&["config", "core.hooksPath", ".husky"]);
    let theirs = scene.sandbox.path("theirs");
    // husky 8
    let again = "#!/usr/bin/env sh\nif [ -z \"$husky_skip_init\" ]; then\n  readonly hook_name=\"$(basename -- \"$0\")\"\n  \
        export readonly husky_skip_init=1\n  sh -e \"$0\" \"$@\"\n  exitCode=\"$?\"\n  exit $exitCode\nfi\n";
    script(&scene.hooks.join("_/husky.sh"), again, 0o644);
    for (hook, body) in [("commit-msg", "echo $1"), ("post-rewrite", "cat")] {
        let content = format!(
            "#!/usr/bin/env sh\n. \"$(dirname -- \"$0\")/_/husky.sh\"\n\n{body} >>'{}'\n",
            theirs.display()
        );
        script(&scene.hooks.join(hook), &content, 0o755);
    }
    scene.install();
    scene.tree.commit("f", "1", "one");
    scene.tree.git(&["commit", "-q", "--amend", "-m", "two"]);
    let log = scene.log("log");
    assert_eq!(
        log.iter()
            .filter(|l| l.contains("commit-msg .git") && !l.contains("prepare"))
            .count(),
        2,
        "{log:?}"
    );
    assert_eq!(
        log.iter()
            .filter(|l| *l == "hook git post-rewrite amend 1")
            .count(),
        1,
        "{log:?}"
    );
    assert_eq!(scene.log("theirs").len(), 3);
}

#[test]
fn a_failing_hook_still_fails() {
    let scene = Scene::new();
    for content in [
        "#!/bin/sh\nexit 3\n",
        "#!/usr/bin/env python3\nimport sys\nsys.exit(3)\n",
    ] {
        script(&scene.hooks.join("commit-msg"), content, 0o755);
        scene.install();
        scene.tree.write("f", content);
        scene.tree.git(&["add", "f"]);
        assert!(
            !scene
                .tree
                .try_git(&["commit", "-m", "x"], b"")
                .status
                .success()
        );
        scene.remove();
    }
}

#[test]
fn both_read_what_was_rewritten() {
    let scene = Scene::new();
    let theirs = scene.sandbox.path("theirs");
    scene.tree.commit("f", "1", "one");
    let shell = format!(
        "#!/bin/sh\nset -e\nwhile read old new; do echo $1 line >>{}; done\n",
        theirs.display()
    );
    let python = format!(
        "#!/usr/bin/env python3\nimport sys\nopen('{}', 'a').write(sys.argv[1] + ' line\\n' * len(sys.stdin.readlines()))\n",
        theirs.display()
    );
    for content in [shell, python] {
        script(&scene.hooks.join("post-rewrite"), &content, 0o755);
        scene.install();
        scene.tree.git(&["commit", "-q", "--amend", "-m", "two"]);
        assert_eq!(
            scene.log("log").last().unwrap(),
            "hook git post-rewrite amend 1"
        );
        assert_eq!(scene.log("theirs"), ["amend line"], "{content}");
        fs::remove_file(&theirs).unwrap();
        let many = "0123456789 abcdef\n".repeat(20_000);
        let output = scene.tree.try_git(
            &[
                "hook",
                "run",
                "--to-stdin=/dev/stdin",
                "post-rewrite",
                "--",
                "rebase",
            ],
            many.as_bytes(),
        );
        assert!(output.status.success(), "{output:?}");
        assert_eq!(
            scene.log("log").last().unwrap(),
            "hook git post-rewrite rebase 20000"
        );
        assert_eq!(scene.log("theirs").len(), 20_000);
        fs::remove_file(&theirs).unwrap();
        scene.remove();
    }
}

/// In a rebase the shell notes a commit of the git process that the notes are of, and of no other one that has its id.
#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test is the process that starts the hook"
)]
fn notes_of_a_process_are_its_own() {
    let scene = Scene::new();
    scene.tree.commit("f", "1", "one");
    scene.tree.git(&["checkout", "-q", "--detach"]);
    scene.install();
    let rebase = scene.tree.0.join(".git/rebase-merge");
    fs::create_dir(&rebase).unwrap();
    // Its parent is this process.
    let notes = rebase.join(format!("siglum-run-{}-1", std::process::id()));
    fs::write(&notes, "{}\n").unwrap();
    let run = || {
        let mut hook = std::process::Command::new(scene.hooks.join("post-commit"));
        assert!(hook.current_dir(&scene.tree.0).status().unwrap().success());
        (scene.log("log").len(), fs::read_to_string(&notes).unwrap())
    };
    let file = fs::File::options().append(true).open(&notes).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH)
        .unwrap();
    assert_eq!(run(), (1, "{}\n".to_owned()), "another process");
    let years = std::time::Duration::from_secs(4_000_000_000);
    file.set_modified(std::time::SystemTime::UNIX_EPOCH + years)
        .unwrap();
    let head = fs::read_to_string(scene.tree.0.join(".git/HEAD")).unwrap();
    let noted = format!("{{}}\n{} \n", head.trim());
    assert_eq!(run(), (1, noted), "the process of the notes");
}

/// What a team has in its repository is not ours to edit.
#[test]
fn hooks_in_the_checkout_are_left_alone() {
    let mut scene = Scene::new();
    let theirs = scene.sandbox.path("theirs");
    scene.hooks = scene.tree.0.join(".githooks");
    let shell = format!("#!/bin/sh\necho \"$0 $1\" >>{}\n", theirs.display());
    script(&scene.hooks.join("commit-msg"), &shell, 0o755);
    scene.tree.git(&["config", "core.hooksPath", ".githooks"]);
    scene.tree.commit("f", "1", "one");
    let before = scene.all();
    scene.install();
    assert_eq!(scene.tree.git(&["status", "--porcelain"]), "");
    assert_eq!(listing(&scene.hooks), before.0);
    fs::remove_file(&theirs).unwrap();
    scene.tree.commit("f", "2", "two");
    assert_eq!(
        scene.log("theirs"),
        [".githooks/commit-msg .git/COMMIT_EDITMSG"]
    );
    assert!(
        scene
            .log("log")
            .contains(&"hook git post-commit".to_owned())
    );
    // One that comes with the next pull runs, too.
    script(&scene.hooks.join("pre-commit"), &shell, 0o755);
    scene.tree.commit("f", "3", "three");
    assert_eq!(scene.log("theirs")[1], ".githooks/pre-commit");
    fs::remove_file(scene.hooks.join("pre-commit")).unwrap();
    scene.remove();
    assert_eq!(scene.all(), before);
}

#[test]
fn hooks_that_are_switched_off_stay_off() {
    let scene = Scene::new();
    let before = listing_or_nothing(&scene.hooks);
    for value in ["/dev/null", ""] {
        scene.tree.git(&["config", "core.hooksPath", value]);
        let plan = scene.plan();
        assert!(plan.changes.is_empty(), "{plan:?}");
        assert_eq!(plan.notes.len(), 1);
        let off = Obstacle::SwitchedOff(value.to_owned());
        assert_eq!(scene.site().obstacle(), Some(&off));
    }
    scene.tree.git(&["config", "--unset", "core.hooksPath"]);
    scene
        .tree
        .git(&["config", "extensions.worktreeConfig", "true"]);
    scene
        .tree
        .git(&["config", "--worktree", "core.hooksPath", "mine"]);
    let elsewhere = Obstacle::Elsewhere("worktree".to_owned());
    assert_eq!(scene.site().obstacle(), Some(&elsewhere));
    assert!(scene.plan().changes.is_empty());
    assert_eq!(listing_or_nothing(&scene.hooks), before);
}

fn listing_or_nothing(dir: &Path) -> Listing {
    if dir.is_dir() {
        listing(dir)
    } else {
        Vec::new()
    }
}

/// Blocks that hook managers took along, and those of a version that moved hooks aside.
#[test]
fn blocks_are_found_where_they_have_got_to() {
    let scene = Scene::new();
    scene.install();
    let hook = scene.hooks.join("commit-msg");
    for name in ["commit-msg.legacy", "commit-msg.old"] {
        fs::copy(&hook, scene.hooks.join(name)).unwrap();
    }
    let own = fs::read_to_string(&hook).unwrap();
    let python = "#!/usr/bin/env python3\n";
    script(
        &scene.hooks.join("post-merge-siglum-chained"),
        python,
        0o755,
    );
    let chained =
        "if [ -x \"$0-siglum-chained\" ]; then exec \"$0-siglum-chained\" \"$@\"; fi\n# <<<";
    let old = own
        .replace(&format!("hooks v{BLOCK_VERSION} >>>"), "hooks v1 >>>")
        .replace("# <<<", chained);
    script(&scene.hooks.join("post-merge"), &old, 0o755);
    scene.install();
    assert_eq!(
        fs::read_to_string(scene.hooks.join("post-merge")).unwrap(),
        python
    );
    scene.remove();
    let left = listing(&scene.hooks);
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(left[0].1, python.as_bytes());
}

#[test]
fn other_versions_shims_and_permissions() {
    let scene = Scene::new();
    let path = scene.hooks.join("post-commit");
    script(&path, "#!/bin/sh\ntrue\n", 0o755);
    scene.install();
    let state = |shim: &Path| {
        scene
            .states(shim)
            .into_iter()
            .find(|s| s.name == "post-commit")
            .unwrap()
            .state
    };
    assert_eq!(state(&scene.shim), HookCondition::Current);
    assert_eq!(state(Path::new("/other")), HookCondition::OtherShim);
    let current = fs::read_to_string(&path).unwrap();
    fs::write(
        &path,
        current
            .replace(&format!("hooks v{BLOCK_VERSION} >>>"), "hooks v0 >>>")
            .replace(" || :;", ";"),
    )
    .unwrap();
    assert_eq!(state(&scene.shim), HookCondition::Outdated);
    scene.install();
    assert_eq!(fs::read_to_string(&path).unwrap(), current);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(state(&scene.shim), HookCondition::NotExecutable);
    scene.install();
    assert_eq!(state(&scene.shim), HookCondition::Current);
    fs::write(&path, current.replace("# <<< siglum hooks <<<", "")).unwrap();
    assert_eq!(state(&scene.shim), HookCondition::Outdated);
    assert_eq!(scene.plan().notes.len(), 1);
}

#[test]
fn what_cannot_be_is_an_error_that_names_the_path() {
    let scene = Scene::new();
    for bad in ["relative/shim", "/new\nline", ""] {
        assert!(matches!(
            plan_install(&scene.site(), Path::new(bad)),
            Err(GitError::Shim(_))
        ));
    }
    let path = scene.hooks.join("post-commit");
    script(&path, "#!/bin/sh\n", 0o755);
    let plan = scene.plan();
    fs::write(&path, "#!/bin/sh\necho mine\n").unwrap();
    assert!(matches!(plan.apply(), Err(GitError::Changed(p)) if p == path));
    assert_eq!(fs::read_to_string(&path).unwrap(), "#!/bin/sh\necho mine\n");
}

#[test]
fn a_change_can_be_shown() {
    let scene = Scene::new();
    let path = scene.hooks.join("post-merge");
    script(&path, "#!/bin/sh\ntrue\n", 0o755);
    let plan = scene.plan();
    assert_eq!(plan.changes.len(), HOOKS.len());
    let change = plan.changes.iter().find(|c| c.path() == path).unwrap();
    assert!(matches!(
        change,
        FileChange::Write {
            before: Some(_),
            ..
        }
    ));
    let diff = change.diff();
    assert!(
        diff.contains(&format!(
            "@@ -1,2 +1,5 @@\n #!/bin/sh\n+# >>> siglum hooks v{BLOCK_VERSION} >>>\n"
        )),
        "{diff}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn install_and_remove_is_nothing(
        shebang in prop_oneof![Just(""), Just("#!/bin/sh\n"), Just("#!/bin/sh"), Just("#!/usr/bin/env bash\r\n"), Just("#!/usr/bin/perl\n")],
        body in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..80),
            "([a-z $\"'#>\\\\]{0,12}\n){0,6}[a-z]{0,3}".prop_map(String::into_bytes),
        ],
        mode in prop_oneof![Just(0o755), Just(0o644), Just(0o711)],
    ) {
        let scene = Scene::new();
        fs::create_dir_all(&scene.hooks).unwrap();
        let content = [shebang.as_bytes(), &body].concat();
        for hook in HOOKS {
            fs::write(scene.hooks.join(hook), &content).unwrap();
            fs::set_permissions(scene.hooks.join(hook), fs::Permissions::from_mode(mode)).unwrap();
        }
        let before = scene.all();
        scene.install();
        scene.remove();
        prop_assert_eq!(scene.all(), before);
    }
}

#[test]
fn the_programs_are_known_that_hooks_call() {
    let scene = Scene::new();
    assert!(programs(&scene.site()).is_empty());
    scene.install();
    let called: Vec<PathBuf> = programs(&scene.site()).into_iter().collect();
    assert_eq!(called, std::slice::from_ref(&scene.shim));
}
