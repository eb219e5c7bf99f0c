//! One token asks for much on many connections and takes nothing of it, or a byte each second: what it may hold is
//! bounded, everybody else is served meanwhile, and what it held comes back. And somebody reads in the file itself for long.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use siglum_ledger::SqliteLedger;

use super::bounds::connections;
use super::client::{Client, id, secret, turn_body};
use super::raw::{Raw, ask, connect};
use super::server::{Gateway, base, each_store_at_once, on_a_file, siglum, tenant, token};
use crate::harness::{Dice, until_within};

/// Connections of the token that does not read.
const READERS: usize = 300;
/// How many of them follow a session: each would have all of its turns, 9 MB.
const FOLLOWERS: usize = 100;
/// Turns of the session, and bytes in each.
const TURNS: usize = 3;
const TURN: usize = 3_000_000;

/// Kilobytes that the gateway may have in use. A token may leave 64 MiB unread, and one answer beyond that; in a
/// connection are 400 KB at most, of 256 requests at once; two answers are read at a time, each as rows and as JSON. With
/// what it has when nobody asks this is well below, also where rows come from a server, whose client keeps them once more;
/// without bounds it would be 300 answers, 2.7 GB.
const MEMORY: u64 = 400 * 1024;

/// How long an answer to somebody else may take, on a busy machine, too.
const SOON: Duration = Duration::from_secs(10);
/// How long what is not taken may wait, and how long a stream waits for what others do not take: three waits of 30 seconds,
/// and the time in which all of it is read, which a busy machine stretches.
pub(super) const LET_GO: Duration = Duration::from_secs(200);

/// A session with a few large turns: its id, and a token for it.
pub(super) fn large_session(gateway: &Gateway) -> (String, String) {
    let created = gateway.launcher().create(&base("S1"));
    let (session, own) = (id(&created), secret(&created));
    let client = gateway.client(&own);
    let (epoch, mut head) = client.lease(&session, "n");
    for n in 0..TURNS {
        let key = format!("t{n}");
        let mut turn = turn_body(epoch, head, &key);
        turn["events"][1]["text"] = json!("lorem ipsum ".repeat(TURN / 12));
        let done = client.turn(&session, &key, &turn).unwrap().is(200);
        head = done["receipt"]["last"].as_u64().unwrap();
    }
    (session, own)
}

/// Asks for all of a session on a connection of its own, as one answer or as a stream.
fn asking(gateway: &Gateway, session: &str, token: &str, n: usize) -> Raw {
    let what = match n < FOLLOWERS {
        true => "stream",
        false => "events?limit=1000",
    };
    let mut reader = connect(gateway);
    let head = format!(
        "GET /v1/sessions/{session}/{what} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    assert!(reader.say(head.as_bytes()));
    reader
}

/// The longest time that one answer takes to somebody with another token, on a connection of its own each time.
fn served(gateway: &Gateway, other: &str, session: &str) -> Duration {
    let response_time = |client: Client, path: &str| {
        let begun = Instant::now();
        client.get(path).is(200);
        begun.elapsed()
    };
    let sessions = response_time(gateway.client(other), "/v1/sessions");
    let one = response_time(gateway.client(other), &format!("/v1/sessions/{session}"));
    let ready = response_time(gateway.stranger(), "/readyz");
    sessions.max(one).max(ready)
}

/// What the gateway did while they did not read: the longest answer to somebody else, and the most memory, in kilobytes.
struct Watched {
    slowest: Duration,
    memory: u64,
}

/// Looks at the gateway until those who do not read are let go.
fn watch(gateway: &Gateway, other: &str, session: &str) -> Watched {
    let mut watched = Watched {
        slowest: Duration::ZERO,
        memory: 0,
    };
    until_within(LET_GO, "those who take nothing are let go", || {
        watched.slowest = watched.slowest.max(served(gateway, other, session));
        watched.memory = watched.memory.max(gateway.memory());
        assert!(watched.memory < MEMORY, "{} kB", watched.memory);
        assert!(watched.slowest < SOON, "{:?}", watched.slowest);
        // Those that ask here.
        connections(gateway) <= 5
    });
    watched
}

/// Ends those who sip, also where the test fails before.
struct Sipping<'a>(&'a AtomicBool);

impl Drop for Sipping<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

#[test]
fn who_reads_slowly_takes_from_nobody_else() {
    each_store_at_once(|store| {
        let gateway = Gateway::start(store);
        let (session, _) = large_session(&gateway);
        let (slow, _) = token(store, tenant(store), Some(&session), None);
        let (other, _) = token(store, tenant(store), None, None);
        let idle = gateway.memory();
        let ask_again = || asking(&gateway, &session, &slow, READERS);
        let mut readers: Vec<_> = (0..READERS)
            .map(|n| asking(&gateway, &session, &slow, n))
            .collect();
        let sips = AtomicBool::new(true);
        let watched = std::thread::scope(|scope| {
            // Every other one takes a byte each second.
            scope.spawn(|| {
                while sips.load(Ordering::Relaxed) {
                    readers.iter_mut().step_by(2).for_each(Raw::sip);
                    std::thread::sleep(Duration::from_secs(1));
                }
            });
            let _until = Sipping(&sips);
            watch(&gateway, &other, &session)
        });
        let refused = readers[FOLLOWERS..].iter_mut().skip(1).step_by(2);
        let refused = refused.filter_map(Raw::answer);
        let refused = refused.filter(|reply| [408, 429].contains(&reply.status));
        let refused = refused.count();
        eprintln!(
            "{READERS} readers: the slowest answer to others took {:?}, {idle} kB before, {} kB at most, {refused} told that it is too much",
            watched.slowest, watched.memory
        );
        // Of those who ask for one answer and whose first byte nobody took.
        assert!(refused > (READERS - FOLLOWERS) / 4, "{refused}");
        // What they held has come back.
        ask_again().answer().expect("there is no answer").is(200);
        let stream = gateway
            .client(&slow)
            .lines(&format!("/v1/sessions/{session}/stream"));
        assert!(stream.is_some());
        ask(
            &gateway,
            b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
        )
        .is(200);
    });
}

/// A text of 100 kB that can hardly be compressed.
fn numbers(dice: &mut Dice) -> String {
    let mut text = String::new();
    while text.len() < 100_000 {
        text.push_str(&format!("{} ", dice.roll(1_000_000)));
    }
    text
}

/// Whoever writes is waited for by others for at most ten seconds; this is far below, on a busy machine, too.
const NOT_HELD_UP: Duration = Duration::from_secs(4);

/// Commits a turn, creates a session, and has the gateway say that it is ready; gives how long the slowest of these took.
fn write_some(gateway: &Gateway, worked: &mut (String, Client, u64, u64), text: &str) -> Duration {
    let (session, client, epoch, head) = worked;
    let key = format!("k{head}");
    let mut turn = turn_body(*epoch, *head, &key);
    turn["events"][1]["text"] = json!(text);
    let mut slowest = Duration::ZERO;
    let mut timed = |done: &mut dyn FnMut()| {
        let begun = Instant::now();
        done();
        slowest = slowest.max(begun.elapsed());
    };
    timed(&mut || {
        let done = client.turn(session, &key, &turn).unwrap().is(200);
        *head = done["receipt"]["last"].as_u64().unwrap();
    });
    timed(&mut || drop(gateway.launcher().create(&base(&key))));
    timed(&mut || drop(gateway.stranger().get("/readyz").is(200)));
    assert!(slowest < NOT_HELD_UP, "{slowest:?}");
    slowest
}

/// While somebody reads, what is written is copied into the file no further than that: the log grows, and nobody waits.
/// Afterwards all of it is copied, and nobody waits for that either.
#[test]
fn a_long_read_of_the_file_holds_up_no_write() {
    const LONG_LOG: u64 = 4 << 20;
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        // It would bring in the log, too.
        let _worker = store.world.hold_worker();
        let created = gateway.launcher().create(&base("S1"));
        let (session, client) = (id(&created), gateway.client(&secret(&created)));
        let (epoch, head) = client.lease(&session, "n");
        let mut worked = (session, client, epoch, head);
        let mut dice = Dice(1);
        let reader = store.world.store();
        reader
            .execute_batch("BEGIN; SELECT count(*) FROM sessions")
            .unwrap();
        let log = || SqliteLedger::log_bytes(store.file());
        let mut slowest = Duration::ZERO;
        for _ in 0..100 {
            let took = write_some(&gateway, &mut worked, &numbers(&mut dice));
            slowest = slowest.max(took);
        }
        let long = log();
        assert!(long > LONG_LOG, "{long} bytes");
        // The commands that read most.
        let copy = store.world.root.join("copy.db");
        for command in [
            &["cost", "--all"][..],
            &["verify"],
            &["backup", copy.to_str().unwrap()],
        ] {
            siglum(store, command);
            let took = write_some(&gateway, &mut worked, "short");
            slowest = slowest.max(took);
        }
        reader.execute_batch("COMMIT").unwrap();
        until_within(SOON, "the log is short while writes go on", || {
            let took = write_some(&gateway, &mut worked, &numbers(&mut dice));
            slowest = slowest.max(took);
            log() < LONG_LOG / 4
        });
        eprintln!("a log of {long} bytes, {slowest:?} for the slowest answer");
    });
}
