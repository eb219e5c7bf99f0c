//! A gateway that is running, and the plainest way to ask it something.

use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::harness::World;

/// A gateway of a world. Killed when it is let go.
pub(crate) struct Served {
    child: Child,
    /// `host:port`.
    pub(crate) address: String,
}

impl Served {
    /// Starts one, with these variables beside those of the world, and waits until it serves.
    #[track_caller]
    pub(crate) fn start(world: &World, variables: &[(&str, &str)]) -> Self {
        let mut command = world.command(World::program());
        command
            .args(["serve", "--json", "--listen", "127.0.0.1:0"])
            .args(["--log-level", "warn"])
            .envs(variables.iter().copied())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let out = child.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        let started: Value = serde_json::from_str(&line).expect("where it serves");
        let address = started["data"]["address"].as_str().unwrap();
        Self {
            child,
            address: address.strip_prefix("http://").unwrap().to_owned(),
        }
    }

    /// SIGKILL.
    pub(super) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One request on a connection of its own. After an error nobody knows what became of it.
pub(super) fn ask(
    address: &str,
    token: &str,
    (method, path): (&str, &str),
    body: &Value,
) -> Result<(u16, Value), Error> {
    let body = body.to_string();
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let cut_off = || Error::from(ErrorKind::UnexpectedEof);
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(cut_off)?;
    let status = head.split(' ').nth(1).and_then(|s| s.parse().ok());
    let body = serde_json::from_str(body).map_err(|_| cut_off())?;
    Ok((status.ok_or_else(cut_off)?, body))
}

/// A turn of two events.
pub(super) fn turn(lease: &Value, head: u64, key: &str) -> Value {
    json!({"epoch": lease["epoch"], "expected_head": head, "events": [
        {"type": "prompt", "key": format!("{key}.p"), "text": "Please sort the list."},
        {"type": "message", "key": format!("{key}.m"), "text": "It is sorted. ".repeat(50)},
    ]})
}
