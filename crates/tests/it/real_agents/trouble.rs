//! Sessions in which something goes wrong.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};

use super::agents::Start;
use super::lab::Lab;
use super::programs::{wait_for, wait_until};

#[test]
fn killed_in_a_long_tool_call_and_resumed() {
    let Some(lab) = Lab::open() else { return };
    let session = "22222222-2222-4333-8444-555555555555";
    let running = lab.start(Start::Named(session), "killed");
    let shell = wait_for("the tool call", || {
        fs::read_to_string(lab.beside("tool.pid"))
            .ok()?
            .trim()
            .parse()
            .ok()
    });
    // The agent writes its transcript a moment after it acts; what it has not written dies with it.
    wait_until("the call to stand in the transcript", || {
        let written = lab.transcript(session);
        written.is_some_and(|text| text.contains("tool.pid"))
    });
    running.kill();
    kill_process(Pid::from_raw(shell).expect("a process"), Signal::KILL).expect("the call runs");

    let book = lab.book_when("the death to be noticed", |book| {
        book.sessions.iter().any(|s| s.ended)
    });
    lab.agrees_with_the_model(&book);
    let record = book.session(session);
    assert_eq!(record.state, "ended");
    assert_eq!(record.outcomes("Write"), ["ok"]);
    assert_eq!(record.outcomes("Bash"), [""]);
    let held = |c: &&super::book::Checkpoint| c.kind == "end" && c.pins == [record.id.as_str()];
    assert_eq!(book.checkpoints.iter().filter(held).count(), 1, "{book:#?}");

    assert_eq!(lab.run(Start::Resume(session), "write_commit2"), session);
    let commit = lab.head();
    let book = lab.book();
    lab.agrees_with_the_model(&book);
    let record = book.session(session);
    assert_eq!(record.scripts(), ["killed", "write_commit2"]);
    let why = lab.why(&commit, session, "certain", &book);
    why.wrote(&[("second.txt", session), ("slow.txt", session)]);
    assert_eq!(why.prompt(), lab.prompt("write_commit2"));
}

#[test]
fn tools_that_fail() {
    let Some(lab) = Lab::open() else { return };
    lab.time_hooks();
    let session = lab.run(Start::New, "two_tools");
    assert_eq!(lab.run(Start::Resume(&session), "edit"), session);
    let commit = lab.head();

    let book = lab.book();
    lab.agrees_with_the_model(&book);
    let record = book.session(&session);
    assert_eq!(record.scripts(), ["two_tools", "edit"]);
    assert_eq!(record.outcomes("Bash"), ["ok", "failed", "ok"]);
    assert_eq!(record.outcomes("Edit"), ["ok", "failed"]);
    assert_eq!(record.outcomes("Write"), ["ok", "ok"]);
    let why = lab.why(&commit, &session, "certain", &book);
    why.wrote(&[
        ("one.txt", "unknown"),
        ("src/list.txt", &session),
        ("two.txt", "unknown"),
    ]);
    assert_eq!(why.lines()["src/list.txt"], [format!("{session}:1-5")]);
    lab.print_hook_times();
}

#[test]
fn an_overloaded_model() {
    let Some(lab) = Lab::open() else { return };
    let session = lab.run(Start::New, "overload");
    let book = lab.book();
    lab.agrees_with_the_model(&book);
    assert_eq!(book.session(&session).scripts(), ["overload"]);
}

#[test]
fn slow_hooks() {
    let Some(lab) = Lab::open() else { return };
    lab.wrap_hooks("shift; sleep 0.7; exec \"$@\"\n");
    let session = lab.run(Start::New, "write_commit");
    let commit = lab.head();

    let book = lab.book();
    lab.agrees_with_the_model(&book);
    let record = book.session(&session);
    assert_eq!(record.scripts(), ["write_commit"]);
    assert_eq!(record.state, "ended");
    lab.why(&commit, &session, "certain", &book)
        .wrote(&[("hello.txt", &session)]);
}

/// The agent gives up on a hook that does not come to its end: what it would have seen comes from
/// the transcript.
#[track_caller]
fn given_up(event: &str) {
    let Some(lab) = Lab::open() else { return };
    lab.wrap_hooks(&format!(
        "if [ $1 = {event} ]; then exec sleep 5; fi; shift; exec \"$@\"\n"
    ));
    lab.change_hooks(|hooked, hook| {
        if hooked == event {
            hook["timeout"] = 1.into();
        }
    });
    let session = lab.run(Start::New, "write_commit");
    let commit = lab.head();

    let book = lab.book_when("the session to end", |book| {
        book.sessions.iter().all(|s| s.state == "ended")
    });
    lab.agrees_with_the_model(&book);
    let record = book.session(&session);
    assert_eq!(record.scripts(), ["write_commit"]);
    assert_eq!(record.outcomes("Bash"), ["ok"]);
    lab.why(&commit, &session, "certain", &book)
        .wrote(&[("hello.txt", &session)]);
}

#[test]
fn hooks_before_tools_that_are_given_up() {
    given_up("PreToolUse");
}

#[test]
fn hooks_after_tools_that_are_given_up() {
    given_up("PostToolUse");
}

#[test]
fn hooks_at_the_prompt_that_are_given_up() {
    given_up("UserPromptSubmit");
}

#[test]
fn hooks_at_the_end_that_are_given_up() {
    given_up("SessionEnd");
}
