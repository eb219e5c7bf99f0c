//! Gemini CLI: git's hooks are switched off in its shell, and its calls have no ids.

use super::agents::{Agent, Start};
use super::lab::Lab;
use super::model::NAMELESS;
use super::why::Why;

/// What holds for each commit of a session that no hook saw: the verdict, and no trailer.
#[track_caller]
fn why(lab: &Lab, commit: &str, session: &str, verdict: &str) -> Why {
    let why = lab.look_why(commit);
    assert_eq!(
        why.committer(),
        (Some(session.to_owned()), verdict.to_owned())
    );
    let format = "--format=%(trailers:key=Siglum-Checkpoint)";
    assert_eq!(lab.git(&["log", "-1", format, commit]), "");
    why
}

#[test]
fn new_and_resumed() {
    let Some(lab) = Lab::open_for(&[Agent::Gemini]) else {
        return;
    };
    let session = lab.work_by(Agent::Gemini, Start::New, "plain_commit");
    // Asked for before the worker looked at anything.
    why(&lab, &lab.head(), &session, "certain").wrote(&[("plain.txt", &session)]);
    let resumed = lab.work_by(Agent::Gemini, Start::Resume(&session), "write_commit");
    assert_eq!(resumed, session);
    // The commit is quiet and its id printed, which is no line of git's own.
    why(&lab, &lab.head(), &session, "likely").wrote(&[("hello.txt", &session)]);

    let book = lab.book();
    let record = book.session(&session);
    let (turns, calls) = record.counts;
    assert_eq!((turns, calls), (2, 4), "{record:#?}");
    assert_eq!(record.outcomes("run_shell_command"), ["ok", "ok"]);
    let model = lab.model.counted(NAMELESS);
    let known = (
        record.tokens.input,
        record.tokens.output,
        record.tokens.cache_read,
    );
    let expected = (
        model.tokens.input,
        model.tokens.output,
        model.tokens.cache_read,
    );
    assert_eq!(known, expected, "{record:#?}");
    assert_eq!(book.declines, Vec::<String>::new());
}

/// Nothing names a commit that was made in silence: its author is known, its committer is not.
#[test]
fn a_silent_commit_is_likely_by_its_command() {
    let Some(lab) = Lab::open_for(&[Agent::Gemini]) else {
        return;
    };
    let session = lab.work_by(Agent::Gemini, Start::New, "write_commit2");
    let why = lab.look_why(&lab.head());
    assert_eq!(
        why.committer(),
        (Some(session.clone()), "likely".to_owned())
    );
    why.wrote(&[("second.txt", &session)]);
}
