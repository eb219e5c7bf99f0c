//! Search by the index: what it finds, what it says of itself, and that it can be lost.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use super::harness::{Agent, Repo, World, kill, until};

/// A session that asked, ran a command that says something, and answered.
fn session(repo: &Repo<'_>, native: &str, prompt: &str, command: &str) {
    let mut agent = Agent::start(repo, native);
    agent.prompt(prompt);
    agent.sh(command);
    agent.end("exit");
}

/// The sessions that a query finds, by what their agents call them.
fn sessions_of(repo: &Repo<'_>, query: &str) -> Vec<String> {
    let answer = repo.world.json(&repo.dir, &["search", query]);
    names(&answer)
}

fn names(answer: &Value) -> Vec<String> {
    let found = answer["items"].as_array().unwrap().iter();
    let name = |f: &Value| f["session"]["conversation_id"].as_str().unwrap().to_owned();
    found.map(name).collect()
}

/// Whether the doctor finds nothing wrong with the index, whatever else is. Gives what it adds to that.
#[track_caller]
fn is_sound(repo: &Repo<'_>) -> String {
    let doctor = repo.siglum(&["doctor", "--json"]).stdout;
    let answer: Value = serde_json::from_str(&doctor).expect(&doctor);
    let checks = answer["data"]["checks"].as_array().unwrap();
    let search = checks.iter().find(|check| check["area"] == "search");
    let search = search.unwrap();
    assert_eq!(search["verdict"], "ok", "{doctor}");
    search["details"].to_string()
}

#[test]
fn what_commands_printed_is_found_with_the_turn_and_the_next_command() {
    let world = World::new();
    let repo = world.repo();
    session(
        &repo,
        "one",
        "Look at the carts",
        "echo 'round_zebra_even failed'",
    );
    session(
        &repo,
        "two",
        "Look at the zebras",
        "false; echo other; false",
    );
    assert_eq!(sessions_of(&repo, "round_zebra_even"), ["one"]);
    assert_eq!(sessions_of(&repo, "zebra failed"), ["one"]);
    assert_eq!(sessions_of(&repo, "\"look at the\"").len(), 2);
    assert_eq!(sessions_of(&repo, "zeb* look").len(), 2);
    assert_eq!(sessions_of(&repo, "is:error"), ["two"]);
    let answer = world.json(&repo.dir, &["search", "round_zebra_even"]);
    assert_eq!(answer["index"]["used"], true, "{answer}");
    let hits = answer["items"][0]["hits"].as_array().unwrap();
    let hit = hits.iter().find(|hit| hit["place"] == "result");
    let hit = hit.unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(hit["turn"], 2, "behind what it gets at its start");
    let show = hit["show"].as_str().unwrap();
    assert!(show.starts_with("siglum show ") && show.ends_with(" --turn 2"));
    let words: Vec<&str> = show.split(' ').skip(1).collect();
    assert!(repo.siglum(&words).ok().contains("Look at the carts"));
    let printed = repo.siglum(&["search", "round_zebra_even"]);
    assert!(printed.stderr.contains(show), "{}", printed.stderr);
    for (query, part) in [
        ("is:open", "`is:open`"),
        ("\"carts", "has no end"),
        ("since:soon", "`since:soon`"),
    ] {
        let refused = repo.siglum(&["search", query]);
        assert_eq!(refused.code, Some(2), "{query}");
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
}

#[test]
fn an_index_that_is_lost_or_damaged_is_made_again() {
    let world = World::new();
    let repo = world.repo();
    session(&repo, "one", "Look at the carts", "echo round_zebra_even");
    assert_eq!(sessions_of(&repo, "round_zebra_even"), ["one"]);
    let index = world.siglum_home().join("search.db");
    let _worker = world.hold_worker();
    for content in [
        None,
        Some("no index at all, and longer than a header of one has to be"),
    ] {
        for ending in ["-wal", "-shm", ""] {
            let _ = fs::remove_file(world.siglum_home().join(format!("search.db{ending}")));
        }
        if let Some(content) = content {
            fs::write(&index, content).unwrap();
        }
        // Whoever searches makes it again, since there is little to do.
        assert_eq!(sessions_of(&repo, "round_zebra_even"), ["one"]);
        is_sound(&repo);
    }
    let rebuilt = world.json(&repo.dir, &["rebuild", "search"]);
    assert_eq!(rebuilt["sessions"], json!(1));
    assert_eq!(sessions_of(&repo, "round_zebra_even"), ["one"]);
}

#[test]
fn doctor_says_that_a_large_index_was_not_checked() {
    let world = World::new();
    let repo = world.repo();
    session(&repo, "one", "Look at the carts", "echo round_zebra_even");
    assert_eq!(sessions_of(&repo, "round_zebra_even"), ["one"]);
    assert_eq!(is_sound(&repo), "[]");
    until("the worker is done", || world.worker_is_done());
    let _worker = world.hold_worker();
    // Pages behind the last one are no damage, and take no room on the disk.
    let index = world.siglum_home().join("search.db");
    let index = fs::File::options().write(true).open(index).unwrap();
    index.set_len(130 << 20).unwrap();
    let details = is_sound(&repo);
    assert!(details.contains("not checked for damage"), "{details}");
    assert!(details.contains("136 MB"), "{details}");
}

#[test]
fn a_worker_that_is_killed_while_it_fills_the_index_loses_nothing() {
    let world = World::new();
    let repo = world.repo();
    for n in 0..12 {
        let native = format!("s{n}");
        session(
            &repo,
            &native,
            &format!("Look at cart {n}"),
            &format!("echo zebra{n}"),
        );
    }
    let lock = world.hold_worker();
    drop(lock);
    for round in 0..6 {
        repo.siglum(&["rebuild", "search"]).ok();
        let mut command = world.command(World::program());
        command
            .args(["worker", "--once"])
            .current_dir(&repo.dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut worker = command.spawn().unwrap();
        if round > 0 {
            // Wherever it is by then.
            let waits = || world.count("SELECT count(*) FROM unindexed");
            until("it has begun", || {
                waits() < 12 || worker.try_wait().unwrap().is_some()
            });
        }
        kill(worker.id());
        worker.wait().unwrap();
    }
    until("all are found", || {
        repo.siglum(&["worker", "--once"]);
        sessions_of(&repo, "cart").len() == 12
    });
    for n in 0..12 {
        assert_eq!(sessions_of(&repo, &format!("zebra{n}")), [format!("s{n}")]);
    }
    is_sound(&repo);
}
