//! Many at once: nothing false, and nearly everything known.

use std::thread;

use crate::harness::{Agent, Load, Repo, Tally, World, until};

/// What tells a commit's maker apart from its message, which git keeps in one file for all who commit
/// at the same time.
fn signed(name: &str) -> String {
    format!("export GIT_AUTHOR_NAME={name} GIT_COMMITTER_NAME={name}")
}

/// Commits until git lets it: in one checkout, somebody else's lock may be in the way. Only the own
/// file is committed.
fn insist(agent: &mut Agent, name: &str, file: &str, subject: &str) {
    let commit = format!("git add {file} && git commit -q -m '{subject}' {file}");
    let signed = signed(name);
    let insistent = format!("{signed}; until {{ {commit}; }} 2>/dev/null; do sleep 0.02; done");
    agent.sh(&insistent).ok();
}

/// Leaves a commit to a process that nobody waits for.
fn detach(agent: &mut Agent, name: &str, file: &str, subject: &str) {
    let commit = format!("git add {file} && git commit -q -m \"{subject}\" {file}");
    let signed = signed(name);
    let script = format!("{signed}; until {{ {commit}; }} 2>/dev/null; do sleep 0.02; done");
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
            detach(&mut agent, name, &file, &subject);
        } else {
            insist(&mut agent, name, &file, &subject);
        }
    }
    agent.stop();
}

/// Each commit is its session's; one in three was left behind, and only its variable speaks for it.
fn check(repo: &Repo<'_>, range: &str, expected: usize, tally: &mut Tally) {
    until("all commits are there", || {
        repo.commits(range).len() == expected
    });
    until("no git runs any more", || {
        let busy = repo.sh("ls $(git rev-parse --git-dir)/*.lock 2>/dev/null");
        busy.code != Some(0)
    });
    for commit in repo.commits(range) {
        let who = repo.git(&["log", "-1", "--format=%an", &commit]);
        // A look that comes before the hook has spoken may find others at work at that moment.
        until("its hook's word is heard", || {
            repo.why(&commit).0["seen_by"] == "hook"
        });
        let why = repo.why(&commit);
        let answer = why.committer();
        let (name, verdict) = answer.split_once(' ').unwrap();
        assert!(name == who || answer == "unknown unknown", "{who}: {why}");
        tally.add(&who, verdict);
        assert_eq!(why.authors(), [(who.clone(), 1)].into(), "{who}: {why}");
    }
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
    let mut tally = Tally::default();
    check(&repo, "base..HEAD", 18, &mut tally);
    tally.print("three agents in one worktree");
    let (known, all) = tally.known();
    assert!(known * 20 >= all * 19, "only {known} of {all} are known");
}

#[test]
fn eight_worktrees_in_a_burst() {
    let world = World::new();
    let repo = world.repo();
    repo.git(&["tag", "base"]);
    let names: Vec<String> = (0..8).map(|n| format!("tree{n}")).collect();
    for name in &names {
        let dir = format!("../{name}");
        repo.git(&["worktree", "add", "-q", "-b", name, &dir]);
    }
    let trees: Vec<_> = names
        .iter()
        .map(|n| repo.beside(format!("../{n}")))
        .collect();
    let load = Load::new();
    thread::scope(|scope| {
        for (tree, name) in trees.iter().zip(&names) {
            scope.spawn(move || work(tree, name, 20));
        }
    });
    drop(load);
    let mut tally = Tally::default();
    for tree in &trees {
        check(tree, "base..HEAD", 20, &mut tally);
    }
    tally.print("eight worktrees, twenty rounds each");
    assert_eq!(tally.known(), (160, 160));
}
