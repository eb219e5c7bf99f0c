//! Many at once: nothing false, and nearly everything known.

use std::thread;

use crate::harness::{Agent, Repo, World, until};

/// Commits until git lets it: in one checkout, somebody else's lock may be in the way. Only the own
/// file is committed.
fn insist(agent: &mut Agent, file: &str, subject: &str) {
    let commit = format!("git add {file} && git commit -q -m '{subject}' {file}");
    let insistent = format!("until {{ {commit}; }} 2>/dev/null; do sleep 0.02; done");
    agent.sh(&insistent).ok();
}

/// Leaves a commit to a process that nobody waits for.
fn detach(agent: &mut Agent, file: &str, subject: &str) {
    let commit = format!("git add {file} && git commit -q -m \"{subject}\" {file}");
    let script = format!("until {{ {commit}; }} 2>/dev/null; do sleep 0.02; done");
    agent
        .sh(&format!(
            "setsid -f sh -c '{script}' >/dev/null 2>&1 </dev/null"
        ))
        .ok();
}

fn work(repo: &Repo<'_>, name: &str, commits: u32) {
    let mut agent = Agent::start(repo, name);
    for n in 0..commits {
        let file = format!("{name}-{n}");
        agent.write(&file, &format!("{n}\n"));
        let subject = format!("{n} by {name}");
        if n % 3 == 2 {
            detach(&mut agent, &file, &subject);
        } else {
            insist(&mut agent, &file, &subject);
        }
    }
    agent.stop();
}

/// Each commit is its session's; one in three was left behind, and only its variable speaks for it.
fn check(repo: &Repo<'_>, range: &str, expected: usize) {
    until("all commits are there", || {
        repo.commits(range).len() == expected
    });
    until("no git runs any more", || {
        let busy = repo.sh("ls $(git rev-parse --git-dir)/*.lock 2>/dev/null");
        busy.code != Some(0)
    });
    let mut unknown = 0;
    for commit in repo.commits(range) {
        let subject = repo.git(&["log", "-1", "--format=%s", &commit]);
        let (_, who) = subject.split_once(" by ").unwrap();
        until("its hooks are done", || {
            !repo.why(&commit).0["seen_by"].is_null()
        });
        let why = repo.why(&commit);
        let said = why.committer();
        let (name, verdict) = said.split_once(' ').unwrap();
        assert!(name == who || said == "unknown unknown", "{subject}: {why}");
        unknown += usize::from(verdict == "unknown");
        assert_eq!(
            why.authors(),
            [(who.to_owned(), 1)].into(),
            "{subject}: {why}"
        );
    }
    assert!(
        unknown * 20 <= expected,
        "{unknown} of {expected} are unknown"
    );
}

#[test]
fn three_agents_in_one_worktree() {
    let world = World::new();
    let repo = world.repo();
    repo.git(&["tag", "base"]);
    thread::scope(|scope| {
        for name in ["one", "two", "three"] {
            let repo = &repo;
            scope.spawn(move || work(repo, name, 6));
        }
    });
    check(&repo, "base..HEAD", 18);
}

#[test]
fn four_worktrees_with_detached_work() {
    let world = World::new();
    let repo = world.repo();
    repo.git(&["tag", "base"]);
    let trees: Vec<_> = (0..4).map(|n| repo.beside(format!("../tree{n}"))).collect();
    for n in 0..4 {
        repo.git(&[
            "worktree",
            "add",
            "-q",
            "-b",
            &format!("tree{n}"),
            &format!("../tree{n}"),
        ]);
    }
    thread::scope(|scope| {
        for (n, tree) in trees.iter().enumerate() {
            scope.spawn(move || work(tree, &format!("tree{n}"), 3));
        }
    });
    for tree in &trees {
        check(tree, "base..HEAD", 3);
    }
}
