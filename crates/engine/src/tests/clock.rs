//! The clock is set back while sessions run.

use siglum_domain::evidence::Committer;
use siglum_domain::intake::LandedBy;
use siglum_domain::observation::{StartKind, ToolClass};

use super::scenes::*;
use super::stage::*;

#[test]
fn a_session_that_is_resumed_before_it_ended_runs() {
    let mut stage = Stage::new();
    let start = vec![started(100, StartKind::Startup), prompt("p", 101)];
    let one = stage.hear(in_process(50, says("one", start)));
    stage.hear(says("one", vec![ended(110)]));
    stage.dead.borrow_mut().push(50);
    stage.slice();
    assert!(stage.session(one).ended_at.is_some());
    let resumed = vec![started(20, StartKind::Resume)];
    stage.hear(in_process(60, says("one", resumed)));
    assert_eq!(stage.session(one).ended_at, None);
    stage.slice();
    assert_eq!(stage.session(one).ended_at, None, "its process lives");
    stage.dead.borrow_mut().push(60);
    stage.slice();
    assert!(stage.session(one).ended_at.is_some());
}

#[test]
fn a_prompt_that_waited_does_not_raise_a_session_that_ended() {
    let mut stage = Stage::new();
    let start = vec![started(100, StartKind::Startup), prompt("p", 101)];
    let one = stage.hear(in_process(50, says("one", start)));
    stage.hear(says("one", vec![ended(110)]));
    stage.hear(in_process(50, says("one", vec![prompt("q", 105)])));
    assert!(stage.session(one).ended_at.is_some());
}

#[test]
fn a_commit_is_its_sessions_whatever_the_clock_says() {
    let mut stage = Stage::new();
    for (native, pid) in [("one", 50), ("two", 51)] {
        let start = vec![started(100, StartKind::Startup), prompt(native, 101)];
        stage.hear(in_process(pid, says(native, start)));
        let shell = call(native, native, 102, ToolClass::Shell);
        stage.hear(says(native, vec![shell]));
    }
    for (n, (native, pid)) in [("two", 51), ("one", 50)].into_iter().enumerate() {
        let (n, git) = (u8::try_from(n).unwrap(), 70 + u32::try_from(n).unwrap());
        let seen = scene(n.into(), &place(), git, Some(pid), Some(oid(n + 1)));
        stage.deliver(&intent(&seen, 40 - i64::from(n)));
        stage.deliver(&landed(&seen, &oid(n + 2), LandedBy::Commit, 30));
        let repository = stage.repository().id;
        let found = stage.read(|tx| tx.commit(repository, &oid(n + 2))).unwrap();
        let session = stage.named(native).unwrap();
        assert_eq!(found.judgement.committer, Committer::Session { session });
    }
}
