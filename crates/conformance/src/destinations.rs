//! Destinations: what another ledger lacks of this one, and how it is handed over.

use siglum_domain::evidence::Verdict;
use siglum_domain::scope::Scope;
use siglum_ledger::{
    CheckpointKind, CheckpointRecord, DESTINATION, Destination, DueDocument, LedgerError,
    Projection, Relation, ReplicaRow, ReplicaTurn, RewriteRecord, StatementRecord, Transaction,
};
use uuid::Uuid;

use super::check::{Check, Desk, Outcome, Shelf, same};
use super::replicas::{attached, elsewhere, identity};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("all that there is is due at a new destination", at_first),
    Check::new("every change of a document is due at destinations", changes),
    Check::new("a document is sent as it was, and no newer", sent),
    Check::new("how a destination fares is kept", fares),
    Check::new("what was claimed is given back to others", released),
    Check::new("statements of a ledger are listed behind a number", stated),
    Check::new(
        "a log is handed over with its turns and with what was erased",
        handed,
    ),
    Check::new("a commit tells what git made it of", rewritten),
];

const NAME: &str = "team";

fn destination(name: &str) -> Projection {
    Projection {
        name: name.to_owned(),
        kind: DESTINATION.to_owned(),
        target: "http://127.0.0.1:1".to_owned(),
        at: at(0),
        scope: Some(Scope::in_process()),
    }
}

/// What is due, as `kind`, the end of `document`, and how often it changed.
fn due(tx: &mut dyn Transaction, name: &str) -> Result<Vec<(String, u64)>, LedgerError> {
    let found = tx.due_documents(name, 1000)?;
    let pair = |d: DueDocument| (format!("{} {}", d.kind, d.document), d.due);
    Ok(found.into_iter().map(pair).collect())
}

fn hex(id: Uuid) -> String {
    id.simple().to_string()
}

fn of_session(n: u128) -> String {
    format!("session {}", hex(session_id(n).uuid()))
}

fn of_commit(n: u8) -> String {
    format!("commit {}:{}", hex(repository_id(1).uuid()), oid(n))
}

/// Notes that a destination has everything.
fn settle(tx: &mut dyn Transaction, name: &str) -> Result<(), LedgerError> {
    for document in tx.due_documents(name, 1000)? {
        tx.document_sent(name, &document)?;
    }
    Ok(())
}

fn at_first(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.put_checkpoint(&checkpoint(5, 5))?;
        tx.put_commit(&commit(5))?;
        tx.put_projection(&destination(NAME))?;
        let plain = Projection {
            kind: "program".to_owned(),
            ..destination("plain")
        };
        tx.put_projection(&plain)
    })?;
    let wanted = [
        format!("checkpoint {}", hex(checkpoint_id(5).uuid())),
        of_commit(5),
        format!("repository {}", hex(repository_id(1).uuid())),
        format!("repository {}", hex(repository_id(2).uuid())),
        of_session(1),
        of_session(2),
        of_session(3),
    ]
    .map(|d| (d, 1));
    let mut later = Desk::open(shelf)?;
    later
        .read(|tx| {
            let found = due(tx, NAME)?;
            let (all, none) = (tx.documents_due(NAME)?, tx.documents_due("plain")?);
            let first = tx.due_documents(NAME, 2)?.len();
            let plain = tx.destination("plain")?;
            Ok((found, all, none, first, plain))
        })
        .and_then(|(found, all, none, first, plain)| {
            same!(found, wanted, "what is due at first");
            same!((all, none, first), (7, 0, 2), "how much is due");
            same!(plain, None, "a projection of another kind as destination");
            Ok(())
        })?;
    desk.write(|tx| {
        settle(tx, NAME)?;
        tx.restart_documents(NAME)
    })?;
    same!(
        desk.read(|tx| tx.documents_due(NAME))?,
        7,
        "what is due after a restart"
    );
    same!(
        desk.write(|tx| tx.drop_projection(NAME))?,
        true,
        "taken away"
    );
    let gone = desk.read(|tx| Ok((tx.destination(NAME)?, tx.documents_due(NAME)?)))?;
    same!(gone, (None, 0), "what is left of a destination that went");
    Ok(())
}

fn checkpoint(n: u128, commit: u8) -> CheckpointRecord {
    CheckpointRecord {
        id: checkpoint_id(n),
        kind: CheckpointKind::Commit,
        repository: Some(repository_id(1)),
        commit: Some(oid(commit)),
        at: at(1),
        pins: vec![(session_id(1), 1)],
    }
}

type Change = (
    &'static str,
    fn(&mut dyn Transaction) -> Result<(), LedgerError>,
    fn() -> String,
);

const CHANGES: &[Change] = &[
    (
        "a new repository",
        |tx| tx.note_place(&place(3), repository_id(3), at(0)).map(drop),
        || format!("repository {}", hex(repository_id(3).uuid())),
    ),
    (
        "its move",
        |tx| tx.move_repository(repository_id(3), "/moved/.git", &[]),
        || format!("repository {}", hex(repository_id(3).uuid())),
    ),
    (
        "what tells its clones from others",
        |tx| tx.set_identity(repository_id(3), &identity()),
        || format!("repository {}", hex(repository_id(3).uuid())),
    ),
    (
        "a name",
        |tx| tx.add_alias(&agent("codex"), &native("n"), session_id(1), at(1)),
        || of_session(1),
    ),
    (
        "its place",
        |tx| tx.touch(session_id(3), at(1), Some((repository_id(1), "/w")), None),
        || of_session(3),
    ),
    (
        "its directory",
        |tx| tx.touch(session_id(1), at(1), None, Some("/w/x")),
        || of_session(1),
    ),
    (
        "its agent",
        |tx| tx.set_agent(session_id(1), &agent("codex")),
        || of_session(1),
    ),
    (
        "its end",
        |tx| tx.set_ended(session_id(2), Some(at(3))),
        || of_session(2),
    ),
    (
        "its parent",
        |tx| tx.set_parent(session_id(2), session_id(1), Relation::Fork),
        || of_session(2),
    ),
    (
        "its archiving",
        |tx| tx.archive(session_id(3), at(3)),
        || of_session(3),
    ),
    (
        "an erased payload",
        |tx| {
            let position = tx.payloads(0, 1)?.first().map_or(0, |p| p.position);
            tx.put_payload(position, None)
        },
        || of_session(1),
    ),
    (
        "parts of it erased",
        |tx| tx.forget_parts(session_id(1), at(8)),
        || of_session(1),
    ),
    (
        "all of it erased",
        |tx| tx.forget_session(session_id(2), at(9)),
        || of_session(2),
    ),
    ("a commit", |tx| tx.put_commit(&commit(7)), || of_commit(7)),
    (
        "a judgement",
        |tx| {
            tx.rejudge(
                repository_id(1),
                &oid(7),
                &judgement(by_session(2), Verdict::Certain),
            )
        },
        || of_commit(7),
    ),
    (
        "what git says",
        |tx| tx.put_facts(repository_id(1), &facts(&oid(7))),
        || of_commit(7),
    ),
    (
        "a patch",
        |tx| tx.finish(repository_id(1), &oid(7), "p"),
        || of_commit(7),
    ),
    (
        "authors",
        |tx| tx.put_authors(repository_id(1), &oid(7), &[]),
        || of_commit(7),
    ),
    (
        "a rewrite",
        |tx| tx.put_rewrite(repository_id(1), &oid(6), &oid(7), "rebase", at(1)),
        || of_commit(7),
    ),
    (
        "a checkpoint",
        |tx| tx.put_checkpoint(&checkpoint(5, 7)),
        || format!("checkpoint {}", hex(checkpoint_id(5).uuid())),
    ),
    (
        "its withdrawal",
        |tx| tx.withdraw_checkpoint(checkpoint_id(5)),
        || format!("checkpoint {}", hex(checkpoint_id(5).uuid())),
    ),
];

fn changes(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.put_projection(&destination(NAME))?;
        append(tx, session_id(1), 1, None, &prompt("k", "said"))?;
        settle(tx, NAME)
    })?;
    for (what, change, document) in CHANGES {
        desk.write(|tx| {
            change(tx)?;
            Ok(())
        })?;
        let found = desk.read(|tx| due(tx, NAME))?;
        let names: Vec<&String> = found.iter().map(|(d, _)| d).collect();
        same!(names, [&document()], format!("what is due after {what}"));
        desk.write(|tx| settle(tx, NAME))?;
        same!(
            desk.read(|tx| due(tx, NAME))?,
            [],
            format!("what is due once {what} was sent")
        );
    }
    // What is heard of a session is in its log, and no change of its record.
    desk.write(|tx| {
        tx.set_identity(repository_id(3), &identity())?;
        tx.touch(
            session_id(1),
            at(20),
            Some((repository_id(1), "/w")),
            Some("/y"),
        )
    })?;
    same!(
        desk.read(|tx| due(tx, NAME))?,
        [],
        "what is due after a word of a session, and the same identity"
    );
    Ok(())
}

fn sent(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.put_projection(&destination(NAME))?;
        tx.put_projection(&destination("other"))?;
        settle(tx, NAME)?;
        settle(tx, "other")?;
        tx.put_commit(&commit(7))
    })?;
    let first = desk.read(|tx| tx.due_documents(NAME, 9))?;
    desk.write(|tx| {
        tx.put_commit(&commit(7))?;
        tx.document_sent(NAME, &first[0])
    })?;
    let found = desk.read(|tx| Ok((due(tx, NAME)?, due(tx, "other")?)))?;
    let newest = vec![(of_commit(7), first[0].due + 1)];
    same!(found.0, newest, "what changed while it was sent");
    same!(found.1, newest, "what another destination lacks");
    let ahead = DueDocument {
        due: 1_000,
        ..first[0].clone()
    };
    desk.write(|tx| tx.document_sent(NAME, &ahead))?;
    same!(
        desk.read(|tx| due(tx, NAME))?,
        [],
        "what is due once it was sent"
    );
    desk.write(|tx| tx.document_sent(NAME, &first[0]))?;
    same!(
        desk.read(|tx| due(tx, NAME))?,
        [],
        "what is due after an answer that came late"
    );
    desk.write(|tx| tx.put_commit(&commit(7)))?;
    same!(
        desk.read(|tx| tx.documents_due(NAME))?,
        1,
        "what changed after that"
    );
    Ok(())
}

fn fares(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| tx.put_projection(&destination(NAME)))?;
    let fresh = desk.read(|tx| tx.destination(NAME))?;
    same!(fresh, Some(Destination::default()), "a new destination");
    let known = Destination {
        stated: 7,
        tries: 3,
        reason: Some("ä".to_owned()),
        retry_at: at(9),
    };
    desk.write(|tx| tx.put_destination(NAME, &known))?;
    desk.write(|tx| tx.put_projection(&destination(NAME)))?;
    let mut later = Desk::open(shelf)?;
    same!(
        later.read(|tx| tx.destination(NAME))?,
        Some(known),
        "a destination"
    );
    desk.write(|tx| tx.put_destination(NAME, &Destination::default()))?;
    same!(
        desk.read(|tx| tx.destination(NAME))?,
        Some(Destination::default()),
        "cleared"
    );
    desk.write(|tx| {
        let known = Destination {
            stated: 7,
            ..Destination::default()
        };
        tx.put_destination(NAME, &known)?;
        tx.restart_documents(NAME)
    })?;
    let stated = desk.read(|tx| tx.destination(NAME))?.map(|d| d.stated);
    same!(stated, Some(0), "the statements after a restart");
    Ok(())
}

fn released(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        sealed(tx, 1)?;
        tx.put_projection(&destination(NAME))
    })?;
    let claimed = desk.write(|tx| tx.claim(NAME, at(1), at(50), 9))?;
    same!(claimed.len(), 1, "what is claimed");
    desk.write(|tx| tx.release(NAME, session_id(1), at(49), at(2)))?;
    same!(
        desk.read(|tx| tx.next_try(NAME))?,
        Some(at(50)),
        "a claim of somebody else"
    );
    desk.write(|tx| tx.release(NAME, session_id(1), at(50), at(2)))?;
    same!(
        desk.read(|tx| tx.next_try(NAME))?,
        Some(at(2)),
        "a claim that was given back"
    );
    Ok(())
}

/// One entry in the log of a session, sealed.
fn sealed(tx: &mut dyn Transaction, n: u128) -> Result<(), LedgerError> {
    append(tx, session_id(n), n, None, &prompt("k", "said"))?;
    let rows = tx.to_seal(session_id(n), 1, 1)?;
    let rows: Vec<_> = rows.into_iter().map(|(row, _)| row).collect();
    let receipt = siglum_domain::receipt::seal(session_id(n), None, &rows, Vec::new(), at(1));
    match receipt {
        Some(receipt) => tx.put_receipt(&receipt).map(drop),
        None => Ok(()),
    }
}

fn stated(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let home = furnish(&mut desk)?;
    same!(
        desk.read(|tx| tx.last_stated(home))?,
        0,
        "before any statement"
    );
    desk.write(|tx| {
        for n in 1..=4 {
            // Numbers order them, and not times.
            tx.state(
                at(9 - i64::from(n)),
                "Ann",
                "cli",
                &attached(1, u64::from(n as u32)),
            )?;
        }
        let other = StatementRecord {
            ledger: elsewhere(),
            sequence: 9,
            at: at(1),
            by: "Ben".to_owned(),
            source: "cli".to_owned(),
            statement: attached(1, 9),
        };
        tx.put_statement(&other)
    })?;
    let found = Desk::open(shelf)?.read(|tx| tx.statements_of_ledger(home, 1, 2))?;
    let numbers: Vec<u64> = found.iter().map(|s| s.sequence).collect();
    same!(numbers, [2, 3], "statements behind the first");
    let last = desk.read(|tx| Ok((tx.last_stated(home)?, tx.last_stated(elsewhere())?)))?;
    same!(last, (4, 9), "the last ones of both ledgers");
    Ok(())
}

fn handed(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.turn(session_id(1), "later", turn_id(2), at(5))?;
        tx.turn(session_id(1), "turn", turn_id(1), at(4))?;
        tx.turn(session_id(2), "turn", turn_id(3), at(4))?;
        for n in 1..=3 {
            append(
                tx,
                session_id(1),
                n,
                Some(turn_id(1)),
                &prompt(&format!("k{n}"), "said"),
            )?;
        }
        tx.note_prompt(turn_id(1), 1)?;
        let second = tx.payloads(0, 9)?[1].position;
        tx.put_payload(second, None)
    })?;
    let rows = desk.read(|tx| tx.log_rows(session_id(1), 0, 9))?;
    let shape = |r: &ReplicaRow| (r.sequence, r.salt.is_some(), r.fact.is_some());
    let shapes: Vec<_> = rows.iter().map(shape).collect();
    same!(
        shapes,
        [(1, true, true), (2, false, false), (3, true, true)],
        "the log"
    );
    let first = &rows[0];
    let salt = first.salt.unwrap_or_default();
    let fact = first.fact.clone().unwrap_or_default();
    let digest = siglum_domain::receipt::payload_digest(&salt, fact.as_bytes());
    same!(digest, first.digest, "the digest of a payload");
    let observation = prompt("k1", "said");
    let entry = (
        &first.key,
        &first.event,
        &first.subagent,
        first.at,
        first.turn,
        first.id,
    );
    let wanted = (
        &observation.key,
        &observation.event,
        &observation.subagent,
        observation.at,
        Some(turn_id(1)),
        entry_id(1),
    );
    same!(entry, wanted, "an entry");
    same!(
        (first.kind.as_str(), first.recorded_at),
        ("prompt", at(2)),
        "its kind and time"
    );
    let some = desk.read(|tx| tx.log_rows(session_id(1), 1, 1))?;
    same!(
        some.iter().map(|r| r.sequence).collect::<Vec<_>>(),
        [2],
        "one entry behind the first"
    );
    let ids = [turn_id(2), turn_id(1), turn_id(3)];
    let turns = Desk::open(shelf)?.read(|tx| tx.turns_named(session_id(1), &ids))?;
    let wanted = [
        ReplicaTurn {
            id: turn_id(1),
            native: "turn".to_owned(),
            opened_at: at(4),
            prompt: Some(1),
        },
        ReplicaTurn {
            id: turn_id(2),
            native: "later".to_owned(),
            opened_at: at(5),
            prompt: None,
        },
    ];
    same!(turns, wanted, "turns of the session");
    Ok(())
}

fn rewritten(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.put_rewrite(repository_id(1), &oid(2), &oid(3), "amend", at(7))?;
        tx.put_rewrite(repository_id(1), &oid(1), &oid(3), "rebase", at(6))?;
        tx.put_rewrite(repository_id(2), &oid(1), &oid(3), "rebase", at(6))
    })?;
    let found = Desk::open(shelf)?.read(|tx| tx.rewrites_to(repository_id(1), &oid(3)))?;
    let rewrite = |old, command: &str, seconds| RewriteRecord {
        old: oid(old),
        command: command.to_owned(),
        at: at(seconds),
    };
    same!(
        found,
        [rewrite(1, "rebase", 6), rewrite(2, "amend", 7)],
        "rewrites"
    );
    Ok(())
}
