//! What git rewrites: each new commit has a rewriter of its own, and its origins.

use siglum_domain::evidence::{Committer, Verdict};
use siglum_domain::intake::LandedBy;
use siglum_domain::observation::{StartKind, ToolClass};
use siglum_domain::{Oid, SessionId};
use siglum_ledger::{CommitRecord, Durability, SeenBy, write};

use super::scenes::*;
use super::stage::*;
use crate::commits::origins::origins_of;

/// A session in process 50 that made a commit, its first checkpoint, and one in process 51 that did nothing yet.
fn committed() -> (Stage, SessionId, SessionId) {
    let mut stage = Stage::new();
    let work = |stage: &mut Stage, process, name: &str, n| {
        let start = vec![started(n, StartKind::Startup), prompt("p", n + 1)];
        let id = stage.hear(in_process(process, says(name, start)));
        stage.hear(says(name, vec![call("t", "p", n + 2, ToolClass::Shell)]));
        id
    };
    let one = work(&mut stage, 50, "one", 1);
    let first = scene(1, &place(), 70, Some(50), Some(oid(1)));
    stage.deliver(&intent(&first, 4));
    stage.deliver(&landed(&first, &oid(2), LandedBy::Commit, 5));
    let other = work(&mut stage, 51, "other", 6);
    (stage, one, other)
}

fn commit(stage: &mut Stage, commit: &Oid) -> Option<CommitRecord> {
    let repository = stage.repository().id;
    stage.read(|tx| tx.commit(repository, commit))
}

fn committer(stage: &mut Stage, of: &Oid) -> (Committer, Verdict) {
    let judgement = commit(stage, of).unwrap().judgement;
    (judgement.committer, judgement.verdict)
}

const NOBODY: (Committer, Verdict) = (Committer::Unknown, Verdict::Unknown);

const fn certain(session: SessionId) -> (Committer, Verdict) {
    (Committer::Session { session }, Verdict::Certain)
}

#[test]
fn an_amend_keeps_its_checkpoint_and_has_a_committer_of_its_own() {
    let (mut stage, _, other) = committed();
    let mut again = scene(2, &place(), 71, Some(51), Some(oid(2)));
    again.named = Some(checkpoint(1));
    stage.deliver(&intent(&again, 10));
    stage.deliver(&landed(&again, &oid(3), LandedBy::Commit, 11));
    stage.deliver(&rewritten(&place(), "amend", &[(oid(2), oid(3))], 12));
    assert_eq!(committer(&mut stage, &oid(3)), certain(other));
    let amended = commit(&mut stage, &oid(3)).unwrap();
    assert_eq!(amended.checkpoint, Some(checkpoint(1)));
    assert_eq!(amended.intent, Some(checkpoint(2)));
}

#[test]
fn who_made_a_commit_says_nothing_of_who_amended_it() {
    let (mut stage, _, other) = committed();
    // The other hooks of the amend were killed, and an older version told nothing of the rewriter.
    stage.deliver(&rewritten(&place(), "amend", &[(oid(2), oid(3))], 12));
    assert_eq!(commit(&mut stage, &oid(3)), None);
    let repository = stage.repository().id;
    let from = stage.read(|tx| tx.rewritten_from(repository, &oid(3)));
    assert_eq!(from, [oid(2)]);
    let seen = scene(3, &place(), 72, Some(51), Some(oid(2)));
    stage.deliver(&rewritten_by(&seen, "amend", &[(oid(2), oid(4))], 13));
    assert_eq!(committer(&mut stage, &oid(4)), certain(other));
}

#[test]
fn an_amend_whose_landing_was_not_seen_closes_what_its_git_announced() {
    let (mut stage, _, other) = committed();
    let mut again = scene(2, &place(), 71, Some(51), Some(oid(2)));
    again.named = Some(checkpoint(1));
    stage.deliver(&intent(&again, 10));
    let hook = scene(3, &place(), 71, Some(51), Some(oid(3)));
    stage.deliver(&rewritten_by(&hook, "amend", &[(oid(2), oid(3))], 12));
    assert_eq!(committer(&mut stage, &oid(3)), certain(other));
    let amended = commit(&mut stage, &oid(3)).unwrap();
    assert_eq!(amended.intent, Some(checkpoint(2)));
    assert_eq!(amended.checkpoint, Some(checkpoint(1)));
}

#[test]
fn a_rebase_gives_each_commit_its_rewriter_and_the_checkpoint_of_its_origin() {
    let (mut stage, one, other) = committed();
    let seen = scene(3, &place(), 72, Some(51), Some(oid(1)));
    for _ in 0..2 {
        let pairs = [(oid(2), oid(4)), (oid(8), oid(9))];
        stage.deliver(&rewritten_by(&seen, "rebase", &pairs, 12));
    }
    for new in [4, 9] {
        assert_eq!(committer(&mut stage, &oid(new)), certain(other));
    }
    let rebased = commit(&mut stage, &oid(4)).unwrap();
    assert_eq!(rebased.seen_by, SeenBy::Rewrite);
    assert_eq!(rebased.checkpoint, Some(checkpoint(1)));
    assert_eq!(rebased.intent, Some(checkpoint(3)));
    let pins = stage.read(|tx| tx.checkpoint(checkpoint(1))).unwrap().pins;
    assert_eq!(pins[0].0, one, "the checkpoint is the origin's");
    let repository = stage.repository().id;
    let origins = stage.read(|tx| origins_of(tx, repository, &oid(4)));
    let found: Vec<_> = origins
        .iter()
        .map(|o| (o.commit.clone(), o.judgement.committer, o.judgement.verdict))
        .collect();
    assert_eq!(found, [(oid(2), certain(one).0, certain(one).1)]);
}

#[test]
fn a_rebase_that_nobody_was_seen_running_is_nobodys() {
    let (mut stage, _, _) = committed();
    let pairs = [(oid(2), oid(4)), (oid(8), oid(9))];
    stage.deliver(&rewritten(&place(), "rebase", &pairs, 12));
    assert_eq!(committer(&mut stage, &oid(4)), NOBODY);
    assert_eq!(
        commit(&mut stage, &oid(9)),
        None,
        "of what was never known nothing is"
    );
}

#[test]
fn what_git_made_of_several_is_its_rewriters_whoever_made_the_first() {
    for pairs in [
        [(oid(8), oid(4)), (oid(2), oid(4))],
        [(oid(2), oid(4)), (oid(8), oid(4))],
    ] {
        let (mut stage, one, other) = committed();
        let seen = scene(3, &place(), 72, Some(51), Some(oid(1)));
        stage.deliver(&rewritten_by(&seen, "rebase", &pairs, 12));
        assert_eq!(committer(&mut stage, &oid(4)), certain(other));
        let repository = stage.repository().id;
        let origins = stage.read(|tx| origins_of(tx, repository, &oid(4)));
        assert_eq!(origins.len(), 2);
        let known = origins.iter().find(|o| o.commit == oid(2)).unwrap();
        assert_eq!(known.judgement.committer, certain(one).0);
    }
}

#[test]
fn what_its_own_hooks_saw_stays_when_the_rebase_ends() {
    let (mut stage, one, other) = committed();
    let own = scene(2, &place(), 71, Some(50), Some(oid(1)));
    stage.deliver(&intent(&own, 10));
    stage.deliver(&landed(&own, &oid(4), LandedBy::Commit, 11));
    let seen = scene(3, &place(), 72, Some(51), Some(oid(1)));
    let pairs = [(oid(2), oid(4)), (oid(8), oid(9))];
    stage.deliver(&rewritten_by(&seen, "rebase", &pairs, 12));
    assert_eq!(committer(&mut stage, &oid(4)), certain(one));
    assert_eq!(committer(&mut stage, &oid(9)), certain(other));
    let own = commit(&mut stage, &oid(4)).unwrap();
    assert_eq!(own.checkpoint, Some(checkpoint(2)), "its message is new");
}

#[test]
fn a_judgement_that_was_carried_over_is_taken_back_by_a_rebuild() {
    let (mut stage, _, _) = committed();
    stage.deliver(&rewritten(&place(), "rebase", &[(oid(2), oid(4))], 12));
    // As it was stored before: with the judgement and the intent of its origin.
    let before = commit(&mut stage, &oid(2)).unwrap();
    let carried = CommitRecord {
        commit: oid(4),
        seen_by: SeenBy::Rewrite,
        ..before
    };
    stage.play(|_, ledger| {
        write(ledger, Durability::Process, |tx| tx.put_commit(&carried)).unwrap();
    });
    let changed = stage.play(|world, ledger| {
        crate::commits::judgements::rebuild(world, ledger, &mut |_, _| ())
            .unwrap()
            .1
    });
    let commits: Vec<_> = changed.iter().map(|c| c.commit.clone()).collect();
    assert_eq!(commits, [oid(4)]);
    assert_eq!(committer(&mut stage, &oid(4)), NOBODY);
    let rebased = commit(&mut stage, &oid(4)).unwrap();
    assert_eq!(rebased.checkpoint, Some(checkpoint(1)));
}
