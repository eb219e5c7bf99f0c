//! A wire that is cut between a COMMIT and its answer.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use serde_json::json;

use super::driver::{Driver, whole};
use super::store::{Store, on_a_server};

/// Stands between a driver and its server.
struct Proxy {
    address: String,
    wire: Arc<Wire>,
}

#[derive(Default)]
struct Wire {
    /// How many more COMMITs are cut off.
    cuts: AtomicU32,
    /// Whether the server gets them first.
    forwards: AtomicBool,
}

impl Proxy {
    fn before(store: &Store) -> Self {
        let address = store.address();
        let host = address.split('@').next_back().unwrap();
        let host = host
            .trim_start_matches("postgres://")
            .trim_start_matches("postgresql://");
        let host = host.split('/').next().unwrap().to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ours = listener.local_addr().unwrap().to_string();
        let (wire, server) = (Arc::new(Wire::default()), host.clone());
        let shared = Arc::clone(&wire);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(&server).unwrap();
                let (from, to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                let (up, down) = (Arc::clone(&shared), Arc::new(AtomicBool::new(false)));
                let muted = Arc::clone(&down);
                std::thread::spawn(move || pass(from, &to, |_| !muted.load(Ordering::SeqCst)));
                std::thread::spawn(move || up.carry(client, &server, &down));
            }
        });
        Self {
            address: address.replacen(&host, &ours, 1),
            wire,
        }
    }

    fn cut(&self, times: u32, forwards: bool) {
        self.wire.forwards.store(forwards, Ordering::SeqCst);
        self.wire.cuts.store(times, Ordering::SeqCst);
    }
}

impl Wire {
    /// Carries what the client says to the server, until a COMMIT that is cut off.
    fn carry(&self, client: TcpStream, mut server: &TcpStream, muted: &AtomicBool) {
        let to = server.try_clone().unwrap();
        let back = client.try_clone().unwrap();
        pass(client, &to, |bytes| {
            let commits = bytes.windows(7).any(|word| word == b"COMMIT\0");
            let due = |n: u32| n.checked_sub(1);
            let (less, more) = (Ordering::SeqCst, Ordering::SeqCst);
            if !commits || self.cuts.fetch_update(less, more, due).is_err() {
                return true;
            }
            muted.store(true, Ordering::SeqCst);
            if self.forwards.load(Ordering::SeqCst) {
                server.write_all(bytes).unwrap();
                // The server ends by itself, so that it has done what it was asked for.
                server.write_all(b"X\0\0\0\x04").unwrap();
            }
            let _ = back.shutdown(Shutdown::Both);
            false
        });
    }
}

/// Passes on what is said, as long as each part of it may go through.
fn pass(mut from: TcpStream, mut to: &TcpStream, mut may: impl FnMut(&[u8]) -> bool) {
    let mut buffer = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if !may(&buffer[..count]) || to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Write);
}

#[test]
fn a_wire_that_is_cut_in_a_commit_leaves_one_outcome() {
    on_a_server(|store| {
        let proxy = Proxy::before(store);
        let mut driver = Driver::at(store, &proxy.address);
        driver.follow();
        let session = driver.create("s");
        driver.lease(&session);
        for round in 0..40 {
            let forwards = round % 2 == 0;
            proxy.cut(1, forwards);
            let done = driver.turn(&session, &format!("t{round}"));
            assert_eq!(done["already"], forwards, "{done}");
            assert_eq!(driver.receipts(&session).len(), round + 1);
            store.outcome(if forwards {
                "was stored"
            } else {
                "was not stored"
            });
        }
        // It stays cut for longer than the driver asks: it is told that nobody knows.
        proxy.cut(20, true);
        let lost = driver.refused(&whole(&session, "long"), "unknown");
        assert_eq!(lost["fate"], "unknown");
        proxy.cut(0, false);
        driver.turn(&session, "long");
        assert_eq!(driver.receipts(&session).len(), 41);
        driver.must(&json!({ "do": "feed", "name": "shown", "dir": store.dir() }));
    });
}
