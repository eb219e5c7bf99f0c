//! Sessions that begin, go on, branch off and are cleared.

use super::agents::Start;
use super::lab::Lab;

/// An id that a caller gives to a session.
const GIVEN: &str = "11111111-2222-4333-8444-555555555555";

#[test]
fn new_and_resumed() {
    let Some(lab) = Lab::open() else { return };
    let session = lab.run(Start::Named(GIVEN), "write_commit");
    assert_eq!(session, GIVEN);
    let first = lab.head();
    assert_eq!(lab.run(Start::Resume(&session), "say"), session);
    assert_eq!(lab.run(Start::Continue, "write_commit2"), session);
    let second = lab.head();

    let book = lab.book();
    lab.agrees_with_the_model(&book);
    let record = book.session(&session);
    assert_eq!(record.scripts(), ["write_commit", "say", "write_commit2"]);
    assert_eq!(record.outcomes("Bash"), ["ok", "ok"]);
    assert_eq!(record.outcomes("Write"), ["ok", "ok"]);
    assert_eq!((record.state.as_str(), record.ended), ("ended", true));
    assert_eq!(record.parent, None);

    let why = lab.why(&first, &session, "certain", &book);
    why.wrote(&[("hello.txt", &session)]);
    assert_eq!(why.prompt(), lab.prompt("write_commit"));
    assert!(why.resume().contains(&session), "{}", why.resume());
    let why = lab.why(&second, &session, "certain", &book);
    why.wrote(&[("second.txt", &session)]);
    assert_eq!(why.prompt(), lab.prompt("write_commit2"));
}

#[test]
fn forked() {
    let Some(lab) = Lab::open() else { return };
    let parent = lab.run(Start::New, "write_commit");
    let first = lab.head();
    let child = lab.run(Start::Fork(&parent), "write_commit2");
    let second = lab.head();
    assert_eq!(lab.run(Start::Resume(&parent), "say"), parent);
    let grandchild = lab.run(Start::Fork(&child), "say");

    let book = lab.book();
    lab.agrees_with_the_model(&book);
    let id = |native: &str| book.session(native).id.clone();
    let of = |native: &str| {
        let session = book.session(native);
        (session.scripts(), session.parent.clone())
    };
    assert_eq!(of(&parent), (vec!["write_commit", "say"], None));
    let fork = |of: &str| Some(("fork".to_owned(), id(of)));
    assert_eq!(of(&child), (vec!["write_commit2"], fork(&parent)));
    assert_eq!(of(&grandchild), (vec!["say"], fork(&child)));

    let why = lab.why(&first, &parent, "certain", &book);
    why.wrote(&[("hello.txt", &parent)]);
    assert_eq!(why.prompt(), lab.prompt("write_commit"));
    let why = lab.why(&second, &child, "certain", &book);
    why.wrote(&[("second.txt", &child)]);
    assert_eq!(why.prompt(), lab.prompt("write_commit2"));
}

#[test]
fn compacted_and_cleared_on_the_screen() {
    let Some(lab) = Lab::open() else { return };
    let screen = lab.screen();
    screen.enter(&lab.prompt("write_commit"));
    screen.wait("Done: hello.txt is committed.");
    let commit = lab.head();
    lab.book_when("the first turn to stop", |book| {
        book.sessions
            .iter()
            .any(|s| s.state == "waiting" && s.prompts.len() == 1)
    });
    screen.enter("/compact");
    lab.book_when("the context to be compacted", |book| {
        book.sessions.iter().any(|s| s.compactions == 1)
    });
    screen.enter("/clear");
    lab.book_when("a session after the clear", |book| book.sessions.len() == 2);
    screen.enter(&lab.prompt("write_commit2"));
    screen.wait("Second file is committed.");
    screen.leave();

    let book = lab.book_when("both sessions to end", |book| {
        book.sessions.iter().all(|s| s.state == "ended")
    });
    lab.agrees_with_the_model(&book);
    let [before, after] = &book.sessions[..] else {
        panic!("{book:#?}");
    };
    assert_eq!(before.scripts(), ["write_commit"]);
    assert_eq!(before.compactions, 1);
    assert_eq!(before.parent, None);
    assert_eq!(after.scripts(), ["write_commit2"]);
    assert_eq!(after.compactions, 0);
    assert_eq!(after.parent, Some(("clear".to_owned(), before.id.clone())));
    assert_eq!(lab.model.summaries(before.native()), 1);

    let why = lab.why(&commit, before.native(), "certain", &book);
    why.wrote(&[("hello.txt", before.native())]);
    // One process ran both sessions: its variable tells them apart.
    let why = lab.why(&lab.head(), after.native(), "certain", &book);
    why.wrote(&[("second.txt", after.native())]);
}
