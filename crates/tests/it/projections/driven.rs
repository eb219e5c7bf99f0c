//! What a driver left, and the ways out that the commands give.

use serde_json::{Value, json};

use super::driver::{DEAD, LIVES, Runtime, called, prompt_observation, stopped};
use super::{directory, lines, turn, until_all};
use crate::harness::{Agent, Repo, World};

fn recover(repo: &Repo<'_>, args: &[&str]) -> Value {
    repo.world
        .json(&repo.dir, &[&["session", "recover"], args].concat())
}

/// A session with a call of which nobody knows whether it was done, by a driver that is dead.
fn held(runtime: &mut Runtime, conversation: &str) -> String {
    let session = runtime.session(conversation);
    let mut driver = runtime.driver(session, DEAD);
    let observations = [
        prompt_observation("t", "Ship it."),
        called("t", "deploy --to\nproduction"),
    ];
    runtime.open(&mut driver, "t", &observations);
    session.to_string()
}

#[test]
fn a_call_without_a_result_waits_for_a_persons_word() {
    let world = World::new();
    let repo = world.repo();
    let dir = directory(&repo, "copies");
    let mut runtime = Runtime::new(&world);
    let ids = ["done", "failed", "dropped"].map(|name| held(&mut runtime, name));
    // A worker does not decide it, however often it looks.
    repo.siglum(&["worker", "--once"]).ok();
    let answer = recover(&repo, &[]);
    let turns = answer["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 3, "{answer}");
    for (turn, id) in turns.iter().zip(&ids) {
        assert_eq!(turn["session"], json!(id), "{answer}");
        assert_eq!(turn["turn_key"], "t", "{answer}");
        assert_eq!(
            (&turn["left"], &turn["held"]),
            (&json!("unanswered"), &json!(true))
        );
        assert_eq!(turn["calls"][0]["tool"], "Bash", "{answer}");
        assert_eq!(
            turn["calls"][0]["input"], "deploy --to production",
            "{answer}"
        );
        assert_eq!(turn["ways_out"].as_array().unwrap().len(), 3, "{answer}");
    }
    let text = repo.siglum(&["session", "recover"]).ok();
    assert!(text.contains("Bash  deploy --to production"), "{text}");
    assert!(text.contains("--mark-failed"), "{text}");
    let doctor = repo.siglum(&["doctor"]);
    assert!(
        doctor.stdout.contains("3 turns wait for a decision"),
        "{doctor:?}"
    );
    let status = repo.siglum(&["status"]).ok();
    assert!(status.contains("Held turn"), "{status}");

    let refused = repo.siglum(&["session", "recover", &ids[2], "--discard"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("--yes"), "{refused:?}");
    assert_eq!(recover(&repo, &[&ids[2]])["settled"]["outcome"], "held");

    for (id, flags, outcome) in [
        (&ids[0], &["--mark-done"][..], "kept"),
        (&ids[1], &["--mark-failed"], "kept"),
        (&ids[2], &["--discard", "--yes"], "discarded"),
    ] {
        let answer = recover(&repo, &[&[id.as_str()], flags].concat());
        assert_eq!(answer["settled"]["outcome"], outcome, "{answer}");
        assert_eq!(answer["turns"], json!([]), "{answer}");
    }
    assert_eq!(recover(&repo, &[])["turns"], json!([]));
    let outcome = |id: &str| {
        let shown = world.json(&repo.dir, &["session", "show", id]);
        shown["turns"][0]["tools"][0]["outcome"].clone()
    };
    assert_eq!(
        (outcome(&ids[0]), outcome(&ids[1])),
        (json!("ok"), json!("failed"))
    );
    assert_eq!(outcome(&ids[2]), Value::Null);
    until_all(&world, &dir);
    let again = repo.siglum(&["session", "recover", &ids[0], "--mark-done"]);
    assert_eq!(again.code, Some(1), "{again:?}");
}

#[test]
fn what_is_certain_is_settled_and_who_drives_is_left_alone() {
    let world = World::new();
    let repo = world.repo();
    let mut runtime = Runtime::new(&world);
    let ready = runtime.session("ready");
    let mut driver = runtime.driver(ready, DEAD);
    runtime.open(
        &mut driver,
        "t",
        &[prompt_observation("t", "Ship it."), stopped("t")],
    );
    let answer = recover(&repo, &[]);
    assert_eq!(answer["turns"][0]["left"], "complete", "{answer}");
    let answer = recover(&repo, &[&ready.to_string()]);
    assert_eq!(answer["settled"]["outcome"], "committed", "{answer}");
    assert_eq!(answer["settled"]["receipt"], 1, "{answer}");

    let driven = runtime.session("driven");
    let mut driver = runtime.driver(driven, LIVES);
    runtime.open(
        &mut driver,
        "t",
        &[prompt_observation("t", "Ship it."), called("t", "deploy")],
    );
    let answer = recover(&repo, &[]);
    assert_eq!(
        answer["turns"][0]["driver"]["name"], "the runtime",
        "{answer}"
    );
    assert_eq!(answer["turns"][0]["held"], false, "{answer}");
    for flags in [&[][..], &["--discard", "--yes"], &["--mark-done"]] {
        let id = driven.to_string();
        let ran = repo.siglum(&[&["session", "recover", &id], flags].concat());
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.contains("is driven by the runtime"), "{ran:?}");
    }
    let alone = repo.siglum(&["session", "recover", "--mark-done"]);
    assert_eq!(alone.code, Some(2), "{alone:?}");
    let nobody = repo.siglum(&["session", "recover", "nobody"]);
    assert_eq!(nobody.code, Some(3), "{nobody:?}");
    runtime.commit(&mut driver, "t", &[]);
}

#[test]
fn nothing_that_is_pending_is_shown() {
    let world = World::new();
    let repo = world.repo();
    let dir = directory(&repo, "copies");
    let mut runtime = Runtime::new(&world);
    let session = runtime.session("quiet");
    let mut driver = runtime.driver(session, LIVES);
    runtime.commit(
        &mut driver,
        "one",
        &[prompt_observation("one", "in the open"), stopped("one")],
    );
    runtime.open(
        &mut driver,
        "two",
        &[prompt_observation("two", "behind the curtain")],
    );
    repo.siglum(&["worker", "--once"]).ok();
    until_all(&world, &dir);
    let id = session.to_string();
    for args in [
        &["session", "show", &id, "--full"][..],
        &["session", "show", &id, "--full", "--json"],
        &["session", "list", "--all"],
        &["session", "list", "--all", "--json"],
        &["show", &id],
        &["status", "--json"],
    ] {
        let text = repo.siglum(args).ok();
        assert!(!text.contains("curtain"), "{args:?}: {text}");
    }
    let shown = repo.siglum(&["session", "show", &id]).ok();
    assert!(shown.contains("in the open"), "{shown}");
    assert!(!format!("{:?}", lines(&dir)).contains("curtain"));
}

#[test]
fn a_session_is_forked_at_a_turn_and_archived_for_good() {
    let world = World::new();
    let repo = world.repo();
    let mut runtime = Runtime::new(&world);
    let session = runtime.session("trunk");
    let id = session.to_string();
    let mut driver = runtime.driver(session, LIVES);
    for key in ["one", "two"] {
        runtime.commit(
            &mut driver,
            key,
            &[prompt_observation(key, key), stopped(key)],
        );
    }
    let shown = world.json(&repo.dir, &["session", "show", &id]);
    let first = shown["turns"][0]["turn"].as_str().unwrap();
    let fork = |args: &[&str]| {
        let all = [&["session", "fork", &id], args].concat();
        repo.siglum(&[&all[..], &["--json"]].concat())
    };
    // Its driver goes on while it is forked.
    let tail = &first[first.len() - 8..];
    let forked: Value =
        serde_json::from_str(&fork(&["--turn", tail, "--conversation", "branch"]).ok()).unwrap();
    assert_eq!(forked["data"]["parent_entry"], 2, "{forked}");
    let branch = forked["data"]["session"].as_str().unwrap();
    let again = fork(&["--turn", first, "--conversation", "branch"]).ok();
    assert!(again.contains(branch), "{again}");
    for (args, code) in [
        (&["--turn", "ffffffff", "--conversation", "x"][..], 3),
        (&["--conversation", "not one"], 2),
        (&["--conversation", "trunk"], 2),
        (&[], 2),
    ] {
        assert_eq!(fork(args).code, Some(code), "{args:?}");
    }
    let shown = world.json(&repo.dir, &["session", "show", branch]);
    assert_eq!(
        (&shown["session"]["parent"], &shown["session"]["parent_at"]),
        (&json!(id), &json!(2)),
        "{shown}"
    );

    runtime.open(
        &mut driver,
        "three",
        &[prompt_observation("three", "three")],
    );
    let archive =
        |id: &str, more: &[&str]| repo.siglum(&[&["session", "archive", id], more].concat());
    assert_eq!(archive(&id, &["--yes"]).code, Some(1), "it is driven");
    runtime.commit(&mut driver, "three", &[stopped("three")]);
    let refused = archive(&id, &[]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("--yes"), "{refused:?}");
    archive(&id, &["--yes"]).ok();
    archive(&id, &[]).ok();
    let late = driver.commit(
        &runtime.world,
        &mut runtime.ledger,
        "four",
        &[prompt_observation("four", "x")],
    );
    assert!(late.is_err());
    let shown = world.json(&repo.dir, &["session", "show", &id]);
    assert!(shown["session"]["archived_at"].is_string(), "{shown}");
    assert_eq!(shown["turns"].as_array().unwrap().len(), 3, "{shown}");
    let list = repo.siglum(&["session", "list", "--all"]).ok();
    assert!(list.contains("archived"), "{list}");

    let mut watched = Agent::start(&repo, "watched");
    turn(&mut watched, "more");
    let ran = archive("watched", &["--yes"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("observed"), "{ran:?}");
}
