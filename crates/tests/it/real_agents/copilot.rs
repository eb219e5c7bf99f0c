//! Copilot CLI: its hooks name neither turns nor calls, and tell what a sub-agent does under the sub-agent's own id.

use super::agents::{Agent, Start};
use super::book::Book;
use super::lab::Lab;
use super::model::Tokens;

/// As many calls as the model asked for, and its tokens, also after the transcripts were imported.
#[track_caller]
fn agrees(lab: &Lab) -> Book {
    lab.book();
    lab.siglum(&["import"]);
    let book = lab.book();
    let answers = lab.model.answers();
    let told = answers.iter().filter(|answer| answer.why == "turn");
    let calls: usize = told.map(|answer| answer.calls.len()).sum();
    let known: usize = book.sessions.iter().map(|s| s.calls.len()).sum();
    assert_eq!(known, calls, "{book:#?}");
    let tokens = book.sessions.iter().map(|s| s.tokens);
    let known = tokens.fold(Tokens::default(), |sum, tokens| sum + tokens);
    assert_eq!(known, lab.model.all_counted(&["turn"]), "{book:#?}");
    assert_eq!(book.declines, Vec::<String>::new());
    book
}

#[test]
fn new_and_resumed() {
    let Some(lab) = Lab::open_for(&[Agent::Copilot]) else {
        return;
    };
    let session = lab.work_by(Agent::Copilot, Start::New, "write_commit");
    let first = lab.head();
    let resumed = lab.work_by(Agent::Copilot, Start::Resume(&session), "write_commit2");
    assert_eq!(resumed, session);

    let book = agrees(&lab);
    let record = book.session(&session);
    assert_eq!(book.sessions.len(), 1, "{book:#?}");
    assert_eq!(record.scripts(), ["write_commit", "write_commit2"]);
    let why = lab.why(&first, &session, "certain", &book);
    assert_eq!(why.resume(), format!("copilot --resume={session}"));
    lab.why(&lab.head(), &session, "certain", &book);
}

#[test]
fn a_command_that_fails() {
    let Some(lab) = Lab::open_for(&[Agent::Copilot]) else {
        return;
    };
    let session = lab.work_by(Agent::Copilot, Start::New, "two_tools");
    let book = agrees(&lab);
    let mut outcomes = book.session(&session).outcomes("bash");
    outcomes.sort_unstable();
    assert_eq!(outcomes, ["failed", "ok"]);
}

#[test]
fn a_subagents_commit_is_its_sessions() {
    let Some(lab) = Lab::open_for(&[Agent::Copilot]) else {
        return;
    };
    let session = lab.work_by(Agent::Copilot, Start::New, "subagent");
    let book = agrees(&lab);
    assert_eq!(book.sessions.len(), 1, "{book:#?}");
    let record = book.session(&session);
    assert_eq!(record.subagents, 1, "{record:#?}");
    let by_helper = record.calls.iter().filter(|call| call.subagent);
    assert_eq!(by_helper.count(), 2, "{record:#?}");
    let committer = lab.look_why(&lab.head()).committer();
    assert_eq!(committer, (Some(session), "certain".to_owned()));
}

/// It refuses a tool whose hook fails: one whose program is gone must not hold it up.
#[test]
fn a_hook_without_its_program_refuses_nothing() {
    let Some(lab) = Lab::open_for(&[Agent::Copilot]) else {
        return;
    };
    std::fs::remove_file(lab.siglum_home().join("bin/siglum")).expect("the program of the hooks");
    let before = lab.commits();
    lab.work_by(Agent::Copilot, Start::New, "write_commit");
    assert_eq!(lab.commits(), before + 1);
}
