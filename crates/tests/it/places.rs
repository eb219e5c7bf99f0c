//! Where a checkout can be: worktrees, submodules, odd names, odd formats.

use std::thread;

use crate::harness::{Agent, Repo, World};

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
