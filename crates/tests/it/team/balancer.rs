//! A TCP load balancer in front of the gateways: connections in turn, past gateways that do not answer. It can be cut, and
//! slowed down.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The balancer.
pub(crate) struct Balancer {
    at: SocketAddr,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// Where each gateway is, unless no new connection shall go there.
    gateways: Mutex<BTreeMap<usize, SocketAddr>>,
    turn: AtomicUsize,
    is_cut: AtomicBool,
    /// How long each part of what is sent is held up, in milliseconds.
    delay: AtomicU64,
    /// Both ends of the connections under way, each by its number.
    open: Mutex<BTreeMap<usize, [TcpStream; 2]>>,
    number: AtomicUsize,
}

impl Balancer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let balancer = Self {
            at: listener.local_addr().unwrap(),
            state: Arc::default(),
        };
        let state = Arc::clone(&balancer.state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let state = Arc::clone(&state);
                thread::spawn(move || state.carry(&client));
            }
        });
        balancer
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.at)
    }

    /// A gateway gets connections from now on, at this address.
    pub(crate) fn add(&self, gateway: usize, address: &str) {
        let address = address.parse().unwrap();
        self.state.gateways.lock().unwrap().insert(gateway, address);
    }

    /// A gateway gets no further connections; those that it has stay.
    pub(crate) fn remove(&self, gateway: usize) {
        self.state.gateways.lock().unwrap().remove(&gateway);
    }

    /// All connections end, and nobody gets through until it is mended.
    pub(crate) fn cut(&self) {
        self.state.is_cut.store(true, Ordering::SeqCst);
        for ends in self.state.open.lock().unwrap().values() {
            shut(ends);
        }
    }

    pub(crate) fn mend(&self) {
        self.state.is_cut.store(false, Ordering::SeqCst);
    }

    /// Holds up each part of what is sent for so long.
    pub(crate) fn delay(&self, millis: u64) {
        self.state.delay.store(millis, Ordering::SeqCst);
    }
}

fn shut(ends: &[TcpStream; 2]) {
    for end in ends {
        let _ = end.shutdown(Shutdown::Both);
    }
}

impl State {
    /// A connection to the gateway whose turn it is, else to the next one that answers.
    fn connected(&self) -> Option<TcpStream> {
        let gateways: Vec<SocketAddr> = self.gateways.lock().unwrap().values().copied().collect();
        let turn = self.turn.fetch_add(1, Ordering::SeqCst);
        (0..gateways.len()).find_map(|more| {
            let address = gateways[(turn + more) % gateways.len()];
            TcpStream::connect(address).ok()
        })
    }

    /// Carries one connection to its end.
    fn carry(&self, client: &TcpStream) -> Option<()> {
        let server = self.connected()?;
        let ends = [client.try_clone().ok()?, server.try_clone().ok()?];
        let id = self.number.fetch_add(1, Ordering::SeqCst);
        self.open.lock().unwrap().insert(id, ends);
        // Whoever cuts either finds the connection, or is seen here.
        if self.is_cut.load(Ordering::SeqCst) {
            let _ = client.shutdown(Shutdown::Both);
        } else {
            thread::scope(|scope| {
                scope.spawn(|| self.pass(&server, client));
                self.pass(client, &server);
            });
        }
        self.open.lock().unwrap().remove(&id);
        Some(())
    }

    /// Passes on what is sent, until it ends.
    fn pass(&self, mut from: &TcpStream, mut to: &TcpStream) {
        let mut buffer = [0; 16 << 10];
        while let Ok(count @ 1..) = from.read(&mut buffer) {
            let delay = self.delay.load(Ordering::SeqCst);
            thread::sleep(Duration::from_millis(delay));
            if to.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    }
}
