//! What stops no sync: two names that are one once a secret is removed from both, and what was erased elsewhere.

use siglum_domain::intake::Place;
use siglum_domain::{RepositoryId, SessionId};
use uuid::Uuid;

use super::tests::{Played, TO, batch, feed, home, launcher, receiver, sender, turn, wrote};
use super::wire::Batch;
use super::{DocumentName, ReplicaError, apply, recheck};
use crate::tests::stage::{Stage, at};

#[test]
fn places_with_secrets_in_their_names_are_two() {
    let (mut from, mut to) = (sender(), receiver());
    let mut noted = Vec::new();
    for (n, letter) in [(1, "a"), (2, "b")] {
        let secret = format!("ghp_{}", format!("{letter}1B2c3D4e5F6").repeat(4));
        let dir = format!("/home/ann/{}/r", &secret[..40]);
        let place = Place {
            common_dir: format!("{dir}/.git"),
            worktree: dir,
        };
        let fresh = RepositoryId::from_uuid(Uuid::from_u128(n));
        noted.push(wrote(&mut from, |tx| tx.note_place(&place, fresh, at(1))));
    }
    feed(&mut from, &mut Played::to(&mut to));
    let places = noted.iter().map(|id| {
        let found = to.play(|_, ledger| {
            siglum_ledger::read(ledger, |tx| tx.replica_repository(*id)).unwrap()
        });
        found.unwrap().common_dir
    });
    let places: Vec<String> = places.collect();
    assert!(!places[0].contains("ghp_a"), "{places:?}");
    assert_eq!(places[0], places[1], "what tells them apart was a secret");
}

#[test]
fn what_contradicts_itself_is_refused_by_its_name_and_not_put_down_to_the_store() {
    let (mut from, mut to) = (sender(), receiver());
    let session = turn(&mut from, "a", 1);
    turn(&mut from, "a", 2);
    let good = batch(&mut from);
    let mut twins = good.clone();
    let first = twins.receipts[0].turns[0].native.clone();
    twins.receipts[1].turns[0].native = first;
    let done = to.play(|world, ledger| apply(world, ledger, &launcher(), &twins));
    match done.unwrap_err() {
        ReplicaError::Refused { document, .. } => {
            assert_eq!(document, DocumentName::Receipt(session, 1));
        }
        other => panic!("{other:?}"),
    }
    to.play(|world, ledger| apply(world, ledger, &launcher(), &good))
        .unwrap();
}

/// Sends everything, and then asks what is there.
fn lacking(from: &mut Stage, to: &mut Stage) -> u64 {
    let rechecked =
        from.play(|world, ledger| recheck(world, ledger, &TO, &mut Played::to(to)).unwrap());
    feed(from, &mut Played::to(to));
    rechecked.lacking
}

fn payloads(stage: &mut Stage, session: SessionId) -> u64 {
    let held = wrote(stage, |tx| tx.holdings(session));
    held.map_or(0, |held| held.payloads)
}

#[test]
fn what_is_lost_elsewhere_comes_back_unless_it_was_forgotten() {
    let (mut from, mut to) = (sender(), receiver());
    let session = turn(&mut from, "a", 1);
    turn(&mut from, "a", 2);
    feed(&mut from, &mut Played::to(&mut to));
    let all = payloads(&mut to, session);
    assert_eq!(lacking(&mut from, &mut to), 0);
    // Somebody who has the token says that its home forgot it.
    let mut erased = Batch::new(home(), at(9_000));
    let mut record = batch_of_all(&mut from).sessions.remove(0);
    record.forgotten_at = Some(at(9_000));
    erased.sessions.push(record);
    to.play(|world, ledger| apply(world, ledger, &launcher(), &erased))
        .unwrap();
    assert_eq!(payloads(&mut to, session), 0);
    assert_eq!(lacking(&mut from, &mut to), 1);
    assert_eq!(payloads(&mut to, session), all);
    assert_eq!(lacking(&mut from, &mut to), 0);
    // What the receiver itself forgets is gone there.
    wrote(&mut to, |tx| tx.forget_session(session, at(9_500)));
    assert_eq!(lacking(&mut from, &mut to), 0);
    assert_eq!(payloads(&mut to, session), 0);
    // And so is what its home forgets.
    let other = turn(&mut from, "b", 1);
    feed(&mut from, &mut Played::to(&mut to));
    assert_ne!(payloads(&mut to, other), 0);
    wrote(&mut from, |tx| tx.forget_session(other, at(9_600)));
    feed(&mut from, &mut Played::to(&mut to));
    assert_eq!(
        (lacking(&mut from, &mut to), payloads(&mut to, other)),
        (0, 0)
    );
}

/// A batch with all that there is, for a new destination.
fn batch_of_all(from: &mut Stage) -> Batch {
    wrote(from, |tx| tx.restart_documents(TO.name));
    batch(from)
}
