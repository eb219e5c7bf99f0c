//! Who may say what through `POST /v1/replicas`: every kind of credential, and every row that a body can carry.

mod audit;
mod laptop;
mod ledgers;
mod tenants;

use laptop::{Laptop, replica_state, send};
use serde_json::{Value, json};
use siglum_domain::access::{Limits, Right, Scope};
use siglum_domain::evidence::Committer;
use siglum_domain::provenance::{Origin, Span};
use siglum_domain::{Oid, SessionId, Timestamp};
use siglum_engine::share::replica::wire::{FileDocument, ParentDocument};
use siglum_engine::share::replica::{self, Batch};
use siglum_ledger::Relation;
use uuid::Uuid;

use super::issuers::{PEOPLE, serving};
use super::server::{
    Gateway, Store, audited, each_store, limited_token, on_a_file, tenant, token, token_for,
};
use crate::harness::{Issuer, SigningKey, until};

/// Who may not speak for the laptop's ledger: every other kind of credential.
fn others(store: &Store, issuer: &Issuer) -> Vec<(&'static str, String)> {
    let ours = tenant(store);
    let of = |scope| token_for(store, ours, scope, None).0;
    let limited = |rights: &[Right], repositories: &[&str]| {
        let repositories = repositories.iter().map(|name| (*name).to_owned());
        let limits = Limits::new(rights.iter().copied(), repositories).unwrap();
        limited_token(store, ours, Scope::Launcher, limits, None).0
    };
    let admin = json!({ "sub": "8", "groups": ["admins"] });
    vec![
        ("another launcher", of(Scope::Launcher)),
        ("another that may attest", of(Scope::Attester)),
        ("a token for telemetry", of(Scope::Telemetry)),
        ("a token for reading", of(Scope::Read)),
        ("a launcher that only reads", limited(&[Right::Read], &[])),
        ("a launcher that only sends", limited(&[Right::Sync], &[])),
        (
            "a launcher of another repository",
            limited(&[], &["github.com/o/other"]),
        ),
        ("who logged in", issuer.token(&json!({}))),
        ("an administrator who logged in", issuer.token(&admin)),
    ]
}

#[test]
fn no_credential_says_a_row_that_is_not_its_own() {
    let laptop = Laptop::new();
    each_store(|store| {
        let issuer = Issuer::start(SigningKey::ed25519("a", 1));
        let gateway = serving(store, &issuer, PEOPLE);
        send(&gateway.launcher(), &laptop.batch).is(200);
        let ours = tenant(store);
        let (one, two) = (laptop.one.to_string(), laptop.two.to_string());
        let (first, _) = token(store, ours, Some(&one), None);
        let (second, _) = token(store, ours, Some(&two), None);
        let others = others(store, &issuer);
        let before = replica_state(store, &gateway, &laptop);
        let refuse = |who: &str, token: &str, rows: Vec<(String, Batch)>| {
            for (what, batch) in rows {
                let answer = send(&gateway.client(token), &batch);
                assert_eq!(answer.status, 403, "{who} says {what}: {}", answer.text);
            }
            let after = replica_state(store, &gateway, &laptop);
            assert_eq!(after, before, "{who}");
        };
        for (who, token) in others {
            refuse(who, &token, laptop.rows(laptop.one));
            refuse(who, &token, laptop.shared_rows(laptop.one));
        }
        refuse("another session", &second, laptop.rows(laptop.one));
        // What names no session is left out by itself.
        for (what, batch) in laptop.shared_rows(laptop.one) {
            let answer = send(&gateway.client(&second), &batch).is(200);
            let aside = answer["positions"]["set_aside"].as_array();
            assert_eq!(aside.map(Vec::len), Some(1), "{what}: {answer}");
        }
        assert_eq!(replica_state(store, &gateway, &laptop), before);
        // By its own row a session's token is refused, and named is what it says of the other one.
        for (what, mut batch) in laptop.rows(laptop.two) {
            batch.sessions.push(laptop.session(laptop.one));
            let problem = send(&gateway.client(&first), &batch).problem(403, "forbidden");
            let field = problem["field"].as_str().unwrap();
            let is_named = [
                "sessions/",
                "receipts/",
                "statements/",
                "checkpoints/",
                "commits/",
            ];
            assert!(
                is_named.iter().any(|n| field.starts_with(n)),
                "{what}: {problem}"
            );
            assert!(
                problem["detail"].as_str().unwrap().contains("came from it"),
                "{problem}"
            );
        }
        assert_eq!(replica_state(store, &gateway, &laptop), before);
        until("refusals are in the audit", || {
            audited(&gateway, "replica.refused").len() >= 60
        });
        let refused = audited(&gateway, "replica.refused");
        assert!(
            refused[0]["actor"].as_str().unwrap().starts_with("token "),
            "{refused:?}"
        );
        if !store.is_file() {
            // Another tenant has a ledger of its own: what is sent there is there.
            let (theirs, _) = token(store, "others", None, None);
            send(&gateway.client(&theirs), &laptop.batch).is(200);
            assert_eq!(replica_state(store, &gateway, &laptop), before);
        }
    });
}

#[test]
fn a_session_is_answered_about_itself_and_does_not_say_what_its_ledger_sent() {
    let laptop = Laptop::new();
    each_store(|store| {
        let gateway = Gateway::start(store);
        send(&gateway.launcher(), &laptop.batch).is(200);
        let asked = |stamp, after| Batch {
            asks: vec![laptop.one, laptop.two],
            after: Some(Timestamp::from_seconds(after)),
            ..Batch::new(laptop.batch.ledger, Timestamp::from_seconds(stamp))
        };
        let answered = |answer: &Value| -> Vec<String> {
            let receipts = answer["positions"]["receipts"].as_array().unwrap().iter();
            let mut sessions: Vec<String> = receipts
                .filter(|position| position["number"] != 0)
                .map(|position| position["session"].as_str().unwrap().to_owned())
                .collect();
            sessions.sort();
            sessions
        };
        let (second, _) = token(store, tenant(store), Some(&laptop.two.to_string()), None);
        let answer = send(&gateway.client(&second), &asked(6_000_000_000, 0)).is(200);
        assert_eq!(answered(&answer), [laptop.two.to_string()], "{answer}");
        assert_eq!(answer["positions"].get("remembers"), None, "{answer}");
        let answer = send(&gateway.launcher(), &asked(6_000_000_001, 5_000_000_000)).is(200);
        let mut both = [laptop.one, laptop.two].map(|session| session.to_string());
        both.sort();
        assert_eq!(answered(&answer), both, "{answer}");
        assert_eq!(answer["positions"]["remembers"], false, "{answer}");
    });
}

#[test]
fn a_session_says_of_no_lines_that_another_one_wrote_them() {
    let laptop = Laptop::new();
    each_store(|store| {
        let gateway = Gateway::start(store);
        send(&gateway.launcher(), &laptop.batch).is(200);
        let mut commit = laptop.commit_of(laptop.two);
        let whose = format!(
            "SELECT count(*) FROM authors WHERE \"commit\" = '{}' AND spans LIKE '%{}%'",
            commit.commit, laptop.one
        );
        assert_eq!(store.sql(&whose), "0");
        commit.authors = Some(vec![FileDocument {
            path: "two.txt".to_owned(),
            spans: vec![Span {
                first: 1,
                last: 2,
                origin: Origin::Session(laptop.one),
                bridged: false,
            }],
        }]);
        let mut forged = laptop.newer();
        forged.commits.push(commit);
        let (second, _) = token(store, tenant(store), Some(&laptop.two.to_string()), None);
        send(&gateway.client(&second), &forged).is(200);
        assert_eq!(store.sql(&whose), "0");
        // Their home says it.
        forged.stamp = forged.stamp.plus_millis(1_000);
        send(&gateway.launcher(), &forged).is(200);
        assert_eq!(store.sql(&whose), "1");
    });
}

#[test]
fn a_session_says_what_came_from_it_and_reads_nobody_elses_history() {
    let laptop = Laptop::new();
    each_store(|store| {
        let gateway = Gateway::start(store);
        send(&gateway.launcher(), &laptop.batch).is(200);
        let (first, _) = token(store, tenant(store), Some(&laptop.one.to_string()), None);
        let first = gateway.client(&first);
        let came_from = |session, relation| Some(ParentDocument { session, relation });
        // As a fork of the other one it would read what that one said.
        let mut fork = laptop.newer();
        let mut record = laptop.session(laptop.one);
        record.parent = came_from(laptop.two, Relation::Fork);
        record.parent_at = Some(1_000);
        fork.sessions.push(record);
        let problem = send(&first, &fork).problem(403, "forbidden");
        assert_eq!(problem["field"], format!("sessions/{}", laptop.one));
        let child = |n: u128, parent: SessionId| {
            let mut record = laptop.session(laptop.one);
            record.id = SessionId::from_uuid(Uuid::from_u128(n));
            record.parent = came_from(parent, Relation::Nested);
            record.natives.clear();
            record
        };
        let mut grandchild = laptop.newer();
        let below = child(0x11, laptop.one);
        grandchild.sessions = vec![child(0x12, below.id), below];
        grandchild
            .repositories
            .clone_from(&laptop.batch.repositories);
        send(&first, &grandchild).is(200);
        let mut strange = laptop.newer();
        strange.sessions.push(child(0x13, laptop.two));
        send(&first, &strange).problem(403, "forbidden");
        // The other one does not come from it because it says so.
        let mut taken = laptop.newer();
        let mut record = laptop.session(laptop.two);
        record.parent = came_from(laptop.one, Relation::Nested);
        taken.sessions.push(record);
        send(&first, &taken).problem(403, "forbidden");
    });
}

/// What a batch plants in a commit.
type Plant = fn(&mut replica::wire::CommitDocument, &str);

#[test]
fn no_text_of_a_commit_is_stored_with_a_secret() {
    let laptop = Laptop::new();
    let secret = format!("{}{}", "ghp_", "q7RzW2mLx0Tb9KpVd3Yc5NfHs8JgAe1Uo4Zi");
    let plants: [(&str, u16, Plant); 4] = [
        ("a changed path", 200, |commit, secret| {
            commit.facts.as_mut().unwrap().changes[0].path = format!("{secret}/a.rs");
        }),
        ("the path of lines", 200, |commit, secret| {
            commit.authors.as_mut().unwrap()[0].path = format!("{secret}/a.rs");
        }),
        ("the patch", 422, |commit, secret| {
            commit.patch = Some(secret.to_owned());
        }),
        ("what git did", 422, |commit, secret| {
            commit.rewritten.push(replica::wire::RewriteDocument {
                old: Oid::new("9".repeat(40)).unwrap(),
                command: secret.to_owned(),
                at: Timestamp::from_seconds(1_700_000_000),
            });
        }),
    ];
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        send(&gateway.launcher(), &laptop.batch).is(200);
        let mut left = Vec::new();
        for (n, (what, status, plant)) in plants.iter().enumerate() {
            let mut batch = laptop.newer();
            batch.stamp = batch.stamp.plus_millis(1_000 * n as i64);
            let mut commit = laptop.commit_of(laptop.one);
            plant(&mut commit, &secret);
            batch.commits.push(commit);
            let answer = send(&gateway.launcher(), &batch);
            let rows = crate::forgetting::rows(&store.world.store());
            let is_there = rows.windows(secret.len()).any(|w| w == secret.as_bytes());
            if is_there || answer.status != *status {
                left.push(format!("{what}: {} {}", answer.status, answer.text));
            }
        }
        assert!(left.is_empty(), "{left:#?}");
    });
}

/// A commit that nobody judged here belongs to nobody.
#[test]
fn a_commit_is_not_made_somebody_elses() {
    let laptop = Laptop::new();
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        let mut batch = laptop.batch.clone();
        batch.commits.clear();
        send(&gateway.launcher(), &batch).is(200);
        let (first, _) = token(store, tenant(store), Some(&laptop.one.to_string()), None);
        let mut forged = laptop.newer();
        let mut commit = laptop.commit_of(laptop.one);
        commit.commit = Oid::new("a".repeat(40)).unwrap();
        commit.facts = None;
        commit.judgement.committer = Committer::Session {
            session: laptop.two,
        };
        forged.commits.push(commit);
        send(&gateway.client(&first), &forged).problem(403, "forbidden");
    });
}
