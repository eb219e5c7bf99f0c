//! `siglum record`: agents that tell of themselves.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::commands::plain;
use crate::harness::{Ran, Repo, World};

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A session with lines of every type, each of which names its time and its turn.
fn session() -> String {
    fs::read_to_string(workspace().join("crates/agents/src/record/fixtures/session.jsonl")).unwrap()
}

/// Gives lines to the command.
fn record(repo: &Repo<'_>, lines: &str, flags: &str) -> Ran {
    let file = repo.world.root.join("lines.jsonl");
    fs::write(&file, lines.replace("/repo", repo.dir.to_str().unwrap())).unwrap();
    let (program, file) = (World::program(), file.display().to_string());
    repo.sh(&format!(
        "{} record --agent tester {flags} <{file}",
        program.display()
    ))
}

/// Runs an example in a repository; returns the session that it says it was.
fn example(repo: &Repo<'_>, command: &str) -> String {
    let bin = repo.world.root.join("bin");
    fs::create_dir_all(&bin).unwrap();
    symlink(World::program(), bin.join("siglum")).unwrap();
    let dir = workspace().join("integrations/record");
    let script = format!("PATH={}:$PATH {command}", bin.display());
    repo.sh(&script.replace("EXAMPLES", dir.to_str().unwrap()))
        .ok()
}

/// What an example did: the commit is its, and so is what it wrote.
fn check_example(command: &str) {
    let world = World::new();
    let repo = world.repo();
    let session = example(&repo, command);
    let why = repo.why("HEAD");
    assert_eq!(why.committer(), format!("{session} certain"), "{why}");
    let lines = BTreeMap::from([(session.clone(), 2)]);
    assert_eq!(why.authors(), lines, "{why}");
    let shown = world.json(&repo.dir, &["session", "show", &session]);
    let tokens = &shown["session"]["tokens"];
    assert_eq!(
        (&tokens["input"], &tokens["output"]),
        (&json!(150), &json!(20))
    );
    assert_eq!(shown["session"]["links"][0]["value"], 42);
    assert_eq!(shown["session"]["state"], "ended");
    let tools = shown["turns"].as_array().unwrap().iter();
    let tools: usize = tools.map(|t| t["tools"].as_array().unwrap().len()).sum();
    assert_eq!(tools, 2, "{shown:#}");
    assert_eq!(world.declines(), Vec::<String>::new());
}

#[test]
fn the_example_in_python_is_recorded_as_it_worked() {
    check_example("python3 EXAMPLES/record.py");
}

#[test]
fn the_example_in_shell_is_recorded_as_it_worked() {
    check_example("sh EXAMPLES/record.sh");
}

#[test]
fn a_refused_line_ends_it_and_what_came_before_stays() {
    let world = World::new();
    let repo = world.repo();
    let session = session();
    let lines: Vec<&str> = session.lines().collect();
    let bad = lines[3].replace("\"message\"", "\"massage\"");
    let sent = [lines[0], lines[1], "", lines[2], &bad, lines[4]].join("\n");
    let ran = record(&repo, &sent, "--ack");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(ran.stdout, "1\n2\n4\n");
    assert!(
        ran.stderr.contains("line 5: unknown type `massage`"),
        "{ran:?}"
    );
    let shown = world.json(&repo.dir, &["session", "show", "s-1", "--full"]);
    assert_eq!(messages_of_first_turn(&shown), Vec::<String>::new());
    record(&repo, &session, "").ok();
    let whole = world.json(&repo.dir, &["session", "show", "s-1", "--full"]);
    assert_eq!(
        messages_of_first_turn(&whole),
        ["I write the list first.", "Check the list"]
    );
    record(&repo, &session, "").ok();
    let again = world.json(&repo.dir, &["session", "show", "s-1"]);
    assert_eq!(again["session"]["head"], whole["session"]["head"]);
}

fn messages_of_first_turn(shown: &Value) -> Vec<String> {
    let turns = shown["turns"].as_array().unwrap();
    let first = turns.iter().find(|turn| turn["number"] == 1).unwrap();
    let messages = first["messages"].as_array().unwrap().iter();
    messages
        .map(|message| message["text"].as_str().unwrap().to_owned())
        .collect()
}

/// What is shown of a session, without what only the ledger calls so and when it took it.
fn state(repo: &Repo<'_>) -> Value {
    let arguments = ["session", "show", "s-1", "--full", "--limit", "0"];
    let mut shown = repo.world.json(&repo.dir, &arguments);
    let turns = shown["turns"].as_array_mut().unwrap();
    for turn in turns {
        turn["turn"].take();
        // Whether it is sealed by now.
        turn["state"].take();
    }
    let kept = [
        "title",
        "state",
        "ended_at",
        "models",
        "subagents",
        "tokens",
    ];
    let kept = kept.map(|name| (name.to_owned(), shown["session"][name].clone()));
    let turns = ("turns".to_owned(), shown["turns"].take());
    Value::Object(kept.into_iter().chain([turns]).collect())
}

#[test]
fn any_order_and_repetition_of_lines_that_name_time_and_turn_is_one_session() {
    let session = session();
    let lines: Vec<&str> = session.lines().collect();
    let once = {
        let world = World::new();
        let repo = world.repo();
        record(&repo, &session, "").ok();
        state(&repo)
    };
    assert_eq!(once["state"], "ended");
    let backwards: Vec<&str> = lines.iter().rev().copied().collect();
    let (odd, even): (Vec<&str>, Vec<&str>) = {
        let numbered = || lines.iter().copied().enumerate();
        let pick = |rest: usize| {
            let of_rest = numbered().filter(move |(n, _)| n % 2 == rest);
            of_rest.map(|(_, line)| line).collect()
        };
        (pick(1), pick(0))
    };
    for order in [
        backwards.clone(),
        [odd.clone(), even].concat(),
        [lines, backwards, odd].concat(),
    ] {
        let world = World::new();
        let repo = world.repo();
        record(&repo, &order.join("\n"), "").ok();
        assert_eq!(state(&repo), once, "{order:#?}");
    }
}

#[test]
fn nothing_is_recorded_where_siglum_is_off() {
    let world = World::new();
    let repo = plain(&world);
    let ran = record(&repo, &session(), "");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.stderr.contains("line 1: nothing is recorded in") && ran.stderr.contains("siglum init"),
        "{ran:?}"
    );
    assert!(!world.siglum_home().join("ledger.db").exists());
}

#[test]
fn a_process_that_did_not_start_it_is_not_its_agent() {
    let world = World::new();
    let repo = world.repo();
    let ran = record(&repo, &session(), "--pid 4194304");
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("did not start this command"), "{ran:?}");
    for agent in ["No Agent", "claude-code", "pi"] {
        let ran = repo.siglum(&["record", "--agent", agent]);
        assert_eq!(ran.code, Some(2), "{agent}: {ran:?}");
    }
}
