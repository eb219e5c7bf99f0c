//! Bytes that were changed behind the ledger's back, in one session among many.

use std::time::Duration;

use siglum_conformance::tamper;
use siglum_domain::fold::{Records, Usage};
use siglum_domain::observation::{FileVersion, Source, StartKind, Tokens};
use siglum_domain::{ConversationId, SessionId};
use siglum_gitstore::ObjectAddress;
use siglum_ledger::{Ledger as _, SessionFilter, write};

use super::*;
use crate::driven::turn;
use crate::forget;
use crate::share::project::{self, Directory};
use crate::tests::copies::Picked;
use crate::tests::stage::*;

/// How many sessions there are.
const MANY: usize = 40;

/// Many sessions, each with a sealed turn.
fn stage() -> (Stage, Vec<SessionId>) {
    let mut stage = Stage::new();
    let session = |n: usize| {
        let native = format!("s{n}");
        let turn = format!("t{n}");
        let seen = vec![
            started(1, StartKind::Startup),
            prompt(&turn, 2),
            stopped(&turn, 3),
        ];
        stage.hear(says(&native, seen))
    };
    let sessions: Vec<_> = (0..MANY).map(session).collect();
    stage.slice();
    stage.slice();
    (stage, sessions)
}

fn checked(stage: &mut Stage, session: Option<SessionId>) -> Report {
    stage.play(|world, ledger| verify(world, ledger, session).unwrap())
}

/// Changes the file behind the ledger's back.
fn damage(stage: &Stage, sql: &str, session: SessionId) {
    let path = stage.dir.path().join("ledger.db");
    assert!(tamper(&path, sql, session).unwrap() > 0, "{sql}");
}

fn kinds(report: &Report) -> Vec<(Kind, Option<SessionId>, &str)> {
    let problems = report.problems.iter();
    problems
        .map(|p| (p.kind, p.session, p.place.as_str()))
        .collect()
}

#[test]
fn what_was_not_touched_is_sound() {
    let (mut stage, sessions) = stage();
    let report = checked(&mut stage, None);
    assert!(report.is_sound(), "{:#?}", report.problems);
    let counts = &report.counts;
    assert_eq!(counts.sessions, sessions.len() as u64);
    assert_eq!(
        (counts.entries, counts.payloads),
        (3 * MANY as u64, 3 * MANY as u64)
    );
    assert_eq!(counts.receipts, MANY as u64);
}

fn changes(stage: &mut Stage) -> Verification {
    stage.play(|world, ledger| verify_changes(world, ledger, &mut |_| {}).unwrap())
}

fn unsound(report: &Report) -> Vec<SessionId> {
    report.unsound.keys().copied().collect()
}

#[test]
fn what_did_not_change_is_left_out_and_what_grew_is_verified() {
    let (mut stage, sessions) = stage();
    let many = MANY as u64;
    let grown = sessions[7];
    let first = changes(&mut stage);
    assert!(first.is_whole && first.report.is_sound(), "{first:?}");
    assert_eq!(first.report.counts.sessions, many);
    let second = changes(&mut stage);
    assert!(!second.is_whole && second.verified.is_some(), "{second:?}");
    assert_eq!((second.unchanged, second.report.counts.sessions), (many, 0));
    // What goes bad without a change, only all of it tells.
    let rot = |sequence: u64| {
        format!(
            "UPDATE observations SET key = 'other{sequence}' WHERE session = ?1 AND sequence = {sequence}"
        )
    };
    damage(&stage, &rot(2), grown);
    assert!(changes(&mut stage).report.is_sound());
    stage.hear(says("s7", vec![prompt("more", 9), stopped("more", 10)]));
    stage.slice();
    let report = changes(&mut stage).report;
    assert!(report.is_sound(), "{:#?}", report.problems);
    assert!(report.counts.receipts >= 1, "{:?}", report.counts);
    stage.hear(says("s7", vec![prompt("again", 11), stopped("again", 12)]));
    stage.slice();
    damage(&stage, &rot(6), grown);
    for _ in 0..2 {
        // It is found each time, until it is sound.
        let found = changes(&mut stage);
        assert_eq!(found.unchanged + found.report.counts.sessions, many);
        assert_eq!(unsound(&found.report), [grown]);
    }
    let all = stage.play(|world, ledger| verify_all(world, ledger, &mut |_| {}).unwrap());
    let places: Vec<_> = kinds(&all.report)
        .into_iter()
        .map(|(_, _, at)| at)
        .collect();
    assert!(places.contains(&"receipt 1"), "{places:?}");
    // And then everything is looked at again.
    assert!(changes(&mut stage).is_whole);
}

#[test]
fn what_was_found_in_one_session_or_by_a_look_is_not_left_out() {
    let (mut stage, sessions) = stage();
    assert!(changes(&mut stage).is_whole);
    let sql = "UPDATE observations SET key = 'other' WHERE session = ?1 AND sequence = 2";
    damage(&stage, sql, sessions[3]);
    assert!(changes(&mut stage).report.is_sound());
    assert!(!checked(&mut stage, Some(sessions[3])).is_sound());
    let found = changes(&mut stage);
    assert!(!found.is_whole);
    assert_eq!(unsound(&found.report), [sessions[3]]);
    let found = stage.play(|world, ledger| super::spot_check(world, ledger).unwrap());
    assert!(found.is_whole && !found.report.is_sound(), "{found:?}");
    assert!(changes(&mut stage).is_whole);
}

#[test]
fn a_look_with_enough_time_is_at_everything_and_finds_again_what_it_found() {
    let (mut stage, sessions) = stage();
    let found = stage.play(|world, ledger| super::spot_check(world, ledger).unwrap());
    assert!(found.is_whole && found.report.is_sound(), "{found:?}");
    assert_eq!(found.report.counts.sessions, MANY as u64);
    assert!(found.verified.is_some());
    // What is found is found again.
    let sql = "UPDATE observations SET key = 'other' WHERE session = ?1 AND sequence = 2";
    damage(&stage, sql, sessions[MANY / 2]);
    for _ in 0..2 {
        let found = stage.play(|world, ledger| super::spot_check(world, ledger).unwrap());
        assert_eq!(found.report.counts.sessions, MANY as u64);
        assert!(found.report.unsound.contains_key(&sessions[MANY / 2]));
    }
}

#[test]
fn each_changed_row_is_reported_with_its_place_and_hides_no_other() {
    use Kind::{Damaged, Missing};
    let flip = "CAST('{' || substr(CAST(payload AS TEXT), 2, 9) || 'X' || substr(CAST(payload AS TEXT), 12) AS BLOB)";
    for (sql, kind, place) in [
        (format!("UPDATE observations SET payload = {flip} WHERE session = ?1 AND sequence = 2"), Damaged, "entry 2 (prompt)"),
        ("UPDATE observations SET payload = x'28b52ffd00' WHERE session = ?1 AND sequence = 2".to_owned(), Damaged, "entry 2 (prompt)"),
        ("UPDATE observations SET payload = NULL WHERE session = ?1 AND sequence = 2".to_owned(), Missing, "entry 2 (prompt)"),
        ("UPDATE observations SET payload = NULL, salt = x'' WHERE session = ?1 AND sequence = 2".to_owned(), Missing, "entry 2 (prompt)"),
        ("UPDATE observations SET salt = x'' WHERE session = ?1 AND sequence = 2".to_owned(), Damaged, "entry 2 (prompt)"),
        ("UPDATE observations SET key = CAST(x'ff' AS TEXT) WHERE session = ?1 AND sequence = 2".to_owned(), Damaged, "entry 2"),
        ("UPDATE observations SET key = 'other' WHERE session = ?1 AND sequence = 2".to_owned(), Damaged, "receipt 1"),
        ("DELETE FROM observations WHERE session = ?1 AND sequence = 2".to_owned(), Missing, "entry 2"),
        ("DELETE FROM observations WHERE session = ?1 AND sequence = 3".to_owned(), Missing, "entry 3"),
        ("UPDATE receipts SET digest = replace(digest, substr(digest, 1, 1), 'z') WHERE session = ?1".to_owned(), Damaged, "receipt 1"),
        ("UPDATE receipts SET previous = 'x' WHERE session = ?1".to_owned(), Damaged, "receipt 1"),
        ("UPDATE receipts SET first = 2 WHERE session = ?1".to_owned(), Damaged, "receipt 1"),
        ("DELETE FROM receipts WHERE session = ?1".to_owned(), Missing, "receipt 1"),
        ("UPDATE sessions SET head = 2, sealed = 2 WHERE id = ?1".to_owned(), Damaged, "its record"),
        ("UPDATE sessions SET sealed = 1 WHERE id = ?1".to_owned(), Damaged, "its record"),
        ("UPDATE sessions SET agent = 'No Agent!' WHERE id = ?1".to_owned(), Damaged, "its record"),
    ] {
        let (mut stage, sessions) = stage();
        let bad = sessions[MANY / 2];
        damage(&stage, &sql, bad);
        let report = checked(&mut stage, None);
        let found = kinds(&report);
        assert!(found.contains(&(kind, Some(bad), place)), "{sql}: {found:?}");
        // The sums of rows tell of the same row, and know no sessions.
        let is_of_bad = |(_, of, place): &(Kind, Option<SessionId>, &str)| *of == Some(bad) || *place == "a row in sessions";
        assert!(found.iter().all(is_of_bad), "{sql}: {found:?}");
        assert_eq!(report.counts.sessions, MANY as u64, "{sql}");
        assert_eq!(report.unsound.keys().copied().collect::<Vec<_>>(), [bad], "{sql}");
        let listed = stage.play(|world, ledger| {
            crate::views::overview::sessions(world, ledger, &SessionFilter::default()).unwrap()
        });
        assert_eq!(listed.len(), MANY, "{sql}");
        let story = stage.play(|world, ledger| crate::views::history::history(world, ledger, bad).unwrap());
        assert!(story.is_some(), "{sql}");
    }
}

/// Whole rows, which no sum of their columns can tell of.
#[test]
fn rows_of_a_commit_that_are_gone_are_missed() {
    for (sql, place) in [
        ("DELETE FROM commits WHERE ?1 <> x''", "rows in intents"),
        ("DELETE FROM commits WHERE ?1 <> x''", "rows in authors"),
        ("DELETE FROM intents WHERE ?1 <> x''", "rows in commits"),
        ("DELETE FROM authors WHERE ?1 <> x''", "rows in commits"),
        ("DELETE FROM checkpoints WHERE ?1 <> x''", "rows in commits"),
        ("DELETE FROM checkpoints WHERE ?1 <> x''", "rows in pins"),
    ] {
        let mut picked = Picked::new("one\n");
        picked.origin_lands();
        picked.stage.slice();
        let report = checked(&mut picked.stage, None);
        assert!(report.is_sound(), "{:#?}", report.problems);
        let session = picked.stage.sessions()[0].record.id;
        damage(&picked.stage, sql, session);
        let report = checked(&mut picked.stage, None);
        let found = kinds(&report);
        assert!(
            found.contains(&(Kind::Missing, None, place)),
            "{sql}: {found:?}"
        );
    }
}

/// With nothing left around it that would miss it.
#[test]
fn a_table_says_how_many_of_its_rows_are_gone_or_came_from_elsewhere() {
    let (mut stage, sessions) = stage();
    let gone = "DELETE FROM turns WHERE session = ?1";
    damage(&stage, gone, sessions[0]);
    let more = "INSERT INTO links (field, value, session) VALUES ('issue', '1', ?1)";
    damage(&stage, more, sessions[0]);
    let report = checked(&mut stage, None);
    let found: Vec<_> = report
        .problems
        .iter()
        .map(|p| (p.kind, p.place.as_str(), p.what.as_str()))
        .collect();
    let turns = format!("1 of its {MANY} rows are gone");
    assert!(
        found.contains(&(Kind::Missing, "the table turns", turns.as_str())),
        "{found:#?}"
    );
    let links = "0 rows were stored, and it has 1 more";
    assert!(
        found.contains(&(Kind::Damaged, "the table links", links)),
        "{found:#?}"
    );
}

#[test]
fn a_session_is_set_aside_and_taken_back() {
    let (mut stage, sessions) = stage();
    let bad = sessions[7];
    damage(&stage, "UPDATE sessions SET sealed = 1 WHERE id = ?1", bad);
    let report = checked(&mut stage, None);
    let set = |stage: &mut Stage, report: &Report| {
        stage.play(|_, ledger| quarantine(ledger, report).unwrap())
    };
    assert_eq!(set(&mut stage, &report), (1, 0));
    let reason = stage.session(bad).quarantined.unwrap();
    assert!(reason.starts_with("its record"), "{reason}");
    assert_eq!(checked(&mut stage, None).counts.quarantined, 1);
    // Its hooks are heard as before, and nothing of it is sealed.
    stage.hear(says("s7", vec![prompt("more", 9), stopped("more", 10)]));
    stage.slice();
    assert_eq!(stage.session(bad).head, 5);
    damage(&stage, "UPDATE sessions SET sealed = 3 WHERE id = ?1", bad);
    let report = checked(&mut stage, Some(bad));
    assert!(report.is_sound(), "{:?}", report.problems);
    assert_eq!(set(&mut stage, &report), (0, 1));
    assert_eq!(stage.session(bad).quarantined, None);
    stage.slice();
    assert_eq!(stage.session(bad).sealed, 5);
}

#[test]
fn what_was_forgotten_is_neither_missing_nor_damaged() {
    let (mut stage, sessions) = stage();
    stage.now.set(5_000);
    let gone = sessions[3];
    stage.play(|world, ledger| {
        let holding = forget::holding(ledger, gone).unwrap().unwrap();
        forget::forget_session(world, ledger, &holding, forget::Costs::Kept, &[], "Ann").unwrap();
        let needle = forget::Needle::pattern("Do t9").unwrap();
        forget::erase(world, ledger, &[], &needle, "Ann").unwrap();
    });
    let report = checked(&mut stage, None);
    assert!(report.is_sound(), "{:?}", report.problems);
    assert_eq!(report.counts.forgotten, 4);
    // What comes later and loses its payload is missing all the same.
    stage.hear(says("s3", vec![prompt("late", 6_000)]));
    damage(
        &stage,
        "UPDATE observations SET payload = NULL, salt = x'' WHERE session = ?1",
        gone,
    );
    let report = checked(&mut stage, None);
    assert_eq!(
        kinds(&report),
        [(Kind::Missing, Some(gone), "entry 4 (prompt)")]
    );
}

/// The log makes nothing of it anew.
#[test]
fn what_a_forgotten_session_cost_does_not_change_unseen() {
    let (mut stage, sessions) = stage();
    stage.now.set(5_000);
    let gone = sessions[3];
    let message = Usage {
        event: "e".to_owned(),
        request: None,
        turn: None,
        at: at(2),
        model: None,
        subagent: None,
        branch: None,
        source: Source::Transcript,
        tokens: Tokens {
            output: 7,
            ..Tokens::default()
        },
        repeated: Records::default(),
        retold: Records::default(),
    };
    stage.play(|world, ledger| {
        write(ledger, Durability::Process, |tx| {
            tx.put_usages(gone, std::slice::from_ref(&message))
        })
        .unwrap();
        let holding = forget::holding(ledger, gone).unwrap().unwrap();
        forget::forget_session(world, ledger, &holding, forget::Costs::Kept, &[], "Ann").unwrap();
    });
    stage.slice();
    let report = checked(&mut stage, None);
    assert!(report.is_sound(), "{:?}", report.problems);
    // With the second one, the sums are what the messages come to.
    for table in ["usage_quarters", "usages"] {
        let more = format!("UPDATE {table} SET output = output + 9 WHERE session = ?1");
        damage(&stage, &more, gone);
        let place = format!("a row in {table}");
        let damaged = (Kind::Damaged, None, place.as_str());
        assert_eq!(kinds(&checked(&mut stage, None)), [damaged]);
    }
    for table in ["usages", "usage_quarters"] {
        damage(
            &stage,
            &format!("DELETE FROM {table} WHERE session = ?1"),
            gone,
        );
    }
    let missing = (Kind::Missing, None, "the table usages");
    assert_eq!(kinds(&checked(&mut stage, None)), [missing]);
}

#[test]
fn file_versions_are_missing_or_damaged_and_the_session_stays_sound() {
    let (mut stage, _) = stage();
    let put = |stage: &mut Stage, content: &str| {
        stage.play(|world, _| world.objects.put(content.as_bytes(), None).unwrap())
    };
    let versions = [
        put(&mut stage, "one\n"),
        put(&mut stage, "two\n"),
        put(&mut stage, "three\n"),
    ];
    let repository = stage.repository().id;
    let one = stage.named("s1").unwrap();
    for (n, address) in versions.iter().enumerate() {
        let edit = siglum_ledger::EditRecord {
            session: one,
            event: format!("e{n}"),
            turn: None,
            repository,
            worktree: "/w".to_owned(),
            path: "a".to_owned(),
            began: at(1),
            at: at(2),
            before: None,
            after: Some(FileVersion {
                blob: oid(1),
                object: Some(address.to_string()),
                bytes: 4,
            }),
            detail: siglum_ledger::EditDetail::default(),
            lines: Some(Vec::new()),
        };
        write(&mut stage.ledger, Durability::Process, |tx| {
            tx.put_edit(&edit)
        })
        .unwrap();
    }
    assert!(checked(&mut stage, None).is_sound());
    let path = |address: &ObjectAddress| {
        let name = address.to_string();
        stage
            .dir
            .path()
            .join("objects")
            .join(&name[..2])
            .join(&name[2..])
    };
    std::fs::remove_file(path(&versions[0])).unwrap();
    let mut bytes = std::fs::read(path(&versions[1])).unwrap();
    let middle = bytes.len() - 2;
    bytes[middle] ^= 1;
    std::fs::write(path(&versions[1]), bytes).unwrap();
    let report = checked(&mut stage, None);
    let mut found: Vec<_> = report.problems.iter().map(|p| p.kind).collect();
    found.sort();
    assert_eq!(
        found,
        [Kind::Missing, Kind::Damaged],
        "{:?}",
        report.problems
    );
    assert!(report.unsound.is_empty());
}

/// A driven session with a turn, shown by a directory.
fn shown() -> (Stage, SessionId, std::path::PathBuf) {
    let mut stage = Stage::new();
    let dir = stage.dir.path().join("sink");
    let session = stage.play(|world, ledger| {
        let new = turn::NewSession {
            agent: agent(),
            conversation: ConversationId::new("driven").unwrap(),
            cwd: None,
            links: Vec::new(),
            by: "me".to_owned(),
        };
        let session = turn::create(world, ledger, &new).unwrap().id;
        let holder = turn::Holder {
            name: "me".to_owned(),
            nonce: "1".to_owned(),
            process: None,
        };
        let mut driver =
            turn::Driver::take(world, ledger, session, &holder, Duration::from_secs(60)).unwrap();
        for n in 0..2 {
            let key = format!("k{n}");
            let mut observation = prompt(&key, 2);
            observation.source = siglum_domain::observation::Source::Api;
            driver.commit(world, ledger, &key, &[observation]).unwrap();
        }
        project::add(
            world,
            ledger,
            "docs",
            "directory",
            dir.to_str().unwrap(),
            &siglum_domain::scope::Scope::in_process(),
        )
        .unwrap();
        project::feed(world, ledger, "docs", &mut Directory::at(&dir)).unwrap();
        session
    });
    (stage, session, dir)
}

#[test]
fn a_directory_that_is_ahead_torn_or_lost_is_reported() {
    let (mut stage, session, dir) = shown();
    assert_eq!(kinds(&checked(&mut stage, None)), []);
    let projected = dir.join(format!("{session}.jsonl"));
    let text = std::fs::read_to_string(&projected).unwrap();
    let first = text.lines().next().unwrap();
    for (content, kind) in [
        (format!("{text}torn"), None),
        (format!("{text}torn\n"), Some(Kind::Damaged)),
        (
            format!(
                "{text}{}\n",
                first.replacen("\"number\":1", "\"number\":9", 1)
            ),
            Some(Kind::Damaged),
        ),
        (format!("{first}\n"), Some(Kind::Missing)),
        (
            text.replace("\"number\":2", "\"number\":1"),
            Some(Kind::Damaged),
        ),
    ] {
        std::fs::write(&projected, &content).unwrap();
        let report = checked(&mut stage, None);
        let found: Vec<_> = report.problems.iter().map(|p| p.kind).collect();
        assert_eq!(
            found,
            kind.into_iter().collect::<Vec<_>>(),
            "{content}\n{:?}",
            report.problems
        );
        assert!(report.unsound.is_empty());
    }
    std::fs::write(&projected, &text).unwrap();
    std::fs::write(
        dir.join("ses_01920000000070008000000000999999.jsonl"),
        first,
    )
    .unwrap();
    assert_eq!(checked(&mut stage, None).counts.damaged, 1);
}

#[test]
fn cursors_and_open_turns_are_looked_at() {
    for (sql, place) in [
        (
            "UPDATE deliveries SET due = 9 WHERE session = ?1",
            "projection docs",
        ),
        (
            "UPDATE deliveries SET due = 1 WHERE session = ?1",
            "projection docs",
        ),
        (
            "DELETE FROM deliveries WHERE session = ?1",
            "projection docs",
        ),
        (
            "INSERT INTO open_turns VALUES (?1, x'01920000000070008000000000000001', 'k', 1, 99, 1, NULL)",
            "the open turn `k`",
        ),
        (
            "UPDATE leases SET session = x'01920000000070008000000000999999' WHERE session = ?1",
            "rows in leases",
        ),
    ] {
        let (mut stage, session, _) = shown();
        damage(&stage, sql, session);
        let report = checked(&mut stage, None);
        let places: Vec<_> = report.problems.iter().map(|p| p.place.as_str()).collect();
        assert_eq!(places, [place], "{sql}");
        stage.ledger.maintain().unwrap();
    }
}
