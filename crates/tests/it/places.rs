//! Where a checkout can be: worktrees, submodules, odd names, odd formats.

use std::fs;
use std::thread;

use crate::harness::{Agent, Repo, World, until};

/// One commit by an agent, and one by nobody, where the checkout is.
fn both(repo: &Repo<'_>, what: &str) {
    let name: String = what.chars().filter(char::is_ascii_alphanumeric).collect();
    let mut agent = Agent::start(repo, &name);
    agent.write("by-agent", &format!("{what}\n"));
    agent
        .sh("git add -A && git commit -q -m 'by an agent'")
        .ok();
    repo.check(what, "HEAD", &agent.certain());
    let why = repo.why("HEAD");
    assert_eq!(why.authors(), [(name, 1)].into(), "{what}: {why}");
    repo.sh("echo x >>by-nobody && git add -A && git commit -q -m 'by nobody'")
        .ok();
    repo.check(what, "HEAD", "unknown unknown");
}

#[test]
fn eight_linked_worktrees_at_once() {
    let world = World::new();
    let repo = world.repo();
    for n in 0..8 {
        repo.git(&[
            "worktree",
            "add",
            "-q",
            "-b",
            &format!("b{n}"),
            &format!("../w{n}"),
        ]);
    }
    thread::scope(|scope| {
        for n in 0..8 {
            let worktree = repo.beside(format!("../w{n}"));
            scope.spawn(move || {
                let mut agent = Agent::start(&worktree, &format!("tree{n}"));
                for commit in 0..3 {
                    agent.write("same", &format!("{n} {commit}\n"));
                    agent
                        .sh(&format!("git add -A && git commit -q -m 'c{commit}'"))
                        .ok();
                }
            });
        }
    });
    for n in 0..8 {
        let worktree = repo.beside(format!("../w{n}"));
        for commit in repo.commits(&format!("main..b{n}")) {
            worktree.check("a worktree", &commit, &format!("tree{n} certain"));
            assert_eq!(
                repo.why(&commit).authors(),
                [(format!("tree{n}"), 1)].into()
            );
        }
    }
    assert_eq!(world.declines(), [""; 0]);
}

#[test]
fn a_detached_head() {
    let world = World::new();
    let repo = world.repo();
    repo.git(&["checkout", "-q", "--detach"]);
    both(&repo, "detached");
}

#[test]
fn an_unborn_branch() {
    let world = World::new();
    let repo = world.repo_made_by("git init -q -b main .");
    both(&repo, "unborn");
    repo.sh("git checkout -q --orphan other && git rm -rfq .")
        .ok();
    both(&repo, "orphan");
}

#[test]
fn other_formats_of_repositories() {
    for (what, options) in [
        ("sha256", "--object-format=sha256"),
        ("reftable", "--ref-format=reftable"),
        (
            "sha256reftable",
            "--object-format=sha256 --ref-format=reftable",
        ),
        ("separate", "--separate-git-dir=../elsewhere.git"),
    ] {
        let world = World::new();
        let make =
            format!("git init -q -b main {options} . && git commit -q --allow-empty -m base");
        let repo = world.repo_made_by(&make);
        both(&repo, what);
        repo.git(&["pack-refs", "--all"]);
        let mut agent = Agent::start(&repo, "packed");
        agent.sh("git commit -q --allow-empty -m packed").ok();
        repo.check("packed refs", "HEAD", &agent.certain());
        repo.git(&["worktree", "add", "-q", "../linked"]);
        both(&repo.beside("../linked"), &format!("{what}linked"));
    }
}

#[test]
fn names_that_shells_and_lines_stumble_over() {
    for name in [
        "two words",
        "it's \"quoted\" $HOME `x`",
        "söll 日本",
        "-dash",
        "a\nb",
    ] {
        let world = World::new();
        let dir = world.root.join(name);
        std::fs::create_dir(&dir).unwrap();
        let repo = world.at(&dir);
        repo.sh("git init -q -b main . && git commit -q --allow-empty -m base")
            .ok();
        repo.siglum(&["init", "--yes"]).ok();
        if name.contains('\n') {
            // A payload cannot name such a place in the ledger's grammar; nothing may break.
            repo.sh("git commit -q --allow-empty -m plain").ok();
            repo.check(name, "HEAD", "unknown unknown");
            continue;
        }
        both(&repo, name);
    }
}

#[test]
fn file_names_that_lines_stumble_over() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "names");
    let names = [
        "a b",
        "ä/ö",
        "-x",
        "q\"uote'",
        "tab\there",
        "日本.txt",
        "new\nline",
    ];
    for name in names {
        agent.write(name, "one\ntwo\n");
    }
    agent.sh("git add -A && git commit -q -m names").ok();
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), agent.certain(), "{why}");
    for name in names {
        let lines = why.lines(name);
        assert_eq!(
            lines.get("names").map(String::as_str),
            Some("1-2"),
            "{name:?}: {why}"
        );
    }
}

#[test]
fn a_home_of_siglum_with_an_odd_name() {
    let world = World::new();
    let dir = world.root.join("odd");
    let home = world.root.join("my 'home' ä");
    std::fs::create_dir(&dir).unwrap();
    let script = "git init -q -b main . && \"$0\" init --yes 2>/dev/null >&2 && \
                  git commit -q --allow-empty -m one && \"$0\" why --json";
    let mut command = world.command("/bin/sh");
    command.args(["-c", script]).arg(World::program());
    command.env("SIGLUM_HOME", &home).current_dir(&dir);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["data"]["committer"]["kind"], "unknown");
    assert_eq!(answer["data"]["seen_by"], "hook", "the hook found its home");
}

#[test]
fn a_worktree_of_a_bare_repository() {
    let world = World::new();
    let bare = world.root.join("bare.git");
    world
        .sh(&world.root, "git init -q -b main --bare bare.git && git -C bare.git worktree add -q --orphan -b main ../tree")
        .ok();
    let repo = world.at(&bare).beside("../tree");
    repo.siglum(&["init", "--yes"]).ok();
    both(&repo, "bare");
}

#[test]
fn a_submodule_is_a_repository_of_its_own() {
    let world = World::new();
    let repo = world.repo();
    repo.sh("git clone -q . ../lib && git -c protocol.file.allow=always submodule -q add ../lib lib && git commit -q -m lib").ok();
    let module = repo.beside("lib");
    module.siglum(&["init", "--yes"]).ok();
    both(&module, "submodule");
    both(&repo, "superproject");
}

#[test]
fn an_agent_in_one_checkout_commits_in_another() {
    let world = World::new();
    let repo = world.repo();
    repo.git(&["worktree", "add", "-q", "../side"]);
    let mut agent = Agent::start(&repo, "visitor");
    agent
        .sh("git -C ../side commit -q --allow-empty -m 'from next door'")
        .ok();
    repo.beside("../side")
        .check("next door", "HEAD", &agent.certain());
    agent
        .sh("cd ../side && git commit -q --allow-empty -m inside")
        .ok();
    repo.beside("../side")
        .check("inside", "HEAD", &agent.certain());
}

#[test]
fn a_sub_directory_as_working_directory() {
    let world = World::new();
    let repo = world.repo();
    std::fs::create_dir_all(repo.dir.join("deep/down")).unwrap();
    let below = repo.beside("deep/down");
    let mut agent = Agent::start(&below, "below");
    agent.write("file", "one\n");
    agent.sh("git add -A && git commit -q -m below").ok();
    below.check("below", "HEAD", &agent.certain());
    assert_eq!(repo.why("HEAD").lines("deep/down/file")["below"], "1");
}

#[test]
fn a_repository_without_siglum_is_not_recorded() {
    let world = World::new();
    let _repo = world.repo();
    let dir = world.root.join("private");
    std::fs::create_dir(&dir).unwrap();
    let private = world.at(&dir);
    private.sh("git init -q -b main .").ok();
    let mut agent = Agent::start(&private, "private");
    agent.write("file", "secret\n");
    agent.sh("git add -A && git commit -q -m private").ok();
    assert_eq!(private.trailers("HEAD"), [""; 0]);
    assert_eq!(world.count("SELECT count(*) FROM sessions"), 0);
    assert_eq!(world.spooled(), 0);
}

#[test]
fn a_git_directory_and_a_checkout_that_variables_name() {
    let world = World::new();
    let root = &world.root;
    world
        .sh(root, "git init -q -b main --bare dots.git && mkdir tree && git --git-dir=dots.git config core.bare false")
        .ok();
    let (git_dir, tree) = (root.join("dots.git"), root.join("tree"));
    let both = format!(
        "GIT_DIR='{}' GIT_WORK_TREE='{}'",
        git_dir.display(),
        tree.display()
    );
    let repo = world.at(&tree);
    let siglum = World::program();
    let run = |command: &str| repo.sh(&format!("export {both}; {command}"));
    run("git commit -q --allow-empty -m base").ok();
    let init = run(&format!("'{}' init --yes", siglum.display()));
    assert_eq!(init.code, Some(0), "{init:?}");
    assert!(git_dir.join("hooks/post-commit").exists());
    run("git commit -q --allow-empty -m one").ok();
    let why = run(&format!("'{}' why HEAD --json", siglum.display())).ok();
    let why: serde_json::Value = serde_json::from_str(&why).unwrap();
    assert_eq!(why["data"]["seen_by"], "hook", "{why}");
}

#[test]
fn where_there_is_no_checkout_init_says_so() {
    let world = World::new();
    world
        .sh(
            &world.root,
            "git init -q --bare bare.git && git init -q repo",
        )
        .ok();
    for (dir, what) in [
        ("bare.git", "bare repository"),
        ("bare.git/objects", "bare repository"),
        ("repo/.git", "git directory"),
        ("repo/.git/hooks", "git directory"),
    ] {
        let ran = world.siglum(&world.root.join(dir), &["init", "--yes"]);
        assert_eq!(ran.code, Some(1), "{dir}: {ran:?}");
        let says = format!("is a {what} without a worktree");
        assert!(ran.stderr.contains(&says), "{dir}: {ran:?}");
        assert!(ran.stderr.contains("hint:"), "{dir}: {ran:?}");
    }
    assert!(!world.siglum_home().exists());
}

#[test]
fn where_hooks_are_switched_off_init_and_doctor_say_so() {
    for value in ["/dev/null", ""] {
        let world = World::new();
        let repo = world.repo_made_by(&format!(
            "git init -q -b main . && git commit -q --allow-empty -m base && git config core.hooksPath '{value}'"
        ));
        let init = repo.siglum(&["init", "--yes"]);
        assert!(
            init.stderr.contains("switched off here by core.hooksPath="),
            "{init:?}"
        );
        assert_eq!(repo.git(&["config", "core.hooksPath"]), value);
        let doctor = repo.siglum(&["doctor"]);
        assert!(doctor.stdout.contains("core.hooksPath="), "{doctor:?}");
    }
}

/// A directory of hooks that is not there yet may come with the next checkout.
#[test]
fn a_directory_of_hooks_that_is_missing_is_no_obstacle() {
    let world = World::new();
    let repo = world.repo_made_by(
        "git init -q -b main . && git commit -q --allow-empty -m base && git config core.hooksPath .later",
    );
    for command in [&["init", "--yes"][..], &["doctor"]] {
        let ran = repo.siglum(command);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let output = ran.stdout + &ran.stderr;
        let words: Vec<&str> = output.split_whitespace().collect();
        let says = "which is no directory: no hook of yours runs until it is one";
        assert!(words.join(" ").contains(says), "{command:?}: {output}");
    }
    let mut agent = Agent::start(&repo, "early");
    agent.sh("git commit -q --allow-empty -m one").ok();
    repo.check("before", "HEAD", &agent.certain());
    assert!(!repo.dir.join(".later").exists());
    repo.sh("mkdir .later && printf '#!/bin/sh\necho ran >ran\n' >.later/commit-msg && chmod +x .later/commit-msg")
        .ok();
    agent.sh("git commit -q --allow-empty -m two").ok();
    repo.check("after", "HEAD", &agent.certain());
    assert!(repo.dir.join("ran").exists());
}

#[test]
fn a_relative_home_is_refused() {
    let world = World::new();
    let repo = world.repo();
    let program = World::program();
    for home in ["siglum", "./here", "../x"] {
        let ran = repo.sh(&format!(
            "SIGLUM_HOME={home} '{}' status",
            program.display()
        ));
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(
            ran.stderr.contains("SIGLUM_HOME must be an absolute path"),
            "{ran:?}"
        );
        repo.sh(&format!(
            "SIGLUM_HOME={home} git commit -q --allow-empty -m one"
        ))
        .ok();
        assert!(!repo.dir.join(home).exists(), "a hook makes no home either");
    }
}

/// Whoever cleans the environment is recorded in the home that the hooks were made from.
#[test]
fn hooks_know_their_home_without_an_environment() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "clean");
    let commit =
        "env -i PATH=\"$PATH\" git -c user.name=a -c user.email=b commit -q --allow-empty -m one";
    agent.sh(commit).ok();
    let id = repo.id("HEAD");
    let sql = format!("SELECT count(*) FROM commits WHERE \"commit\" = '{id}'");
    assert_eq!(world.count(&sql), 1);
    assert_eq!(repo.committer("HEAD").split(' ').next(), Some("clean"));
}

/// Also where the ledger is lost: what such a commit brings waits in that home, and not in one of somebody else's.
#[test]
fn hooks_know_their_home_without_an_environment_and_without_a_ledger() {
    let world = World::new();
    let repo = world.repo();
    until("the worker has left", || world.processes().is_empty());
    for name in ["ledger.db", "ledger.db-wal", "ledger.db-shm"] {
        let _ = fs::remove_file(world.siglum_home().join(name));
    }
    let commit =
        "env -i PATH=\"$PATH\" git -c user.name=a -c user.email=b commit -q --allow-empty -m one";
    repo.sh(commit).ok();
    assert!(world.spooled() > 0, "it waits in this home");
}

/// Places that are not what they should be, a command that comes upon one, and how it is called in what is said.
const WRONG_PLACES: &[(&str, &str, &str)] = &[
    (":", "-C ../gone status", "../gone"),
    (":", "restore ../gone --yes", "../gone"),
    (":", "backup ../gone/copy", "../gone/copy"),
    ("mkdir ../dir", "backup --force ../dir", "../dir"),
    (":", "import ../gone", "../gone"),
    (":", "pipeline contract --file ../gone p c", "../gone"),
    (":", "upgrade --check --release ../gone", "../gone"),
    (
        ":",
        "sync --to http://127.0.0.1:9 --token-file ../gone",
        "../gone",
    ),
    (
        ":",
        "serve --tls-certificate ../gone --tls-key ../gone",
        "../gone",
    ),
    (
        "mkdir -p ~/.config/siglum/config.toml",
        "config set record true",
        ".config/siglum/config.toml",
    ),
    (
        "rm ~/.claude/settings.json && mkdir ~/.claude/settings.json",
        "init --yes",
        ".claude/settings.json",
    ),
    (
        "rm ~/.claude/settings.json && mkdir ~/.claude/settings.json",
        "uninstall --yes",
        ".claude/settings.json",
    ),
    (
        "rm \"$SIGLUM_HOME/installed.json\" && mkdir \"$SIGLUM_HOME/installed.json\"",
        "uninstall --yes",
        "siglum/installed.json",
    ),
    (
        "rm -r \"$SIGLUM_HOME/bin\" && touch \"$SIGLUM_HOME/bin\"",
        "init --yes",
        "siglum/bin",
    ),
    (
        "rm \"$SIGLUM_HOME\"/ledger.db* && mkdir \"$SIGLUM_HOME/ledger.db\"",
        "why",
        "siglum/ledger.db",
    ),
];

#[test]
fn errors_name_the_path_that_they_are_about() {
    for (make, command, path) in WRONG_PLACES {
        let world = World::new();
        let repo = world.repo();
        until("the worker has left", || world.processes().is_empty());
        repo.sh(make).ok();
        let args: Vec<&str> = command.split(' ').collect();
        let ran = repo.siglum(&args);
        assert_ne!(ran.code, Some(0), "{command}: {ran:?}");
        assert!(ran.stderr.contains(path), "{command}: {ran:?}");
    }
}
