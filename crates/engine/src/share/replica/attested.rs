//! Attestations stay in the ledger in which they were stated: they rest on a token that it alone knows.

use siglum_domain::access::Scope;
use siglum_domain::evidence::{Basis, Evidence};
use siglum_domain::{LedgerId, RepositoryId, SessionId};
use siglum_ledger::{AttestedFacts, Statement};
use uuid::Uuid;

use super::tests::{Played, batch, commit, feed, launcher, oid, receiver, sender, turn, wrote};
use super::wire::StatementDocument;
use super::{Batch, apply};
use crate::identity::access::Caller;
use crate::tests::stage::{Stage, at};

fn attested(session: SessionId, repository: RepositoryId) -> Statement {
    Statement::Attested {
        repository,
        commit: oid(1),
        session,
        token: launcher().token,
        attested: AttestedFacts::default(),
    }
}

fn stated(stage: &mut Stage) -> usize {
    stage
        .read(|tx| tx.statements_of_commit_anywhere(&oid(1)))
        .len()
}

#[test]
fn an_attestation_is_not_sent() {
    let mut from = sender();
    let session = turn(&mut from, "one", 1);
    let repository = commit(&mut from, session, 1);
    wrote(&mut from, |tx| {
        tx.state(at(5), "acme", "api", &attested(session, repository))
    });
    // A receiver would leave it out, so that what is sent is looked at.
    let sent = batch(&mut from);
    assert!(sent.sessions.iter().any(|s| s.id == session), "{sent:?}");
    let stays_here = |s: &StatementDocument| s.statement.stays_here();
    assert!(!sent.statements.iter().any(stays_here), "{sent:?}");
    assert_eq!(stated(&mut from), 1);
}

#[test]
fn an_attestation_in_a_batch_is_left_out_whoever_sends_it() {
    let (mut from, mut to) = (sender(), receiver());
    let session = turn(&mut from, "one", 1);
    let repository = commit(&mut from, session, 1);
    feed(&mut from, &mut Played::to(&mut to));
    let mut batch = Batch::new(LedgerId::from_uuid(Uuid::from_u128(1)), at(1_000_000));
    let withdrawn = Statement::AttestationWithdrawn {
        repository,
        commit: oid(1),
        session,
    };
    for (sequence, statement) in (70..).zip([attested(session, repository), withdrawn]) {
        batch.statements.push(StatementDocument {
            sequence,
            at: at(5),
            by: "acme".to_owned(),
            source: "api".to_owned(),
            statement,
        });
    }
    for scope in [Scope::Launcher, Scope::Attester, Scope::Session(session)] {
        let caller = Caller {
            scope,
            ..launcher()
        };
        let taken = to.play(|world, ledger| apply(world, ledger, &caller, &batch).unwrap());
        assert_eq!(taken.set_aside.len(), 2, "{scope:?} {taken:?}");
        assert_eq!(stated(&mut to), 0);
    }
}

#[test]
fn a_judgement_that_rests_on_an_attestation_is_refused() {
    let (mut from, mut to) = (sender(), receiver());
    let session = turn(&mut from, "one", 1);
    commit(&mut from, session, 1);
    let honest = batch(&mut from);
    let (mut by_evidence, mut by_rule) = (honest.clone(), honest.clone());
    by_evidence.commits[0].judgement.evidence.push(Evidence {
        session: Some(session),
        basis: Basis::Attested,
        counted: true,
        text: "attested by token acme bot".to_owned(),
    });
    by_rule.commits[0].judgement.rule = "attested".to_owned();
    for forged in [&by_evidence, &by_rule] {
        let taken = to.play(|world, ledger| apply(world, ledger, &launcher(), forged));
        let refused = taken.unwrap_err().to_string();
        assert!(refused.contains("attestation"), "{refused}");
        assert!(to.read(|tx| tx.commits_named(&oid(1))).is_empty());
    }
    to.play(|world, ledger| apply(world, ledger, &launcher(), &honest).unwrap());
    assert_eq!(to.read(|tx| tx.commits_named(&oid(1))).len(), 1);
}
