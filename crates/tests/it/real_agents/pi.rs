//! Pi: its extension tells what happens, its session files what was said and what it cost.

use super::agents::{Agent, Start};
use super::lab::Lab;
use super::model::Tokens;
use super::programs::wait_for;

/// The kinds of tokens that this protocol has: writes to a cache are not in it.
fn counts(tokens: Tokens) -> (u64, u64, u64) {
    (tokens.input, tokens.output, tokens.cache_read)
}

#[test]
fn new_resumed_and_forked() {
    let Some(lab) = Lab::open_for(&[Agent::Pi]) else {
        return;
    };
    let session = lab.work_by(Agent::Pi, Start::New, "write_commit");
    let first = lab.head();
    assert_eq!(
        lab.work_by(Agent::Pi, Start::Resume(&session), "say"),
        session
    );
    let fork = lab.work_by(Agent::Pi, Start::Fork(&session), "write_commit2");
    let second = lab.head();
    assert_ne!(fork, session);

    let book = lab.book();
    let (record, forked) = (book.session(&session), book.session(&fork));
    assert_eq!(record.counts, (2, 2), "{record:#?}");
    assert_eq!(forked.counts, (1, 2), "{forked:#?}");
    assert_eq!(forked.parent, Some(("fork".to_owned(), record.id.clone())));
    let asked = lab.model.all_counted(&["turn"]);
    assert_eq!(counts(record.tokens + forked.tokens), counts(asked));
    for one in [record, forked] {
        assert_eq!((one.state.as_str(), one.ended), ("ended", true));
        assert_eq!(one.outcomes("bash"), ["ok"]);
        assert_eq!(one.outcomes("write"), ["ok"]);
    }
    let why = lab.why(&first, &session, "certain", &book);
    why.wrote(&[("hello.txt", &session)]);
    assert_eq!(why.prompt(), lab.prompt("write_commit"));
    let why = lab.why(&second, &fork, "certain", &book);
    why.wrote(&[("second.txt", &fork)]);

    // What is imported besides is what is there.
    lab.siglum(&["import"]);
    let again = lab.book();
    assert_eq!(again.sessions.len(), 2, "{again:#?}");
    for native in [&session, &fork] {
        let (before, after) = (book.session(native), again.session(native));
        assert_eq!(after.counts, before.counts, "{after:#?}");
        assert_eq!(after.tokens, before.tokens);
    }
    assert_eq!(again.declines, Vec::<String>::new());
}

#[test]
fn session_files_from_before_are_imported() {
    let Some(lab) = Lab::bare() else { return };
    Agent::Pi.set_up(&lab);
    let session = lab.work_by(Agent::Pi, Start::New, "write_commit");
    let fork = lab.work_by(Agent::Pi, Start::Fork(&session), "say");
    lab.siglum(&["init", "--yes"]);
    for _ in 0..2 {
        lab.siglum(&["import"]);
        let book = lab.book();
        assert_eq!(book.sessions.len(), 2, "{book:#?}");
        let (record, forked) = (book.session(&session), book.session(&fork));
        assert_eq!(record.counts, (1, 2), "{record:#?}");
        assert_eq!(forked.counts, (1, 0), "{forked:#?}");
        let asked = lab.model.all_counted(&["turn"]);
        assert_eq!(counts(record.tokens + forked.tokens), counts(asked));
    }
}

#[test]
fn failed_edits_and_commands_are_told() {
    let Some(lab) = Lab::open_for(&[Agent::Pi]) else {
        return;
    };
    let edited = lab.work_by(Agent::Pi, Start::New, "edit");
    let commit = lab.head();
    let ran = lab.work_by(Agent::Pi, Start::New, "two_tools");
    let book = lab.book();
    assert_eq!(book.session(&edited).outcomes("edit"), ["ok", "failed"]);
    let mut outcomes = book.session(&ran).outcomes("bash");
    outcomes.sort_unstable();
    assert_eq!(outcomes, ["failed", "ok"]);
    let why = lab.why(&commit, &edited, "certain", &book);
    why.wrote(&[("src/list.txt", &edited)]);
}

#[test]
fn a_detached_process_commits() {
    let Some(lab) = Lab::open_for(&[Agent::Pi]) else {
        return;
    };
    let session = lab.work_by(Agent::Pi, Start::New, "detached");
    wait_for("the detached commit", || (lab.commits() == 2).then_some(()));
    let why = lab.look_why(&lab.head());
    assert_eq!(why.committer(), (Some(session), "likely".to_owned()));
    let evidence = why.evidence().join("\n");
    assert!(evidence.contains("PI_SESSION_ID"), "{evidence}");
}

#[test]
fn the_extension_goes_without_a_trace() {
    let Some(lab) = Lab::open_for(&[Agent::Pi]) else {
        return;
    };
    let extensions = lab.home().join(".pi/agent/extensions");
    assert!(extensions.join("siglum.ts").is_file());
    lab.siglum(&["uninstall", "--yes", "--global"]);
    assert!(!extensions.exists());
}
