//! A wire on which answers are lost: the request arrives and is done, and the connection ends before the answer.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// Stands between clients and a gateway. The first answer to a request in which any of these words is, is lost.
pub(crate) struct Lossy {
    /// `host:port`.
    pub(crate) address: String,
    pub(crate) lost: Arc<AtomicU32>,
}

impl Lossy {
    pub(crate) fn before(gateway: &str, words: &[&'static str]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let lost = Arc::new(AtomicU32::new(0));
        let (gateway, counted) = (gateway.to_owned(), Arc::clone(&lost));
        let words = Arc::new(Mutex::new(words.to_vec()));
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(&gateway).unwrap();
                let (from, to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                let losing = Arc::new(AtomicBool::new(false));
                let (flag, words, lost) = (
                    Arc::clone(&losing),
                    Arc::clone(&words),
                    Arc::clone(&counted),
                );
                std::thread::spawn(move || answers(from, to, &flag));
                std::thread::spawn(move || {
                    requests(client, server, |text| {
                        let mut words = words.lock().unwrap();
                        if let Some(at) = words.iter().position(|word| text.contains(word)) {
                            words.remove(at);
                            lost.fetch_add(1, Ordering::SeqCst);
                            losing.store(true, Ordering::SeqCst);
                        }
                    });
                });
            }
        });
        Self { address, lost }
    }
}

fn requests(mut from: TcpStream, mut to: TcpStream, look: impl Fn(&str)) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        // Before it goes on: the answer must not be faster.
        look(&String::from_utf8_lossy(&buffer[..read]));
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

fn answers(mut from: TcpStream, mut to: TcpStream, losing: &AtomicBool) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        if losing.load(Ordering::SeqCst) || to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}
