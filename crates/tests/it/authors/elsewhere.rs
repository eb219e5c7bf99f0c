//! Equal text in another place is no evidence of who wrote it there.

use std::fs;

use super::one;
use crate::harness::{Agent, Repo, World};

fn text(lines: std::ops::Range<u32>) -> String {
    lines
        .map(|n| format!("let value_{n} = compute({n});\n"))
        .collect()
}

/// Nobody that is known writes a file and commits everything.
fn by_nobody(repo: &Repo<'_>, path: &str, content: &str) {
    fs::write(repo.dir.join(path), content).unwrap();
    repo.sh("git add -A && git commit -q -m 'by nobody'").ok();
}

/// Nine lines of the agent's in ten of somebody else's.
fn another_text() -> String {
    text(0..9) + "something else\n"
}

#[test]
fn a_new_file_of_the_name_of_one_that_a_commit_removed() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "agent");
    agent.write("file", &text(0..10));
    agent.sh("git add -A && git commit -q -m one").ok();
    repo.sh("git rm -q file && git commit -q -m gone").ok();
    by_nobody(&repo, "file", &another_text());
    let why = repo.why("HEAD");
    assert_eq!(why.authors(), one("unknown", 10), "{why}");
    repo.sh("git rm -q file && git commit -q -m gone").ok();
    by_nobody(&repo, "file", &text(0..10));
    let why = repo.why("HEAD");
    assert_eq!(why.authors(), one("unknown", 10), "all of it: {why}");
}

#[test]
fn a_new_file_of_the_name_of_one_that_was_never_committed() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "agent");
    agent.write("file", &text(0..10));
    agent.stop();
    fs::remove_file(repo.dir.join("file")).unwrap();
    by_nobody(&repo, "file", &another_text());
    let why = repo.why("HEAD");
    assert_eq!(why.authors(), one("unknown", 10), "{why}");
}

#[test]
fn a_new_file_in_place_of_what_was_reset() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "agent");
    agent.write("file", &text(0..10));
    agent.sh("git add -A && git commit -q -m one").ok();
    repo.sh("git reset -q --hard HEAD~").ok();
    by_nobody(&repo, "file", &another_text());
    let why = repo.why("HEAD");
    assert_eq!(why.authors(), one("unknown", 10), "{why}");
}

#[test]
fn the_same_text_in_another_worktree() {
    let world = World::new();
    let repo = world.repo();
    repo.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    let mut agent = Agent::start(&repo, "agent");
    agent.write("file", &text(0..21));
    let side = repo.beside("../side");
    by_nobody(&side, "file", &text(0..21));
    assert_eq!(side.why("HEAD").authors(), one("unknown", 21), "before");
    agent.sh("git add -A && git commit -q -m mine").ok();
    assert_eq!(repo.why("HEAD").authors(), one("agent", 21));
    by_nobody(&side, "other", "x\n");
    side.sh("git rm -q file && git commit -q -m gone").ok();
    by_nobody(&side, "file", &text(0..21));
    assert_eq!(side.why("HEAD").authors(), one("unknown", 21), "after");
}

#[test]
fn the_same_text_on_another_branch() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "agent");
    agent.sh("git checkout -q -b one").ok();
    agent.write("file", &text(0..19));
    agent
        .sh("git add -A && git commit -q -m mine && git checkout -q -b two main")
        .ok();
    by_nobody(&repo, "file", &(text(0..17) + "other\nlines\n"));
    let why = repo.why("two");
    assert_eq!(why.authors(), one("unknown", 19), "{why}");
    repo.sh("git checkout -q -b three main").ok();
    by_nobody(&repo, "file", &text(0..19));
    let why = repo.why("three");
    assert_eq!(why.authors(), one("unknown", 19), "all of it: {why}");
    assert_eq!(repo.why("one").authors(), one("agent", 19));
}

/// An edit of a file that somebody wrote anew gives the agent its own lines alone.
#[test]
fn an_edit_of_a_file_that_was_written_anew() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "agent");
    agent.write("file", &text(0..10));
    fs::remove_file(repo.dir.join("file")).unwrap();
    fs::write(repo.dir.join("file"), another_text()).unwrap();
    agent.edit("file", "something else\n", "something else\nof the agent\n");
    agent.sh("git add -A && git commit -q -m mixed").ok();
    let why = repo.why("HEAD");
    assert_eq!(why.lines("file")["agent"], "11", "{why}");
    assert_eq!(why.lines("file")["unknown"], "1-10", "{why}");
}
