//! Which gateway is asked about commits that nobody is known here to have made, and what a hostile one can say.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use crate::harness::{Fate, Gateway, Ran, Repo, World, until};

const EXPLAIN: &str = "/v1/commits/explain";
const SESSION: &str = "ses_01920000000070008000000000000001";

/// A repository whose only commit nobody was seen making, in the scope of a gateway.
pub(super) fn sending<'w>(world: &'w World, gateway: &Gateway) -> Repo<'w> {
    let repo = world.repo();
    fs::write(world.root.join("token"), "sgl_one").unwrap();
    let token = world.root.join("token");
    let token = token.to_str().unwrap();
    repo.siglum(&["sync", "--to", &gateway.url, "--token-file", token])
        .ok();
    // What is decided about the next request is not about one of the worker.
    until("the worker has left", || world.processes().is_empty());
    repo
}

/// The requests about commits, as they came.
pub(super) fn questions(gateway: &Gateway) -> Vec<Value> {
    let requests = gateway.requests().into_iter();
    let about = requests.filter(|request| request.path == EXPLAIN);
    about
        .map(|request| {
            assert_eq!(request.header("authorization"), Some("Bearer sgl_one"));
            request.json()
        })
        .collect()
}

/// An answer that a session made a commit, for this prompt.
pub(super) fn answer(commit: &str, prompt: &str) -> Value {
    json!({
        "commit": commit,
        "repository": "rep_01920000000070008000000000000001",
        "checkpoint": null,
        "seen_by": "hook",
        "judgement": {
            "rules": 4, "committer": { "kind": "session", "session": SESSION }, "verdict": "likely",
            "evidence": [{ "session": SESSION, "basis": "observed", "counted": true, "text": prompt }],
            "candidates": [], "outer": [],
        },
        "claim": null,
        "files": [],
        "prompt": { "session": SESSION, "turn": "trn_01920000000070008000000000000001", "text": prompt },
        "rewritten_from": [],
        "origins": [],
        "same_patch": [],
        "sessions": [],
    })
}

fn answers(items: &[Value]) -> Value {
    json!({ "items": items, "checkpoints": [], "left_off": [] })
}

/// The answer here, and why there is no other.
#[track_caller]
fn refused(repo: &Repo<'_>, why: &str) {
    let ran = repo.siglum(&["why"]);
    assert!(ran.stderr.contains(why), "{why}: {ran:#?}");
    assert!(ran.stdout.contains("[unknown]"), "{why}: {ran:#?}");
    assert!(!ran.stdout.contains("from http"), "{why}: {ran:#?}");
    assert_eq!(ran.code, Some(0), "{ran:#?}");
}

#[test]
fn only_a_gateway_whose_scope_has_the_repository_is_asked() {
    let world = World::new();
    let gateway = Gateway::start(&world);
    let repo = sending(&world, &gateway);
    let script = "git init -q -b main other && cd other && git commit -q --allow-empty -m private";
    world.sh(&world.root, script).ok();
    let other = world.at(&world.root.join("other"));
    other.siglum(&["init", "--yes"]).ok();
    gateway.explains(answers(&[]));
    for command in ["log", "why", "check HEAD", "log --fetch"] {
        other.siglum(&command.split(' ').collect::<Vec<_>>());
        // The same gateway in the environment makes the scope no wider.
        let (url, program) = (&gateway.url, World::program());
        other.sh(&format!(
            "SIGLUM_GATEWAY={url} SIGLUM_GATEWAY_TOKEN=sgl_one '{}' {command}",
            program.display()
        ));
    }
    assert!(questions(&gateway).is_empty());
    repo.siglum(&["log"]).ok();
    let request = json!({ "commits": [repo.id("HEAD")], "checkpoints": [] });
    assert_eq!(questions(&gateway), [request]);
}

#[test]
fn an_answer_is_asked_for_once_and_says_where_it_is_from() {
    let world = World::new();
    let gateway = Gateway::start(&world);
    let repo = sending(&world, &gateway);
    gateway.explains(answers(&[answer(&repo.id("HEAD"), "Write it.")]));
    let why = world.json(&repo.dir, &["why"]);
    assert_eq!(why["committer"]["session"], SESSION, "{why}");
    assert_eq!(why["committer"]["verdict"], "likely", "{why}");
    assert_eq!(why["prompt"]["text"], "Write it.", "{why}");
    assert_eq!(why["subject"], "base", "{why}");
    assert_eq!(why["source"]["gateway"], gateway.url.as_str(), "{why}");
    assert_eq!(questions(&gateway).len(), 1);
    // It is kept for a while.
    let shown = repo.siglum(&["show", "HEAD"]).ok();
    assert!(shown.contains(&format!("from {}", gateway.url)), "{shown}");
    let log = repo.siglum(&["log"]).ok();
    assert!(log.contains(&gateway.url), "{log}");
    assert_eq!(questions(&gateway).len(), 1);
}

#[test]
fn a_commit_that_the_gateway_does_not_know_is_asked_about_once_a_minute() {
    let world = World::new();
    let gateway = Gateway::start(&world);
    let repo = sending(&world, &gateway);
    gateway.explains(answers(&[]));
    for command in ["log", "log", "why"] {
        repo.siglum(&[command]).ok();
    }
    assert_eq!(questions(&gateway).len(), 1);
    // The minute is over, and a colleague sent it.
    let kept = world.siglum_home().join("answers/unknown.json");
    let text = fs::read_to_string(&kept).unwrap();
    assert!(text.contains(&repo.id("HEAD")), "{text}");
    fs::remove_file(&kept).unwrap();
    gateway.explains(answers(&[answer(&repo.id("HEAD"), "Write it.")]));
    let log = repo.siglum(&["log"]).ok();
    assert!(log.contains(&gateway.url), "{log}");
    assert_eq!(questions(&gateway).len(), 2);
    let text = fs::read_to_string(&kept).unwrap();
    assert!(!text.contains(&repo.id("HEAD")), "{text}");
}

#[test]
fn all_commits_of_a_file_are_in_one_request() {
    let world = World::new();
    let gateway = Gateway::start(&world);
    let repo = sending(&world, &gateway);
    let unseen = "git -c core.hooksPath=/dev/null commit -q";
    repo.sh(&format!(
        "echo one > a.txt && git add a.txt && {unseen} -m one && echo two >> a.txt && {unseen} -am two"
    ))
    .ok();
    let (one, two) = (repo.id("HEAD~"), repo.id("HEAD"));
    let mut first = answer(&one, "Do all of it.");
    let origin = json!({ "session": SESSION });
    let spans = json!([{ "first": 1, "last": 1, "origin": origin }]);
    first["files"] = json!([{ "path": "a.txt", "spans": spans }]);
    let mut prompt = first["prompt"].clone();
    prompt["text"] = json!("Write one.");
    first["author_prompts"] = json!([{ "paths": ["a.txt"], "prompt": prompt }]);
    gateway.explains(answers(&[first]));
    let found = world.json(&repo.dir, &["why", "a.txt"]);
    let runs = &found["runs"];
    assert_eq!(runs[0]["session"], SESSION, "{found}");
    assert_eq!(runs[0]["verdict"], "certain", "{found}");
    assert_eq!(runs[0]["prompt"]["text"], "Write one.", "{found}");
    assert_eq!(runs[0]["source"]["gateway"], gateway.url, "{found}");
    assert_eq!(runs[1]["commit"], two, "{found}");
    for field in ["session", "prompt", "source"] {
        assert_eq!(runs[1][field], Value::Null, "{found}");
    }
    let line = world.json(&repo.dir, &["why", "a.txt:1"]);
    assert_eq!(line["line"]["prompt"]["text"], "Write one.", "{line}");
    assert_eq!(line["prompt"]["text"], "Do all of it.", "{line}");
    let questions = questions(&gateway);
    assert_eq!(questions.len(), 1, "{questions:?}");
    let asked = questions[0]["commits"].as_array().unwrap().iter();
    let asked: BTreeSet<&str> = asked.map(|commit| commit.as_str().unwrap()).collect();
    assert_eq!(asked, BTreeSet::from([one.as_str(), two.as_str()]));
}

#[test]
fn what_a_gateway_lists_is_refused_or_made_safe() {
    let world = World::new();
    let gateway = Gateway::start(&world);
    let repo = sending(&world, &gateway);
    let list = |more: &[&str]| {
        let list = ["session", "list", "--team", "--all"];
        repo.siglum(&[list.as_slice(), more].concat())
    };
    gateway.serves("/v1/sessions", json!({ "items": [{ "id": "../../x" }] }));
    let refused = list(&[]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("does not respond like"));
    let secret = format!("ghp_{}", &"a1B2c3D4e5F6".repeat(4)[..36]);
    let title = format!("\u{1b}[2J\u{202e}over {secret}");
    let at = "2026-01-31T10:00:00Z";
    let session = json!({
        "id": SESSION, "agent": "claude-code", "conversation_id": "one", "mode": "observed",
        "origin": "live", "home": "led_01920000000070008000000000000001", "created_at": at,
        "last_at": at, "repositories": [&title], "title": &title, "head": 1, "sealed": 1,
        "links": [{ "field": "agent_role", "value": &title }], "turns": 1, "commits": 1,
        "state": "waiting", "models": [], "tool_calls": 1, "subagents": 0,
        "tokens": { "input": 1, "output": 1, "cache_read": 0, "cache_write": 0 },
    });
    // Each page has another one.
    gateway.serves(
        "/v1/sessions",
        json!({ "items": [session], "next": SESSION }),
    );
    for more in [["--limit", "3"].as_slice(), &["--limit", "3", "--json"]] {
        let shown = list(more).ok();
        assert_eq!(shown.matches("over").count(), 6, "{shown}");
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
        assert!(!shown.contains(&secret), "{shown}");
        assert!(!shown.contains("agent_role"), "{shown}");
        assert!(shown.contains(&gateway.url), "{shown}");
    }
}

#[test]
fn a_gateway_that_is_away_costs_one_try_and_a_warning() {
    let world = World::new();
    let gateway = Gateway::start(&world);
    let repo = sending(&world, &gateway);
    gateway.fates([Fate::Status(503)]);
    refused(&repo, "temporarily unavailable");
    gateway.fates([Fate::Before]);
    refused(&repo, "cannot connect");
    assert_eq!(questions(&gateway).len(), 2);
    gateway.fates([Fate::Status(403)]);
    gateway.says(json!({ "title": "the token does not allow this", "code": "forbidden" }));
    refused(&repo, "the token does not allow this");
}

#[test]
fn what_a_hostile_gateway_says_is_refused_or_made_safe() {
    let world = World::new();
    let gateway = Gateway::start(&world);
    let repo = sending(&world, &gateway);
    let head = repo.id("HEAD");
    gateway.explains(answers(&[answer(&"a".repeat(40), "Steal it.")]));
    refused(&repo, "not in the request");
    let mut lines = answer(&head, "Steal it.");
    lines["files"] =
        json!([{ "path": "a", "spans": [{ "first": 2, "last": 1, "origin": "unknown" }] }]);
    gateway.explains(answers(&[lines]));
    refused(&repo, "does not respond like");
    gateway.explains(json!({ "items": "x".repeat(5 << 20) }));
    refused(&repo, "cannot connect");
    let everything = json!({ "items": [], "checkpoints": [], "left_off": [head] });
    gateway.explains(everything);
    refused(&repo, "answers about no commit");
    assert!(!world.siglum_home().join("answers").exists());
    let secret = format!("ghp_{}", &"a1B2c3D4e5F6".repeat(4)[..36]);
    gateway.explains(answers(&[answer(
        &head,
        &format!("\u{1b}[2J\u{202e}over {secret}"),
    )]));
    let Ran { code, stdout, .. } = repo.siglum(&["why"]);
    assert_eq!(code, Some(0));
    assert!(stdout.contains("[likely]"), "{stdout}");
    assert!(!stdout.contains(['\u{1b}', '\u{202e}']), "{stdout:?}");
    assert!(!stdout.contains(&secret), "{stdout}");
    for entry in fs::read_dir(world.siglum_home().join("answers")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!text.contains(&secret), "{text}");
    }
}
