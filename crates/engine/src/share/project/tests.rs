//! Projections on a real ledger, with sinks that go wrong.

use std::collections::BTreeMap;
use std::fs;

use siglum_domain::SessionId;

use super::*;
use crate::tests::stage::{Stage, at, prompt, says, stopped};

/// A sink in memory: what it has of each session, and what it does wrong.
#[derive(Default)]
struct Memory {
    has: BTreeMap<SessionId, Vec<(u64, String)>>,
    fails: Vec<(SessionId, SinkError)>,
    /// It takes what it is given and says that it did not.
    lies: bool,
    resets: usize,
}

impl Sink for Memory {
    fn position(&mut self, session: SessionId) -> Result<Position, SinkError> {
        let last = self.has.get(&session).and_then(|all| all.last());
        Ok(
            last.map_or(Position::Nothing, |(number, digest)| Position::At {
                number: *number,
                digest: digest.clone(),
            }),
        )
    }

    fn take(&mut self, _: &mut dyn Ledger, sealed: &[Sealed<'_>]) -> Result<(), SinkError> {
        let [sealed] = sealed else {
            panic!("{} receipts at once", sealed.len());
        };
        let session = sealed.session.id;
        if let Some((_, error)) = self.fails.iter().find(|(of, _)| *of == session) {
            return Err(error.clone());
        }
        let count = usize::try_from(sealed.receipt.last - sealed.receipt.first).unwrap() + 1;
        assert_eq!(sealed.entries.len(), count);
        let mark = (sealed.receipt.number, sealed.receipt.digest.clone());
        self.has.entry(session).or_default().push(mark);
        if std::mem::take(&mut self.lies) {
            return Err(SinkError::Unavailable("no answer".to_owned()));
        }
        Ok(())
    }

    fn reset(&mut self, session: SessionId) -> Result<(), SinkError> {
        self.resets += 1;
        self.has.remove(&session);
        Ok(())
    }

    fn clear(&mut self) -> Result<(), SinkError> {
        self.has.clear();
        Ok(())
    }
}

/// A session that says and seals so many turns more.
fn turns(stage: &mut Stage, name: &str, from: i64, count: i64) -> SessionId {
    let mut session = None;
    for n in from..from + count {
        let turn = format!("t{n}");
        let observations = vec![prompt(&turn, n * 10), stopped(&turn, n * 10 + 1)];
        session = Some(stage.hear(says(name, observations)));
        stage.slice();
    }
    session.unwrap()
}

fn followed() -> Stage {
    let mut stage = Stage::new();
    stage.play(|world, ledger| {
        add(world, ledger, "p", "embedded", "", &Scope::in_process()).unwrap();
    });
    stage
}

fn fed(stage: &mut Stage, sink: &mut dyn Sink) {
    stage.play(|world, ledger| while feed(world, ledger, "p", sink).unwrap() == Slice::Worked {});
}

/// Goes on until the longest pause is over.
fn later(stage: &mut Stage) {
    stage.now.set(stage.now.get() + 10 * 60);
}

fn is_whole(stage: &mut Stage, sink: &Memory, session: SessionId) {
    let all = stage.read(|tx| tx.receipts(session));
    let all: Vec<_> = all.into_iter().map(|r| (r.number, r.digest)).collect();
    assert_eq!(sink.has.get(&session), Some(&all));
}

#[test]
fn every_receipt_comes_once_in_order_also_those_from_before() {
    let mut stage = Stage::new();
    let one = turns(&mut stage, "one", 1, 2);
    stage.play(|world, ledger| {
        add(world, ledger, "p", "embedded", "", &Scope::in_process()).unwrap();
    });
    let two = turns(&mut stage, "two", 1, 3);
    let mut sink = Memory::default();
    fed(&mut stage, &mut sink);
    turns(&mut stage, "one", 3, 2);
    fed(&mut stage, &mut sink);
    is_whole(&mut stage, &sink, one);
    is_whole(&mut stage, &sink, two);
    assert_eq!(stage.read(|tx| tx.lag("p")), siglum_ledger::Lag::default());
}

#[test]
fn what_cannot_be_reached_is_tried_again_and_holds_up_nobody() {
    let mut stage = followed();
    let (one, two) = (
        turns(&mut stage, "one", 1, 2),
        turns(&mut stage, "two", 1, 2),
    );
    let gone = SinkError::Unavailable("gone".to_owned());
    let mut sink = Memory {
        fails: vec![(one, gone)],
        ..Memory::default()
    };
    for _ in 0..10 {
        fed(&mut stage, &mut sink);
        later(&mut stage);
    }
    is_whole(&mut stage, &sink, two);
    let lag = stage.read(|tx| tx.lag("p"));
    assert_eq!(
        (lag.receipts, lag.sessions, lag.failing, lag.parked),
        (2, 1, 1, 0)
    );
    sink.fails.clear();
    fed(&mut stage, &mut sink);
    is_whole(&mut stage, &sink, one);
}

#[test]
fn a_failure_is_not_tried_again_at_once() {
    let mut stage = followed();
    let one = turns(&mut stage, "one", 1, 1);
    let mut sink = Memory {
        fails: vec![(one, SinkError::Unavailable("gone".to_owned()))],
        ..Memory::default()
    };
    fed(&mut stage, &mut sink);
    sink.fails.clear();
    fed(&mut stage, &mut sink);
    assert!(sink.has.is_empty(), "its pause is not over");
    later(&mut stage);
    fed(&mut stage, &mut sink);
    is_whole(&mut stage, &sink, one);
}

#[test]
fn what_is_refused_is_set_aside_until_a_person_says_otherwise() {
    for skips in [false, true] {
        let mut stage = followed();
        let one = turns(&mut stage, "one", 1, 2);
        let mut sink = Memory {
            fails: vec![(one, SinkError::Refused("too long".to_owned()))],
            ..Memory::default()
        };
        for _ in 0..REFUSALS {
            fed(&mut stage, &mut sink);
            later(&mut stage);
        }
        let aside = stage.read(|tx| tx.troubled(Some("p"), 9));
        assert!(aside[0].parked_at.is_some());
        assert_eq!(aside[0].reason.as_deref(), Some("too long"));
        sink.fails.clear();
        fed(&mut stage, &mut sink);
        assert!(sink.has.is_empty());
        if skips {
            let left = stage.play(|world, ledger| skip(world, ledger, "p", one).unwrap());
            assert_eq!(left, Some(1));
            fed(&mut stage, &mut sink);
            let has: Vec<u64> = sink.has[&one].iter().map(|(number, _)| *number).collect();
            assert_eq!(has, [2]);
            let lag = stage.read(|tx| tx.lag("p"));
            assert_eq!((lag.receipts, lag.parked), (0, 0));
        } else {
            stage.play(|world, ledger| retry(world, ledger, "p", Some(one)).unwrap());
            fed(&mut stage, &mut sink);
            is_whole(&mut stage, &sink, one);
        }
    }
}

#[test]
fn what_was_taken_and_not_acknowledged_is_not_taken_twice() {
    let mut stage = followed();
    let one = turns(&mut stage, "one", 1, 3);
    let mut sink = Memory {
        lies: true,
        ..Memory::default()
    };
    fed(&mut stage, &mut sink);
    later(&mut stage);
    fed(&mut stage, &mut sink);
    is_whole(&mut stage, &sink, one);
}

#[test]
fn a_sink_that_lost_something_gets_it_again() {
    let mut stage = followed();
    let one = turns(&mut stage, "one", 1, 3);
    let mut sink = Memory::default();
    fed(&mut stage, &mut sink);
    sink.has.get_mut(&one).unwrap().truncate(1);
    turns(&mut stage, "one", 4, 1);
    fed(&mut stage, &mut sink);
    is_whole(&mut stage, &sink, one);
    assert_eq!(sink.resets, 0);
}

#[test]
fn a_sink_that_is_ahead_is_filled_again() {
    for digest in [None, Some("0")] {
        let mut stage = followed();
        let one = turns(&mut stage, "one", 1, 2);
        let mut sink = Memory::default();
        let strange = match digest {
            // A receipt that our chain does not have yet, or has otherwise.
            None => (9, "9".to_owned()),
            Some(digest) => (1, digest.to_owned()),
        };
        sink.has.insert(one, vec![strange]);
        fed(&mut stage, &mut sink);
        is_whole(&mut stage, &sink, one);
        assert_eq!(sink.resets, 1);
    }
}

#[test]
fn a_projection_is_filled_again_as_a_whole() {
    let mut stage = followed();
    let one = turns(&mut stage, "one", 1, 2);
    let mut sink = Memory::default();
    fed(&mut stage, &mut sink);
    sink.has.get_mut(&one).unwrap()[0].1.clear();
    let sessions =
        stage.play(|world, ledger| rebuild(world, ledger, "p", &mut sink, None).unwrap());
    assert_eq!(sessions, Ok(1));
    fed(&mut stage, &mut sink);
    is_whole(&mut stage, &sink, one);
}

/// The numbers of the receipts that a file has.
fn numbers(stage: &Stage, session: SessionId) -> Vec<u64> {
    let text = fs::read_to_string(stage.dir.path().join(format!("out/{session}.jsonl"))).unwrap();
    let line = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap();
    text.lines()
        .map(|l| line(l)["receipt"]["number"].as_u64().unwrap())
        .collect()
}

#[test]
fn a_directory_has_a_line_for_each_receipt_whatever_died() {
    let mut stage = followed();
    let one = turns(&mut stage, "one", 1, 3);
    let mut sink = Directory::at(stage.dir.path().join("out"));
    fed(&mut stage, &mut sink);
    assert_eq!(numbers(&stage, one), [1, 2, 3]);
    let path = stage.dir.path().join(format!("out/{one}.jsonl"));
    let whole = fs::read(&path).unwrap();
    // A writer died in the middle of its line, or of the file's first one.
    for left in [whole.len() - 5, whole.len() - 1, 7, 0] {
        fs::write(&path, &whole[..left]).unwrap();
        let session = Some(one);
        stage.play(|_, ledger| {
            siglum_ledger::write(ledger, siglum_ledger::Durability::Process, |tx| {
                tx.restart("p", session, at(1))
            })
            .unwrap()
        });
        fed(&mut stage, &mut sink);
        assert_eq!(fs::read(&path).unwrap(), whole, "cut to {left}");
    }
    fs::write(&path, "not ours\n").unwrap();
    turns(&mut stage, "one", 4, 1);
    fed(&mut stage, &mut sink);
    assert_eq!(numbers(&stage, one), [1, 2, 3, 4]);
}

#[test]
fn a_directory_begins_a_session_anew_of_which_something_was_forgotten() {
    let mut stage = Stage::new();
    let out = stage.dir.path().join("out");
    stage.play(|world, ledger| {
        let (target, scope) = (out.to_str().unwrap(), Scope::in_process());
        add(world, ledger, "p", DIRECTORY, target, &scope).unwrap();
    });
    let sessions = [
        (turns(&mut stage, "one", 1, 1), vec![1]),
        (turns(&mut stage, "two", 1, 2), vec![1, 2]),
    ];
    let mut sink = Directory::at(&out);
    fed(&mut stage, &mut sink);
    stage.now.set(1_000);
    for (session, receipts) in sessions {
        let shown = || fs::read_to_string(out.join(format!("{session}.jsonl"))).unwrap();
        assert!(shown().contains("Do t1"), "{}", shown());
        stage.play(|world, ledger| {
            write(ledger, Durability::Process, |tx| {
                tx.forget_session(session, world.now())
            })
            .unwrap();
        });
        fed(&mut stage, &mut sink);
        assert!(!shown().contains("Do t"), "{}", shown());
        assert_eq!(numbers(&stage, session), receipts);
    }
}

#[test]
fn what_is_left_out_of_a_directory_is_no_gap_and_a_lost_beginning_is_one() {
    let mut stage = followed();
    let one = turns(&mut stage, "one", 1, 1);
    let mut sink = Directory::at(stage.dir.path().join("out"));
    fed(&mut stage, &mut sink);
    turns(&mut stage, "one", 2, 2);
    let left_out = stage.play(|world, ledger| skip(world, ledger, "p", one).unwrap());
    assert_eq!(left_out, Some(2));
    fed(&mut stage, &mut sink);
    assert_eq!(numbers(&stage, one), [1, 3]);
    // Somebody wrote the last one while the others were taken away.
    let path = stage.dir.path().join(format!("out/{one}.jsonl"));
    let text = fs::read_to_string(&path).unwrap();
    let last = text.lines().last().unwrap();
    fs::write(&path, format!("{last}\n")).unwrap();
    stage.play(|_, ledger| {
        siglum_ledger::write(ledger, siglum_ledger::Durability::Process, |tx| {
            tx.restart("p", Some(one), at(1))
        })
        .unwrap()
    });
    fed(&mut stage, &mut sink);
    assert_eq!(numbers(&stage, one), [1, 2, 3]);
}

#[test]
fn a_long_last_line_is_found() {
    let mut stage = followed();
    let mut long = prompt("t1", 10);
    if let siglum_domain::observation::Fact::Prompt { text, .. } = &mut long.fact {
        *text = crate::tests::stage::text(&"word ".repeat(40_000));
    }
    let one = stage.hear(says("one", vec![long, stopped("t1", 11)]));
    stage.slice();
    turns(&mut stage, "one", 2, 1);
    let mut sink = Directory::at(stage.dir.path().join("out"));
    for _ in 0..2 {
        fed(&mut stage, &mut sink);
        assert_eq!(numbers(&stage, one), [1, 2]);
        stage.play(|world, ledger| retry(world, ledger, "p", None).unwrap());
    }
}

#[test]
fn a_program_says_what_becomes_of_it() {
    let mut stage = followed();
    let one = turns(&mut stage, "one", 1, 2);
    let got = stage.dir.path().join("got");
    let term = std::time::Duration::from_secs(20);
    let mut sink = Program::new(&format!("cat >> '{}'", got.display())).within(term);
    fed(&mut stage, &mut sink);
    assert_eq!(fs::read_to_string(&got).unwrap().lines().count(), 2);
    let session = stage.session(one);
    let receipt = stage.read(|tx| tx.last_receipt(one)).unwrap();
    let sealed = [Sealed {
        session: &session,
        receipt: &receipt,
        entries: &[],
    }];
    let term = std::time::Duration::from_millis(200);
    let mut outcome = |command: &str| {
        let mut program = Program::new(command).within(term);
        program.take(&mut stage.ledger, &sealed)
    };
    assert_eq!(outcome("exit 0"), Ok(()));
    assert!(matches!(outcome("exit 65"), Err(SinkError::Refused(_))));
    assert!(matches!(outcome("exit 1"), Err(SinkError::Unavailable(_))));
    assert!(matches!(
        outcome("sleep 60"),
        Err(SinkError::Unavailable(_))
    ));
    assert!(matches!(
        outcome("kill -9 $$"),
        Err(SinkError::Unavailable(_))
    ));
}
