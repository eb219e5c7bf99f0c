//! One repository in several places: moved, cloned, copied; and forks, which are others.

use std::fs;

use serde_json::Value;

use crate::costs::{spend, written};
use crate::harness::{Agent, Repo, World, until};

/// The conversations that `siglum session list` shows in a repository, in order.
fn listed(repo: &Repo<'_>) -> Vec<String> {
    let list = repo.world.json(&repo.dir, &["session", "list"]);
    let sessions = list["sessions"].as_array().unwrap().iter();
    let mut names: Vec<String> = sessions
        .map(|s| s["conversation_id"].as_str().unwrap().to_owned())
        .collect();
    names.sort_unstable();
    names
}

/// The verdicts that `siglum log` shows, newest commit first.
fn verdicts(repo: &Repo<'_>) -> Vec<String> {
    let log = repo.world.json(&repo.dir, &["log"]);
    let commits = log["commits"].as_array().unwrap().iter();
    let verdict = |c: &Value| c["committer"]["verdict"].as_str().unwrap().to_owned();
    commits.map(verdict).collect()
}

fn is_known(repo: &Repo<'_>) -> bool {
    repo.siglum(&["session", "list"]).code == Some(0)
}

fn commit_as(repo: &Repo<'_>, native: &str) -> Agent {
    let mut agent = Agent::start(repo, native);
    agent.write(native, "one\ntwo\n");
    agent
        .sh(&format!("git add -A && git commit -q -m {native}"))
        .ok();
    spend(repo, &mut agent);
    agent
}

#[test]
fn a_repository_that_moved_keeps_its_answers() {
    let world = World::new();
    let repo = world.repo();
    commit_as(&repo, "before").quit();
    let moved = world.root.join("renamed");
    fs::rename(&repo.dir, &moved).unwrap();
    let moved = world.at(&moved);
    assert_eq!(verdicts(&moved), ["certain", "unknown"]);
    assert_eq!(listed(&moved), ["before"]);
    assert_eq!(written(&moved), 100);
    moved.check("a moved repository", "HEAD", "before certain");
    moved.siglum(&["init", "--yes"]).ok();
    commit_as(&moved, "after").quit();
    assert_eq!(verdicts(&moved), ["certain", "certain", "unknown"]);
    assert_eq!(listed(&moved), ["after", "before"]);
    assert_eq!(written(&moved), 200);
    assert_eq!(world.count("SELECT count(*) FROM repositories"), 1);
    moved.siglum(&["verify"]).ok();
}

#[test]
fn an_agent_that_is_the_first_to_see_a_moved_repository_splits_nothing() {
    let world = World::new();
    let repo = world.repo();
    commit_as(&repo, "before").quit();
    let moved = world.root.join("renamed");
    fs::rename(&repo.dir, &moved).unwrap();
    let moved = world.at(&moved);
    commit_as(&moved, "after").quit();
    until("the places are one repository", || {
        listed(&moved) == ["after", "before"]
    });
    assert_eq!(verdicts(&moved), ["certain", "certain", "unknown"]);
}

#[test]
fn clones_see_each_others_commits_and_sessions() {
    let world = World::new();
    let repo = world.repo();
    commit_as(&repo, "here").quit();
    // It is known from the path that it was cloned from, before anything is switched on in it.
    repo.sh("git clone -q . ../clone").ok();
    let clone = world.at(&world.root.join("clone"));
    assert_eq!(verdicts(&clone), ["certain", "unknown"]);
    assert_eq!(listed(&clone), ["here"]);
    let range = ["check", "HEAD~..HEAD"];
    assert_eq!(clone.siglum(&range).code, Some(0));
    clone.siglum(&["init", "--yes"]).ok();
    commit_as(&clone, "there").quit();
    repo.sh("git pull -q ../clone main").ok();
    assert_eq!(verdicts(&repo), ["certain", "certain", "unknown"]);
    for place in [&repo, &clone] {
        assert_eq!(listed(place), ["here", "there"]);
        assert_eq!(written(place), 200);
    }
}

#[test]
fn clones_of_one_remote_are_one_repository_and_a_fork_is_another_one() {
    let world = World::new();
    let repo = world.repo();
    commit_as(&repo, "here").quit();
    repo.sh("git clone -q --bare . ../r.git && git remote add origin file://$PWD/../r.git")
        .ok();
    repo.sh("git clone -q file://$PWD/../r.git ../second").ok();
    let second = world.at(&world.root.join("second"));
    assert_eq!(listed(&second), ["here"]);
    // Both are gone; whoever clones it anew finds all of it.
    for gone in [&repo, &second] {
        fs::remove_dir_all(&gone.dir).unwrap();
    }
    let home = world.at(&world.home());
    home.sh("git clone -q file://$PWD/../r.git ../anew").ok();
    let anew = world.at(&world.root.join("anew"));
    assert_eq!(verdicts(&anew), ["certain", "unknown"]);
    assert_eq!(listed(&anew), ["here"]);
    // A fork is fetched from somewhere else.
    home.sh(
        "git clone -q --bare ../r.git ../fork.git && git clone -q file://$PWD/../fork.git ../fork",
    )
    .ok();
    let fork = world.at(&world.root.join("fork"));
    fork.git(&["remote", "set-url", "origin", "https://host/me/r.git"]);
    anew.git(&["remote", "set-url", "origin", "https://host/o/r.git"]);
    fork.siglum(&["init", "--yes"]).ok();
    assert!(listed(&fork).is_empty());
    // What is one commit is one commit in both.
    fork.check("a fork", "HEAD", "here certain");
    let named = ["session", "list", "--repository", "git@host:me/r.git"];
    until("the worker has seen where it is fetched from", || {
        fork.siglum(&named).code == Some(0)
    });
}

#[test]
fn what_nothing_tells_from_a_fork_is_asked() {
    let world = World::new();
    let repo = world.repo();
    commit_as(&repo, "here").quit();
    repo.sh("cp -r . ../copy && rm -r ../copy/.git/siglum").ok();
    let copy = world.at(&world.root.join("copy"));
    assert!(!is_known(&copy));
    let ran = copy.siglum(&["init", "--yes"]);
    let place = repo.dir.display();
    let advice = format!("siglum init --same-as {place}");
    assert!(ran.stderr.contains(&advice), "{ran:#?}");
    assert!(listed(&copy).is_empty());
    let path = repo.dir.to_str().unwrap();
    copy.siglum(&["init", "--yes", "--same-as", path]).ok();
    assert_eq!(listed(&copy), ["here"]);
}
