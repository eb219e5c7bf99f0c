//! The gateway over HTTP/2, frame by frame, as no library would send it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::client::id;
use super::server::{Gateway, base, on_a_file};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const ACK: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
/// The setting for how many bytes of an answer may be sent before more is granted.
const INITIAL_WINDOW: u16 = 4;

/// A connection, begun.
struct Two {
    stream: TcpStream,
    /// What came and was not looked at.
    rest: Vec<u8>,
}

struct Frame {
    kind: u8,
    flags: u8,
    payload: Vec<u8>,
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(payload.len()).unwrap().to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// Headers as literals, none of which is to be remembered.
fn block(headers: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in headers {
        bytes.push(0);
        for text in [name, value] {
            let mut left = text.len();
            if left < 127 {
                bytes.push(u8::try_from(left).unwrap());
            } else {
                bytes.push(127);
                left -= 127;
                while left >= 128 {
                    bytes.push(u8::try_from(left % 128 + 128).unwrap());
                    left /= 128;
                }
                bytes.push(u8::try_from(left).unwrap());
            }
            bytes.extend(text.as_bytes());
        }
    }
    bytes
}

/// The status at the beginning of a block of headers: one of the table of RFC 7541, or digits in its code.
fn status(block: &[u8]) -> u16 {
    let begin = block.iter().position(|b| b & 0xe0 != 0x20).unwrap();
    let known = [200, 204, 206, 304, 400, 404, 500];
    match &block[begin..] {
        [index @ 0x88..=0x8e, ..] => known[usize::from(index - 0x88)],
        [0x48 | 0x08, length, text @ ..] if length & 0x80 == 0 => {
            let text = &text[..usize::from(*length)];
            std::str::from_utf8(text).unwrap().parse().unwrap()
        }
        [0x48 | 0x08, length, text @ ..] => {
            let bits = text[..usize::from(length & 0x7f)]
                .iter()
                .flat_map(|byte| (0..8).rev().map(move |n| byte >> n & 1));
            let (mut code, mut length, mut number) = (0, 0, 0);
            for bit in bits {
                (code, length) = (code * 2 + bit, length + 1);
                let digit = match (length, code) {
                    (5, 0..=2) => code,
                    (6, 0x19..=0x1f) => code - 0x19 + 3,
                    _ => continue,
                };
                number = number * 10 + u16::from(digit);
                (code, length) = (0, 0);
            }
            number
        }
        other => panic!("no status: {other:x?}"),
    }
}

impl Two {
    fn connect(gateway: &Gateway, window: u32) -> Self {
        let mut stream = TcpStream::connect(gateway.place()).unwrap();
        let wait = Some(Duration::from_secs(120));
        stream.set_read_timeout(wait).unwrap();
        let settings = [&INITIAL_WINDOW.to_be_bytes()[..], &window.to_be_bytes()[..]].concat();
        stream
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            .unwrap();
        stream.write_all(&frame(SETTINGS, 0, 0, &settings)).unwrap();
        Self {
            stream,
            rest: Vec::new(),
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// The next frame; nothing where the connection ends.
    fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(head) = self.rest.get(..9) {
                let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
                if self.rest.len() >= 9 + length {
                    let frame: Vec<u8> = self.rest.drain(..9 + length).collect();
                    return Some(Frame {
                        kind: frame[3],
                        flags: frame[4],
                        payload: frame[9..].to_vec(),
                    });
                }
            }
            let mut bytes = [0; 4096];
            match self.stream.read(&mut bytes) {
                Ok(0) => return None,
                Ok(n) => self.rest.extend(&bytes[..n]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("it is still open: {error}"),
            }
        }
    }

    /// Does what the protocol wants and nothing more; the next status, or nothing where the connection ends.
    fn status(&mut self) -> Option<u16> {
        while let Some(next) = self.next() {
            match (next.kind, next.flags & ACK) {
                (SETTINGS, 0) => self.send(&frame(SETTINGS, ACK, 0, &[])),
                (PING, 0) => self.send(&frame(PING, ACK, 0, &next.payload)),
                (HEADERS, _) => return Some(status(&next.payload)),
                _ => {}
            }
        }
        None
    }

    /// Sends a request; its body, if any, is sent by itself.
    fn request(&mut self, flags: u8, headers: &[(&str, &str)]) {
        let block = block(headers);
        // In frames of a size that each side takes.
        let mut pieces = block.chunks(16_000).peekable();
        let (mut kind, mut flags) = (HEADERS, flags & !END_HEADERS);
        while let Some(piece) = pieces.next() {
            let last = if pieces.peek().is_none() {
                END_HEADERS
            } else {
                0
            };
            self.send(&frame(kind, flags | last, 1, piece));
            (kind, flags) = (9, 0);
        }
    }
}

/// How long a connection is kept by a client that only keeps it alive.
fn kept(two: &mut Two) -> Duration {
    let begun = Instant::now();
    while two.status().is_some() {}
    begun.elapsed()
}

#[test]
fn http2_that_asks_for_nothing_or_takes_nothing_is_let_go() {
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        for n in 0..20 {
            id(&gateway.launcher().create(&base(&format!("S{n}"))));
        }
        let bearer = format!("Bearer {}", gateway.token);
        let list = [
            (":method", "GET"),
            (":scheme", "http"),
            (":path", "/v1/sessions"),
            (":authority", "x"),
            ("authorization", bearer.as_str()),
        ];
        std::thread::scope(|scope| {
            let silent = scope.spawn(|| kept(&mut Two::connect(&gateway, 1 << 16)));
            // All of an answer waits for a window; then a few bytes of it come, and the rest waits.
            let stalled = [0, 10].map(|window| {
                let (gateway, list) = (&gateway, &list);
                scope.spawn(move || {
                    let mut two = Two::connect(gateway, window);
                    two.request(END_STREAM, list);
                    kept(&mut two)
                })
            });
            for stalled in stalled {
                let took = stalled.join().unwrap();
                assert!(took < Duration::from_secs(70), "{took:?}");
            }
            let took = silent.join().unwrap();
            assert!(took < Duration::from_secs(60), "{took:?}");
        });
        gateway.launcher().get("/v1/sessions").is(200);
    });
}

#[test]
fn http2_has_the_bounds_of_http1() {
    on_a_file(|store| {
        let gateway = Gateway::start(store);
        let bearer = format!("Bearer {}", gateway.token);
        let ask = |more: &[(&str, &str)], body: &[u8]| {
            let mut two = Two::connect(&gateway, 1 << 16);
            let mut headers = vec![
                (":method", if body.is_empty() { "GET" } else { "POST" }),
                (":scheme", "http"),
                (
                    ":path",
                    if body.is_empty() {
                        "/healthz"
                    } else {
                        "/v1/sessions"
                    },
                ),
                (":authority", "x"),
                ("authorization", bearer.as_str()),
                ("content-type", "application/json"),
            ];
            headers.extend(more);
            two.request(if body.is_empty() { END_STREAM } else { 0 }, &headers);
            for piece in body.chunks(16_000) {
                two.send(&frame(DATA, 0, 1, piece));
            }
            two.status()
        };
        assert_eq!(ask(&[], b""), Some(200));
        assert_eq!(ask(&[("host", "x")], b""), Some(200));
        assert_eq!(ask(&[("host", "y")], b""), Some(400));
        assert_eq!(ask(&[("host", "x"), ("host", "x")], b""), Some(400));
        let long = "a".repeat(60_000);
        assert_eq!(ask(&[("x", &long)], b""), Some(200));
        let longer = "a".repeat(70_000);
        assert_eq!(ask(&[("x", &longer)], b""), Some(431));
        let length = (24 << 20).to_string();
        let body = vec![b' '; 60_000];
        assert_eq!(ask(&[("content-length", &length)], &body), Some(413));
    });
}
