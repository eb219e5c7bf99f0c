//! A repository from anybody: its settings, attributes and hooks name programs, and asking Siglum
//! about it runs none of them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::gateway::client::Client;
use crate::harness::{Agent, Repo, World, left_out, source_lines_with, until};

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

/// An agent works in the clone and commits. Its own git, which is not asked here, is kept from what would run.
fn guest(repo: &Repo<'_>) -> Agent {
    let mut agent = Agent::start(repo, "guest");
    agent.write("other", "text\n");
    // A commit without git's hooks: the agent's hook, the worker and the sweep look at it.
    agent
        .sh("git -c core.fsmonitor=false -c core.hooksPath=/dev/null -c filter.evil.clean= -c filter.evil.process= \
             -c filter.evil.required=false -c commit.gpgSign=false commit --allow-empty -m unseen")
        .ok();
    let marks = repo.world.root.join("marks");
    fs::remove_dir_all(&marks).unwrap();
    fs::create_dir_all(&marks).unwrap();
    agent
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

/// Commands that somebody may run to look at a repository, before `init`, and after it and the work of an agent. Words in
/// capitals stand for what the ledger has by then ([`named`]).
pub(crate) const COMMANDS: &[&[&str]] = &[
    &["why", "HEAD"],
    &["why", "HEAD", "--explain"],
    &["why", "file:1"],
    &["why", "file"],
    &["why"],
    &["log"],
    &["log", "--limit", "0"],
    &["log", "--since", "1d", "HEAD"],
    &["log", "--agent", "claude-code"],
    &["check", "HEAD"],
    &["show", "HEAD"],
    &["resume", "HEAD", "--print"],
    &["search", "one"],
    &["cost"],
    &["status"],
    &["agents"],
    &["session", "list"],
    &["checkpoint", "list"],
    &["pipeline", "list"],
    &["audit", "list"],
    &["projection", "list"],
    &["otel", "list"],
    &["heartbeat", "list"],
    &["config", "list"],
    &["import", "--all", "--dry-run"],
    &["record", "--agent", "tester"],
    &["relocate"],
    &["relocate", "--dry-run", ".", "../lib"],
    &["init", "--dry-run"],
    &["init", "--dry-run", "--same-as", "."],
    &["doctor"],
    &["doctor", "--secrets"],
    &["verify"],
    &["rebuild", "judgements"],
    &["sync", "--to", "http://127.0.0.1:9"],
    &["sync"],
    &["projection", "remove", "gateway-127-0-0-1"],
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
    &["adopt", "HEAD", "guest"],
];

/// How a row ends once there is something to work on: well, or where what it asks for is elsewhere. A wrong use, or
/// something that is not there, would show nothing.
fn exit_code(row: &[&str]) -> i32 {
    match row {
        // It finds that the commit of the agent has no trailer.
        ["check", ..] => 1,
        // It finds that the repository is where it was.
        ["relocate", "--dry-run", ..] => 1,
        // Nobody listens there, or can.
        ["sync" | "login" | "serve", ..] | ["otel", "test", ..] | ["heartbeat", "run", ..] => 1,
        // It reads the file, which describes no release.
        ["upgrade", "--check", "--release", ..] => 1,
        // Nobody has logged in, or sent a ledger.
        ["logout"] | ["token", "release", ..] => 3,
        _ => 0,
    }
}

/// A row with the ids of what its words in capitals stand for.
fn named(repo: &Repo<'_>, row: &[&str]) -> Vec<String> {
    let id = |list: &[&str], place: &str| {
        let listed = repo.world.json(&repo.dir, list);
        let id = listed.pointer(place).and_then(Value::as_str);
        id.expect(place).to_owned()
    };
    let word = |word: &&str| match *word {
        "TOKEN" => id(&["token", "list"], "/tokens/0/id"),
        "CHECKPOINT" => id(&["checkpoint", "list"], "/items/0/id"),
        "DRIVEN" => id(&["context", "show", "route"], "/contexts/0/session"),
        word => word.to_owned(),
    };
    row.iter().map(word).collect()
}

#[test]
fn no_command_runs_a_program_that_a_repository_names() {
    let mut world = World::new();
    let dir = hostile(&mut world);
    let repo = world.at(&dir);
    let ask = |command: &[&str], when: &str| {
        let ran = repo.siglum(command);
        assert_eq!(marks(&world), [""; 0], "{when}: {command:?}: {ran:?}");
        ran
    };
    let works = |command: &[&str]| {
        let ran = ask(command, "after init");
        assert_eq!(ran.code, Some(exit_code(command)), "{command:?}: {ran:?}");
    };
    for command in COMMANDS {
        ask(command, "before init");
    }
    // It plays agents in a repository of its own.
    ask(&["demo"], "before init").ok();
    works(&["init", "--yes"]);
    works(&["init", "--yes", "--same-as", "."]);
    guest(&repo).stop();
    COMMANDS.iter().for_each(|command| works(command));
    works(&["doctor", "--fix"]);
    works(&["uninstall", "--yes"]);
}

#[test]
fn hooks_of_agents_and_the_worker_run_no_program_that_a_repository_names() {
    let mut world = World::new();
    let dir = hostile(&mut world);
    let repo = world.at(&dir);
    repo.siglum(&["init", "--yes"]).ok();
    let mut agent = guest(&repo);
    agent.stop();
    agent.prompt("again");
    agent.stop();
    drop(agent);
    assert_eq!(
        repo.why("HEAD").0["commit"].as_str().map(str::len),
        Some(40)
    );
    until("the worker is done", || world.worker_is_done());
    assert_eq!(marks(&world), [""; 0]);
}

/// Commands that need more than a repository, each with arguments that lead it as far as it goes there.
const OTHERS: &[&[&str]] = &[
    &["demo", "--help"],
    &["session", "show", "guest"],
    &["session", "end", "guest"],
    &["session", "recover"],
    &["tail", "guest"],
    &["statusline"],
    &["files", "file"],
    &["session", "rename", "guest", "name"],
    &["context", "list"],
    &["context", "show", "route"],
    &["context", "explain", "route"],
    &["session", "fork", "--conversation", "c", "DRIVEN"],
    &["session", "archive", "--yes", "DRIVEN"],
    &["checkpoint", "show", "CHECKPOINT"],
    &["link", "add", "guest", "issue=1"],
    &["link", "list", "guest"],
    &["link", "remove", "guest", "issue=1"],
    &[
        "heartbeat",
        "add",
        "--agent",
        "codex",
        "--every",
        "1h",
        "--prompt",
        "hi",
        "beat",
    ],
    &["heartbeat", "show", "beat"],
    &[
        "heartbeat",
        "run",
        "beat",
        "--gateway",
        "http://127.0.0.1:9",
    ],
    &["heartbeat", "pause", "beat"],
    &["heartbeat", "resume", "beat"],
    &["heartbeat", "remove", "beat"],
    &["token", "create", "--name", "t"],
    &["token", "list"],
    &["token", "rotate", "TOKEN"],
    &["token", "revoke", "TOKEN"],
    &["token", "release", "led_019ad0000000700080000000000000ff"],
    &["audit", "verify"],
    &["audit", "export"],
    &["pipeline", "plan", "p", "one"],
    &["pipeline", "phase", "start", "p", "one"],
    &["pipeline", "phase", "wait", "p", "one"],
    &["pipeline", "phase", "end", "p", "one"],
    &["pipeline", "check", "p", "c", "passed"],
    &["pipeline", "review", "p", "approved"],
    &["pipeline", "contract", "--file", "file", "p", "c"],
    &["pipeline", "show", "p"],
    &["pipeline", "export", "p"],
    &["pipeline", "end", "p"],
    &["projection", "add", "--directory", "../projection", "files"],
    &["projection", "show", "files"],
    &["projection", "scope", "files"],
    &["projection", "retry", "files"],
    &["projection", "skip", "files", "guest"],
    &["projection", "remove", "files"],
    &["otel", "add", "here", "http://127.0.0.1:9/v1/traces"],
    &["otel", "test", "here"],
    &["otel", "unassigned"],
    &["otel", "remove", "here"],
    &["login", "http://127.0.0.1:9"],
    &["logout"],
    &["rebuild", "summaries"],
    &["forget", "--pattern", "nobody-has-this", "--yes"],
    &["backup", "--force", "../copy"],
    &["restore", "../copy", "--yes"],
    &["config", "get", "record"],
    &["config", "set", "record", "true"],
    &["config", "unset", "record"],
    &["config", "path"],
    &["completions", "bash"],
    &["man"],
    &["version"],
    &["upgrade", "--check", "--release", "file"],
    &["upgrade", "--check"],
    // Input ends at once.
    &["mcp"],
    // An address of documentation, where nobody can listen: it has opened the ledger by then.
    &["serve", "--listen", "192.0.2.1:1", "--plain"],
];

/// Those that change what is switched on, in their order.
const SWITCHES: &[&[&str]] = &[
    &["init", "--yes"],
    &["doctor", "--fix"],
    &["uninstall", "--yes"],
];

/// All commands that the program has, by its own help.
fn all_commands(repo: &Repo<'_>, above: &[String]) -> Vec<Vec<String>> {
    let above_them: Vec<&str> = above.iter().map(String::as_str).collect();
    let names = repo.commands_below(&above_them);
    if names.is_empty() {
        return vec![above.to_vec()];
    }
    let below = names.iter().map(|name| {
        let path: Vec<String> = above.iter().chain([name]).cloned().collect();
        all_commands(repo, &path)
    });
    below.flatten().collect()
}

/// The same with the system's own account of what was started, for every command that there is.
#[test]
fn strace_sees_nothing_started_but_our_git() {
    let mut world = World::new();
    world.sh(&world.root, "strace -f true").ok();
    let gits = real_gits(&world);
    let dir = hostile(&mut world);
    let repo = world.at(&dir);
    let rows: Vec<&[&str]> = COMMANDS.iter().chain(OTHERS).copied().collect();
    let all: Vec<&[&str]> = rows.iter().chain(SWITCHES).copied().collect();
    for command in all_commands(&repo, &[]) {
        let is_there = |row: &&&[&str]| row.iter().zip(&command).all(|(a, b)| a == b);
        assert!(
            all.iter().any(|row| is_there(&row)),
            "no row has {command:?}"
        );
    }
    let check = |command: &[&str], when: &str| {
        let (code, started) = started(&repo, command);
        let own = command.iter().skip_while(|word| **word != "--");
        let own: Vec<&str> = own.copied().collect();
        let strange: Vec<&String> = started
            .iter()
            .filter(|path| !is_ours(path, &gits) && !is_named(path, &own))
            .collect();
        assert!(strange.is_empty(), "{when}: {command:?}: {strange:?}");
        assert_eq!(marks(&world), [""; 0], "{when}: {command:?}");
        code
    };
    let works = |row: &[&str]| {
        if row[0] == "restore" {
            until("no worker has the ledger", || world.worker_is_done());
        }
        let words = named(&repo, row);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let code = check(&words, "after init");
        assert_eq!(code, Some(exit_code(row)), "{words:?}");
    };
    for row in &rows {
        check(row, "before init");
    }
    works(SWITCHES[0]);
    guest(&repo).stop();
    drive(&repo);
    rows.iter().for_each(|row| works(row));
    SWITCHES[1..].iter().for_each(|row| works(row));
}

#[test]
fn strace_sees_nothing_started_but_our_git_by_tools_that_agents_call() {
    let mut world = World::new();
    let gits = real_gits(&world);
    let dir = hostile(&mut world);
    let repo = world.at(&dir);
    repo.siglum(&["init", "--yes"]).ok();
    guest(&repo).stop();
    let calls = [
        ("why", json!({ "commit": "HEAD" })),
        ("why", json!({ "commit": "file:1" })),
        ("search", json!({ "words": "one" })),
        ("show", json!({ "session": "guest" })),
        ("cost", json!({ "by": "session" })),
        ("link", json!({ "links": ["issue=42"], "session": "guest" })),
    ];
    let trace = |command: &str| {
        let tracing = tracing(&repo).join(" ");
        repo.sh(&format!("{tracing} {command}")).ok()
    };
    for answer in crate::mcp::ask(&repo, &calls, trace) {
        crate::mcp::data(&answer);
    }
    let mut strange = traced(&repo);
    strange.retain(|path| !is_ours(path, &gits));
    assert_eq!(strange, [""; 0]);
    assert_eq!(marks(&world), [""; 0]);
}

/// A host has a turn of a context written through a gateway, so that there is a session that is driven.
fn drive(repo: &Repo<'_>) {
    let token = repo.siglum(&["token", "create", "--name", "host"]).ok();
    let mut serve = repo.world.command(World::program());
    serve.args(["serve", "--json", "--listen", "127.0.0.1:0"]);
    let mut serve = serve.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let mut said = BufReader::new(serve.stdout.take().unwrap());
    said.read_line(&mut line).unwrap();
    let started: Value = serde_json::from_str(&line).unwrap();
    let address = started["data"]["address"].as_str().unwrap();
    let host = Client::new(address, Some(&token));
    let run = json!({ "route_key": "route", "agent": "openclaw", "run": "run-1" });
    let keys = host.post("/v1/contexts/resolve", &run).is(200);
    let turn = json!({
        "route_key": keys["route_key"], "context_key": keys["context_key"], "turn_key": "one",
        "messages": [{ "type": "user", "text": "ask" }, { "type": "assistant", "text": "say" }],
    });
    host.post("/v1/contexts/commit", &turn).is(200);
    serve.kill().unwrap();
    serve.wait().unwrap();
}

/// Whether it is the program that the person gave to `siglum run`.
fn is_named(path: &str, own: &[&str]) -> bool {
    let name = Path::new(path).file_name().unwrap_or_default();
    own.get(1).is_some_and(|program| name == *program)
}

/// A pipe in the place of a list that git reads holds up nobody.
#[test]
fn lists_of_git_that_are_pipes_hold_up_nobody() {
    let world = World::new();
    let dir = world.root.join("clone");
    fs::create_dir_all(&dir).unwrap();
    let make = "git init -q -b main . && echo one >f && git add f && git commit -q -m base && \
                mkfifo .mailmap ignored && git config mailmap.file ignored";
    world.sh(&dir, make).ok();
    let repo = world.at(&dir);
    repo.siglum(&["init", "--yes"]).ok();
    let timed = |args: &str| {
        let program = World::program();
        repo.sh(&format!("timeout 60 '{}' {args}", program.display()))
    };
    for args in ["log", "why HEAD", "check HEAD", "status", "session list"] {
        assert_ne!(timed(args).code, Some(124), "{args} waits for a pipe");
    }
    // Git blame reads it whatever is set.
    let refused = |list: &str| {
        let ran = timed("why f:1");
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        let why = "not a regular file";
        assert!(
            ran.stderr.contains(list) && ran.stderr.contains(why),
            "{}",
            ran.stderr
        );
    };
    refused(".mailmap");
    fs::remove_file(dir.join(".mailmap")).unwrap();
    assert_eq!(timed("why f:1").code, Some(0));
    repo.git(&["config", "blame.ignoreRevsFile", "ignored"]);
    refused("ignored");
}

/// Where git refuses to work, since another user owns the repository, hooks are neither planned nor changed, and who asks
/// is told why there is no answer.
#[test]
fn another_users_repository_gets_no_hooks_and_no_answers() {
    if !rustix::process::geteuid().is_root() {
        left_out("only root can give a directory away");
        return;
    }
    let world = World::new();
    let dir = world.root.join("theirs");
    fs::create_dir_all(&dir).unwrap();
    let make = "git init -q -b main . && git config core.hooksPath .githooks && mkdir .githooks && \
                echo one >f && git add f && git commit -q -m base && \
                git config core.fsmonitor 'touch ../mark; false'";
    world.sh(&dir, make).ok();
    let repo = world.at(&dir);
    repo.siglum(&["init", "--yes"]).ok();
    repo.siglum(&["uninstall", "--yes"]).ok();
    world.sh(&dir, "chown -R 12345:12345 .").ok();
    for args in [
        &["init", "--dry-run"][..],
        &["init", "--yes"],
        &["why", "HEAD"],
        &["why", "f"],
        &["why", "f:1"],
        &["log"],
        &["log", "HEAD"],
        &["check", "HEAD"],
    ] {
        let ran = repo.siglum(args);
        assert_eq!(ran.code, Some(1), "{args:?}: {}", ran.stdout);
        assert!(ran.stderr.contains("dubious ownership"), "{}", ran.stderr);
        assert!(ran.stderr.contains("safe.directory"), "{}", ran.stderr);
    }
    assert!(!world.root.join("mark").exists());
    assert_eq!(fs::read_dir(dir.join(".githooks")).unwrap().count(), 0);
    // Switched on while it was theirs who works here.
    fs::create_dir_all(dir.join(".git/siglum")).unwrap();
    let fixed = repo.siglum(&["doctor", "--fix"]);
    assert!(
        fixed.stderr.contains("dubious ownership"),
        "{}",
        fixed.stderr
    );
    assert!(!dir.join(".git/hooks/post-commit").exists());
}

/// How a command ends, and the programs that it starts, all the way down.
fn started(repo: &Repo<'_>, command: &[&str]) -> (Option<i32>, Vec<String>) {
    let mut run = repo.world.command("timeout");
    let run = run.arg("120").args(tracing(repo)).arg(World::program());
    run.args(command).current_dir(&repo.dir);
    let ended = run.stdin(Stdio::null()).output().unwrap().status.code();
    assert_ne!(ended, Some(124), "{command:?} does not end");
    (ended, traced(repo))
}

/// What stands before a command so that it is written down which programs are started.
fn tracing(repo: &Repo<'_>) -> Vec<String> {
    let words = "strace -f -qq -e trace=execve -e status=successful -o".split(' ');
    let trace = repo.world.root.join("trace").display().to_string();
    words.map(str::to_owned).chain([trace]).collect()
}

/// The programs that were started.
fn traced(repo: &Repo<'_>) -> Vec<String> {
    let text = fs::read_to_string(repo.world.root.join("trace")).unwrap();
    let path = |line: &str| {
        let (_, started) = line.split_once("execve(\"")?;
        Some(started.split('"').next()?.to_owned())
    };
    text.lines().filter_map(path).collect()
}

/// The git of this machine, and the one that it starts for its own commands.
fn real_gits(world: &World) -> Vec<PathBuf> {
    let print = "command -v git && echo \"$(git --exec-path)/git\"";
    let paths = world.sh(&world.root, print).ok();
    let real = |path| fs::canonicalize(path).unwrap();
    paths.lines().map(real).collect()
}

/// A program of the repository may be called `git`, too.
fn is_ours(path: &str, gits: &[PathBuf]) -> bool {
    let is_git = |real: PathBuf| gits.contains(&real);
    Path::new(path) == World::program() || fs::canonicalize(path).is_ok_and(is_git)
}

/// Git is started in one place, with everything switched off. What plays or measures has a git of its own.
#[test]
fn git_is_started_in_one_place() {
    let starts = [
        "Command::new(\"git",
        "Command::new(env::git",
        "command(\"git",
    ];
    assert_eq!(source_lines_with(&starts), [""; 0]);
}
