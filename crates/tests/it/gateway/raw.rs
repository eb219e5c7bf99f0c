//! A connection on which anything can be said.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::time::Duration;

use rustix::net::{AddressFamily, SocketType};

use super::client::Reply;
use super::server::Gateway;

/// A connection.
pub(crate) struct Raw(TcpStream);

/// A new connection.
#[track_caller]
pub(crate) fn connect(gateway: &Gateway) -> Raw {
    over(TcpStream::connect(gateway.place()).unwrap())
}

fn over(stream: TcpStream) -> Raw {
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    stream
        .set_write_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    Raw(stream)
}

/// What is answered to bytes on a connection of their own.
#[track_caller]
pub(crate) fn ask(gateway: &Gateway, bytes: &[u8]) -> Reply {
    send_request(connect(gateway), bytes)
}

/// The same, from another address of this machine.
#[track_caller]
pub(crate) fn ask_from(gateway: &Gateway, from: Ipv4Addr, bytes: &[u8]) -> Reply {
    let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    rustix::net::bind(&socket, &SocketAddrV4::new(from, 0)).unwrap();
    let place: SocketAddr = gateway.place().parse().unwrap();
    rustix::net::connect(&socket, &place).unwrap();
    send_request(over(socket.into()), bytes)
}

#[track_caller]
fn send_request(mut raw: Raw, bytes: &[u8]) -> Reply {
    // It may have been answered, and closed, before all was sent.
    let _ = raw.say(bytes);
    raw.answer().expect("there is no answer")
}

impl Raw {
    /// Says something; tells whether it was taken.
    pub(crate) fn say(&mut self, bytes: &[u8]) -> bool {
        self.0.write_all(bytes).is_ok()
    }

    /// Takes one byte of what has come, if anything has.
    pub(crate) fn sip(&mut self) {
        let _ = self.0.set_nonblocking(true);
        let _ = self.0.read(&mut [0]);
        let _ = self.0.set_nonblocking(false);
    }

    /// Nothing more is said.
    pub(crate) fn half_close(&self) {
        let _ = self.0.shutdown(std::net::Shutdown::Write);
    }

    /// The next answer; nothing where the connection ends without one.
    pub(crate) fn answer(&mut self) -> Option<Reply> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            match self.0.read(&mut byte) {
                Ok(1) => head.push(byte[0]),
                _ => return None,
            }
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let mut lines = head.lines();
        let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
        let headers: Vec<(String, String)> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let length = headers.iter().find(|(name, _)| name == "content-length");
        let length = length
            .and_then(|(_, value)| value.parse().ok())
            .unwrap_or(0);
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).ok()?;
        let text = String::from_utf8_lossy(&body).into_owned();
        Some(Reply {
            status,
            headers,
            text,
        })
    }

    /// Whether the other side ended it, after whatever else it said.
    pub(crate) fn is_over(&mut self) -> bool {
        let mut rest = Vec::new();
        match self.0.read_to_end(&mut rest) {
            Ok(_) => true,
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    }
}
