//! Work that goes on beside the turn that began it.

use super::agents::Start;
use super::lab::Lab;
use super::programs::wait_until;

#[test]
fn a_subagent_commits_after_its_parent_stopped() {
    let Some(lab) = Lab::open() else { return };
    let session = lab.run(Start::New, "subagent");
    let commit = lab.head();

    let book = lab.book();
    lab.agrees_with_the_model(&book);
    let record = book.session(&session);
    assert_eq!(record.scripts(), ["subagent", "-"]);
    assert_eq!(record.subagents, 1);
    let inside = |tool: &str| {
        record
            .calls
            .iter()
            .filter(|c| c.tool == tool)
            .all(|c| c.subagent)
    };
    assert_eq!(
        (inside("Write"), inside("Bash"), inside("Agent")),
        (true, true, false)
    );
    assert_eq!(record.state, "ended");
    let committed = book.of_commit(&commit).map(|c| c.at);
    assert!(record.stops.first() < committed.as_ref(), "{record:#?}");
    assert!(record.stops.last() > committed.as_ref(), "{record:#?}");
    let why = lab.why(&commit, &session, "certain", &book);
    why.wrote(&[("from_helper.txt", &session)]);
    assert_eq!(why.prompt(), lab.prompt("subagent"));
}

/// The process that ran git is no child of the agent any more; only what it was started with, or
/// what ran beside it, speaks for the session.
#[track_caller]
fn detached(scenario: &str, sign: &str) {
    let Some(lab) = Lab::open() else { return };
    let session = lab.run(Start::New, scenario);
    wait_until("the detached commit", || lab.commits() == 2);
    let commit = lab.head();

    let book = lab.book_when("the commit to be recorded", |book| {
        book.of_commit(&commit).is_some()
    });
    lab.agrees_with_the_model(&book);
    assert_eq!(book.session(&session).outcomes("Bash"), ["ok"]);
    let why = lab.why(&commit, &session, "likely", &book);
    let [evidence] = &why.evidence()[..] else {
        panic!("{:?}", why.evidence());
    };
    assert!(evidence.contains(sign), "{evidence}");
    why.wrote(&[]);
}

#[test]
fn a_detached_process_commits() {
    detached("detached", "CLAUDE_CODE_SESSION_ID");
}

#[test]
fn a_detached_process_commits_after_the_session_ended() {
    detached("detached_late", "CLAUDE_CODE_SESSION_ID");
}

#[test]
fn a_detached_process_with_a_clean_environment_is_nobodys() {
    let Some(lab) = Lab::open() else { return };
    let session = lab.run(Start::New, "detached_clean");
    wait_until("the detached commit", || lab.commits() == 2);
    let why = lab.look_why(&lab.head());
    // A running call confirms and never names: anybody may commit meanwhile.
    assert_eq!(why.committer(), (None, "unknown".to_owned()));
    lab.agrees_with_the_model(&lab.book());
    assert_eq!(lab.book().session(&session).outcomes("Bash"), ["ok"]);
}
