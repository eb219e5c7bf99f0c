//! OpenCode: its plug-in tells everything; there are no transcripts.

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
    let Some(lab) = Lab::open_for(&[Agent::OpenCode]) else {
        return;
    };
    let session = lab.work_by(Agent::OpenCode, Start::New, "write_commit");
    let first = lab.head();
    let resumed = lab.work_by(Agent::OpenCode, Start::Resume(&session), "say");
    assert_eq!(resumed, session);
    let fork = lab.work_by(Agent::OpenCode, Start::Fork(&session), "write_commit2");
    let second = lab.head();
    assert_ne!(fork, session);

    let book = lab.book();
    for (native, scripts) in [
        (&session, vec!["write_commit", "say"]),
        (&fork, vec!["write_commit2"]),
    ] {
        let record = book.session(native);
        assert_eq!(record.scripts(), scripts);
        let counted = lab.model.counted(native);
        assert_eq!(counts(record.tokens), counts(counted.tokens), "{record:#?}");
        assert_eq!((record.state.as_str(), record.ended), ("ended", true));
        assert_eq!(record.outcomes("bash"), ["ok"]);
        assert_eq!(record.outcomes("write"), ["ok"]);
    }
    let why = lab.why(&first, &session, "certain", &book);
    why.wrote(&[("hello.txt", &session)]);
    assert!(why.resume().contains(&session), "{}", why.resume());
    let why = lab.why(&second, &fork, "certain", &book);
    why.wrote(&[("second.txt", &fork)]);
    assert_eq!(book.declines, Vec::<String>::new());
}

#[test]
fn a_sub_agent_works_for_its_session() {
    let Some(lab) = Lab::open_for(&[Agent::OpenCode]) else {
        return;
    };
    let session = lab.work_by(Agent::OpenCode, Start::New, "subagent");
    let book = lab.book();
    assert_eq!(book.sessions.len(), 1, "{book:#?}");
    let record = book.session(&session);
    assert_eq!(record.subagents, 1, "{record:#?}");
    let inner = record.calls.iter().filter(|call| call.subagent);
    assert_eq!(inner.count(), 2, "{record:#?}");
    let asked = lab.model.all_counted(&["turn"]);
    assert_eq!(counts(record.tokens), counts(asked));
    let why = lab.why(&lab.head(), &session, "certain", &book);
    why.wrote(&[("from_helper.txt", &session)]);
}

#[test]
fn failed_edits_and_commands_are_told() {
    let Some(lab) = Lab::open_for(&[Agent::OpenCode]) else {
        return;
    };
    let edited = lab.work_by(Agent::OpenCode, Start::New, "edit");
    let commit = lab.head();
    let ran = lab.work_by(Agent::OpenCode, Start::New, "two_tools");
    let book = lab.book();
    assert_eq!(book.session(&edited).outcomes("edit"), ["ok", "failed"]);
    let mut outcomes = book.session(&ran).outcomes("bash");
    outcomes.sort_unstable();
    assert_eq!(outcomes, ["failed", "ok"]);
    let why = lab.why(&commit, &edited, "certain", &book);
    why.wrote(&[("src/list.txt", &edited)]);
}

/// The variable that the plug-in gives to the shell is all that is left of the session there.
#[test]
fn a_detached_process_commits() {
    let Some(lab) = Lab::open_for(&[Agent::OpenCode]) else {
        return;
    };
    let session = lab.work_by(Agent::OpenCode, Start::New, "detached");
    wait_for("the detached commit", || (lab.commits() == 2).then_some(()));
    let why = lab.look_why(&lab.head());
    assert_eq!(why.committer(), (Some(session), "likely".to_owned()));
    let evidence = why.evidence().join("\n");
    assert!(
        evidence.contains("SIGLUM_OPENCODE_SESSION_ID"),
        "{evidence}"
    );
}

#[test]
fn the_plug_in_goes_without_a_trace() {
    let Some(lab) = Lab::open_for(&[Agent::OpenCode]) else {
        return;
    };
    let plugins = lab.home().join(".config/opencode/plugins");
    assert!(plugins.join("siglum.js").is_file());
    lab.siglum(&["uninstall", "--yes", "--global"]);
    assert!(!plugins.exists());
}
