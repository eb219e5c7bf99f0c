//! The audit: what goes into it, and what is found when somebody changes it behind the ledger's back.

use std::time::Duration;

use serde_json::{Value, json};
use siglum_conformance::tamper;
use siglum_domain::audit::wire::Line;
use siglum_domain::audit::{Action, Verifying};
use siglum_domain::link::{FIELDS, Link};
use siglum_domain::{AgentName, ConversationId, SessionId};
use siglum_ledger::{AuditFilter, LedgerError};
use uuid::Uuid;

use super::stage::Stage;
use crate::driven::turn::{self, NewSession};
use crate::identity::audit::{self, Entry};
use crate::identity::links::{self, Change};
use crate::retention::{self, RetentionPolicy};

const SECRET: &str =
    "siglum_default_3f786850e387550fdab836ed7e6dc8819f86d081884c7d659a2feaa0c55ad015";

pub(super) fn created(stage: &mut Stage, name: &str, links: Vec<Link>) -> SessionId {
    let new = NewSession {
        agent: AgentName::new("codex").unwrap(),
        conversation: ConversationId::new(name).unwrap(),
        cwd: Some("/home/dev".to_owned()),
        links,
        by: "Ann".to_owned(),
    };
    stage.play(|here, ledger| turn::create(here, ledger, &new).unwrap().id)
}

/// Every entry as `action actor`, oldest first, with its body.
fn entries(stage: &mut Stage) -> Vec<(String, Value)> {
    let all = stage.play(|_, ledger| audit::list(ledger, &AuditFilter::default()).unwrap());
    let row = |e: siglum_domain::audit::Entry| {
        let h = &e.header;
        let line = format!("{} {} {}", h.action.as_str(), h.outcome.as_str(), h.actor);
        let body = e.body.unwrap().text.into_string();
        (line, serde_json::from_str(&body).unwrap())
    };
    all.into_iter().rev().map(row).collect()
}

fn all_links() -> Vec<Link> {
    let value = |field: &str| match field {
        "issue_number" | "pr_number" => "7",
        "label" => "a=b",
        _ => "x y",
    };
    let link = |field: &&str| Link::parse(field, value(field)).unwrap();
    FIELDS.iter().map(link).collect()
}

#[test]
fn the_life_of_a_driven_session_is_audited_with_every_link() {
    let mut stage = Stage::new();
    let session = created(&mut stage, "one", all_links());
    let again = created(&mut stage, "one", vec![]);
    assert_eq!(session, again, "the same one is not created twice");
    let issue = Link::IssueNumber(8);
    for change in [Change::Attach, Change::Attach, Change::Detach] {
        stage.play(|here, ledger| {
            let links = std::slice::from_ref(&issue);
            links::change(here, ledger, session, links, change, ("Bob", "api")).unwrap()
        });
    }
    stage.play(|here, ledger| {
        let conversation = ConversationId::new("two").unwrap();
        turn::fork(here, ledger, session, None, &conversation, "Cleo").unwrap();
        turn::archive(here, ledger, session, "Dan").unwrap();
    });
    let found = entries(&mut stage);
    let lines: Vec<&str> = found.iter().map(|(line, _)| line.as_str()).collect();
    assert_eq!(
        lines,
        [
            "session.created done Ann",
            "link.attached done Bob",
            "link.detached done Bob",
            "session.created done Cleo",
            "session.archived done Dan",
        ]
    );
    let links = &found[0].1["links"];
    for (field, link) in FIELDS.iter().zip(all_links()) {
        assert_eq!(links[field], json!([link.to_json()]), "{field}");
    }
    assert_eq!(found[1].1["links"]["issue_number"], json!([8]));
    assert_eq!(found[3].1["parent"], json!(session.to_string()));
    let mut of =
        |filter: &AuditFilter| stage.play(|_, ledger| audit::list(ledger, filter).unwrap().len());
    let pipeline = Some("x y".to_owned());
    let all = AuditFilter::default;
    assert_eq!(of(&AuditFilter { pipeline, ..all() }), 4, "by pipeline");
    let session = Some(session);
    assert_eq!(of(&AuditFilter { session, ..all() }), 4, "by session");
}

#[test]
fn no_secret_comes_into_the_audit() {
    let mut stage = Stage::new();
    let body = json!({ "a": { SECRET: [SECRET, format!("x {SECRET}")] }, "password": "hunter2!x" });
    let entry = Entry::refused(SECRET, Action::SessionRefused, SECRET, Some(SECRET));
    let entry = entry.in_pipeline(SECRET).with(body);
    let huge = Entry::done("Ann", Action::TokenUsed).with(json!({ "x": "ab ".repeat(40_000) }));
    stage.play(|here, ledger| {
        audit::note(here, ledger, &entry).unwrap();
        audit::note(here, ledger, &huge).unwrap();
        let text = format!("{:?}", audit::list(ledger, &AuditFilter::default()));
        assert!(
            !text.contains("3f786850") && !text.contains("hunter2"),
            "{text}"
        );
        assert!(text.contains("bytes_left_out") && text.len() < 5_000);
        assert!(audit::verify(ledger).unwrap().is_sound());
    });
}

#[test]
fn a_change_that_fails_is_not_audited() {
    let mut stage = Stage::new();
    let failed = stage.play(|here, ledger| {
        siglum_ledger::write(ledger, siglum_ledger::Durability::Process, |tx| {
            audit::record(tx, here, &Entry::done("Ann", Action::TokenUsed))?;
            Err::<(), _>(LedgerError::Damaged("so it was wanted".to_owned()))
        })
    });
    assert!(failed.is_err());
    assert_eq!(entries(&mut stage), []);
    assert!(stage.play(|_, ledger| audit::verify(ledger).unwrap().is_sound()));
}

/// Changes the audit behind the ledger's back.
fn change(stage: &Stage, sql: &str) {
    let path = stage.dir.path().join("ledger.db");
    let session = SessionId::from_uuid(Uuid::from_u128(1));
    let changed = tamper(&path, &format!("{sql} AND ?1 IS NOT NULL"), session).unwrap();
    assert!(changed > 0, "{sql}");
}

/// What verifying tells after `sql` ran on an audit of 600 entries.
fn flaws_after(sql: &str) -> Vec<String> {
    let mut stage = Stage::new();
    stage.play(|here, ledger| {
        for n in 0..600 {
            let entry = Entry::done("Ann", Action::TokenUsed).with(json!({ "n": n }));
            audit::note(here, ledger, &entry).unwrap();
        }
    });
    for sql in sql.split(';') {
        change(&stage, sql);
    }
    let report = stage.play(|_, ledger| audit::verify(ledger).unwrap());
    assert_eq!(report.count, report.flaws.len() as u64);
    report.flaws.iter().map(ToString::to_string).collect()
}

#[test]
fn a_chain_that_was_changed_behind_the_ledger_is_found_with_the_number() {
    for (sql, wanted) in [
        (
            "UPDATE audit SET actor = 'Bob' WHERE number = 300",
            vec!["entry 300 is not what was recorded"],
        ),
        (
            "UPDATE audit SET body = '{}' WHERE number = 2",
            vec!["the body of entry 2 is not what was recorded"],
        ),
        (
            "UPDATE audit SET at = 'x' WHERE number = 7",
            vec!["entry 7 cannot be read"],
        ),
        (
            "DELETE FROM audit WHERE number BETWEEN 256 AND 257",
            vec!["entries 256 to 257 are missing"],
        ),
        (
            "DELETE FROM audit WHERE number > 598",
            vec!["entries 599 to 600 are missing"],
        ),
        (
            "DELETE FROM audit WHERE true",
            vec!["entries 1 to 600 are missing"],
        ),
        (
            "UPDATE audit SET number = 0 - number WHERE number IN (4, 5);\
             UPDATE audit SET number = 9 + number WHERE number IN (-4, -5)",
            vec![
                "entry 4 is not what was recorded",
                "entry 5 is not what was recorded",
                "entry 6 is not chained to the one before",
            ],
        ),
        (
            "INSERT INTO audit SELECT 601, at, actor, action, outcome, reason, field, session, pipeline, body, salt, \
             body_digest, previous, digest FROM audit WHERE number = 9",
            vec![
                "entry 601 is not what was recorded",
                "entry 601 stands behind the one recorded last",
            ],
        ),
        (
            "DELETE FROM audit_end WHERE true",
            vec!["entry 1 stands behind the one recorded last"],
        ),
    ] {
        let flaws = flaws_after(sql);
        assert_eq!(flaws.len(), wanted.len(), "{sql}: {flaws:?}");
        for (flaw, wanted) in flaws.iter().zip(&wanted) {
            assert!(flaw.starts_with(wanted), "{sql}: {flaw}");
        }
    }
}

#[test]
fn an_export_can_be_verified_without_the_ledger() {
    let mut stage = Stage::new();
    for n in 0..300 {
        stage.now.set(1000 + n);
        stage.play(|here, ledger| {
            audit::note(here, ledger, &Entry::done("Ann", Action::TokenUsed)).unwrap();
        });
    }
    let export = |stage: &mut Stage, since| {
        let mut lines: Vec<Line> = Vec::new();
        stage.play(|_, ledger| {
            audit::export::<LedgerError>(ledger, since, &mut |line| {
                lines.push(line);
                Ok(())
            })
            .unwrap()
        });
        lines
    };
    for (since, first) in [(None, 1), (Some(super::stage::at(1200)), 201)] {
        let lines = export(&mut stage, since);
        assert_eq!((lines[0].number, lines.len() as u64), (first, 301 - first));
        let mut verifying = Verifying::from(lines[0].ledger, first);
        for line in lines {
            let entry = line.entry().unwrap();
            assert_eq!(verifying.entry(entry.number, Ok(&entry)), []);
        }
    }
}

#[test]
fn what_is_left_of_an_audit_verifies_when_its_beginning_is_gone() {
    let mut stage = Stage::new();
    let day = 86_400;
    for n in 0..10 {
        stage.now.set(n * day);
        stage.play(|here, ledger| {
            audit::note(here, ledger, &Entry::done("Ann", Action::TokenUsed)).unwrap();
        });
    }
    let policy = RetentionPolicy {
        audit: Some(Duration::from_hours(4 * 24)),
        ..RetentionPolicy::default()
    };
    // The days 0 to 4 go, then 5 to 7, then all that is left, with the entries about those before.
    for (now, gone, entries) in [(9, 5, 6), (9, 0, 6), (12, 3, 4), (30, 4, 1)] {
        stage.now.set(now * day);
        let removed =
            stage.play(|here, ledger| retention::apply(here, ledger, None, &policy).unwrap());
        assert_eq!(removed.audit, gone, "day {now}");
        let report = stage.play(|_, ledger| audit::verify(ledger).unwrap());
        assert!(report.is_sound(), "day {now}: {:?}", report.flaws);
        assert_eq!(report.entries, entries, "day {now}");
    }
    stage.play(|here, ledger| {
        audit::note(here, ledger, &Entry::done("Ann", Action::TokenUsed)).unwrap();
    });
    change(&stage, "DELETE FROM audit WHERE action = 'audit.trimmed'");
    let report = stage.play(|_, ledger| audit::verify(ledger).unwrap());
    assert!(!report.is_sound());
}

#[test]
fn old_entries_that_are_not_sound_are_kept() {
    let mut stage = Stage::new();
    for n in 0..10 {
        stage.now.set(n);
        stage.play(|here, ledger| {
            audit::note(here, ledger, &Entry::done("Ann", Action::TokenUsed)).unwrap();
        });
    }
    change(&stage, "UPDATE audit SET actor = 'Bob' WHERE number = 3");
    stage.now.set(1_000_000);
    let policy = RetentionPolicy {
        audit: Some(Duration::from_hours(24)),
        ..RetentionPolicy::default()
    };
    let removed = stage.play(|here, ledger| retention::apply(here, ledger, None, &policy).unwrap());
    assert_eq!(removed.audit, 0);
    let report = stage.play(|_, ledger| audit::verify(ledger).unwrap());
    assert_eq!((report.entries, report.count), (10, 1));
}
