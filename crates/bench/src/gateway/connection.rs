//! One connection to a gateway, which stays open from request to request. It does as little as a client can, since it
//! shares the machine with what it measures.

use std::io::{Error, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::Value;

/// A gateway that says nothing for so long is gone.
const SILENT: Duration = Duration::from_secs(40);

/// A connection, opened with the first request.
pub(crate) struct Connection {
    address: String,
    stream: Option<TcpStream>,
    buffer: Vec<u8>,
}

/// What a gateway answered.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Connection {
    /// To `host:port`.
    pub(crate) const fn new(address: String) -> Self {
        Self {
            address,
            stream: None,
            buffer: Vec::new(),
        }
    }

    /// From now on to another gateway.
    pub(crate) fn turn_to(&mut self, address: String) {
        self.address = address;
        self.stream = None;
    }

    /// Asks, and waits for the answer. After an error nobody knows what became of the request.
    pub(crate) fn ask(
        &mut self,
        method: &str,
        path: &str,
        token: &str,
        body: &str,
    ) -> Result<Answer, Error> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len(),
        );
        let (status, body) = self.exchange(request.as_bytes())?;
        let body = serde_json::from_slice(&body)?;
        Ok(Answer { status, body })
    }

    /// Gets something in whatever form it is.
    pub(crate) fn get(&mut self, path: &str) -> Result<(u16, Vec<u8>), Error> {
        let request = format!("GET {path} HTTP/1.1\r\nhost: {}\r\n\r\n", self.address);
        self.exchange(request.as_bytes())
    }

    /// Sends something in another form, and gives status and body of the answer.
    pub(crate) fn post(
        &mut self,
        path: &str,
        form: &str,
        token: &str,
        body: &[u8],
    ) -> Result<(u16, Vec<u8>), Error> {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {token}\r\n\
             content-type: {form}\r\ncontent-length: {}\r\n\r\n",
            self.address,
            body.len(),
        );
        self.exchange(&[head.as_bytes(), body].concat())
    }

    fn exchange(&mut self, request: &[u8]) -> Result<(u16, Vec<u8>), Error> {
        let answer = self.exchanged(request);
        if answer.is_err() {
            self.stream = None;
        }
        answer
    }

    fn exchanged(&mut self, request: &[u8]) -> Result<(u16, Vec<u8>), Error> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(&self.address)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(SILENT))?;
                stream
            }
        };
        stream.write_all(request)?;
        self.buffer.clear();
        let head = loop {
            self.more(&mut stream)?;
            if let Some(at) = self.buffer.windows(4).position(|w| w == b"\r\n\r\n") {
                break at + 4;
            }
        };
        let text = String::from_utf8_lossy(&self.buffer[..head]).to_ascii_lowercase();
        let broken = || Error::new(ErrorKind::InvalidData, "no answer in HTTP");
        let status = text.split(' ').nth(1).and_then(|s| s.parse().ok());
        let status = status.ok_or_else(broken)?;
        let length = text
            .lines()
            .find_map(|l| l.strip_prefix("content-length: "));
        let length: usize = length.and_then(|l| l.parse().ok()).ok_or_else(broken)?;
        while self.buffer.len() < head + length {
            self.more(&mut stream)?;
        }
        if !text.contains("connection: close") {
            self.stream = Some(stream);
        }
        Ok((status, self.buffer[head..head + length].to_vec()))
    }

    fn more(&mut self, stream: &mut TcpStream) -> Result<(), Error> {
        let mut some = [0; 8192];
        match stream.read(&mut some)? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            read => {
                self.buffer.extend_from_slice(&some[..read]);
                Ok(())
            }
        }
    }
}
