//! Sessions whose context is compacted.

use super::agents::Start;
use super::lab::Lab;

#[test]
fn compacted_by_hand() {
    let Some(lab) = Lab::open() else { return };
    let session = lab.run(Start::New, "write_commit");
    let first = lab.head();
    let compact = lab.start_with(Start::Resume(&session), "/compact").finish();
    assert_eq!(compact, session);
    assert_eq!(lab.run(Start::Resume(&session), "write_commit2"), session);
    let second = lab.head();

    let book = lab.book();
    lab.agrees_with_the_model(&book);
    let record = book.session(&session);
    assert_eq!(record.scripts(), ["write_commit", "write_commit2"]);
    assert_eq!(record.compactions, 1);
    assert_eq!((record.subagents, record.parent.as_ref()), (0, None));
    assert_eq!(lab.model.summaries(&session), 1);
    lab.why(&first, &session, "certain", &book)
        .wrote(&[("hello.txt", &session)]);
    lab.why(&second, &session, "certain", &book)
        .wrote(&[("second.txt", &session)]);
}

#[test]
fn compacted_in_the_middle_of_a_turn() {
    let Some(lab) = Lab::open() else { return };
    let session = lab.run(Start::New, "autocompact");
    let commit = lab.head();

    let book = lab.book();
    lab.agrees_with_the_model(&book);
    let record = book.session(&session);
    assert_eq!(record.scripts(), ["autocompact"]);
    assert_eq!(record.compactions, 1);
    assert_eq!(record.outcomes("Bash"), ["ok", "ok"]);
    assert_eq!(lab.model.summaries(&session), 1);
    let why = lab.why(&commit, &session, "certain", &book);
    assert_eq!(why.prompt(), lab.prompt("autocompact"));
    // A command of the shell wrote it: nobody saw who wrote which line.
    why.wrote(&[("step1.txt", "unknown")]);
}
