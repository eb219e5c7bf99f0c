//! Two gateways on one PostgreSQL store, and one of them is killed while turns are committed through both.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use siglum_domain::access::{Limits, Scope, Secret};
use siglum_domain::{Tenant, Timestamp, TokenId};
use siglum_ledger::sqlite::Open;
use siglum_ledger::{Durability, PostgresLedger, PostgresSettings, TokenRecord, write};

use super::served::{Served, ask, turn};
use crate::faults::store::{Store, on_a_server};
use crate::harness::until;

/// How many drive at once, and how many turns each commits.
const DRIVERS: usize = 8;
const TURNS: usize = 40;
/// How long a driver asks again before the test gives up.
const PATIENCE: Duration = Duration::from_secs(20);

/// A driver that goes on with the other gateway when one does not answer, with the same key.
struct Driver<'a> {
    addresses: &'a [String],
    at: usize,
    token: String,
    again: usize,
}

impl Driver<'_> {
    fn ask(&mut self, route: (&str, &str), body: &Value) -> Value {
        let begun = Instant::now();
        loop {
            let answer = ask(&self.addresses[self.at], &self.token, route, body);
            match answer {
                Ok((200 | 201, answer)) => return answer,
                Ok((503, _)) | Err(_) => {}
                Ok((status, answer)) => panic!("{route:?}: {status} {answer}"),
            }
            assert!(begun.elapsed() < PATIENCE, "{route:?}: {answer:?}");
            self.again += 1;
            self.at = (self.at + 1) % self.addresses.len();
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A launcher's token in the store's tenant.
fn token(store: &Store) -> String {
    let tenant = Tenant::new("tests").unwrap();
    let secret = Secret::mint(&tenant, &[7; 32]);
    let id = || uuid::Uuid::now_v7();
    let how = Open::Command {
        id: siglum_domain::LedgerId::from_uuid(id()),
        key: [3; 32],
    };
    let settings = PostgresSettings::new(store.address(), tenant);
    let mut ledger = PostgresLedger::open(&settings, how).unwrap();
    let record = TokenRecord {
        id: TokenId::from_uuid(id()),
        digest: secret.digest(),
        scope: Scope::Launcher,
        limits: Limits::default(),
        name: "launcher".to_owned(),
        by: "tests".to_owned(),
        created_at: Timestamp::from_nanos(1),
        expires_at: None,
        revoked_at: None,
        replaced_by: None,
        last_used_at: None,
    };
    write(&mut ledger, Durability::Disk, |tx| tx.put_token(&record)).unwrap();
    secret.reveal().to_owned()
}

/// One session: the digests that were acknowledged, what the store says in the end, and how often was asked again.
fn drive(driver: &mut Driver<'_>, committed: &AtomicUsize) -> (Vec<String>, Vec<String>) {
    let created = driver.ask(("POST", "/v1/sessions"), &json!({"agent": "house"}));
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    let path = format!("/v1/sessions/{}", text(&created["session"]["id"]));
    driver.token = text(&created["token"]["secret"]);
    let wanted = json!({"holder": "tests", "nonce": path, "term_ms": 600_000});
    let lease = driver.ask(("POST", &format!("{path}/lease")), &wanted);
    let (mut head, mut acknowledged) = (0, Vec::new());
    for number in 0..TURNS {
        let key = format!("t{number}");
        let body = turn(&lease, head, &key);
        let done = driver.ask(("PUT", &format!("{path}/turns/{key}")), &body);
        head = done["receipt"]["last"].as_u64().unwrap();
        acknowledged.push(text(&done["receipt"]["digest"]));
        committed.fetch_add(1, Ordering::Relaxed);
    }
    let all = driver.ask(("GET", &format!("{path}/receipts?limit=1000")), &json!({}));
    let all = all["items"].as_array().unwrap();
    let found = all.iter().map(|receipt| text(&receipt["digest"])).collect();
    (acknowledged, found)
}

#[test]
fn one_of_two_is_killed_and_nothing_is_lost_or_there_twice() {
    on_a_server(|store| {
        let token = token(store);
        let address = store.address();
        let start = || Served::start(&store.world, &[("SIGLUM_STORE", &address)]);
        let (mut first, second) = (start(), start());
        let addresses = [first.address.clone(), second.address.clone()];
        let committed = AtomicUsize::new(0);
        let mut again = 0;
        thread::scope(|scope| {
            let drivers: Vec<_> = (0..DRIVERS)
                .map(|at| {
                    let mut driver = Driver {
                        addresses: &addresses,
                        at: at % 2,
                        token: token.clone(),
                        again: 0,
                    };
                    let committed = &committed;
                    scope.spawn(move || (drive(&mut driver, committed), driver.again))
                })
                .collect();
            until("a third is committed", || {
                committed.load(Ordering::Relaxed) > DRIVERS * TURNS / 3
            });
            first.kill();
            for driver in drivers {
                let ((acknowledged, found), more) = driver.join().unwrap();
                assert_eq!(acknowledged, found);
                assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), TURNS);
                again += more;
            }
        });
        assert!(again > 0, "the kill disturbed nobody");
    });
}
