//! Files beside the ledger that hold text: `forget` and `doctor --secrets` look at the same ones.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::harness::{Agent, Repo, World, until};

fn secret() -> String {
    format!("{}{}", "ghp_", "q7RzW2mLx0Tb9KpVd3Yc5NfHs8JgAe1Uo4Zi")
}

/// Where `doctor --secrets` finds something.
fn places(repo: &Repo<'_>) -> Vec<String> {
    let found = repo.siglum(&["doctor", "--secrets", "--json"]);
    let found: Value = serde_json::from_str(&found.stdout).unwrap();
    let all = found["data"]["secrets"].as_array().unwrap();
    let place = |found: &Value| found["place"].as_str().unwrap().to_owned();
    all.iter().map(place).collect()
}

/// The notes of commits.
fn notes(repo: &Repo<'_>) -> Vec<PathBuf> {
    let entries = fs::read_dir(repo.dir.join(".git/siglum/commits"));
    let entries = entries.into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

#[test]
fn a_commit_that_another_hook_refuses_leaves_no_message() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    agent.prompt("Commit it.");
    repo.sh("echo 'exit 1' >> .git/hooks/commit-msg").ok();
    let script = format!("git commit -q --allow-empty -m 'Use {}'", secret());
    assert_ne!(agent.bare_sh(&script).code, Some(0), "it is refused");
    agent.end("exit");
    agent.quit();
    until("the worker has left", || world.processes().is_empty());
    let found = places(&repo);
    let named = found.iter().any(|place| place.contains("/commits/"));
    assert!(named || notes(&repo).is_empty(), "{found:?}");
    repo.siglum(&["status"]).ok();
    assert_eq!(notes(&repo), [] as [PathBuf; 0]);
}

#[test]
fn every_file_with_text_is_looked_through_from_everywhere() {
    let world = World::new();
    let repo = world.repo();
    let mut one = Agent::start(&repo, "one");
    one.prompt("Here.");
    one.quit();
    let dir = world.root.join("other");
    repo.sh("git init -q ../other && git -C ../other commit -q --allow-empty -m first")
        .ok();
    let other = world.at(&dir);
    other.siglum(&["init", "--yes"]).ok();
    let mut two = Agent::start(&other, "two");
    two.prompt("There.");
    two.quit();
    until("all is read", || {
        repo.siglum(&["worker", "--once"]);
        world.processes().is_empty() && world.spooled() == 0
    });
    let (home, secret) = (world.siglum_home(), secret());
    let line = format!("{{\"text\":\"it is {secret}\"}}\n");
    let files = [
        (home.join("heartbeats/beat.jsonl"), Some("another tick")),
        (dir.join(".git/siglum/spool/1-a.bad"), None),
        (dir.join(".git/siglum/commits/4194300"), None),
        (home.join("siglum.log"), Some("another line")),
    ];
    for (file, other) in &files {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, format!("{line}{}\n", other.unwrap_or_default())).unwrap();
    }
    let found = places(&repo);
    for (file, _) in &files {
        let name = file.to_str().unwrap();
        assert!(found.iter().any(|p| p.contains(name)), "{name}: {found:?}");
    }
    repo.siglum(&["forget", "--rule", "all", "--yes"]).ok();
    assert_eq!(places(&repo), [] as [String; 0]);
    for (file, other) in &files {
        let left = fs::read_to_string(file).unwrap_or_default();
        assert!(!left.contains(&secret), "{left}");
        assert!(other.is_none_or(|other| left.contains(other)), "{left}");
    }
}
