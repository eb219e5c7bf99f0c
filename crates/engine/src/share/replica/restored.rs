//! A receiver that was restored from an older backup, and gets again what it had taken since.

use std::path::PathBuf;

use siglum_domain::{LedgerId, SessionId};
use siglum_ledger::SqliteLedger;
use siglum_ledger::sqlite::Open;
use uuid::Uuid;

use super::recheck;
use super::tests::{
    Fate, Played, TO, attach, commit, feed, home, receiver, sender, stage_answers, turn, wrote,
};
use crate::tests::stage::{Stage, at};
use crate::views::verify;

/// Two ledgers, and a session that the sender forgets once there is a backup of the receiver.
struct Pair {
    from: Stage,
    to: Stage,
    forgotten: SessionId,
    backup: PathBuf,
}

/// The receiver has two sessions in its backup. Later it took turns, a session, a link, a commit and an end, and forgot.
fn pair() -> Pair {
    let (mut from, mut to) = (sender(), receiver());
    let (kept, forgotten) = (turn(&mut from, "a", 1), turn(&mut from, "b", 2));
    commit(&mut from, kept, 7);
    feed(&mut from, &mut Played::to(&mut to));
    let backup = to.dir.path().join("backup.db");
    to.ledger.copy_to(&backup).unwrap();
    turn(&mut from, "a", 3);
    turn(&mut from, "c", 4);
    attach(&mut from, kept, 42);
    commit(&mut from, kept, 8);
    wrote(&mut from, |tx| tx.set_ended(kept, Some(at(99))));
    wrote(&mut from, |tx| tx.forget_session(forgotten, at(5_000)));
    feed(&mut from, &mut Played::to(&mut to));
    Pair {
        from,
        to,
        forgotten,
        backup,
    }
}

impl Pair {
    /// The receiver is as it was when its backup was made.
    fn restore(&mut self) {
        let how = Open::Command {
            id: LedgerId::from_uuid(Uuid::from_u128(2)),
            key: [7; 32],
        };
        drop(SqliteLedger::open(&self.backup, how).unwrap());
        let replaced = self.to.dir.path().join("replaced.db");
        self.to.ledger.replace_by(&self.backup, &replaced).unwrap();
        assert_ne!(self.payloads(), 0, "it is in the backup");
        assert_ne!(self.answers()[0], self.answers()[1]);
    }

    /// What is stored at the receiver of the session that was forgotten.
    fn payloads(&mut self) -> u64 {
        let forgotten = self.forgotten;
        let held = wrote(&mut self.to, |tx| tx.holdings(forgotten));
        held.map_or(0, |held| held.payloads)
    }

    /// What both answer: the sender, and the receiver.
    fn answers(&mut self) -> [Vec<String>; 2] {
        [&mut self.from, &mut self.to].map(|stage| stage_answers(stage, home()))
    }

    #[track_caller]
    fn is_whole(&mut self) {
        let [from, to] = self.answers();
        assert_eq!(to, from);
        assert_eq!(self.payloads(), 0, "it was forgotten");
        let report = self
            .to
            .play(|world, ledger| verify::verify(world, ledger, None));
        assert!(report.unwrap().is_sound());
    }
}

#[test]
fn the_next_batch_fills_the_gap_whatever_it_is_about() {
    let mut pair = pair();
    pair.is_whole();
    pair.restore();
    turn(&mut pair.from, "d", 5);
    feed(&mut pair.from, &mut Played::to(&mut pair.to));
    pair.is_whole();
}

#[test]
fn somebody_who_asks_fills_the_gap_with_nothing_new_to_send() {
    let mut pair = pair();
    pair.restore();
    let Pair { from, to, .. } = &mut pair;
    let asked = from.play(|world, ledger| recheck(world, ledger, &TO, &mut Played::to(to)));
    assert!(asked.unwrap().was_restored);
    feed(from, &mut Played::to(to));
    let asked = from.play(|world, ledger| recheck(world, ledger, &TO, &mut Played::to(to)));
    assert!(!asked.unwrap().was_restored, "it is noted once");
    pair.is_whole();
}

#[test]
fn a_loss_of_documents_alone_is_noticed() {
    let (mut from, mut to) = (sender(), receiver());
    let session = turn(&mut from, "a", 1);
    feed(&mut from, &mut Played::to(&mut to));
    let backup = to.dir.path().join("backup.db");
    to.ledger.copy_to(&backup).unwrap();
    attach(&mut from, session, 42);
    wrote(&mut from, |tx| tx.forget_session(session, at(5_000)));
    feed(&mut from, &mut Played::to(&mut to));
    let mut pair = Pair {
        from,
        to,
        forgotten: session,
        backup,
    };
    pair.restore();
    let Pair { from, to, .. } = &mut pair;
    let asked = from.play(|world, ledger| recheck(world, ledger, &TO, &mut Played::to(to)));
    let asked = asked.unwrap();
    assert_eq!((asked.lacking, asked.was_restored), (0, true));
    feed(from, &mut Played::to(to));
    pair.is_whole();
}

#[test]
fn a_gap_is_noticed_again_where_nobody_answered_what_is_lacking() {
    let mut pair = pair();
    pair.restore();
    turn(&mut pair.from, "d", 5);
    let mut gate = Played::to(&mut pair.to);
    // The batch is taken; what is asked then gets lost, or its answer does.
    gate.fate = [Fate::Well, Fate::Gone, Fate::Well, Fate::Unanswered].into();
    feed(&mut pair.from, &mut gate);
    assert!(gate.fate.is_empty());
    pair.is_whole();
}
