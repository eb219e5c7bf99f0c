//! A wire between a client and a server that breaks as it is told.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// When a connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Break {
    /// When so many bytes of what the client says have gone through.
    Asking(usize),
    /// When the server begins to answer: it has done what it was asked for, and nobody is told.
    Answering,
}

#[derive(Default)]
struct State {
    /// How the next connections break, each once.
    breaks: Vec<Break>,
    /// How many did.
    broken: usize,
    open: Vec<TcpStream>,
    /// Whether nobody listens.
    is_down: bool,
}

/// The wire.
pub(crate) struct Wire {
    ours: SocketAddr,
    server: SocketAddr,
    state: Arc<Mutex<State>>,
    listening: Mutex<Option<JoinHandle<()>>>,
}

impl Wire {
    /// A wire to `host:port`.
    pub(crate) fn to(server: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let wire = Self {
            ours: listener.local_addr().unwrap(),
            server: server.parse().unwrap(),
            state: Arc::default(),
            listening: Mutex::new(None),
        };
        wire.listen(listener);
        wire
    }

    /// `host:port` of this end.
    pub(crate) fn address(&self) -> String {
        self.ours.to_string()
    }

    /// The next connections break so, one after the other; those after them do not.
    pub(crate) fn breaks(&self, breaks: &[Break]) {
        let mut state = self.state.lock().unwrap();
        state.breaks = breaks.to_vec();
        state.breaks.reverse();
        state.broken = 0;
        // A connection that is open already would not break.
        for stream in state.open.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// How many connections broke since.
    pub(crate) fn broken(&self) -> usize {
        self.state.lock().unwrap().broken
    }

    /// Nobody listens any more, and no connection is left.
    pub(crate) fn down(&self) {
        {
            let mut state = self.state.lock().unwrap();
            state.is_down = true;
            for stream in state.open.drain(..) {
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
        // It waits for a connection: this is the last one.
        let _ = TcpStream::connect(self.ours);
        if let Some(listening) = self.listening.lock().unwrap().take() {
            listening.join().unwrap();
        }
        assert!(TcpStream::connect(self.ours).is_err());
    }

    /// It listens again, where it did before.
    pub(crate) fn up(&self) {
        self.state.lock().unwrap().is_down = false;
        self.listen(TcpListener::bind(self.ours).unwrap());
    }

    fn listen(&self, listener: TcpListener) {
        let (server, state) = (self.server, Arc::clone(&self.state));
        let listening = std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if state.lock().unwrap().is_down {
                    return;
                }
                let state = Arc::clone(&state);
                std::thread::spawn(move || carry(&client, server, &state));
            }
        });
        *self.listening.lock().unwrap() = Some(listening);
    }
}

/// Carries one connection, until it ends or breaks.
fn carry(client: &TcpStream, server: SocketAddr, state: &Mutex<State>) -> Option<()> {
    let server = TcpStream::connect(server).ok()?;
    let fate = {
        let mut state = state.lock().unwrap();
        state.open.push(client.try_clone().ok()?);
        state.open.push(server.try_clone().ok()?);
        state.breaks.pop()
    };
    let is_cut = AtomicBool::new(false);
    let cut = |client: &TcpStream, server: &TcpStream| {
        is_cut.store(true, Ordering::SeqCst);
        state.lock().unwrap().broken += 1;
        let _ = client.shutdown(Shutdown::Both);
        let _ = server.shutdown(Shutdown::Both);
    };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            pass(&server, client, |_| {
                let breaks = fate == Some(Break::Answering);
                if breaks {
                    cut(client, &server);
                }
                usize::from(!breaks) * usize::MAX
            });
        });
        let mut left = match fate {
            Some(Break::Asking(bytes)) => bytes,
            _ => usize::MAX,
        };
        pass(client, &server, |length| {
            let through = left.min(length);
            left -= if left == usize::MAX { 0 } else { through };
            through
        });
        if left == 0 {
            cut(client, &server);
        }
    });
    // One that ended before it broke leaves that to the next one.
    if let Some(fate) = fate.filter(|_| !is_cut.into_inner()) {
        state.lock().unwrap().breaks.push(fate);
    }
    Some(())
}

/// Passes on what is said, as much of each part as may go through.
fn pass(mut from: &TcpStream, mut to: &TcpStream, mut may: impl FnMut(usize) -> usize) {
    let mut buffer = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        let through = may(count).min(count);
        if to.write_all(&buffer[..through]).is_err() || through < count {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
