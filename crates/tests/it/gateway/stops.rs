//! Gateways that are killed, stopped, and replaced under load: what was acknowledged is there.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::client::{Client, id, secret, turn_body};
use super::server::{Gateway, Store, base, each_store, on_a_server};
use crate::harness::until;

const WRITERS: usize = 6;

/// The receipts that were acknowledged, by session and turn.
type Acknowledged = Mutex<BTreeMap<(String, String), Value>>;

/// Creates a session and commits turns at the addresses in turn, until told to stop; notes what was acknowledged.
fn write(addresses: &[String], token: &str, name: &str, stop: &AtomicBool, noted: &Acknowledged) {
    let mut at = 0;
    let mut client = Client::new(&addresses[at], Some(token));
    let created = client.create(&base(name));
    let session = id(&created);
    let (epoch, mut head) = client.lease(&session, name);
    let (mut n, mut unanswered) = (0, 0);
    while !stop.load(Ordering::Relaxed) {
        let key = format!("t{n}");
        match client.turn(&session, &key, &turn_body(epoch, head, &key)) {
            Some(reply) if reply.status == 200 => {
                let receipt = reply.json()["receipt"].clone();
                head = receipt["last"].as_u64().unwrap();
                noted
                    .lock()
                    .unwrap()
                    .insert((session.clone(), key), receipt);
                (n, unanswered) = (n + 1, 0);
            }
            Some(reply) => assert_eq!(reply.status, 503, "{}", reply.text),
            // With one address there is nobody else to ask.
            None if addresses.len() == 1 => return,
            None => {
                unanswered += 1;
                assert!(unanswered < 200, "nobody answers");
                at = (at + 1) % addresses.len();
                client = Client::new(&addresses[at], Some(token));
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

/// Each receipt that was acknowledged is the one that is stored.
fn all_there(gateway: &Gateway, noted: &Acknowledged) {
    let noted = noted.lock().unwrap();
    for ((session, key), receipt) in noted.iter() {
        let path = format!("/v1/sessions/{session}/turns/{key}");
        assert_eq!(&gateway.launcher().get(&path).is(200), receipt);
    }
}

fn enough(noted: &Acknowledged, least: usize) {
    until("enough was acknowledged", || {
        noted.lock().unwrap().len() >= least
    });
}

fn under_load(store: &Store, gateway: &mut Gateway, round: usize) -> Acknowledged {
    let (stop, noted) = (AtomicBool::new(false), Acknowledged::default());
    let addresses = [gateway.address.clone()];
    let token = gateway.token.clone();
    std::thread::scope(|scope| {
        for n in 0..WRITERS {
            let (addresses, token, stop, noted) = (&addresses, &token, &stop, &noted);
            scope.spawn(move || write(addresses, token, &format!("w{round}-{n}"), stop, noted));
        }
        enough(&noted, 60 + 17 * round);
        gateway.kill();
        stop.store(true, Ordering::Relaxed);
    });
    gateway.restart(store);
    noted
}

#[test]
fn what_was_acknowledged_survives_a_kill_under_load() {
    each_store(|store| {
        let mut gateway = Gateway::start(store);
        let mut total = 0;
        for round in 0..4 {
            let noted = under_load(store, &mut gateway, round);
            all_there(&gateway, &noted);
            total += noted.lock().unwrap().len();
        }
        let kept: usize = store.sql("SELECT count(*) FROM receipts").parse().unwrap();
        // What was stored and could not be acknowledged any more is at most what each writer had under way.
        assert!(
            (total..=total + 4 * WRITERS).contains(&kept),
            "{kept} of {total}"
        );
        let verified = gateway.launcher().get("/v1/audit/verify").is(200);
        assert_eq!(verified["sound"], true, "{verified}");
    });
}

#[test]
fn of_two_gateways_one_is_killed_under_load_and_nothing_is_lost() {
    on_a_server(|store| {
        let mut one = Gateway::start(store);
        let two = one.beside(store);
        let (stop, noted) = (AtomicBool::new(false), Acknowledged::default());
        let addresses = [one.address.clone(), two.address.clone()];
        let token = one.token.clone();
        std::thread::scope(|scope| {
            for n in 0..WRITERS {
                let (addresses, token, stop, noted) = (&addresses, &token, &stop, &noted);
                scope.spawn(move || write(addresses, token, &format!("w{n}"), stop, noted));
            }
            enough(&noted, 60);
            one.kill();
            let before = noted.lock().unwrap().len();
            enough(&noted, before + 120);
            stop.store(true, Ordering::Relaxed);
        });
        all_there(&two, &noted);
        let kept = store.sql("SELECT count(*) FROM receipts");
        assert_eq!(
            kept,
            noted.lock().unwrap().len().to_string(),
            "each turn once"
        );
    });
}

#[test]
fn what_has_begun_is_finished_when_the_gateway_must_stop() {
    each_store(|store| {
        let mut gateway = Gateway::start(store);
        let created = gateway.launcher().create(&base("S1"));
        let body = base("late").to_string();
        let head = format!(
            "POST /v1/sessions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            gateway.token,
            body.len()
        );
        let (first, rest) = body.split_at(7);
        let mut begun = super::raw::connect(&gateway);
        assert!(begun.say(format!("{head}{first}").as_bytes()));
        let mut idle = super::raw::connect(&gateway);
        assert!(idle.say(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"));
        idle.answer().unwrap().is(200);
        let own = gateway.client(&secret(&created));
        let path = format!("/v1/sessions/{}/stream", id(&created));
        let mut stream = own.lines(&path).unwrap();
        gateway.signal(Signal::TERM);
        until("nobody else is let in", || {
            std::net::TcpStream::connect(gateway.place()).is_err()
        });
        assert!(idle.is_over(), "an idle connection holds nothing up");
        let mut last = String::new();
        std::io::Read::read_to_string(&mut stream, &mut last).unwrap();
        assert_eq!(last, "retry: 1000\n\n", "the stream ends");
        assert!(begun.say(rest.as_bytes()));
        let late = begun.answer().unwrap().is(201);
        assert_eq!(gateway.over(), Some(0));
        gateway.restart(store);
        let listed = gateway.launcher().get("/v1/sessions").is(200);
        assert_eq!(listed["items"][0]["id"], late["session"]["id"]);
        assert_eq!(listed["items"].as_array().unwrap().len(), 2);
        let turned = json!({ "outcome": "completed" });
        let end = format!("/v1/sessions/{}/end", id(&late));
        gateway.client(&secret(&late)).post(&end, &turned).is(200);
    });
}
