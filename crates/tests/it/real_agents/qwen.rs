//! Qwen Code: hooks of Claude Code's form, tools of Gemini CLI's.

use super::agents::{Agent, Start};
use super::lab::Lab;

#[test]
fn new_resumed_and_forked() {
    let Some(lab) = Lab::open_for(&[Agent::Qwen]) else {
        return;
    };
    let session = lab.work_by(Agent::Qwen, Start::New, "write_commit");
    let first = lab.head();
    let resumed = lab.work_by(Agent::Qwen, Start::Resume(&session), "write_commit2");
    assert_eq!(resumed, session);
    let second = lab.head();
    let fork = lab.work_by(Agent::Qwen, Start::Fork(&session), "plain_commit");
    assert_ne!(fork, session);

    let book = lab.book_in_sum();
    let record = book.session(&session);
    assert_eq!(record.scripts(), ["write_commit", "write_commit2"]);
    assert_eq!(record.outcomes("run_shell_command"), ["ok", "ok"]);
    assert_eq!(book.session(&fork).scripts(), ["plain_commit"]);
    // It says that the fork was resumed; only the transcript tells what it was forked from.
    let parent = Some(("fork".to_owned(), record.id.clone()));
    assert_eq!(book.session(&fork).parent, parent);
    let why = lab.why(&first, &session, "certain", &book);
    why.wrote(&[("hello.txt", &session)]);
    assert_eq!(why.resume(), format!("qwen --resume {session}"));
    let why = lab.why(&second, &session, "certain", &book);
    why.wrote(&[("second.txt", &session)]);
    let why = lab.why(&lab.head(), &fork, "certain", &book);
    why.wrote(&[("plain.txt", &fork)]);
}

/// It adds a line of its own to messages, and a note about the commit beside it.
#[test]
fn a_commit_that_the_agent_changes_keeps_its_trailer() {
    let Some(lab) = Lab::open_for(&[Agent::Qwen]) else {
        return;
    };
    let session = lab.work_by(Agent::Qwen, Start::New, "plain_commit");
    let book = lab.book_in_sum();
    lab.why(&lab.head(), &session, "certain", &book);
    let message = lab.git(&["log", "-1", "--format=%B"]);
    assert!(message.contains("Co-authored-by: Qwen"), "{message}");
}

#[test]
fn edits_one_of_which_fails() {
    let Some(lab) = Lab::open_for(&[Agent::Qwen]) else {
        return;
    };
    let session = lab.work_by(Agent::Qwen, Start::New, "edit");
    let book = lab.book_in_sum();
    let outcomes = book.session(&session).outcomes("edit");
    assert_eq!(outcomes, ["ok", "failed"]);
    let why = lab.why(&lab.head(), &session, "certain", &book);
    why.wrote(&[("src/list.txt", &session)]);
}

/// A sub-agent works in the background: the turn that started it stops before it commits.
#[test]
fn a_subagents_commit_is_its_sessions() {
    let Some(lab) = Lab::open_for(&[Agent::Qwen]) else {
        return;
    };
    let session = lab.work_by(Agent::Qwen, Start::New, "subagent");
    let book = lab.book_in_sum();
    let record = book.session(&session);
    assert_eq!(book.sessions.len(), 1, "{book:#?}");
    assert_eq!(record.subagents, 1, "{record:#?}");
    let by_helper = record.calls.iter().filter(|call| call.subagent);
    assert_eq!(by_helper.count(), 2, "{record:#?}");
    let why = lab.why(&lab.head(), &session, "certain", &book);
    why.wrote(&[("from_helper.txt", &session)]);
}
