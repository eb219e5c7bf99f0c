//! From an intent to a commit, and what git does with it later.

use siglum_domain::evidence::{Committer, Verdict};
use siglum_domain::intake::LandedBy;
use siglum_domain::observation::{StartKind, ToolClass};
use siglum_domain::{Oid, SessionId};
use siglum_ledger::{CheckpointFilter, CommitRecord, IntentState, SeenBy};

use super::scenes::*;
use super::stage::*;

/// A session in process 50 that runs a shell call.
fn working() -> (Stage, SessionId) {
    let mut stage = Stage::new();
    let start = vec![started(1, StartKind::Startup), prompt("p", 2)];
    let one = stage.hear(in_process(50, says("one", start)));
    stage.hear(says("one", vec![call("t", "p", 3, ToolClass::Shell)]));
    (stage, one)
}

fn commit(stage: &mut Stage, commit: &Oid) -> Option<CommitRecord> {
    let repository = stage.repository().id;
    stage.read(|tx| tx.commit(repository, commit))
}

#[test]
fn an_intent_becomes_a_commit_with_its_judgement() {
    let (mut stage, one) = working();
    let seen = scene(1, &place(), 70, Some(50), Some(oid(1)));
    stage.deliver(&intent(&seen, 4));
    stage.deliver(&intent(&seen, 4));
    for _ in 0..2 {
        stage.deliver(&landed(&seen, &oid(2), LandedBy::Commit, 5));
    }
    let found = commit(&mut stage, &oid(2)).unwrap();
    let session = Committer::Session { session: one };
    assert_eq!(found.judgement.committer, session);
    assert_eq!(found.judgement.verdict, Verdict::Certain);
    assert_eq!(found.checkpoint, Some(checkpoint(1)));
    assert_eq!(found.intent, Some(checkpoint(1)));
    let state = stage.read(|tx| tx.intent(checkpoint(1))).map(|i| i.state);
    assert_eq!(state, Some(IntentState::Landed(oid(2))));
    let pins = stage
        .read(|tx| tx.checkpoint(checkpoint(1)))
        .map(|c| c.pins);
    assert_eq!(pins, Some(vec![(one, 3)]));
    assert_eq!(
        stage.read(|tx| tx.outbox_end()),
        1,
        "one change for projections"
    );
}

#[test]
fn an_intent_of_another_git_is_not_closed() {
    let (mut stage, _) = working();
    let (mine, other) = (
        scene(1, &place(), 70, Some(50), Some(oid(1))),
        scene(2, &place(), 71, None, Some(oid(1))),
    );
    stage.deliver(&intent(&mine, 4));
    stage.deliver(&landed(&other, &oid(2), LandedBy::Commit, 5));
    let state = stage.read(|tx| tx.intent(checkpoint(1))).map(|i| i.state);
    assert_eq!(state, Some(IntentState::Open));
    let found = commit(&mut stage, &oid(2)).unwrap();
    assert_eq!(found.intent, None);
    assert_eq!(found.seen_by, SeenBy::Hook);
}

#[test]
fn a_commit_that_nobody_announced_is_judged_by_what_is_seen_when_it_lands() {
    let (mut stage, one) = working();
    let seen = scene(1, &place(), 70, Some(50), Some(oid(1)));
    stage.deliver(&landed(&seen, &oid(2), LandedBy::Commit, 5));
    let found = commit(&mut stage, &oid(2)).unwrap();
    assert_eq!(
        found.judgement.committer,
        Committer::Session { session: one }
    );
    assert_eq!(
        (found.intent, found.checkpoint),
        (None, Some(checkpoint(1)))
    );
}

#[test]
fn a_merge_that_only_moves_forward_is_nobodys_commit() {
    let (mut stage, _) = working();
    let seen = scene(1, &place(), 70, Some(50), Some(oid(1)));
    stage.deliver(&landed(&seen, &oid(2), LandedBy::Merge, 5));
    assert_eq!(commit(&mut stage, &oid(2)), None);
    stage.deliver(&intent(&seen, 6));
    stage.deliver(&landed(&seen, &oid(3), LandedBy::Merge, 7));
    let found = commit(&mut stage, &oid(3)).unwrap();
    assert_eq!(
        found.intent,
        Some(checkpoint(1)),
        "a merge commit was announced"
    );
}

#[test]
fn a_commit_keeps_a_session_from_an_end_checkpoint() {
    let (mut stage, one) = working();
    let seen = scene(1, &place(), 70, Some(50), Some(oid(1)));
    stage.deliver(&intent(&seen, 4));
    stage.deliver(&landed(&seen, &oid(2), LandedBy::Commit, 5));
    stage.hear(says("one", vec![ended(9)]));
    let found = stage.read(|tx| tx.checkpoints(&CheckpointFilter::of_session(one, 9)));
    let ids: Vec<_> = found.iter().map(|c| c.id).collect();
    assert_eq!(ids, [checkpoint(1)]);
}

/// The processes that a sandbox with a pid namespace of its own shows, with the agent's variable.
fn in_sandbox(namespace: u64, native_id: &str) -> siglum_domain::intake::Scene {
    let mut seen = scene(1, &place(), 70, None, Some(oid(1)));
    for ancestor in &mut seen.chain.ancestors {
        ancestor.identity.namespace = namespace;
    }
    seen.agents = vec![(2, agent())];
    seen.variables = vec![siglum_domain::intake::AgentVariable {
        name: "CLAUDE_CODE_SESSION_ID".to_owned(),
        agent: agent(),
        native: Some(native(native_id)),
    }];
    seen
}

#[test]
fn the_sandbox_of_a_session_is_no_agent_that_nobody_recorded() {
    let committer = |namespace, id| {
        let (mut stage, one) = working();
        let seen = in_sandbox(namespace, id);
        stage.deliver(&intent(&seen, 4));
        stage.deliver(&landed(&seen, &oid(2), LandedBy::Commit, 5));
        let found = commit(&mut stage, &oid(2)).unwrap();
        (
            found.judgement.committer,
            Committer::Session { session: one },
        )
    };
    let (found, one) = committer(2, "one");
    assert_eq!(found, one);
    for (namespace, id) in [(1, "one"), (2, "stranger")] {
        let (found, one) = committer(namespace, id);
        assert_ne!(found, one, "{namespace} {id}");
    }
}
