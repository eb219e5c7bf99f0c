//! Attestations stay in the ledger in which they were stated: they rest on a token that it alone knows.

use siglum_domain::access::Scope;
use siglum_domain::{LedgerId, RepositoryId, SessionId};
use siglum_ledger::{AttestedFacts, Statement};
use uuid::Uuid;

use super::tests::{Played, commit, feed, launcher, oid, receiver, sender, turn, wrote};
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
    let (mut from, mut to) = (sender(), receiver());
    let session = turn(&mut from, "one", 1);
    let repository = commit(&mut from, session, 1);
    wrote(&mut from, |tx| {
        tx.state(at(5), "acme", "api", &attested(session, repository))
    });
    feed(&mut from, &mut Played::to(&mut to));
    assert!(to.read(|tx| tx.session(session)).is_some());
    assert_eq!((stated(&mut from), stated(&mut to)), (1, 0));
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
