//! Work that goes on beside the turn that began it.

use super::claude::Start;
use super::lab::Lab;
use super::programs::wait_until;

#[test]
fn a_subagent_commits_after_its_parent_stopped() {
    let Some(lab) = Lab::open() else { return };
    let session = lab.run(Start::New, "subagent");
    let commit = lab.head();

    let book = lab.book();
    lab.agrees_with_the_model(&book);
    let told = book.session(&session);
    assert_eq!(told.scripts(), ["subagent", "-"]);
    assert_eq!(told.subagents, 1);
    let inside = |tool: &str| {
        told.calls
            .iter()
            .filter(|c| c.tool == tool)
            .all(|c| c.subagent)
    };
    assert_eq!(
        (inside("Write"), inside("Bash"), inside("Agent")),
        (true, true, false)
    );
    assert_eq!(told.state, "ended");
    let why = lab.why(&commit, &session, "certain", &book);
    why.wrote(&[("from_helper.txt", &session)]);
    assert_eq!(why.prompt(), lab.prompt("subagent"));
}

#[test]
fn a_detached_process_commits() {
    let Some(lab) = Lab::open() else { return };
    let session = lab.run(Start::New, "detached");
    wait_until("the detached commit", || lab.commits() == 2);
    let commit = lab.head();

    let book = lab.book_when("the commit to be recorded", |book| {
        book.checkpoints
            .iter()
            .any(|c| c.commit.as_deref() == Some(&commit))
    });
    lab.agrees_with_the_model(&book);
    let told = book.session(&session);
    assert_eq!(told.outcomes("Bash"), ["ok"]);
    let why = lab.why(&commit, &session, "likely", &book);
    let [evidence] = &why.evidence()[..] else {
        panic!("{:?}", why.evidence());
    };
    assert!(evidence.contains("CLAUDE_CODE_SESSION_ID"), "{evidence}");
    why.wrote(&[]);
}
