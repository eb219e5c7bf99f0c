//! A colleague's commits: recorded on one laptop, answered on another one that asks the gateway.

use std::path::PathBuf;

use serde_json::{Value, json};
use siglum_domain::access::Scope;

use super::client::id;
use super::server::{Gateway, base, each_store, on_a_file, tenant, token_for};
use crate::costs::spend;
use crate::faults::store::Store;
use crate::harness::{Agent, Repo, World, until};
use crate::mcp;
use crate::moved_repositories::looked_at;

/// What stands in the prompt alone.
const PROMPT: &str = "Write the quarterly-letter.";

/// A laptop's repository with a commit of a session, which the gateway has.
pub(super) fn sent<'w>(laptop: &'w World, gateway: &Gateway) -> Repo<'w> {
    let repo = laptop.repo();
    let mut agent = working(&repo);
    agent.stop();
    agent.end("exit");
    agent.quit();
    send(&repo, gateway);
    repo
}

/// An agent that got two prompts and made a commit for the second one.
fn working(repo: &Repo<'_>) -> Agent {
    let mut agent = Agent::start(repo, "one");
    agent.prompt(PROMPT);
    agent.write("a.txt", "one\ntwo\n");
    agent.sh("git add . && git commit -q -m work");
    agent
}

fn send(repo: &Repo<'_>, gateway: &Gateway) {
    let laptop = repo.world;
    until("the worker has left", || laptop.processes().is_empty());
    repo.siglum(&["worker", "--once"]).ok();
    let token = laptop.root.join("token");
    std::fs::write(&token, &gateway.token).unwrap();
    let token = token.to_str().unwrap();
    repo.siglum(&["sync", "--to", &gateway.address, "--token-file", token])
        .ok();
}

/// Another laptop, which has two variables and no ledger.
pub(super) fn asking(store: &Store, gateway: &Gateway, scope: Scope) -> World {
    let mut world = World::new();
    let (token, _) = token_for(store, tenant(store), scope, None);
    let variable = |name, value: &str| (name, PathBuf::from(value));
    world
        .variables
        .push(variable("SIGLUM_GATEWAY", &gateway.address));
    world
        .variables
        .push(variable("SIGLUM_GATEWAY_TOKEN", &token));
    world
}

fn cloned<'w>(world: &'w World, repo: &Repo<'_>) -> Repo<'w> {
    let script = format!("git clone -q '{}' clone", repo.dir.display());
    world.sh(&world.root, &script).ok();
    world.at(&world.root.join("clone"))
}

/// Each command answers as the laptop did that made the commit.
#[track_caller]
fn answers(clone: &Repo<'_>, home: &Value, gateway: &str) {
    let world = clone.world;
    for command in [["why"].as_slice(), &["show", "HEAD"]] {
        let why = world.json(&clone.dir, command);
        for field in ["session", "verdict", "evidence", "agent"] {
            assert_eq!(why["committer"][field], home["committer"][field], "{why}");
        }
        for field in ["commit", "subject", "checkpoint", "seen_by", "prompt"] {
            assert_eq!(why[field], home[field], "{why}");
        }
        assert_eq!(why["authors"][0]["files"], home["authors"][0]["files"]);
        assert_eq!(why["source"]["gateway"], gateway, "{why}");
    }
    let line = world.json(&clone.dir, &["why", "a.txt:2"]);
    let session = &home["committer"]["session"];
    assert_eq!(&line["line"]["author"]["session"], session, "{line}");
    let log = world.json(&clone.dir, &["log"]);
    let [work, base] = log["items"].as_array().unwrap().as_slice() else {
        panic!("{log}");
    };
    assert_eq!(&work["committer"]["session"], session, "{log}");
    assert_eq!(work["committer"]["verdict"], "certain", "{log}");
    assert_eq!(work["source"]["gateway"], gateway, "{log}");
    assert_eq!(work["lines"]["by_sessions"], 2, "{log}");
    assert_eq!(base["recorded"], false, "{log}");
    assert_eq!(base["source"], Value::Null, "{log}");
    let checked = world.json(&clone.dir, &["check", "HEAD~..HEAD"]);
    assert_eq!(checked["against"], "gateway", "{checked}");
    assert_eq!(checked["complete"], true, "{checked}");
    assert_eq!(checked["counts"]["by_gateway"], 1, "{checked}");
}

#[test]
fn a_colleagues_commit_is_answered_and_still_is_when_the_gateway_is_away() {
    each_store(|store| {
        let mut gateway = Gateway::start(store);
        let laptop = World::new();
        let repo = sent(&laptop, &gateway);
        let home = laptop.json(&repo.dir, &["why"]);
        assert_eq!(home["committer"]["verdict"], "certain", "{home}");
        assert_eq!(home["prompt"]["text"], PROMPT, "{home}");
        // A list names the repository of a replica as its own record does.
        let head = repo.id("HEAD");
        let get = |path: &str| gateway.launcher().get(path).is(200);
        let known = get(&format!("/v1/commits/{head}"));
        let listed = get(&format!("/v1/commits?prefix={}", &head[..12]));
        let name = known["items"][0]["repository"].as_str().unwrap();
        assert!(name.contains(':'), "{known}");
        assert_eq!(listed["items"][0]["repository"], name, "{listed}");
        let colleague = asking(store, &gateway, Scope::Read);
        let clone = cloned(&colleague, &repo);
        answers(&clone, &home, &gateway.address);
        gateway.stop();
        answers(&clone, &home, &gateway.address);
        // What is forgotten here is not answered any more.
        let forget = ["forget", "--pattern", "quarterly-letter", "--yes"];
        clone.siglum(&forget).ok();
        let why = clone.siglum(&["why"]);
        assert_eq!(why.code, Some(3), "{why:?}");
        assert!(why.stderr.contains("cannot connect"), "{why:?}");
    });
}

/// A laptop whose session made a commit for issue 42, and a clone of the same repository.
fn questioned<'w>(
    (laptop, colleague): (&'w World, &'w World),
    gateway: &Gateway,
) -> (Repo<'w>, Repo<'w>) {
    let repo = laptop.repo_made_by(
        "git init -q -b main . && git commit -q --allow-empty -m base && \
         git remote add origin git@github.com:o/r.git",
    );
    let mut agent = working(&repo);
    repo.siglum(&["link", "add", "one", "issue=42"]).ok();
    spend(&repo, &mut agent);
    agent.quit();
    until("the worker has left", || laptop.processes().is_empty());
    repo.siglum(&["worker", "--once"]).ok();
    looked_at(laptop);
    send(&repo, gateway);
    until("the gateway has counted", || {
        let cost = gateway.launcher().get("/v1/cost").is(200);
        cost["total"]["tokens"]["output"] == 100
    });
    let clone = cloned(colleague, &repo);
    clone
        .sh("git remote set-url origin https://github.com/o/r.git")
        .ok();
    (repo, clone)
}

/// An answer about another issue or repository is empty.
#[track_caller]
fn answers_elsewhere_are_empty(clone: &Repo<'_>) {
    for command in [
        ["cost", "--team", "--link", "issue=7"].as_slice(),
        &[
            "session",
            "list",
            "--team",
            "--repository",
            "github.com/o/other",
        ],
        &["search", "another-letter", "--team"],
    ] {
        let answer = clone.siglum(command).ok();
        assert_eq!(answer, "", "{command:?}");
    }
}

/// The same session by the command line, by a tool of an agent, over HTTP, and by `--team` from another machine.
#[test]
fn a_session_has_one_form_at_every_door() {
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        let repo = store.world.repo();
        let mut agent = working(&repo);
        repo.siglum(&["link", "add", "one", "issue=42"]).ok();
        agent.stop();
        agent.end("other");
        drop(agent);
        let listed = || gateway.launcher().get("/v1/sessions").is(200);
        until("it is sealed and counted", || {
            repo.siglum(&["worker", "--once"]).ok();
            let session = &listed()["items"][0];
            session["sealed"] == session["head"] && session["turns"] == 2 && session["commits"] == 1
        });
        let listed = listed();
        let session = &listed["items"][0];
        assert_eq!(
            (&session["state"], &session["links"][0]["value"]),
            (&json!("ended"), &json!(42))
        );
        let id = session["id"].as_str().unwrap();
        let of_api = gateway.launcher().get(&format!("/v1/sessions/{id}"));
        assert_eq!(of_api.is(200), *session);
        let here = |args: &[&str]| store.world.json(&repo.dir, args);
        assert_eq!(here(&["session", "list"]), listed);
        let shown = here(&["show", id]);
        assert_eq!(shown["session"], *session);
        let run = |command: &str| repo.sh(command).ok();
        let answers = mcp::ask(&repo, &[("show", json!({ "session": id }))], run);
        assert_eq!(*mcp::data(&answers[0]), shown);

        let colleague = asking(store, &gateway, Scope::Launcher);
        let there = |args: &[&str]| colleague.json(&colleague.root, args);
        let by_team = there(&["session", "list", "--team", "--all"]);
        assert_eq!(by_team["items"], listed["items"]);
        let by_team = there(&["show", id, "--team"]);
        assert_eq!(by_team["session"], *session);
        assert!(by_team["source"]["gateway"].is_string(), "{by_team}");
        for field in [
            "number",
            "state",
            "opened_at",
            "prompt",
            "last_message",
            "files",
            "heads",
            "tools",
        ] {
            assert_eq!(
                by_team["turns"][0][field], shown["turns"][0][field],
                "{field}"
            );
        }
    });
}

#[test]
fn a_fresh_clone_answers_the_ten_questions() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let (laptop, colleague) = (World::new(), asking(store, &gateway, Scope::Launcher));
        let (repo, clone) = questioned((&laptop, &colleague), &gateway);
        let mut busy = Agent::start(&repo, "two");
        busy.prompt("Still at it.");
        until("the gateway has a session that is open", || {
            let open = gateway.launcher().get("/v1/sessions?state=open").is(200);
            open["items"].as_array().unwrap().len() == 1
        });
        let home = laptop.json(&repo.dir, &["why"]);
        let session = home["committer"]["session"].as_str().unwrap();
        let short = &session[session.len() - 8..];
        let resume = ["claude --resume one", "on the machine where it ran"];
        let show = ["show", short, "--team", "--limit", "1"];
        let questions: [(&str, &[&str], &[&str]); 10] = [
            ("which agent made HEAD", &["why"], &["claude-code", short]),
            (
                "who wrote a line, for which prompt",
                &["why", "a.txt:2"],
                &["a.txt:2", short, PROMPT],
            ),
            (
                "what did agents do",
                &["session", "list", "--team", "--since", "1d"],
                &[short, "Please do the work."],
            ),
            (
                "which sessions touched a file",
                &["why", "a.txt"],
                &["a.txt:1-2", short, PROMPT],
            ),
            (
                "where was a word discussed",
                &["search", "quarterly-letter", "--team"],
                &[short, "prompt", PROMPT],
            ),
            (
                "what did issue 42 cost",
                &["cost", "--link", "issue=42", "--team"],
                &[short, "100", "$"],
            ),
            ("how does the session go on", &["why", "HEAD"], &resume),
            (
                "which commits have no record",
                &["log"],
                &["unknown", "base"],
            ),
            (
                "what runs now",
                &["session", "list", "--team", "--open"],
                &["claude-code", "open"],
            ),
            ("what changed last", &show, &["a.txt", PROMPT, session]),
        ];
        for (question, command, words) in questions {
            let answer = clone.siglum(command).ok();
            for word in words {
                assert!(answer.contains(word), "{question}: {word}: {answer}");
            }
            let is_from = answer.contains(&format!("from {}", gateway.address));
            assert!(is_from || answer.contains("SOURCE"), "{question}: {answer}");
        }
        answers_elsewhere_are_empty(&clone);
        let status = clone.siglum(&["status"]).ok();
        assert!(status.contains(&gateway.address), "{status}");
        let doctor = clone.siglum(&["doctor"]).stdout;
        let text = format!(
            "{} answers; the token reads commits, sessions",
            gateway.address
        );
        assert!(doctor.contains(&text), "{doctor}");
    });
}

/// An answer without what only the command adds.
#[track_caller]
fn without(mut answer: Value, added: &[&str]) -> Value {
    let fields = answer.as_object_mut().unwrap();
    for field in added {
        assert!(fields.remove(*field).is_some(), "{field}");
    }
    answer
}

/// What a search finds, without the commands that go on from it, which only the machine of the session has.
#[track_caller]
fn without_commands(mut answer: Value) -> Value {
    let remove = |value: &mut Value, field: &str| {
        let removed = value.as_object_mut().unwrap().remove(field);
        assert!(removed.is_some(), "{field}");
    };
    for item in answer["items"].as_array_mut().unwrap() {
        remove(item, "resume");
        let hits = item["hits"].as_array_mut().unwrap();
        let of_turns = hits.iter_mut().filter(|hit| hit["turn"].is_u64());
        of_turns.for_each(|hit| remove(hit, "show"));
    }
    answer
}

fn has_null(answer: &Value) -> bool {
    match answer {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(fields) => fields.values().any(has_null),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// What is not known is absent from an answer, whoever gives it.
#[track_caller]
fn have_no_null(repo: &Repo<'_>, gateway: &Gateway) {
    let here = |args: &[&str]| repo.world.json(&repo.dir, args);
    let head = repo.id("HEAD");
    let why = ("why", json!({}));
    let by_tool = mcp::ask(repo, &[why], |command| repo.sh(command).ok());
    let mut answers = vec![
        here(&["why"]),
        here(&["why", "HEAD~"]),
        here(&["why", "a.txt"]),
        here(&["log"]),
        here(&["show", "one"]),
        here(&["session", "list"]),
        here(&["status"]),
        mcp::data(&by_tool[0]).clone(),
    ];
    let paths = [
        "commits",
        "sessions",
        "checkpoints",
        "pipelines",
        "heartbeats",
    ]
    .map(|list| format!("/v1/{list}"));
    for path in paths.into_iter().chain([format!("/v1/commits/{head}")]) {
        answers.push(gateway.launcher().get(&path).is(200));
    }
    for answer in answers {
        assert!(!has_null(&answer), "{answer}");
    }
}

#[test]
fn a_question_has_one_answer_at_every_door() {
    on_a_file(|store| {
        let world = &store.world;
        let repo = world.repo_made_by(
            "git init -q -b main . && git commit -q --allow-empty -m base && \
             git remote add origin git@github.com:o/r.git",
        );
        let mut agent = working(&repo);
        repo.siglum(&["link", "add", "one", "issue=42"]).ok();
        spend(&repo, &mut agent);
        agent.end("exit");
        agent.quit();
        until("the worker has left", || world.processes().is_empty());
        repo.siglum(&["worker", "--once"]).ok();
        looked_at(world);
        let search = ["search", "quarterly-letter"];
        until("all is in the search index", || {
            world.json(&repo.dir, &search)["index"]["behind"] == 0
        });
        let gateway = Gateway::start(store);
        let colleague = asking(store, &gateway, Scope::Launcher);
        let clone = cloned(&colleague, &repo);
        clone
            .sh("git remote set-url origin https://github.com/o/r.git")
            .ok();
        let get = |path: &str| gateway.launcher().get(path).is(200);
        for by in ["issue", "session", "model"] {
            let cost = ["cost", "--by", by, "--since", "all"];
            let answer = world.json(&repo.dir, &cost);
            assert_eq!(answer["total"]["tokens"]["output"], 100, "{answer}");
            let path = format!("/v1/cost?by={by}&since=all&repository=github.com/o/r");
            assert_eq!(get(&path), answer);
            let team = colleague.json(&clone.dir, &[&cost[..], &["--team"]].concat());
            assert_eq!(without(team, &["source"]), answer);
            let call = ("cost", json!({ "by": by, "since": "all" }));
            let told = mcp::ask(&repo, &[call], |command| repo.sh(command).ok());
            assert_eq!(*mcp::data(&told[0]), answer);
        }
        let found = world.json(&repo.dir, &search);
        let call = ("search", json!({ "words": "quarterly-letter" }));
        let told = mcp::ask(&repo, &[call], |command| repo.sh(command).ok());
        assert_eq!(*mcp::data(&told[0]), found);
        let found = without_commands(without(found, &["looked_at"]));
        assert_eq!(found["items"].as_array().unwrap().len(), 1, "{found}");
        let path = "/v1/search?q=quarterly-letter&repository=github.com/o/r";
        assert_eq!(get(path), found);
        let team = colleague.json(&clone.dir, &[&search[..], &["--team"]].concat());
        assert_eq!(without(team, &["source"]), found);
        let listed = world.json(&repo.dir, &["checkpoint", "list"]);
        let checkpoint = &listed["items"][0];
        let pinned = &checkpoint["pins"][0]["links"][0];
        assert_eq!(pinned["field"], "issue_number", "{listed}");
        let path = "/v1/checkpoints?repository=github.com/o/r";
        assert_eq!(get(path), listed);
        let id = checkpoint["id"].as_str().unwrap();
        assert_eq!(get(&format!("/v1/checkpoints/{id}")), *checkpoint);
        let shown = world.json(&repo.dir, &["checkpoint", "show", id]);
        assert_eq!(without(shown, &["about", "commits"]), *checkpoint);
        have_no_null(&repo, &gateway);
    });
}

#[test]
fn a_read_token_reads_no_sessions_and_says_what_it_lacks() {
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        let (laptop, colleague) = (World::new(), asking(store, &gateway, Scope::Read));
        let (_, clone) = questioned((&laptop, &colleague), &gateway);
        let lines = colleague.json(&clone.dir, &["why", "a.txt"]);
        assert_eq!(lines["runs"][0]["prompt"]["text"], PROMPT, "{lines}");
        for command in [
            ["search", "quarterly-letter", "--team"].as_slice(),
            &["cost", "--team"],
            &["session", "list", "--team"],
            &["show", "one", "--team"],
        ] {
            let refused = clone.siglum(command);
            assert_eq!(refused.code, Some(1), "{command:?}: {refused:?}");
            let words = "This needs a launcher token";
            assert!(refused.stderr.contains(words), "{command:?}: {refused:?}");
        }
        let doctor = clone.siglum(&["doctor"]).stdout;
        assert!(doctor.contains("not sessions and cost"), "{doctor}");
    });
}

#[test]
fn a_pipeline_needs_no_ledger_and_makes_none() {
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        let laptop = World::new();
        let repo = sent(&laptop, &gateway);
        let pipeline = asking(store, &gateway, Scope::Read);
        let clone = cloned(&pipeline, &repo);
        let checked = clone.siglum(&["check", "HEAD~..HEAD"]);
        assert_eq!(checked.code, Some(0), "{checked:?}");
        assert!(checked.stderr.contains("1 by session"), "{checked:?}");
        assert!(!pipeline.siglum_home().join("ledger.db").exists());
        // A commit that the gateway does not know, and one that copies another one's message.
        clone
            .sh("git commit -q --allow-empty -m unknown && git commit -q --allow-empty -C HEAD~")
            .ok();
        let text = clone.siglum(&["check", "HEAD~2..HEAD", "--json"]);
        assert_eq!(text.code, Some(1), "{text:?}");
        let answer: Value = serde_json::from_str(&text.stdout).unwrap();
        let failed = answer["data"]["failed"].as_array().unwrap();
        let reason = |at: usize| &failed[at]["findings"][0]["reason"];
        assert_eq!(
            (reason(0), reason(1)),
            (&"copied".into(), &"unrecorded".into())
        );
        assert_eq!(failed[0]["findings"][0]["of"], repo.id("HEAD"));
    });
}

#[test]
fn a_token_that_may_not_read_is_refused_in_words() {
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        let laptop = World::new();
        let repo = sent(&laptop, &gateway);
        let stranger = asking(store, &gateway, Scope::Telemetry);
        let clone = cloned(&stranger, &repo);
        let why = clone.siglum(&["why"]);
        assert_eq!(why.code, Some(3), "{why:?}");
        let words = "a launcher token or a read token";
        assert!(why.stderr.contains(words), "{why:?}");
        // Nothing fails, and nothing is verified.
        let checked = clone.siglum(&["check", "HEAD~..HEAD"]);
        assert_eq!(checked.code, Some(4), "{checked:?}");
        assert!(checked.stderr.contains(words), "{checked:?}");
    });
}

#[test]
fn an_attested_commit_passes_a_check_with_its_word_and_can_be_denied() {
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        let laptop = World::new();
        let repo = laptop.repo();
        repo.sh("git commit -q --allow-empty -m 'by a forge'").ok();
        let commit = repo.id("HEAD");
        let session = id(&gateway.launcher().create(&base("S1")));
        let (token, _) = token_for(store, tenant(store), Scope::Attester, None);
        let body =
            json!({ "commit": commit, "repository": "github.com/o/r", "platform": "Acme Forge" });
        let path = format!("/v1/sessions/{session}/commits");
        gateway.client(&token).post(&path, &body).is(201);
        let pipeline = asking(store, &gateway, Scope::Read);
        let clone = cloned(&pipeline, &repo);
        let checked = clone.siglum(&["check", "HEAD~..HEAD"]);
        assert_eq!(checked.code, Some(0), "{checked:?}");
        assert!(checked.stderr.contains("1 attested"), "{checked:?}");
        let denied = clone.siglum(&["check", "HEAD~..HEAD", "--deny", "attested"]);
        assert_eq!(denied.code, Some(1), "{denied:?}");
        assert!(denied.stdout.contains("attested"), "{denied:?}");
        let why = pipeline.json(&clone.dir, &["why"]);
        assert_eq!(why["committer"]["session"], session, "{why}");
        assert_eq!(why["committer"]["verdict"], "likely", "{why}");
        let evidence = &why["committer"]["evidence"][0];
        assert_eq!(evidence["basis"], "attested", "{why}");
        let shown = clone.siglum(&["why"]);
        assert!(shown.stdout.contains("[attested]"), "{shown:?}");
        let words = "attested by token tests of Acme Forge";
        assert!(shown.stdout.contains(words), "{shown:?}");
        let log = pipeline.json(&clone.dir, &["log"]);
        assert_eq!(log["items"][0]["attested"], true, "{log}");
        assert_eq!(log["items"][0]["committer"]["session"], session, "{log}");
        assert_eq!(log["items"][1]["attested"], false, "{log}");
    });
}
