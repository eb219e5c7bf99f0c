//! A repository from anybody: its settings, attributes and hooks name programs, and asking Siglum
//! about it runs none of them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::harness::{Agent, Repo, World};

/// Makes every setting, attribute and hook that can name a program name one that leaves a file behind.
const HOSTILE: &str = r#"
mark() { printf 'touch %s/%s; %s' "$MARKS" "$1" "${2-false}"; }
set_to() { git config "$1" "$(mark "$1" "$2")"; }
echo '* filter=evil diff=evil merge=evil' >.gitattributes
mkdir -p .git/info && echo '* filter=evil diff=evil' >.git/info/attributes
for hook in applypatch-msg pre-commit prepare-commit-msg commit-msg post-commit post-merge \
  post-checkout post-rewrite post-index-change reference-transaction pre-auto-gc pre-push update; do
  printf '#!/usr/bin/env python3\nopen("%s/hook-%s", "w")\n' "$MARKS" $hook >.git/hooks/$hook
  chmod +x .git/hooks/$hook
done
for key in core.fsmonitor core.pager core.editor core.askPass core.sshCommand core.gitProxy \
  core.alternateRefsCommand sequence.editor credential.helper gpg.program gpg.ssh.program \
  gpg.x509.program diff.external diff.evil.command diff.evil.textconv interactive.diffFilter \
  merge.evil.driver pager.log pager.blame pager.config pager.status pager.diff-tree \
  remote.origin.uploadpack remote.origin.receivepack uploadpack.packObjectsHook \
  filter.evil.process trailer.evil.cmd trailer.evil.command browser.evil.cmd; do
  set_to $key
done
set_to filter.evil.clean cat
set_to filter.evil.smudge cat
git config filter.evil.required true
for key in alias.log alias.config alias.rev-parse alias.status alias.cat-file; do
  git config $key "!$(mark $key)"
done
git config remote.origin.url "ext::sh -c touch% $MARKS/ext"
git config remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*'
git config remote.origin.promisor true
git config remote.origin.partialclonefilter blob:none
git config protocol.ext.allow always
git config protocol.allow always
git config log.showSignature true
git config commit.gpgSign true
git config gc.auto 1
git config submodule.recurse true
git config status.submoduleSummary true
git config user.name Eve
git config user.email eve@example.com
"#;

/// A clone of a hostile hand, with a commit, a file that changed since, and a submodule that is as bad.
fn hostile(world: &mut World) -> PathBuf {
    let (dir, marks) = (world.root.join("clone"), world.root.join("marks"));
    fs::create_dir_all(&dir).unwrap();
    fs::create_dir_all(&marks).unwrap();
    world.variables.push(("MARKS", marks));
    let make = "git init -q -b main ../lib && git -C ../lib commit -q --allow-empty -m lib && \
                git init -q -b main . && printf 'one\\ntwo\\n' >file && git add file && \
                git -c protocol.file.allow=always submodule -q add ../lib lib && \
                echo one >lib/file && git -C lib add file && git commit -q -m base";
    world.sh(&dir, make).ok();
    let module = "cd lib && d=$(git rev-parse --git-dir) && git config core.fsmonitor \"touch $MARKS/module-fsmonitor; false\" && \
                  git config filter.evil.clean \"touch $MARKS/module-filter; cat\" && \
                  echo '* filter=evil' >.gitattributes && echo two >file && test -n \"$d\"";
    world.sh(&dir, module).ok();
    world.sh(&dir, HOSTILE).ok();
    // A second without a change makes git trust times, so the filters would run for what differs.
    fs::write(dir.join("file"), "two\none\n").unwrap();
    fs::remove_dir_all(world.root.join("marks")).unwrap();
    fs::create_dir_all(world.root.join("marks")).unwrap();
    dir
}

/// What programs of the repository left behind.
fn marks(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.root.join("marks")).unwrap().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Commands that somebody may run to look at a repository, before and after `init`.
const COMMANDS: &[&[&str]] = &[
    &["why", "HEAD"],
    &["why", "HEAD", "--explain"],
    &["why", "file:1"],
    &["why"],
    &["log"],
    &["log", "--all"],
    &["check", "HEAD"],
    &["show", "HEAD"],
    &["search", "one"],
    &["cost"],
    &["status"],
    &["session", "list"],
    &["checkpoint", "list"],
    &["pipeline", "list"],
    &["audit", "list"],
    &["projection", "list"],
    &["otel", "list"],
    &["heartbeat", "list"],
    &["config", "list"],
    &["import", "--all", "--dry-run"],
    &["init", "--dry-run"],
    &["doctor"],
    &["doctor", "--secrets"],
    &["verify"],
    &["rebuild", "judgements"],
    &["sync"],
    &["run", "--", "true"],
    &["run", "--worktree", "--", "true"],
    &[
        "run",
        "--worktree",
        "--",
        "sh",
        "-c",
        "echo work >new; echo changed >file",
    ],
    &["adopt", "HEAD", "--human", "--yes"],
];

#[test]
fn no_command_runs_a_program_that_a_repository_names() {
    let mut world = World::new();
    let dir = hostile(&mut world);
    let repo = world.at(&dir);
    let ask = |command: &[&str], when: &str| {
        let ran = repo.siglum(command);
        assert_eq!(marks(&world), [""; 0], "{when}: {command:?}: {ran:?}");
    };
    for command in COMMANDS {
        ask(command, "before init");
    }
    ask(&["init", "--yes"], "init");
    for command in COMMANDS {
        ask(command, "after init");
    }
    ask(&["doctor", "--fix"], "after init");
    ask(&["remove", "--yes"], "after init");
}

#[test]
fn hooks_of_agents_and_the_worker_run_no_program_that_a_repository_names() {
    let mut world = World::new();
    let dir = hostile(&mut world);
    let repo = world.at(&dir);
    repo.siglum(&["init", "--yes"]).ok();
    let mut agent = Agent::start(&repo, "guest");
    agent.write("other", "text\n");
    // A commit without git's hooks: the agent's hook, the worker and the sweep look at it.
    agent
        .sh("git -c core.fsmonitor=false -c core.hooksPath=/dev/null -c filter.evil.clean= -c filter.evil.process= \
             -c filter.evil.required=false -c commit.gpgSign=false commit -q --allow-empty -m unseen")
        .ok();
    fs::remove_dir_all(world.root.join("marks")).unwrap();
    fs::create_dir_all(world.root.join("marks")).unwrap();
    agent.stop();
    agent.prompt("again");
    agent.stop();
    drop(agent);
    assert_eq!(
        repo.why("HEAD").0["commit"].as_str().map(str::len),
        Some(40)
    );
    crate::harness::until("the worker is done", || {
        let lock = world.siglum_home().join("worker.lock");
        repo.sh(&format!("flock -n '{}' true", lock.display())).code == Some(0)
    });
    assert_eq!(marks(&world), [""; 0]);
}

/// The same with the system's own account of what was started.
#[test]
fn strace_sees_nothing_started_but_our_git() {
    let mut world = World::new();
    if world.sh(&world.root, "strace -f true").code != Some(0) {
        eprintln!("no strace here");
        return;
    }
    let dir = hostile(&mut world);
    let repo = world.at(&dir);
    for command in COMMANDS.iter().filter(|command| command[0] != "run") {
        let started = started(&repo, command);
        let strange: Vec<&String> = started.iter().filter(|path| !is_ours(path)).collect();
        assert!(strange.is_empty(), "{command:?}: {strange:?}");
    }
}

/// The programs that a command starts, all the way down.
fn started(repo: &Repo<'_>, command: &[&str]) -> Vec<String> {
    let trace = repo.world.root.join("trace");
    let mut strace = repo.world.command("strace");
    strace.args([
        "-f",
        "-qq",
        "-e",
        "trace=execve",
        "-e",
        "status=successful",
        "-o",
    ]);
    strace.arg(&trace).arg(World::program()).args(command);
    strace.current_dir(&repo.dir).output().unwrap();
    let text = fs::read_to_string(&trace).unwrap();
    let path = |line: &str| {
        Some(
            line.split_once("execve(\"")?
                .1
                .split('"')
                .next()?
                .to_owned(),
        )
    };
    text.lines().filter_map(path).collect()
}

fn is_ours(path: &str) -> bool {
    let name = Path::new(path).file_name().unwrap_or_default();
    Path::new(path) == World::program() || name == "git"
}

/// Git is started in one place, with everything switched off. What plays or measures has a git of its own.
#[test]
fn git_is_started_in_one_place() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = Vec::new();
    for name in [
        "agents",
        "cli",
        "domain",
        "egress",
        "engine",
        "gateway",
        "gitstore",
        "ledger",
        "platform",
        "store",
        "telemetry",
    ] {
        look_for_git(&crates.join(name).join("src"), &mut found);
    }
    assert_eq!(found, [""; 0]);
}

fn look_for_git(dir: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let path = entry.path();
        let is_test = path
            .file_name()
            .is_some_and(|name| name == "tests.rs" || name == "tests");
        if path.is_dir() && !is_test {
            look_for_git(&path, found);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        let starts = [
            "Command::new(\"git",
            "Command::new(env::git",
            "command(\"git",
        ];
        let lines = text
            .lines()
            .filter(|line| starts.iter().any(|s| line.contains(s)));
        found.extend(
            lines
                .filter(|_| !is_test)
                .map(|line| format!("{}: {line}", path.display())),
        );
    }
}
