//! Moving deliveries from the spool.

use std::fs;

use siglum_domain::intake::{AgentMatter, LandedBy, Matter, Place};
use siglum_domain::observation::{Fact, Side, StartKind};
use siglum_ledger::sqlite::Open;
use siglum_ledger::{Aside, LedgerError, Spool, SpoolRepository, SqliteLedger};

use super::scenes::{intent, landed, scene};
use super::stage::*;
use crate::worker::drain;

#[test]
fn what_cannot_be_read_is_set_aside_and_the_rest_goes_on() {
    let mut stage = Stage::new();
    let spool = stage.spool();
    spool
        .put(&intake(says("one", vec![started(1, StartKind::Startup)])))
        .unwrap();
    fs::write(spool.dir().join("00000-bad.json"), "{\"version\":").unwrap();
    spool
        .put(&intake(says("two", vec![started(2, StartKind::Startup)])))
        .unwrap();
    let moved = drain(&stage.ids, &mut stage.ledger, std::slice::from_ref(&spool)).unwrap();
    assert_eq!(moved, 2);
    assert!(spool.is_empty());
    assert!(spool.dir().join("00000-bad.bad").exists());
    assert_eq!(stage.sessions().len(), 2);
}

#[test]
fn a_busy_ledger_stops_the_drain_and_nothing_is_lost() {
    let mut stage = Stage::new();
    let spool = stage.spool();
    for n in 1..=3 {
        let start = vec![started(n, StartKind::Startup)];
        spool.put(&intake(says(&format!("s{n}"), start))).unwrap();
    }
    let path = stage.dir.path().join("ledger.db");
    let mut hook = SqliteLedger::open(&path, Open::Hook).unwrap();
    let refused = stage.play(|world, ledger| {
        let mut refused = None;
        siglum_ledger::write(ledger, siglum_ledger::Durability::Process, |tx| {
            tx.push(at(0), "holds", "the lock")?;
            refused = drain(world.ids, &mut hook, std::slice::from_ref(&spool)).err();
            Ok(())
        })
        .unwrap();
        refused
    });
    assert!(matches!(refused, Some(LedgerError::Busy)), "{refused:?}");
    assert_eq!((spool.len(), stage.sessions().len()), (3, 0));
    let moved = drain(&stage.ids, &mut hook, std::slice::from_ref(&spool)).unwrap();
    assert_eq!((moved, spool.len(), stage.sessions().len()), (3, 0, 3));
}

/// Another repository than that of [`place`].
fn other() -> Place {
    Place {
        common_dir: "/home/dev/other/.git".to_owned(),
        worktree: "/home/dev/other".to_owned(),
    }
}

fn there(matter: AgentMatter) -> AgentMatter {
    AgentMatter {
        place: Some(other()),
        ..matter
    }
}

/// The spool of that repository.
fn spool_there(stage: &Stage) -> Spool {
    let repository = SpoolRepository {
        common_dir: other().common_dir,
        is_transcript: |_, path| path.starts_with("/home/dev/.claude/"),
    };
    let there = stage.dir.path().join("there");
    std::fs::create_dir_all(&there).unwrap();
    Spool::in_repository(&there, repository)
}

/// Whoever makes an archive of a repository can write what waits in it.
#[test]
fn what_waits_in_a_repository_speaks_of_nothing_else() {
    let mut stage = Stage::new();
    let first = vec![started(1, StartKind::Startup), prompt("t", 2)];
    let victim = stage.hear(in_process(50, says("victim", first)));
    stage.deliver(&intent(&scene(1, &place(), 70, Some(50), None), 3));
    let head = stage.session(victim).head;
    let says_at = |id: &str, seconds| says(id, vec![prompt(&format!("{id}-{seconds}"), seconds)]);
    let mut seen = file("c", "t", 15, Side::After, Some(1));
    if let Fact::FileSeen { place: file, .. } = &mut seen.fact {
        *file = Some(place());
    }
    let mut forged = vec![
        intake(says_at("another-place", 10)),
        intake(there(says_at("victim", 11))),
        intake(there(AgentMatter {
            explicit: Some(victim),
            ..says_at("by-id", 12)
        })),
        intake(there(in_process(50, says_at("by-process", 13)))),
        intake(AgentMatter {
            place: None,
            ..says_at("nowhere", 14)
        }),
        intake(there(says("file", vec![seen]))),
        intent(&scene(2, &place(), 71, None, None), 16),
        intent(&scene(1, &other(), 72, None, None), 17),
    ];
    let mut mixed = landed(
        &scene(3, &other(), 73, None, None),
        &oid(9),
        LandedBy::Commit,
        18,
    );
    if let Matter::Landed(landed) = &mut mixed.matter {
        landed.scene.place = place();
    }
    forged.push(mixed);
    let spool = spool_there(&stage);
    for intake in &forged {
        spool.put(intake).unwrap();
    }
    let moved = drain(&stage.ids, &mut stage.ledger, std::slice::from_ref(&spool)).unwrap();
    let aside = spool.aside(Aside::Foreign).len();
    assert_eq!((moved, aside, spool.len()), (0, forged.len(), 0));
    assert_eq!(stage.sessions().len(), 1);
    assert_eq!(stage.session(victim).head, head);
    assert_eq!(stage.read(|tx| tx.open_intents(None)).len(), 1);
}

#[test]
fn what_waits_in_a_repository_begins_and_continues_its_own_sessions() {
    let mut stage = Stage::new();
    let spool = spool_there(&stage);
    let files = [
        "/etc/passwd.jsonl",
        "/home/dev/.claude/projects/x/own.jsonl",
    ];
    for (seconds, path) in (1..).zip(files) {
        let matter = AgentMatter {
            transcript: Some(path.to_owned()),
            ..there(says("own", vec![prompt(&format!("t{seconds}"), seconds)]))
        };
        spool.put(&intake(in_process(50, matter))).unwrap();
    }
    let seen = scene(1, &other(), 70, Some(50), None);
    spool.put(&intent(&seen, 3)).unwrap();
    let moved = drain(&stage.ids, &mut stage.ledger, std::slice::from_ref(&spool)).unwrap();
    assert_eq!((moved, spool.aside(Aside::Foreign).len()), (3, 0));
    assert_eq!(stage.sessions().len(), 1);
    let wanted = stage.read(|tx| tx.wanted_transcripts(10));
    let wanted: Vec<_> = wanted.iter().map(|t| t.path.as_str()).collect();
    assert_eq!(wanted, &files[1..]);
    let declines = stage.read(|tx| tx.declines(at(0), 10));
    let reasons: Vec<_> = declines.iter().map(|d| d.reason.as_str()).collect();
    assert_eq!(reasons, ["transcript_outside"]);
}
