//! One session that works in several repositories.

use std::fs;

use serde_json::Value;

use crate::harness::{Agent, Repo, World};

const TEXT: &str = "one\ntwo\nthree\n";

/// Another repository of the same world, in which nothing is recorded.
fn second<'w>(repo: &Repo<'w>, name: &str) -> Repo<'w> {
    let script = format!(
        "git init -q -b main ../{name} && git -C ../{name} commit -q --allow-empty -m base"
    );
    repo.sh(&script).ok();
    Repo {
        world: repo.world,
        dir: repo.dir.parent().unwrap().join(name),
    }
}

fn switched_on<'w>(repo: &Repo<'w>, name: &str) -> Repo<'w> {
    let other = second(repo, name);
    other.siglum(&["init", "--yes"]).ok();
    other
}

/// The conversations that `siglum session list` shows in a repository.
fn listed(repo: &Repo<'_>) -> Vec<String> {
    let list = repo.world.json(&repo.dir, &["session", "list"]);
    let name = |s: &Value| s["conversation_id"].as_str().unwrap().to_owned();
    list["items"].as_array().unwrap().iter().map(name).collect()
}

fn writes(agent: &mut Agent, repo: &Repo<'_>) {
    agent.write(repo.dir.join("file").to_str().unwrap(), TEXT);
}

/// Commits all of a repository by nobody, and checks that the lines of the file are an author's.
#[track_caller]
fn authored(repo: &Repo<'_>, author: &str) {
    repo.sh("git add -A && git commit -q -m work").ok();
    let why = repo.why("HEAD");
    assert_eq!(why.authors(), [(author.to_owned(), 3)].into(), "{why}");
}

#[test]
fn a_session_is_listed_where_it_edits() {
    let world = World::new();
    let repo = world.repo();
    let other = switched_on(&repo, "other");
    let mut agent = Agent::start(&repo, "agent");
    assert_eq!(listed(&other), [""; 0]);
    writes(&mut agent, &other);
    assert_eq!(listed(&other), ["agent"]);
    assert_eq!(listed(&repo), ["agent"]);
    authored(&other, "agent");
}

#[test]
fn lists_of_a_repository_are_there_from_anywhere() {
    let world = World::new();
    let repo = world.repo();
    let other = switched_on(&repo, "other");
    let mut here = Agent::start(&repo, "here");
    let mut there = Agent::start(&other, "there");
    for agent in [&mut here, &mut there] {
        agent.sh("git commit -q --allow-empty -m work").ok();
    }
    let of = |args: &[&str]| {
        let args = [args, &["--repository", "../other"]].concat();
        repo.siglum(&args).ok()
    };
    let sessions = of(&["session", "list", "--json"]);
    assert!(sessions.contains("\"there\"") && !sessions.contains("\"here\""));
    let checkpoints = of(&["checkpoint", "list", "--json"]);
    let checkpoints: Value = serde_json::from_str(&checkpoints).unwrap();
    assert_eq!(checkpoints["data"]["items"].as_array().unwrap().len(), 1);
    assert!(of(&["search", "there"]).contains("there"));
    of(&["cost"]);
    let nowhere = repo.siglum(&["session", "list", "--repository", ".."]);
    assert_ne!(nowhere.code, Some(0));
    assert!(
        nowhere
            .stderr
            .contains("neither a path in a git repository nor a repository id")
    );
}

#[test]
fn a_session_is_listed_where_it_commits() {
    let world = World::new();
    let repo = world.repo();
    let other = switched_on(&repo, "other");
    let mut agent = Agent::start(&repo, "agent");
    agent
        .sh("cd ../other && git commit -q --allow-empty -m there")
        .ok();
    other.check("there", "HEAD", &agent.certain());
    assert_eq!(listed(&other), ["agent"]);
    assert_eq!(listed(&repo), ["agent"]);
}

#[test]
fn a_session_is_listed_where_it_moved_to() {
    let world = World::new();
    let repo = world.repo();
    let other = switched_on(&repo, "other");
    let mut agent = Agent::start(&repo, "agent");
    agent.move_to(&other.dir);
    agent.prompt("Look here, too.");
    assert_eq!(listed(&other), ["agent"]);
    assert_eq!(listed(&repo), ["agent"]);
}

/// The agent works in a directory that is no repository, above the one whose file it edits.
#[test]
fn an_edit_below_an_agent_in_no_repository() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo.beside(".."), "agent");
    agent.prompt("A word that nobody is to keep.");
    writes(&mut agent, &repo);
    authored(&repo, "agent");
    assert_eq!(listed(&repo), ["agent"]);
    assert_eq!(
        agent
            .sh("cd repo && git commit -q --allow-empty -m mine")
            .code,
        Some(0)
    );
    repo.check("its commit", "HEAD", &agent.certain());
}

/// Of an agent that works where nothing is recorded, only the edits are that it makes where something is.
#[test]
fn an_edit_from_a_repository_that_is_not_switched_on() {
    let world = World::new();
    let repo = world.repo();
    let quiet = second(&repo, "quiet");
    let mut agent = Agent::start(&quiet, "agent");
    agent.prompt("A word that nobody is to keep.");
    writes(&mut agent, &quiet);
    agent.sh("echo said >heard").ok();
    assert_eq!(world.count("SELECT count(*) FROM sessions"), 0);
    writes(&mut agent, &repo);
    agent.stop();
    authored(&repo, "agent");
    assert_eq!(listed(&repo), ["agent"]);
    let kinds = "SELECT count(*) FROM observations WHERE kind <> 'file_seen'";
    assert_eq!(world.count(kinds), 0);
    assert_eq!(world.count("SELECT count(*) FROM edits"), 1);
    assert_eq!(
        world.count("SELECT count(*) FROM sessions WHERE cwd IS NOT NULL"),
        0
    );
    assert_eq!(world.count("SELECT count(*) FROM transcripts"), 0);
    assert_eq!(world.count("SELECT count(*) FROM repositories"), 1);
}

#[test]
fn an_edit_of_what_is_not_switched_on_is_kept_nowhere() {
    let world = World::new();
    let repo = world.repo();
    let quiet = second(&repo, "quiet");
    // One that lies in the checkout of the session, and one whose people said no.
    repo.sh("git clone -q ../quiet inner").ok();
    let refused = switched_on(&repo, "refused");
    fs::write(refused.dir.join(".siglum.toml"), "record = false\n").unwrap();
    let mut agent = Agent::start(&repo, "agent");
    for other in [quiet, repo.beside("inner"), refused] {
        writes(&mut agent, &other);
        let seen = "SELECT count(*) FROM observations WHERE kind = 'file_seen'";
        assert_eq!(world.count(seen), 0, "{}", other.dir.display());
    }
    assert_eq!(world.count("SELECT count(*) FROM edits"), 0);
}
