//! Copilot CLI: its hooks name neither turns nor calls, and tell what a sub-agent does under the sub-agent's own id.

use super::agents::{Agent, Start};
use super::lab::Lab;

#[test]
fn new_and_resumed() {
    let Some(lab) = Lab::open_for(&[Agent::Copilot]) else {
        return;
    };
    let session = lab.work_by(Agent::Copilot, Start::New, "write_commit");
    let first = lab.head();
    let resumed = lab.work_by(Agent::Copilot, Start::Resume(&session), "write_commit2");
    assert_eq!(resumed, session);

    let book = lab.book_in_sum();
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
    let book = lab.book_in_sum();
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
    let book = lab.book_in_sum();
    assert_eq!(book.sessions.len(), 1, "{book:#?}");
    let record = book.session(&session);
    assert_eq!(record.subagents, 1, "{record:#?}");
    assert_eq!(
        record.scripts(),
        ["subagent"],
        "what it was asked is no prompt"
    );
    let by_helper = record.calls.iter().filter(|call| call.subagent);
    assert_eq!(by_helper.count(), 2, "{record:#?}");
    // Its shell has the id of a session of its own, which its transcript alone tells.
    let why = lab.look_why(&lab.head());
    assert_eq!(why.committer(), (None, "ambiguous".to_owned()), "{why:#?}");
    assert_eq!(why.candidates(), [session], "{why:#?}");
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

/// The start of a sub-agent's sub-agent is told under an id that nothing else has.
#[test]
fn a_sub_agent_below_another_is_its_sessions() {
    let Some(lab) = Lab::open_for(&[Agent::Copilot]) else {
        return;
    };
    let session = lab.work_by(Agent::Copilot, Start::New, "subagent_below");
    let book = lab.book();
    assert_eq!(book.sessions.len(), 1, "{book:#?}");
    let record = book.session(&session);
    assert_eq!(record.subagents, 2, "{record:#?}");
    assert_eq!(record.scripts(), ["subagent_below"]);
}
