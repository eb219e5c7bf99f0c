//! For which ledgers a launcher speaks, and what it may say through one ledger of the sessions of another.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use siglum_domain::access::{Limits, Right, Scope};
use siglum_domain::{LedgerId, SessionId, Timestamp};
use siglum_engine::share::replica::Batch;
use uuid::Uuid;

use super::{Laptop, replica_state, send};
use crate::gateway::client::{self, Client};
use crate::gateway::server::{
    self, Gateway, Store, audited, each_store, limited_token, on_a_file, tenant, token,
};
use crate::harness::{self, until};

#[test]
fn a_ledger_belongs_to_the_launcher_that_registered_it() {
    let laptop = Laptop::new();
    each_store(|store| {
        let gateway = Gateway::start(store);
        let ours = tenant(store);
        let ledger = laptop.batch.ledger.to_string();
        let mut body = server::base("launched");
        body["mode"] = json!("observed");
        body["home"] = json!(ledger);
        let created = gateway.launcher().create(&body);
        let session = client::id(&created);
        let registered = audited(&gateway, "ledger.registered");
        assert_eq!(registered[0]["body"]["ledger"], ledger, "{registered:?}");
        let (other, _) = token(store, ours, None, None);
        let other = gateway.client(&other);
        let problem = send(&other, &laptop.batch).problem(403, "forbidden");
        assert_eq!(problem["field"], "batch", "{problem}");
        assert!(
            problem["detail"].as_str().unwrap().contains(&ledger),
            "{problem}"
        );
        let mut theirs = body.clone();
        theirs["conversation_id"] = json!("stolen");
        other
            .post("/v1/sessions", &theirs)
            .problem(403, "forbidden");
        // A token of the session would speak for it.
        let path = format!("/v1/sessions/{session}/token");
        other.poke(&path).problem(403, "forbidden");
        assert_eq!(gateway.launcher().poke(&path).status, 201);
        send(&gateway.launcher(), &laptop.batch).is(200);
        // Another ledger is anybody's, once.
        let mut own = Batch::new(LedgerId::from_uuid(Uuid::from_u128(7)), laptop.batch.stamp);
        send(&other, &own).is(200);
        send(&gateway.launcher(), &own).problem(403, "forbidden");
        own.stamp = Timestamp::from_seconds(8_000_000_000);
        send(&other, &own).problem(422, "replica-refused");
    });
}

#[test]
fn another_launcher_acts_for_no_session_of_that_ledger() {
    let laptop = Laptop::new();
    each_store(|store| {
        let gateway = Gateway::start(store);
        send(&gateway.launcher(), &laptop.batch).is(200);
        let (other, _) = token(store, tenant(store), None, None);
        let other = gateway.client(&other);
        let of = format!("/v1/sessions/{}", laptop.one);
        let before = replica_state(store, &gateway, &laptop);
        for (what, body) in [
            ("end", Some(json!({ "outcome": "lost" }))),
            ("checkpoints", Some(json!({}))),
            ("keep-alive", None),
        ] {
            let path = format!("{of}/{what}");
            let answer = match &body {
                Some(body) => other.post(&path, body),
                None => other.poke(&path),
            };
            assert_eq!(answer.status, 403, "{what}: {}", answer.text);
            answer.problem(403, "forbidden");
        }
        assert_eq!(replica_state(store, &gateway, &laptop), before);
        until("refusals are in the audit", || {
            audited(&gateway, "request.refused").len() >= 3
        });
        // What is attached here is this gateway's own to say, and the home is not asked.
        let links = json!({ "pr_number": 7 });
        other.post(&format!("{of}/links"), &links).is(200);
        let path = format!("{of}/checkpoints");
        gateway.launcher().post(&path, &json!({})).is(201);
    });
}

#[test]
fn the_operator_hands_a_ledger_over_and_a_rotated_token_keeps_it() {
    let laptop = Laptop::new();
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        send(&gateway.launcher(), &laptop.batch).is(200);
        let run_json = |args: &[&str]| -> Value {
            let ran = store
                .world
                .siglum(&store.world.root, &[args, &["--json"]].concat());
            serde_json::from_str(&ran.ok()).unwrap()
        };
        let secret = |output: &Value| output["data"]["secret"].as_str().unwrap().to_owned();
        let tokens = run_json(&["token", "list"]);
        let id = tokens["data"]["tokens"][0]["id"]
            .as_str()
            .unwrap()
            .to_owned();
        let rotated = secret(&run_json(&["token", "rotate", &id]));
        send(&gateway.client(&rotated), &laptop.newer()).is(200);
        let ledger = laptop.batch.ledger.to_string();
        let given = secret(&run_json(&["token", "create", "--for-ledger", &ledger]));
        send(&gateway.client(&given), &laptop.newer()).is(200);
        send(&gateway.client(&rotated), &laptop.newer()).problem(403, "forbidden");
    });
}

/// How many payloads the gateway has.
fn payloads(store: &Store) -> String {
    store.sql("SELECT count(*) FROM observations WHERE payload IS NOT NULL AND length(salt) > 0")
}

/// Sends everything from the laptop itself, and waits until the worker has left that sends what is new from then on: what
/// comes next, this test alone sends.
fn sync(laptop: &Laptop, gateway: &Gateway) -> harness::Ran {
    let file = laptop.world.root.join("launcher.token");
    std::fs::write(&file, &gateway.token).unwrap();
    let file = file.to_str().unwrap();
    let to = [
        "sync",
        "--to",
        &gateway.address,
        "--name",
        "team",
        "--token-file",
        file,
    ];
    let ran = laptop.repo().siglum(&to);
    until("the worker has left", || {
        laptop.world.processes().is_empty()
    });
    ran
}

#[test]
fn what_was_erased_elsewhere_is_sent_again_by_its_home_and_only_by_it() {
    each_store(|store| {
        let laptop = Laptop::new();
        let gateway = Gateway::start(store);
        sync(&laptop, &gateway).ok();
        let all = payloads(store);
        assert_ne!(all, "0");
        let (first, _) = token(store, tenant(store), Some(&laptop.one.to_string()), None);
        let rows = laptop.rows(laptop.one);
        for what in ["that entries of it are erased", "that it is erased"] {
            let (_, mut batch) = rows.iter().find(|(name, _)| *name == what).unwrap().clone();
            batch.stamp = siglum_platform::clock::now();
            batch.repositories.clone_from(&laptop.batch.repositories);
            send(&gateway.client(&first), &batch).is(200);
            let less = payloads(store);
            assert_ne!(less, all, "{what}");
            let erased = audited(&gateway, "session.forgotten");
            assert_eq!(erased[0]["session"], laptop.one.to_string(), "{erased:?}");
            assert!(erased[0]["actor"].as_str().unwrap().starts_with("token "));
            let synced = sync(&laptop, &gateway);
            assert!(synced.stderr.contains("sent again"), "{what}: {synced:?}");
            assert_eq!(payloads(store), all, "{what}");
            let back = audited(&gateway, "session.restored");
            assert_eq!(back[0]["session"], laptop.one.to_string(), "{back:?}");
            let again = sync(&laptop, &gateway);
            assert!(!again.stderr.contains("sent again"), "{again:?}");
        }
    });
}

#[test]
fn what_a_session_says_in_its_ledgers_name_gives_way() {
    each_store(|store| {
        let laptop = Laptop::new();
        let gateway = Gateway::start(store);
        sync(&laptop, &gateway).ok();
        let (first, _) = token(store, tenant(store), Some(&laptop.one.to_string()), None);
        let (_, _, statement) = laptop.statements(laptop.one).remove(0);
        let last = laptop
            .batch
            .statements
            .iter()
            .map(|s| s.sequence)
            .max()
            .unwrap();
        for sequence in last + 1..last + 9 {
            let mut batch = statement.clone();
            batch.statements[0].sequence = sequence;
            send(&gateway.client(&first), &batch).is(200);
        }
        laptop
            .repo()
            .siglum(&["link", "add", "two", "issue_number=77"])
            .ok();
        sync(&laptop, &gateway).ok();
        let path = format!("/v1/sessions/{}", laptop.two);
        let shown = gateway.launcher().get(&path).is(200);
        assert!(shown.to_string().contains("77"), "{shown}");
        let taken = audited(&gateway, "replica.taken");
        assert!(
            taken.iter().any(|e| e["body"]["corrected"] == 1),
            "{taken:?}"
        );
    });
}

/// What a ledger takes from platforms alone.
const ATTESTED: [&str; 2] = ["attested", "attestation_withdrawn"];
/// What any launcher may change by a request.
const LINKS: [&str; 2] = ["link_attached", "link_detached"];

/// A statement of each kind about a session, as another ledger would send it.
fn stated_through(laptop: &Laptop, ledger: LedgerId, session: &str) -> Vec<(String, Batch)> {
    let mut rows = Vec::new();
    for (sequence, (_, _, batch)) in (1..).zip(laptop.statements(laptop.one)) {
        let text = serde_json::to_string(&batch).unwrap();
        let text = text.replace(&laptop.one.to_string(), session);
        let mut batch: Batch = serde_json::from_str(&text).unwrap();
        batch.ledger = ledger;
        batch.statements[0].sequence = sequence;
        let kind = serde_json::to_value(&batch.statements[0].statement).unwrap();
        rows.push((kind["statement"].as_str().unwrap().to_owned(), batch));
    }
    rows
}

/// Sends all of it, and gives the kinds that were not left out.
fn kinds_taken(client: &Client, rows: &[(String, Batch)]) -> BTreeSet<String> {
    let mut taken = BTreeSet::new();
    for (kind, batch) in rows {
        let answer = send(client, batch).is(200);
        let aside = answer["positions"].get("set_aside");
        match aside.and_then(|aside| aside[0]["document"].as_str()) {
            None => {
                taken.insert(kind.clone());
            }
            Some(name) => {
                let row = format!("statements/{}", batch.statements[0].sequence);
                assert_eq!(name, row, "{kind}: {answer}");
            }
        }
    }
    taken
}

fn all_but(rows: &[(String, Batch)], kinds: &[&str]) -> BTreeSet<String> {
    let all = rows.iter().map(|(kind, _)| kind.clone());
    all.filter(|kind| !kinds.contains(&kind.as_str())).collect()
}

fn ledger(number: u128) -> LedgerId {
    LedgerId::from_uuid(Uuid::from_u128(number))
}

#[test]
fn a_ledger_states_of_anothers_sessions_what_a_request_of_its_token_could() {
    let laptop = Laptop::new();
    each_store(|store| {
        let gateway = Gateway::start(store);
        send(&gateway.launcher(), &laptop.batch).is(200);
        let ours = tenant(store);
        let (other, _) = token(store, ours, None, None);
        let other = gateway.client(&other);
        let limits = Limits::new([Right::Sync], []).unwrap();
        let (syncing, _) = limited_token(store, ours, Scope::Launcher, limits, None);
        let syncing = gateway.client(&syncing);
        let here = client::id(&gateway.launcher().create(&server::base("driven")));
        let before = replica_state(store, &gateway, &laptop);
        let sessions = [laptop.one.to_string(), here];
        let links: BTreeSet<String> = LINKS.map(str::to_owned).into();
        for session in &sessions {
            // It may not change links by a request, either.
            let rows = stated_through(&laptop, ledger(9), session);
            let path = format!("/v1/sessions/{session}/links");
            let request = syncing.post(&path, &json!({ "pr_number": 7 }));
            request.problem(403, "forbidden");
            assert_eq!(kinds_taken(&syncing, &rows), BTreeSet::new(), "{session}");
            let mut rows = stated_through(&laptop, ledger(7), session);
            rows.retain(|(kind, _)| !links.contains(kind));
            assert_eq!(kinds_taken(&other, &rows), BTreeSet::new(), "{session}");
        }
        assert_eq!(replica_state(store, &gateway, &laptop), before);
        let refused = audited(&gateway, "replica.refused");
        let by_other = refused.iter().filter(|entry| {
            let names = entry["body"]["names"].as_array();
            entry["body"]["ledger"] == ledger(7).to_string()
                && names.is_some_and(|names| names.len() == 1)
        });
        let left_out = all_but(&stated_through(&laptop, ledger(7), &sessions[0]), &LINKS).len();
        assert_eq!(by_other.count(), 2 * left_out, "{refused:?}");
        for session in &sessions {
            let rows = stated_through(&laptop, ledger(7), session);
            assert_eq!(kinds_taken(&other, &rows), links, "{session}");
        }
        // Whoever speaks for both ledgers could say it through the other one.
        let rows = stated_through(&laptop, ledger(8), &sessions[0]);
        let taken = kinds_taken(&gateway.launcher(), &rows);
        assert_eq!(taken, all_but(&rows, &ATTESTED));
        let rows = stated_through(&laptop, ledger(8), &sessions[1]);
        let mut taken = kinds_taken(&gateway.launcher(), &rows);
        // It names no session, and the commit is the laptop's.
        assert!(taken.remove("disowned"), "{taken:?}");
        assert_eq!(taken, links);
        // And what a ledger states of its own sessions is its own.
        let mut rows = stated_through(&laptop, laptop.batch.ledger, &sessions[0]);
        for (_, batch) in &mut rows {
            batch.statements[0].sequence += 900;
        }
        let taken = kinds_taken(&gateway.launcher(), &rows);
        assert_eq!(taken, all_but(&rows, &ATTESTED));
    });
}

#[test]
fn what_another_ledger_stated_before_the_home_told_of_its_session_goes() {
    let laptop = Laptop::new();
    each_store(|store| {
        let gateway = Gateway::start(store);
        let (other, _) = token(store, tenant(store), None, None);
        let other = gateway.client(&other);
        let whose = if store.is_file() {
            "1 = 1"
        } else {
            "tenant = 'tests'"
        };
        let early =
            format!("SELECT count(*) FROM statements WHERE body LIKE '%stolen%' AND {whose}");
        // Nobody knows yet whose it is. That a commit is nobody's names no session.
        let mut rows = stated_through(&laptop, ledger(7), &laptop.one.to_string());
        rows.retain(|(kind, _)| kind != "disowned" && !ATTESTED.contains(&kind.as_str()));
        assert_eq!(kinds_taken(&other, &rows), all_but(&rows, &[]));
        assert_eq!(store.sql(&early), "2");
        send(&gateway.launcher(), &laptop.batch).is(200);
        assert_eq!(store.sql(&early), "0");
        let taken = audited(&gateway, "replica.taken");
        let has_dropped = |entry: &Value| entry["body"]["dropped"] == rows.len();
        assert!(taken.iter().any(has_dropped), "{taken:?}");
        let path = format!("/v1/sessions/{}/links", laptop.one);
        let shown = gateway.launcher().get(&path).is(200);
        let mut links = shown["links"].as_array().unwrap().iter();
        assert!(links.any(|link| link["value"] == 41), "{shown}");
        // The same is true of a session that is created here under an id that somebody knew before.
        let id = SessionId::from_uuid(Uuid::from_u128(0x0192_0000_0000_7000_9000_0000_0000_0001));
        let rows = stated_through(&laptop, ledger(7), &id.to_string());
        assert_eq!(kinds_taken(&other, &rows[..1]).len(), 1);
        assert_eq!(store.sql(&early), "1");
        let mut body = server::base("foreseen");
        body["id"] = json!(id.to_string());
        gateway.launcher().create(&body);
        assert_eq!(store.sql(&early), "0");
    });
}
