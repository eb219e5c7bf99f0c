//! A commit that went as its first hook left it starts no program at its end: the shell notes that it landed, and whoever
//! comes next tells the ledger.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use crate::harness::{Agent, Repo, Terminal, World, until};

/// The notes that wait, each with whether its commit landed.
fn notes(repo: &Repo<'_>) -> Vec<bool> {
    let entries = fs::read_dir(repo.dir.join(".git/siglum/commits"));
    let files = entries.into_iter().flatten().flatten();
    let landed = |text: String| text.ends_with('\n');
    files
        .map(|file| landed(fs::read_to_string(file.path()).unwrap()))
        .collect()
}

// Where the worker is at work on the ledger, an intent waits, and the program is started at the end of the commit, too.
fn recorded(world: &World) -> i64 {
    world.count("SELECT count(*) FROM commits")
}

fn commit(repo: &Repo<'_>, name: &str) {
    repo.sh(&format!(
        "echo 1 >{name} && git add {name} && git commit -q -m 'Add {name}'"
    ))
    .ok();
}

/// The agent commits, and none of its hooks tells of it.
fn commit_by(agent: &mut Agent) {
    agent
        .bare_sh("echo 1 >f && git add f && git commit -q -m 'Add f'")
        .ok();
}

#[test]
fn whoever_comes_next_tells_of_it() {
    let world = World::new();
    let repo = world.repo();
    let lock = world.hold_worker();
    let mut agent = Agent::start(&repo, "worker");
    let before = recorded(&world);
    let mut expected = before;
    let mut check_recorded_by = |how: &str, next: &mut dyn FnMut()| {
        commit(&repo, how);
        assert_eq!(recorded(&world), expected, "{how}: not yet");
        assert_eq!(notes(&repo), [true], "{how}");
        next();
        expected += 1;
        assert_eq!(recorded(&world), expected, "{how}");
    };
    check_recorded_by("prompt", &mut || agent.prompt("Go on."));
    check_recorded_by("status", &mut || {
        repo.siglum(&["status"]).ok();
    });
    let backup = world.root.join("backup.db");
    check_recorded_by("backup", &mut || {
        repo.siglum(&["backup", backup.to_str().unwrap()]).ok();
    });
    check_recorded_by("uninstall", &mut || {
        repo.siglum(&["uninstall", "--yes"]).ok();
    });
    repo.siglum(&["init", "--yes"]).ok();
    drop(lock);
    commit(&repo, "last");
    repo.siglum(&["worker", "--once"]);
    until("the worker told it", || recorded(&world) == expected + 1);
    assert_eq!(notes(&repo), [] as [bool; 0]);
    assert_eq!(repo.committer("HEAD"), "unknown unknown");
    assert_eq!(world.declines(), [] as [String; 0]);
}

/// Where nobody comes by for long, the commits themselves start the worker.
#[test]
fn many_that_wait_start_the_worker() {
    let world = World::new();
    let repo = world.repo();
    repo.siglum(&["worker", "--once"]).ok();
    let before = recorded(&world);
    for at in 0..20 {
        commit(&repo, &format!("f{at}"));
    }
    until("the worker told them", || recorded(&world) > before + 16);
}

/// The worker does not know where the repository is until a commit tells it.
#[test]
fn many_that_wait_in_a_moved_repository_are_found() {
    let world = World::new();
    let repo = world.repo();
    let lock = world.hold_worker();
    list_processes(&repo);
    drop(lock);
    let moved = world.root.join("moved");
    fs::rename(&repo.dir, &moved).unwrap();
    let repo = world.at(&moved);
    let before = recorded(&world);
    for at in 0..20 {
        commit(&repo, &format!("f{at}"));
    }
    until("the worker told them", || recorded(&world) > before + 16);
}

/// One git process makes several commits, each of which its next hook tells; an amend in between has its origin.
#[test]
fn each_of_several_commits_keeps_its_own_answer() {
    let world = World::new();
    let repo = world.repo();
    let _lock = world.hold_worker();
    let mut agent = Agent::start(&repo, "worker");
    repo.sh("git checkout -q -b side").ok();
    for name in ["a", "b", "c"] {
        commit(&repo, name);
    }
    let picked = repo.commits("main..side");
    agent
        .sh(
            "git checkout -q main && git cherry-pick main..side && git commit -q --amend -m 'Add c, again' \
             && git reset -q --soft HEAD~ && git commit -q -m 'Add c, once more'",
        )
        .ok();
    for at in ["HEAD", "HEAD~1", "HEAD~2"] {
        assert_eq!(repo.committer(at), agent.certain(), "{at}");
        assert_eq!(repo.trailers(at).len(), 1, "{at}");
    }
    for commit in &picked {
        assert_eq!(repo.committer(commit), "unknown unknown");
    }
    let amended = repo.id("HEAD@{2}");
    let why = repo.why(&amended);
    assert_eq!(why.committer(), agent.certain(), "{why}");
    assert_eq!(why.origins().len(), 1, "{why}");
}

/// Where git's list of moves is cut before anybody came, the trailer still leads to the commit.
#[test]
fn a_list_of_moves_that_was_cut_loses_no_commit() {
    let world = World::new();
    let repo = world.repo();
    let _lock = world.hold_worker();
    let mut agent = Agent::start(&repo, "worker");
    commit_by(&mut agent);
    assert_eq!(notes(&repo), [true]);
    fs::write(repo.dir.join(".git/logs/HEAD"), "").unwrap();
    assert_eq!(repo.committer("HEAD"), agent.certain());
    assert_eq!(notes(&repo), [] as [bool; 0]);
}

/// An agent in a linked worktree is the first that comes by.
#[test]
fn a_landing_is_recorded_from_another_worktree() {
    let world = World::new();
    let repo = world.repo();
    let lock = world.hold_worker();
    repo.sh("git worktree add -q ../linked").ok();
    let linked = world.at(&world.root.join("linked"));
    let mut agent = Agent::start(&linked, "elsewhere");
    let before = recorded(&world);
    commit(&repo, "f");
    assert_eq!((recorded(&world), notes(&repo)), (before, vec![true]));
    agent.prompt("Go on.");
    assert_eq!((recorded(&world), notes(&repo)), (before + 1, vec![]));
    drop(lock);
}

/// The repository is moved before anybody came by.
#[test]
fn a_landing_finds_its_repository_where_that_is_now() {
    let world = World::new();
    let repo = world.repo();
    let lock = world.hold_worker();
    let mut agent = Agent::start(&repo, "worker");
    repo.siglum(&["status"]).ok();
    commit_by(&mut agent);
    let (certain, known) = (
        agent.certain(),
        world.count("SELECT count(*) FROM repositories"),
    );
    agent.quit();
    let moved = world.root.join("moved");
    fs::rename(&repo.dir, &moved).unwrap();
    let repo = world.at(&moved);
    // This hook is the first that speaks in the new place.
    repo.sh("git checkout -q -b side").ok();
    assert_eq!(repo.committer("HEAD"), certain);
    assert_eq!(world.count("SELECT count(*) FROM repositories"), known);
    drop(lock);
}

/// Another home of the same user does not take what was announced to this one.
#[test]
fn a_landing_goes_to_the_home_that_it_was_announced_to() {
    let world = World::new();
    let repo = world.repo();
    let _lock = world.hold_worker();
    let mut agent = Agent::start(&repo, "worker");
    commit_by(&mut agent);
    let other = world.root.join("other-home");
    repo.sh(&format!(
        "SIGLUM_HOME='{}' '{}' status",
        other.display(),
        World::program().display()
    ))
    .ok();
    assert_eq!(notes(&repo), [true], "it waits for its own");
    assert_eq!(repo.committer("HEAD"), agent.certain());
    assert_eq!(notes(&repo), [] as [bool; 0]);
}

/// Without git's list of moves, and while a rebase stands still, the program looks as ever.
#[test]
fn what_the_shell_cannot_tell_is_left_to_the_program() {
    let world = World::new();
    let repo = world.repo();
    let _lock = world.hold_worker();
    let mut agent = Agent::start(&repo, "worker");
    let quiet = "git config core.logAllRefUpdates false && rm -f .git/logs/HEAD";
    repo.sh(quiet).ok();
    let before = recorded(&world);
    commit(&repo, "unlogged");
    assert_eq!((recorded(&world), notes(&repo)), (before + 1, vec![]));
    repo.sh("git config --unset core.logAllRefUpdates && git commit -q --allow-empty -m logged")
        .ok();
    repo.sh("mkdir .git/rebase-merge").ok();
    commit(&repo, "stopped");
    assert_eq!(notes(&repo), [] as [bool; 0]);
    repo.sh("rmdir .git/rebase-merge").ok();
    agent
        .sh("git commit -q --allow-empty -m 'By the agent'")
        .ok();
    assert_eq!(repo.committer("HEAD"), agent.certain());
}

/// Has the processes listed that sessions are bound to, as the first commit since the machine was started does.
fn list_processes(repo: &Repo<'_>) {
    commit(repo, "first");
    assert!(list(repo.world).exists());
    repo.siglum(&["status"]).ok();
}

fn list(world: &World) -> PathBuf {
    world.siglum_home().join("ledger.db-bound")
}

/// What would ask the ledger finds it locked, and waits in the spool.
#[test]
fn the_ledger_is_asked_only_where_its_list_does_not_tell() {
    let world = World::new();
    let repo = world.repo();
    let _lock = world.hold_worker();
    let mut agent = Agent::start(&repo, "worker");
    list_processes(&repo);
    let mut terminal = Terminal::open(&repo);
    let intents = || world.count("SELECT count(*) FROM intents");
    let before = intents();
    let store = world.store();
    store.execute_batch("BEGIN IMMEDIATE").unwrap();
    commit(&repo, "nobody");
    terminal.run("git commit -q --allow-empty -m 'by a person'");
    commit_by(&mut agent);
    assert_eq!(notes(&repo), [true, true, true]);
    assert_eq!(world.spooled(), 0, "nobody asked");
    repo.sh("CLAUDE_CODE_SESSION_ID=else git commit -q --allow-empty -m asked")
        .ok();
    assert!(world.spooled() > 0, "the ledger may know the variable");
    store.execute_batch("ROLLBACK").unwrap();
    assert_eq!(intents(), before);
    for (at, expected, trailers) in [
        ("HEAD~1", agent.certain(), 1),
        ("HEAD~2", "human certain".to_owned(), 0),
        ("HEAD~3", "unknown unknown".to_owned(), 0),
    ] {
        assert_eq!(repo.committer(at), expected, "{at}");
        assert_eq!(repo.trailers(at).len(), trailers, "{at}");
    }
    assert_eq!(intents(), before + 4);
    let open = "SELECT count(*) FROM intents WHERE state <> 'landed'";
    assert_eq!(world.count(open), 0);
}

/// How a commit of an agent or a person came to its end, while its intent is in the ledger or in its note alone.
fn ended(hook: &str, script: &str, by_agent: bool, is_listed: bool) -> Vec<String> {
    let world = World::new();
    let repo = world.repo();
    let _lock = world.hold_worker();
    let mut terminal = Terminal::open(&repo);
    let mut agent = by_agent.then(|| Agent::start(&repo, "worker"));
    list_processes(&repo);
    if !is_listed {
        fs::remove_file(list(&world)).unwrap();
    }
    let hook = repo.dir.join(".git/hooks").join(hook);
    let ours = fs::read_to_string(&hook).unwrap();
    let (first, rest) = ours.split_once('\n').unwrap();
    fs::write(&hook, format!("{first}\n{script}\n{rest}")).unwrap();
    let intents = || world.count("SELECT count(*) FROM intents");
    let before = intents();
    let script = "echo 2 >f && git add f && git commit -q -m 'Add f'";
    match &mut agent {
        Some(agent) => drop(agent.bare_sh(script)),
        None => drop(terminal.type_in(script)),
    }
    fs::write(&hook, ours).unwrap();
    let told = intents() - before;
    assert_eq!(told, i64::from(!is_listed));
    commit(&repo, "other");
    assert_eq!(intents() - before, told, "another commit tells of neither");
    repo.siglum(&["status"]).ok();
    assert_eq!(notes(&repo), [] as [bool; 0]);
    assert_eq!(intents() - before, 2);
    let states = "SELECT group_concat(state) FROM (SELECT state FROM intents ORDER BY at)";
    let states: String = world
        .store()
        .query_row(states, [], |row| row.get(0))
        .unwrap();
    let list = repo.commits("HEAD");
    let known = list[1..].iter().map(|id| {
        let trailers = repo.trailers(id).len();
        format!("{} {trailers}", repo.committer(id))
    });
    std::iter::once(states).chain(known).collect()
}

#[test]
fn a_commit_that_waits_in_its_note_ends_as_one_that_the_ledger_knows() {
    for (hook, script, person, agent) in [
        ("post-commit", ":", "human certain 0", "worker certain 1"),
        (
            "post-commit",
            "kill -9 $PPID; exit",
            "human likely 0",
            "worker certain 1",
        ),
        ("post-commit", "exit", "human likely 0", "worker certain 1"),
        (
            "commit-msg",
            "kill -9 $PPID; exit 1",
            "unknown unknown 0",
            "unknown unknown 0",
        ),
        (
            "commit-msg",
            "exit 1",
            "unknown unknown 0",
            "unknown unknown 0",
        ),
    ] {
        for (by_agent, expected) in [(false, person), (true, agent)] {
            let by_note = ended(hook, script, by_agent, true);
            let by_ledger = ended(hook, script, by_agent, false);
            assert_eq!(by_note, by_ledger, "{hook}: {script}");
            let is_there = by_note.iter().any(|answer| answer == expected);
            assert!(is_there, "{hook}: {script}: {by_note:?}");
        }
    }
}

/// Git dates a commit when it starts, before a linter in front of our hooks runs for seconds.
#[test]
fn a_commit_is_found_behind_a_slow_hook() {
    let world = World::new();
    let repo = world.repo();
    let _lock = world.hold_worker();
    let mut terminal = Terminal::open(&repo);
    list_processes(&repo);
    let hook = |name: &str, script: &str| {
        let path = repo.dir.join(".git/hooks").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    hook("pre-commit", "sleep 2.1");
    hook("post-commit", "exit");
    terminal.run("git commit -q --allow-empty -m 'behind a linter'");
    repo.siglum(&["status"]).ok();
    assert_eq!(repo.committer("HEAD"), "human likely");
}

/// A note has the message as it is: nobody else can read it, and it goes with its commit, whether that was made or refused.
#[test]
fn a_message_in_a_note_is_private_and_goes_with_its_commit() {
    let world = World::new();
    let repo = world.repo();
    let _lock = world.hold_worker();
    let mut agent = Agent::start(&repo, "worker");
    list_processes(&repo);
    let hook = repo.dir.join(".git/hooks/commit-msg");
    let ours = fs::read_to_string(&hook).unwrap();
    let (first, rest) = ours.split_once('\n').unwrap();
    for refusal in ["", "exit 1\n"] {
        fs::write(&hook, format!("{first}\n{refusal}{rest}")).unwrap();
        let committed = agent.bare_sh("umask 0; git commit -q --allow-empty -m 'as it is'");
        assert_eq!(committed.code == Some(0), refusal.is_empty());
        let files = fs::read_dir(repo.dir.join(".git/siglum/commits")).unwrap();
        let files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        assert_eq!(files.len(), 1, "{files:?}");
        let mode = fs::metadata(&files[0]).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let note = fs::read_to_string(&files[0]).unwrap();
        assert!(note.contains("as it is"), "{note}");
        repo.siglum(&["status"]).ok();
        assert_eq!(notes(&repo), [] as [bool; 0]);
    }
}

/// A list that says more than the ledger knows would have a message name a checkpoint that nobody makes.
#[test]
fn a_restored_ledger_has_another_list() {
    let world = World::new();
    let repo = world.repo();
    let backup = world.root.join("backup.db");
    repo.siglum(&["backup", backup.to_str().unwrap()]).ok();
    let mut agent = Agent::start(&repo, "worker");
    commit_by(&mut agent);
    assert_eq!(repo.trailers("HEAD").len(), 1);
    assert!(list(&world).exists());
    repo.siglum(&["restore", "--yes", backup.to_str().unwrap()])
        .ok();
    assert!(!list(&world).exists());
    agent
        .bare_sh("git commit -q --allow-empty -m 'nobody knows it'")
        .ok();
    assert_eq!(repo.trailers("HEAD"), [""; 0]);
    assert_eq!(repo.committer("HEAD"), "unknown unknown");
}
