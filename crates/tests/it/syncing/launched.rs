//! `siglum run --gateway`: the gateway knows the session before anything is made.

use serde_json::json;

use super::{json_there, there};
use crate::harness::{Agent, Fate, Gateway, World, until};
use crate::launching::Launch;

#[test]
fn the_gateway_knows_the_session_before_it_runs_and_how_it_ended() {
    let world = World::new();
    let repo = world.repo();
    let origin = "https://ann:hunter2@github.com/o/r.git";
    repo.git(&["remote", "add", "origin", origin]);
    let gateway = Gateway::start(&world);
    std::fs::write(world.root.join("token"), "sgl_one").unwrap();
    let token = world.root.join("token");
    let ran = repo.siglum(&[
        "run",
        "--gateway",
        &gateway.url,
        "--gateway-token-file",
        token.to_str().unwrap(),
        "--issue",
        "42",
        "--label",
        "team=core",
        "--role",
        "coder",
        "--",
        "sh",
        "-c",
        "env | grep GATEWAY; exit 3",
    ]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!(ran.stdout, "", "the command is known by its session alone");
    let requests = gateway.requests();
    assert_eq!(requests[0].path, "/v1/sessions");
    assert_eq!(requests[0].header("authorization"), Some("Bearer sgl_one"));
    let created = requests[0].json();
    let links = json!({"issue_number": 42, "agent_role": "coder", "labels": {"team": "core"}});
    assert_eq!(created["links"], links);
    assert_eq!(
        (&created["mode"], &created["conversation_id"]),
        (&json!("observed"), &created["id"])
    );
    // By the name that others know, without the password in the address.
    assert_eq!(created["repositories"], json!(["github.com/o/r"]));
    let session = created["id"].as_str().unwrap();
    let end = format!("/v1/sessions/{session}/end");
    let end = requests.iter().find(|a| a.path == end).unwrap();
    assert_eq!(end.json(), json!({"outcome": "failed", "code": 3}));
    // The last sync of the launcher brought the rest.
    let shown = json_there(&gateway, &repo, &["session", "show", session]);
    assert_eq!(shown["session"]["home"], created["home"]);
    assert_eq!(shown["launch"]["code"], 3, "{shown}");
    assert!(!format!("{requests:?}").is_empty());
    there(
        &gateway,
        &repo,
        &["session", "list", "--all", "--link", "issue_number=42"],
    )
    .ok();
}

/// What is in Siglum's home, beside the ledger's own files.
fn files(world: &World) -> Vec<std::ffi::OsString> {
    let entries = std::fs::read_dir(world.siglum_home()).unwrap().flatten();
    let mut names: Vec<_> = entries.map(|e| e.file_name()).collect();
    names.retain(|n| !n.to_string_lossy().starts_with("ledger.db"));
    names.sort();
    names
}

#[test]
fn a_refusal_tells_its_reason_and_nothing_is_made() {
    let world = World::new();
    let repo = world.repo();
    let gateway = Gateway::start(&world);
    gateway.fates([Fate::Status(422)]);
    gateway.says(json!({"title": "bad link", "detail": "no issue 42 here", "code": "invalid", "field": "links.issue_number"}));
    let before = files(&world);
    let ran = repo.siglum(&[
        "run",
        "--gateway",
        &gateway.url,
        "--issue",
        "42",
        "--worktree",
        "--",
        "touch",
        "made",
    ]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for word in ["no issue 42 here", "links.issue_number", "invalid"] {
        assert!(ran.stderr.contains(word), "{word}: {}", ran.stderr);
    }
    assert!(!repo.dir.join("made").exists());
    assert_eq!(world.count("SELECT count(*) FROM sessions"), 0);
    assert_eq!(world.count("SELECT count(*) FROM projections"), 0);
    assert_eq!(repo.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(files(&world), before);
    assert_eq!(gateway.requests().len(), 1);
}

#[test]
fn one_that_is_out_of_reach_gets_the_session_when_it_is_sent_by_itself() {
    let world = World::new();
    let repo = world.repo();
    let gateway = Gateway::start(&world);
    gateway.fates([Fate::Before; 9]);
    let mut command = world.command(World::program());
    command.env("SIGLUM_GATEWAY", &gateway.url);
    let args = ["run", "--issue", "7", "--", "touch", "made"];
    let ran = command.args(args).current_dir(&repo.dir).output().unwrap();
    let stderr = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(0), "{stderr}");
    assert!(repo.dir.join("made").exists());
    assert!(stderr.contains("cannot connect to"), "{stderr}");
    gateway.fates([]);
    // Nothing waits for that address, and the launcher says how to send what is missing.
    assert_eq!(world.count("SELECT count(*) FROM projections"), 0);
    let (_, hint) = stderr.split_once("`siglum sync").expect(&stderr);
    let (hint, _) = hint.split_once('`').unwrap();
    let words: Vec<&str> = ["sync"]
        .into_iter()
        .chain(hint.split_whitespace())
        .collect();
    assert!(words.contains(&gateway.url.as_str()), "{words:?}");
    repo.siglum(&words).ok();
    let listed = json_there(
        &gateway,
        &repo,
        &["session", "list", "--all", "--link", "issue_number=7"],
    );
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
    assert_eq!(gateway.pending_fates(), 0);
    assert_eq!(world.count("SELECT count(*) FROM projections"), 0);
}

/// A session of an agent that does something in a checkout, with a mark in each text that it leaves.
fn marked(mut agent: Agent, mark: &str) {
    agent.begin("startup");
    agent.prompt(&format!("{mark}-prompt"));
    agent.write(&format!("{mark}-file.txt"), &format!("{mark}-text\n"));
    agent.sh(&format!("git add . && git commit -q -m {mark}-subject"));
    agent.stop();
    agent.end("exit");
    agent.quit();
}

#[test]
fn the_launched_session_leaves_and_no_other_one() {
    let world = World::new();
    let repo = world.repo();
    let elsewhere = world.root.join("kept-here");
    std::fs::create_dir(&elsewhere).unwrap();
    world
        .sh(
            &elsewhere,
            "git init -q . && git commit -q --allow-empty -m base",
        )
        .ok();
    let elsewhere = world.at(&elsewhere);
    elsewhere.siglum(&["init", "--yes"]).ok();
    for (repo, mark) in [(&elsewhere, "kept-here"), (&repo, "kept-before")] {
        marked(Agent::process(repo, mark, &Agent::program()), mark);
    }
    until("the worker has left", || world.processes().is_empty());
    let gateway = Gateway::start(&world);
    let flags = format!("--issue 42 --gateway {}", gateway.url);
    let (agent, launch) = Launch::agent(&repo, "one", &[], &flags);
    marked(agent, "goes");
    assert_eq!(launch.over(), Some(0));
    let sent = gateway.requests().len();
    repo.siglum(&["worker", "--once"]).ok();
    assert_eq!(
        gateway.requests().len(),
        sent,
        "the gateway is not remembered"
    );
    assert_eq!(world.count("SELECT count(*) FROM projections"), 0);
    let bodies = gateway.requests().into_iter().map(|request| {
        let batch = zstd::decode_all(&*request.body).unwrap_or_default();
        [request.body, batch].concat()
    });
    let mut received: Vec<u8> = bodies.flatten().collect();
    for entry in std::fs::read_dir(gateway.home()).unwrap().flatten() {
        received.extend(std::fs::read(entry.path()).unwrap_or_default());
    }
    let received = String::from_utf8_lossy(&received);
    for text in ["goes-prompt", "goes-file.txt", "goes-subject"] {
        assert!(received.contains(text), "{text} is missing");
    }
    for text in ["kept-here", "kept-before"] {
        assert!(!received.contains(text), "{text} left");
    }
    let why = json_there(&gateway, &repo, &["why"]);
    assert_eq!(why["committer"]["verdict"], "certain", "{why}");
    let own = json_there(&gateway, &repo, &["show", "one", "--full"]);
    let here = repo.why("HEAD").0;
    assert_eq!(
        why["authors"][0]["session"], why["committer"]["session"],
        "{why}\n{here}\n{own}"
    );
    let listed = json_there(&gateway, &repo, &["session", "list", "--all"]);
    assert_eq!(listed["items"].as_array().unwrap().len(), 1, "{listed}");
    there(&gateway, &repo, &["verify"]).ok();
}
