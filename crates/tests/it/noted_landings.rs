//! A commit that went as its first hook left it starts no program at its end: the shell notes that it landed, and whoever
//! comes next tells the ledger.

use std::fs;

use crate::harness::{Agent, Repo, World, until};

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
