//! The packages for Python and TypeScript, and their examples, against the gateway: over a wire on which answers are lost,
//! each creates a session, commits turns, reads them back, follows them and ends it, and the program itself shows the same.
//!
//! `cargo xtask test` makes the packages and tells by variables where they are; `cargo xtask clients` does it for tests by
//! hand. Without the variables these tests fail.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::gateway::server::on_a_file;
use crate::gateway_load::lossy::Lossy;
use crate::gateway_load::served::Served;
use crate::harness::{Agent, Ran, World};
use crate::messages::played;

/// What is in the requests whose first answer is lost: the creation, the lease, a turn, the stream, the end.
const LOST: [&str; 5] = ["nightly", "/lease ", "/turns/turn-2 ", "/stream ", "/end "];

fn variable(name: &str) -> PathBuf {
    let value = std::env::var_os(name);
    let value = value
        .unwrap_or_else(|| panic!("{name} is not set; `cargo xtask clients` says what to set"));
    PathBuf::from(value)
}

/// A program in Python, with the package as PyPI has it.
fn python(world: &World, program: &str) -> Command {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/python");
    let mut command = world.command("python3");
    command
        .args(["-B", "-W", "error"])
        .arg(sources.join(program))
        .env("PYTHONPATH", variable("SIGLUM_CLIENTS_PYTHON"));
    command
}

/// A program in TypeScript, in the package as npm has it.
fn typescript(world: &World, program: &str) -> Command {
    let mut command = world.command(variable("SIGLUM_CLIENTS_NODE"));
    command.arg(variable("SIGLUM_CLIENTS_TYPESCRIPT").join(program));
    command
}

/// Tells a program where the gateway is, and which token it has.
fn reach(command: &mut Command, address: &str, token: &str) {
    command
        .env("SIGLUM_GATEWAY", address)
        .env("SIGLUM_GATEWAY_TOKEN", token);
}

/// The secret of a new token.
fn token(world: &World, more: &[&str]) -> String {
    let created = world.json(&world.root, &[&["token", "create"], more].concat());
    created["secret"].as_str().unwrap().to_owned()
}

/// Runs a client in a new world, and compares what it tells with what the program shows.
#[track_caller]
fn check(client: impl FnOnce(&World) -> Command) {
    let world = World::new();
    let token = token(&world, &[]);
    let served = Served::start(&world, &[]);
    let wire = Lossy::before(&served.address, &LOST);
    let mut client = client(&world);
    client.arg("a-conversation");
    reach(&mut client, &format!("http://{}", wire.address), &token);
    let output = client.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!(wire.lost.load(Ordering::SeqCst), 5, "answers were lost");
    read_as_written(&report);
    let id = report["session"].as_str().unwrap();
    let shown = world.json(&world.root, &["session", "show", id, "--full"]);
    same_as_shown(&report, &shown);
    let listed = world.json(&world.root, &["session", "list", "--all"]);
    assert_eq!(
        listed["items"].as_array().unwrap().len(),
        1,
        "one session was created"
    );
}

/// What it read is what it wrote, once.
#[track_caller]
fn read_as_written(report: &Value) {
    let receipts = report["receipts"].as_array().unwrap();
    assert_eq!(receipts.len(), 3);
    assert_eq!(report["again"], receipts[2]);
    assert_eq!(report["streamed"], report["receipts"]);
    assert_eq!(report["resumed"], json!(receipts[1..]));
    assert_eq!(report["entries"].as_array().unwrap().len(), 12);
    let refusals = report["refusals"].as_array().unwrap();
    let of = |at: usize, name: &str| refusals[at][name].clone();
    assert_eq!(
        (of(0, "status"), of(0, "code"), of(0, "field")),
        (
            json!(400),
            json!("invalid-field"),
            json!("links.issue_number")
        )
    );
    assert_eq!(
        (of(1, "status"), of(1, "code")),
        (json!(409), json!("conflict"))
    );
    assert!(
        refusals
            .iter()
            .all(|r| r["detail"].as_str().unwrap().len() > 10)
    );
}

/// The program shows what the client was told, and what it said.
#[track_caller]
fn same_as_shown(report: &Value, shown: &Value) {
    let (of_gateway, session) = (&report["shown"], &shown["session"]);
    let same = "agent conversation_id head sealed created_at last_at ended_at end origin state";
    for name in same.split(' ') {
        assert_eq!(session[name], of_gateway[name], "{name}");
    }
    assert_eq!(session["id"], report["session"]);
    assert_eq!(
        (&session["state"], &session["end"]),
        (&json!("ended"), &json!("completed"))
    );
    let links = |of: &Value| -> Vec<(Value, Value)> {
        let links = of["links"].as_array().unwrap().iter();
        links
            .map(|l| (l["field"].clone(), l["value"].clone()))
            .collect()
    };
    assert_eq!(links(session), links(of_gateway));
    assert_eq!(links(session)[3], (json!("label"), json!("team=parts")));
    let turns: Vec<Value> = shown["turns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|t| {
            json!([
                t["state"],
                t["prompt"],
                t["last_message"],
                t["tools"][0]["output"]
            ])
        })
        .collect();
    let expected_turn = |n: u32| {
        let (prompt, answer) = (
            format!("Please sort list {n}."),
            format!("List {n} is sorted ✓."),
        );
        json!(["sealed", prompt, answer, "ok"])
    };
    assert_eq!(
        turns,
        [expected_turn(1), expected_turn(2), expected_turn(3)]
    );
}

#[test]
fn the_python_client_loses_nothing() {
    check(|world| python(world, "tests/report.py"));
}

#[test]
fn the_typescript_client_loses_nothing() {
    check(|world| typescript(world, "report.ts"));
}

#[test]
fn the_agent_loop_commits_each_turn_once() {
    let world = World::new();
    let token = token(&world, &[]);
    let served = Served::start(&world, &[]);
    let agent_loop = |prompt: &str| {
        let mut example = python(&world, "examples/agent_loop.py");
        example.args(["ticket-42", prompt]);
        reach(&mut example, &format!("http://{}", served.address), &token);
        Ran::from(example.output().unwrap()).ok()
    };
    let first = agent_loop("Which files are here?");
    assert!(first.contains("committed as receipt 1 of ses_"), "{first}");
    assert_eq!(agent_loop("Which files are here?"), "committed before");
    let second = agent_loop("And now?");
    assert!(second.contains("committed as receipt 2 of "), "{second}");
    let listed = world.json(&world.root, &["session", "list", "--all"]);
    let id = listed["items"][0]["id"].as_str().unwrap();
    let shown = world.json(&world.root, &["session", "show", id, "--full"]);
    let turns = shown["turns"].as_array().unwrap();
    let prompts: Vec<&Value> = turns.iter().map(|turn| &turn["prompt"]).collect();
    assert_eq!(prompts, ["Which files are here?", "And now?"]);
    let tool = &turns[0]["tools"][0];
    assert_eq!((&tool["tool"], turns.len()), (&json!("shell"), 2));
    assert!(tool["output"].as_str().unwrap().contains("home"), "{tool}");
}

#[test]
fn a_message_is_answered_as_it_is_written() {
    on_a_file(|store| {
        let gateway = played::serve(store, &[]);
        let mut example = typescript(&store.world, "examples/send-message.ts");
        let script =
            "!say Hello |world\n!tool t1 Bash execute {}\n!ask t1 Run it\n!done t1 ok\n!say Bye";
        example.args(["ticket-42", script]);
        reach(&mut example, &gateway.address, &gateway.token);
        let shown = Ran::from(example.output().unwrap()).ok();
        // Nobody is at a terminal to allow it.
        for expected in ["Hello world", "[Bash]", "[reject]", "Bye", "\ndone, "] {
            assert!(shown.contains(expected), "{expected}: {shown}");
        }
    });
}

#[test]
fn a_check_by_read_token_knows_who_made_a_commit() {
    let world = World::new();
    let repo = world.repo();
    let mut agent = Agent::start(&repo, "one");
    agent.prompt("Please write it down.");
    agent.sh("echo one > one.txt && git add one.txt && git commit -qm one");
    repo.check("the commit", "HEAD", &agent.certain());
    let token = token(&world, &["--read"]);
    let served = Served::start(&world, &[]);
    let check_commits = |range: &str| {
        let mut example = python(&world, "examples/check_commits.py");
        example.arg(range).current_dir(&repo.dir);
        reach(&mut example, &format!("http://{}", served.address), &token);
        Ran::from(example.output().unwrap())
    };
    let known = check_commits("HEAD~1..HEAD").ok();
    assert!(known.contains(" ses_"), "{known}");
    repo.sh("git commit -q --allow-empty -m 'by nobody'").ok();
    repo.check("a commit of no session", "HEAD", "unknown unknown");
    let recorded = check_commits("HEAD~1..HEAD");
    assert_eq!(recorded.code, Some(1), "{recorded:?}");
    assert!(recorded.stdout.ends_with(" unknown\n"), "{recorded:?}");
    // The first commit is older than the hooks.
    let all = check_commits("HEAD");
    assert_eq!(all.code, Some(1), "{all:?}");
    assert!(all.stdout.contains(" unknown\n"), "{}", all.stdout);
}
