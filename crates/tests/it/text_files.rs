//! Files beside the ledger that hold text: `forget` and `doctor --secrets` look at the same ones.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

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

/// All that a directory shows.
fn shown(dir: &Path) -> String {
    let files = fs::read_dir(dir).into_iter().flatten().flatten();
    let texts = files.map(|file| fs::read_to_string(file.path()).unwrap_or_default());
    texts.collect()
}

#[test]
fn what_a_directory_shows_is_forgotten_too() {
    let world = World::new();
    let repo = world.repo();
    let out = world.root.join("out");
    let target = out.to_str().unwrap();
    let add = ["projection", "add", "copies", "--directory", target];
    repo.siglum(&[&add[..], &["--all-repositories"]].concat())
        .ok();
    let mut one = Agent::start(&repo, "one");
    one.prompt("Plan the zanzibar-7 trip.");
    one.end("exit");
    one.quit();
    let until_shown = |what: &str| {
        until("the directory shows it", || {
            repo.siglum(&["worker", "--once"]);
            shown(&out).contains(what)
        });
    };
    until_shown("zanzibar-7");
    let found = world.json(
        &repo.dir,
        &["forget", "--pattern", r"zanzibar-\d", "--dry-run"],
    );
    assert!(found.to_string().contains(target), "{found}");
    assert!(shown(&out).contains("zanzibar-7"), "it was a dry run");
    repo.siglum(&["forget", "--pattern", r"zanzibar-\d", "--yes"])
        .ok();
    assert!(!shown(&out).contains("zanzibar"), "{}", shown(&out));
    until_shown("Plan the [redacted:forgotten] trip.");

    repo.siglum(&["forget", "one", "--yes"]).ok();
    assert!(!shown(&out).contains("Plan the"), "{}", shown(&out));
    until_shown("\"number\":1");
    assert!(!shown(&out).contains("Plan the"), "{}", shown(&out));
}

#[test]
fn lines_that_speak_of_a_forgotten_session_go() {
    let world = World::new();
    let repo = world.repo();
    let mut one = Agent::start(&repo, "one");
    one.prompt("Here.");
    one.quit();
    let list = world.json(&repo.dir, &["session", "list"]);
    let id = list["items"][0]["id"].as_str().unwrap();
    let home = world.siglum_home();
    let put = |name: &str, content: &str| {
        let file = home.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, content).unwrap();
        file
    };
    let ticks = format!(
        "{{\"session\":\"{id}\",\"text\":\"papaya\"}}\n{{\"session\":null,\"text\":\"someone\"}}\n"
    );
    let ticks = put("heartbeats/beat.jsonl", &ticks);
    let answer = put("answers/a.json", &format!("{{\"session\":\"{id}\"}}"));
    let other = put("answers/b.json", "{\"session\":\"ses_0\"}");
    repo.siglum(&["forget", "one", "--yes"]).ok();
    let left = fs::read_to_string(ticks).unwrap();
    assert_eq!(left, "{\"session\":null,\"text\":\"someone\"}\n");
    assert_eq!((answer.exists(), other.exists()), (false, true));
}

#[test]
fn ledgers_that_a_restore_kept_are_named() {
    let world = World::new();
    let repo = world.repo();
    let mut one = Agent::start(&repo, "one");
    one.prompt("Here.");
    one.quit();
    until("the worker has left", || world.processes().is_empty());
    let dry = ["forget", "one", "--dry-run"];
    let none = world.json(&repo.dir, &dry);
    assert_eq!(none["older_ledgers"], json!([]));
    let backup = world.root.join("backup.db");
    repo.siglum(&["backup", backup.to_str().unwrap()]).ok();
    repo.siglum(&["restore", "--yes", backup.to_str().unwrap()])
        .ok();
    let older = world.json(&repo.dir, &dry)["older_ledgers"].clone();
    let older = older[0].as_str().unwrap();
    assert!(fs::exists(older).unwrap(), "{older}");
    let forgotten = repo.siglum(&["forget", "one", "--yes"]);
    assert_eq!(forgotten.code, Some(0), "{forgotten:?}");
    assert!(forgotten.stderr.contains(older), "{forgotten:?}");
    let doctor = repo.siglum(&["doctor", "--secrets", "--json"]).stdout;
    assert!(doctor.contains(older), "{doctor}");
}
