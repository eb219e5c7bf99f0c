//! `siglum import --acp`: sessions that an agent lists and replays over the Agent Client Protocol, and never continues.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::{Ran, Repo, World, until};

const SECRET: &str = "ghp_9fK2mQ7xLr4TzW8bNc3VhY6pDs1GjE5uRaXk";

/// The played agent.
fn agent() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("it/runs/acp_agent.py");
    path.display().to_string()
}

/// A world in which the played agent has a history, and writes down what it is asked.
fn world() -> World {
    let mut world = World::new();
    for (name, file) in [
        ("PLAYED_ACP_HISTORY", "history.json"),
        ("PLAYED_ACP_LOG", "asked.jsonl"),
    ] {
        let path = world.root.join(file);
        world.variables.push((name, path));
    }
    world
}

fn write_history(world: &World, history: &Value) {
    fs::write(world.root.join("history.json"), history.to_string()).unwrap();
}

fn text(kind: &str, text: &str) -> Value {
    json!({ "sessionUpdate": kind, "content": { "type": "text", "text": text } })
}

/// A turn with an edit, in chunks.
fn turn(dir: &Path, prompt: &str) -> Vec<Value> {
    let (head, tail) = prompt.split_at(3);
    let file = dir.join("cart.py");
    vec![
        text("user_message_chunk", head),
        text("user_message_chunk", tail),
        text("agent_thought_chunk", "hm"),
        json!({
            "sessionUpdate": "tool_call", "toolCallId": "edit-1", "title": "Edit", "kind": "edit",
            "status": "completed", "rawInput": { "file_path": file },
            "content": [{ "type": "diff", "path": file, "oldText": "one\ntwo\n", "newText": "one\nzwei\n" }],
        }),
        text("agent_message_chunk", &format!("Did {prompt}.")),
    ]
}

fn session(dir: &Path, updates: &[Value], at: &str) -> Value {
    json!({ "cwd": dir, "title": "Rounding", "updatedAt": at, "updates": updates })
}

fn import(repo: &Repo<'_>, options: &[&str]) -> Value {
    let command = agent();
    let options = [&["import", "--acp", command.as_str()], options].concat();
    repo.world.json(&repo.dir, &options)
}

fn natives(answer: &Value, list: &str) -> Vec<String> {
    let sessions = answer[list].as_array().unwrap().iter();
    let mut natives: Vec<String> = sessions
        .map(|s| s["native_id"].as_str().unwrap().to_owned())
        .collect();
    natives.sort();
    natives
}

fn entries(world: &World) -> i64 {
    world.count("SELECT count(*) FROM observations WHERE key LIKE 'acp:%'")
}

#[test]
fn sessions_are_replayed_once_and_what_is_new_is_added() {
    let world = world();
    let repo = world.repo();
    let elsewhere = world.root.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let below = repo.dir.join("below");
    fs::create_dir(&below).unwrap();
    let first = turn(&repo.dir, &format!("round it, token {SECRET}"));
    // It is loaded first, so that the answer is read before the other one is asked for.
    let mut second = turn(&below, "name it");
    second.push(json!({ "ask": "May I?" }));
    let mut history = json!({
        "s1": session(&repo.dir, &first, "2026-11-20T21:18:59Z"),
        "s2": session(&below, &second, "2026-11-21T21:18:59Z"),
        "s3": session(&elsewhere, &turn(&elsewhere, "move it"), "2026-11-22T21:18:59Z"),
    });
    write_history(&world, &history);
    let listed = import(&repo, &["--dry-run"]);
    assert_eq!(listed["done"], false);
    assert_eq!(natives(&listed, "sessions"), ["s1", "s2"]);
    assert_eq!(entries(&world), 0);
    let done = import(&repo, &[]);
    assert_eq!(done["agent"], "played");
    assert_eq!(natives(&done, "sessions"), ["s1", "s2"], "{done}");
    // A beginning, a prompt, a call, its result and a message.
    assert_eq!(done["sessions"][0]["entries"], 5, "{done}");
    assert_eq!(entries(&world), 10);
    let shown = world.json(&repo.dir, &["session", "show", "s1"]);
    assert_eq!(shown["session"]["agent"], "played");
    assert_eq!(shown["session"]["state"], "ended");
    let read = repo.siglum(&["show", "s1", "--full"]).ok();
    for part in ["round it", "Did round it", "-two", "+zwei", "cart.py"] {
        assert!(read.contains(part), "{part}: {read}");
    }
    assert!(!read.contains("9fK2mQ"), "{read}");
    assert_eq!(import(&repo, &[])["unchanged"], 2);
    assert_eq!(entries(&world), 10);
    // Without a word about when it changed, it is read, and adds nothing.
    history["s1"].as_object_mut().unwrap().remove("updatedAt");
    write_history(&world, &history);
    let again = import(&repo, &[]);
    assert_eq!(
        (&again["unchanged"], &again["sessions"]),
        (&json!(2), &json!([]))
    );
    let more = turn(&repo.dir, "go on");
    let updates = history["s1"]["updates"].as_array_mut().unwrap();
    updates.extend(more);
    write_history(&world, &history);
    let added = import(&repo, &[]);
    assert_eq!(added["sessions"][0]["entries"], 4, "{added}");
    assert_eq!(import(&repo, &["--all"])["sessions"][0]["native_id"], "s3");
    let log = fs::read_to_string(world.root.join("asked.jsonl")).unwrap();
    assert!(!log.contains("session/prompt"), "{log}");
    assert!(log.contains(r#""outcome": "cancelled""#), "{log}");
    repo.siglum(&["verify"]).ok();
}

#[test]
fn what_is_recorded_another_way_or_forgotten_stays_as_it_is() {
    let world = world();
    let repo = world.repo();
    let at = "2026-11-20T21:18:59Z";
    write_history(
        &world,
        &json!({
            "known": session(&repo.dir, &turn(&repo.dir, "do it"), at),
            "gone": session(&repo.dir, &turn(&repo.dir, "drop it"), at),
        }),
    );
    let lines = world.root.join("lines.jsonl");
    let line = json!({ "v": 1, "type": "prompt", "session": "known", "id": "1", "text": "do it", "at": at });
    fs::write(&lines, format!("{line}\n")).unwrap();
    let program = World::program();
    repo.sh(&format!(
        "{} record --agent tester <{}",
        program.display(),
        lines.display()
    ))
    .ok();
    let done = import(&repo, &[]);
    assert_eq!(natives(&done, "skipped"), ["known"], "{done}");
    assert_eq!(natives(&done, "sessions"), ["gone"], "{done}");
    repo.siglum(&["forget", "gone", "--yes"]).ok();
    let done = import(&repo, &[]);
    assert_eq!(natives(&done, "skipped"), ["gone", "known"], "{done}");
    assert_eq!(done["sessions"], json!([]));
}

/// An import by an agent with these variables besides.
fn import_with(world: &mut World, dir: &Path, variables: &[(&'static str, &str)]) -> Ran {
    let known = world.variables.len();
    let more = variables
        .iter()
        .map(|(name, value)| (*name, PathBuf::from(value)));
    world.variables.extend(more);
    let command = agent();
    let ran = world.siglum(dir, &["import", "--acp", command.as_str()]);
    world.variables.truncate(known);
    ran
}

#[test]
fn an_agent_that_cannot_or_says_too_much_is_refused_with_the_reason() {
    let mut world = world();
    let dir = world.repo().dir;
    let at = "2026-11-20T21:18:59Z";
    write_history(
        &world,
        &json!({
            "good": session(&dir, &turn(&dir, "do it"), at),
            "huge": session(&dir, &[json!({ "flood": 66 })], at),
        }),
    );
    let crashed = import_with(&mut world, &dir, &[("PLAYED_ACP_START", "crash")]);
    assert_eq!(crashed.code, Some(1), "{crashed:?}");
    assert!(crashed.stderr.contains("cannot begin"), "{crashed:?}");
    assert!(!crashed.stderr.contains("9fK2mQ"), "{crashed:?}");
    let unable = import_with(&mut world, &dir, &[("PLAYED_ACP_NO_LOAD", "1")]);
    assert_eq!(unable.code, Some(1), "{unable:?}");
    assert!(unable.stderr.contains("`session/load`"), "{unable:?}");
    let garbage = import_with(&mut world, &dir, &[("PLAYED_ACP_START", "garbage")]);
    assert_eq!(garbage.code, Some(4), "{garbage:?}");
    assert!(garbage.stderr.contains("64 MiB"), "{garbage:?}");
    assert_eq!(entries(&world), 5, "the other one is imported");
    let missing = world.siglum(&dir, &["import", "--acp", "no-such-agent acp"]);
    assert_eq!(missing.code, Some(1), "{missing:?}");
    let unquoted = world.siglum(&dir, &["import", "--acp", "agent 'acp"]);
    assert_eq!(unquoted.code, Some(2), "{unquoted:?}");
}

/// It is in a group of its own, so the signal is not for it, and it looks at nothing else.
#[test]
fn an_agent_that_does_not_answer_ends_with_the_import() {
    let mut world = world();
    let dir = world.repo().dir;
    write_history(&world, &json!({}));
    world
        .variables
        .push(("PLAYED_ACP_START", PathBuf::from("hang")));
    let command = agent();
    let mut import = world.command(World::program());
    import.args(["import", "--acp", command.as_str()]);
    import.current_dir(&dir);
    import.stdout(Stdio::null()).stderr(Stdio::null());
    let mut import = import.spawn().unwrap();
    let asked = || {
        let log = fs::read_to_string(world.root.join("asked.jsonl")).ok()?;
        serde_json::from_str::<Value>(log.lines().next()?).ok()
    };
    until("the agent is asked to begin", || asked().is_some());
    let agent = u32::try_from(asked().unwrap()["pid"].as_u64().unwrap()).unwrap();
    assert!(world.processes().contains(&agent));
    let pid = rustix::process::Pid::from_child(&import);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(import.wait().unwrap().code(), Some(1));
    until("the agent is gone", || !world.processes().contains(&agent));
}
