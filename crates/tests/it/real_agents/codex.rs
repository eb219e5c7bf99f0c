//! Codex: its hooks run because `siglum init` had them trusted.

use std::fs;

use super::agents::{Agent, Start};
use super::book::Book;
use super::lab::Lab;

/// The same tokens and as many calls as the model gave to the session.
#[track_caller]
fn agrees(lab: &Lab, book: &Book, native: &str) {
    let (record, model) = (book.session(native), lab.model.counted(native));
    assert_eq!(record.tokens.input, model.tokens.input, "{record:#?}");
    assert_eq!(record.tokens.output, model.tokens.output, "{record:#?}");
    assert_eq!(
        record.tokens.cache_read, model.tokens.cache_read,
        "{record:#?}"
    );
    let calls: usize = model.calls.values().sum();
    assert_eq!(record.calls.len(), calls, "{record:#?}");
    assert_eq!(book.declines, Vec::<String>::new());
}

#[test]
fn new_resumed_and_forked() {
    let Some(lab) = Lab::open_for(&[Agent::Codex]) else {
        return;
    };
    let session = lab.work_by(Agent::Codex, Start::New, "write_commit");
    let first = lab.head();
    let resumed = lab.work_by(Agent::Codex, Start::Resume(&session), "write_commit2");
    assert_eq!(resumed, session);
    let second = lab.head();
    let fork = lab.work_by(Agent::Codex, Start::Fork(&session), "plain_commit");
    assert_ne!(fork, session);

    let book = lab.book();
    for native in [&session, &fork] {
        agrees(&lab, &book, native);
    }
    let record = book.session(&session);
    assert_eq!(record.scripts(), ["write_commit", "write_commit2"]);
    let parent = Some(("fork".to_owned(), record.id.clone()));
    assert_eq!(book.session(&fork).parent, parent);
    let why = lab.why(&first, &session, "certain", &book);
    why.wrote(&[("hello.txt", &session)]);
    assert_eq!(why.resume(), format!("codex resume {session}"));
    let why = lab.why(&second, &session, "certain", &book);
    why.wrote(&[("second.txt", &session)]);
    let why = lab.why(&lab.head(), &fork, "certain", &book);
    why.wrote(&[("plain.txt", &fork)]);
}

#[test]
fn a_subagents_commit_is_its_sessions() {
    let Some(lab) = Lab::open_for(&[Agent::Codex]) else {
        return;
    };
    // The helper tools of the older kind: with newer models the helper inherits the prompt.
    let settings = lab.home().join(".codex/config.toml");
    let text = fs::read_to_string(&settings).expect("settings");
    fs::write(&settings, text.replace("gpt-5.5", "fake-model")).expect("settings");
    let session = lab.work_by(Agent::Codex, Start::New, "delegate");
    let book = lab.book();
    assert_eq!(book.sessions.len(), 1, "{book:#?}");
    let record = book.session(&session);
    assert_eq!(record.subagents, 1);
    let by_helper = record.calls.iter().filter(|c| c.subagent);
    assert_eq!(by_helper.count(), 2, "{record:#?}");
    // The helper wrote its file by the shell, so that nobody was seen writing it.
    let why = lab.why(&lab.head(), &session, "certain", &book);
    why.wrote(&[("from_helper.txt", "unknown")]);
}

#[test]
fn what_was_left_behind_is_likely() {
    let Some(lab) = Lab::open_for(&[Agent::Codex]) else {
        return;
    };
    let before = lab.head();
    let session = lab.work_by(Agent::Codex, Start::New, "detached");
    super::programs::wait_until("the detached commit", || lab.head() != before);
    let book = lab.book_when("its record", |book| book.of_commit(&lab.head()).is_some());
    lab.why(&lab.head(), &session, "likely", &book);
}
