//! Server-sent events of sealed turns: nothing is missing and nothing comes twice, whatever happens to the gateway.

use std::io::BufRead;
use std::sync::Mutex;

use serde_json::Value;

use super::client::{Client, id, secret, turn_body};
use super::server::{Gateway, Store, base, each_store};
use crate::harness::until;

const TURNS: u64 = 500;

/// Where the gateway is, as it changes, and whose token is used.
struct Way {
    address: Mutex<String>,
    token: String,
    session: String,
}

impl Way {
    fn client(&self) -> Client {
        Client::new(&self.address.lock().unwrap(), Some(&self.token))
    }

    fn moved(&self, gateway: &Gateway) {
        self.address.lock().unwrap().clone_from(&gateway.address);
    }
}

/// Commits turns until there are so many, and says each again until it is acknowledged.
fn drive(way: &Way, turns: std::ops::RangeInclusive<u64>, done: &Mutex<u64>) {
    let (epoch, mut head) = way.client().lease(&way.session, "n");
    for n in turns {
        let key = format!("t{n}");
        loop {
            let reply = way
                .client()
                .turn(&way.session, &key, &turn_body(epoch, head, &key));
            match reply {
                Some(reply) if reply.status == 200 => {
                    head = reply.json()["receipt"]["last"].as_u64().unwrap();
                    break;
                }
                Some(reply) => assert_eq!(reply.status, 503, "{}", reply.text),
                None => std::thread::sleep(std::time::Duration::from_millis(20)),
            }
        }
        *done.lock().unwrap() = n;
    }
}

/// The events behind one, as far as the connection goes; each is its id and its data.
fn follow(way: &Way, seen: &mut Vec<(u64, Value)>, most: u64) {
    let mut client = way.client();
    if let Some((last, _)) = seen.last() {
        client = client.with("last-event-id", &last.to_string());
    }
    let path = format!("/v1/sessions/{}/stream", way.session);
    let Some(lines) = client.lines(&path) else {
        std::thread::sleep(std::time::Duration::from_millis(20));
        return;
    };
    let (mut number, mut data) = (None, None);
    for line in lines.lines() {
        let Ok(line) = line else { return };
        if let Some(text) = line.strip_prefix("id: ") {
            number = text.parse().ok();
        } else if let Some(text) = line.strip_prefix("data: ") {
            data = Some(serde_json::from_str(text).unwrap());
        } else if line.is_empty() {
            // Only the empty line makes an event of what came.
            if let (Some(number), Some(data)) = (number.take(), data.take()) {
                seen.push((number, data));
            }
            if seen.len() as u64 == most {
                return;
            }
        }
    }
}

/// They are all there, once, in order, each with its own turn, and chained.
fn whole(seen: &[(u64, Value)], turns: u64) {
    let numbers: Vec<u64> = seen.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=turns).collect::<Vec<_>>());
    let (mut last, mut digest) = (0, "0".repeat(64));
    for (number, data) in seen {
        let receipt = &data["receipt"];
        assert_eq!(receipt["number"].as_u64(), Some(*number));
        assert_eq!(receipt["first"].as_u64(), Some(last + 1));
        assert_eq!(receipt["previous"], digest.as_str());
        last = receipt["last"].as_u64().unwrap();
        receipt["digest"].as_str().unwrap().clone_into(&mut digest);
        let entries = data["entries"].as_array().unwrap();
        let first = receipt["first"].as_u64().unwrap();
        assert_eq!(entries.len() as u64, last + 1 - first);
        let own = format!("t{number}.p");
        assert!(
            entries
                .iter()
                .any(|e| e["key"].as_str().unwrap().contains(&own)),
            "{data}"
        );
    }
}

fn way(gateway: &Gateway) -> Way {
    let created = gateway.launcher().create(&base("S1"));
    Way {
        address: Mutex::new(gateway.address.clone()),
        token: secret(&created),
        session: id(&created),
    }
}

#[test]
fn who_follows_500_turns_over_two_restarts_sees_each_once() {
    each_store(|store| {
        let mut gateway = Gateway::start(store);
        let way = way(&gateway);
        let done = Mutex::new(0);
        let seen = std::thread::scope(|scope| {
            scope.spawn(|| drive(&way, 1..=TURNS, &done));
            let followers: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(|| {
                        let mut seen = Vec::new();
                        while (seen.len() as u64) < TURNS {
                            follow(&way, &mut seen, TURNS);
                        }
                        seen
                    })
                })
                .collect();
            until("150 are committed", || *done.lock().unwrap() >= 150);
            gateway.restart(store);
            way.moved(&gateway);
            until("320 are committed", || *done.lock().unwrap() >= 320);
            gateway.kill();
            gateway.restart(store);
            way.moved(&gateway);
            let joined = followers.into_iter().map(|f| f.join().unwrap());
            joined.collect::<Vec<_>>()
        });
        for seen in &seen {
            whole(seen, TURNS);
        }
        assert_eq!(
            store.sql("SELECT count(*) FROM receipts"),
            TURNS.to_string()
        );
    });
}

#[test]
fn two_gateways_of_one_store_see_each_others_turns() {
    each_store(|store| {
        let one = Gateway::start(store);
        let two = one.beside(store);
        let way = way(&one);
        let elsewhere = Way {
            address: Mutex::new(two.address.clone()),
            token: way.token.clone(),
            session: way.session.clone(),
        };
        let done = Mutex::new(0);
        let seen = std::thread::scope(|scope| {
            let followers = [&way, &elsewhere].map(|way| {
                scope.spawn(move || {
                    let mut seen = Vec::new();
                    while seen.len() < 60 {
                        follow(way, &mut seen, 60);
                    }
                    seen
                })
            });
            drive(&way, 1..=30, &done);
            // The same driver goes on at the other one.
            drive(&elsewhere, 31..=60, &done);
            followers.map(|f| f.join().unwrap())
        });
        whole(&seen[0], 60);
        assert_eq!(seen[0], seen[1]);
        both_count(store, &way, &elsewhere);
    });
}

fn both_count(store: &Store, one: &Way, two: &Way) {
    let path = format!("/v1/sessions/{}", one.session);
    until("all are counted", || {
        one.client().get(&path).is(200)["turns"] == 60
    });
    let shown = one.client().get(&path).is(200);
    assert_eq!(shown, two.client().get(&path).is(200));
    assert_eq!(store.sql("SELECT count(*) FROM sessions"), "1");
}

#[test]
fn a_place_that_is_no_events_id_is_refused() {
    each_store(|store| {
        let gateway = Gateway::start(store);
        let way = way(&gateway);
        let path = format!("/v1/sessions/{}/stream", way.session);
        for bad in ["x", "-1", "1.5", "1234567890123456", "0x1"] {
            let reply = way.client().with("last-event-id", bad).get(&path);
            reply.refuses("last-event-id");
        }
    });
}
