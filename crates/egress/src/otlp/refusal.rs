//! What a server says of a request that it did not take.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::problem::{Problem, shown};

/// What kind of refusal it is, in the numbers of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    /// A status of HTTP.
    Http(u16),
    /// A code of gRPC.
    Grpc(i32),
    /// Nobody was asked.
    Own,
}

/// What a server says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub code: Code,
    /// Its words, on one line; empty where it has none.
    pub message: String,
}

impl Refusal {
    /// What is said without asking anybody.
    pub(super) fn own(message: impl Into<String>) -> Self {
        Self {
            code: Code::Own,
            message: message.into(),
        }
    }

    /// Reads the body of an answer over HTTP: a `google.rpc.Status` as protobuf or JSON, or whatever it is.
    pub(super) fn http(status: u16, content_type: &str, body: &[u8]) -> Self {
        let message = match content_type.contains("protobuf") {
            true => Status::read(body).message,
            false => message_of(status, body),
        };
        Self {
            code: Code::Http(status),
            message: shown(&message),
        }
    }

    /// Whether the server does not know us, or lets us not.
    #[must_use]
    pub const fn is_about_credentials(&self) -> bool {
        matches!(self.code, Code::Http(401 | 403) | Code::Grpc(7 | 16))
    }

    /// Whether there is nothing of this kind at the address.
    #[must_use]
    pub const fn is_about_the_address(&self) -> bool {
        matches!(
            self.code,
            Code::Http(300..=399 | 404 | 405) | Code::Grpc(12)
        )
    }

    /// Whether the server does not know how the request is encoded.
    #[must_use]
    pub const fn is_about_the_form(&self) -> bool {
        matches!(self.code, Code::Http(400 | 415) | Code::Grpc(3 | 13))
    }
}

fn message_of(status: u16, body: &[u8]) -> String {
    let json: Option<Value> = serde_json::from_slice(body).ok();
    let message = json.as_ref().and_then(|v| v.get("message")?.as_str());
    if let Some(message) = message {
        return message.to_owned();
    }
    let problem = Problem::read(status, body);
    let words = [problem.title, problem.detail];
    words.into_iter().flatten().collect::<Vec<_>>().join(": ")
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message.as_str() {
            "" => f.write_str("it gives no reason")?,
            message => f.write_str(message)?,
        }
        match self.code {
            Code::Http(status) => write!(f, " [{status}]"),
            Code::Grpc(code) => write!(f, " [gRPC {code}]"),
            Code::Own => Ok(()),
        }
    }
}

/// What is of interest in a `google.rpc.Status`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) message: String,
    /// The delay of a `google.rpc.RetryInfo` among its details.
    pub(super) retry: Option<Duration>,
}

impl Status {
    /// Reads an encoded status, as far as it is one.
    pub(super) fn read(bytes: &[u8]) -> Self {
        let mut status = Self::default();
        for (number, field) in Fields(bytes) {
            match (number, field) {
                (2, Field::Bytes(text)) => status.message = text_of(text),
                (3, Field::Bytes(detail)) => status.retry = status.retry.or(retry_of(detail)),
                _ => {}
            }
        }
        status
    }
}

/// The delay in a detail, an `Any` with an address of its type and a value.
fn retry_of(detail: &[u8]) -> Option<Duration> {
    let bytes = |of: &'_ [u8], wanted: u64| -> Option<Vec<u8>> {
        Fields(of).find_map(|(number, field)| match field {
            Field::Bytes(bytes) if number == wanted => Some(bytes.to_vec()),
            _ => None,
        })
    };
    let number = |of: &[u8], wanted: u64| {
        Fields(of).find_map(|(number, field)| match field {
            Field::Number(value) if number == wanted => Some(value),
            _ => None,
        })
    };
    if !text_of(&bytes(detail, 1)?).ends_with("google.rpc.RetryInfo") {
        return None;
    }
    let info = bytes(detail, 2).unwrap_or_default();
    let delay = bytes(&info, 1).unwrap_or_default();
    let seconds = number(&delay, 1).unwrap_or_default();
    let nanos = u32::try_from(number(&delay, 2).unwrap_or_default()).unwrap_or_default();
    // A negative number has its highest bit set: it asks for no pause.
    let seconds = seconds.min(u64::MAX >> 1) * u64::from(seconds >> 63 == 0);
    Some(Duration::from_secs(seconds).saturating_add(Duration::from_nanos(nanos.into())))
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A field of an encoded message of protobuf.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// Four or eight bytes, which nothing in here has.
    Fixed,
}

/// The fields of an encoded message with their numbers, up to what is none.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (first, rest) = self.0.split_first()?;
            self.0 = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u64, Field<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let key = self.varint()?;
        let field = match key & 7 {
            0 => Field::Number(self.varint()?),
            1 => self.bytes(8).map(|_| Field::Fixed)?,
            2 => {
                let length = usize::try_from(self.varint()?).ok()?;
                Field::Bytes(self.bytes(length)?)
            }
            5 => self.bytes(4).map(|_| Field::Fixed)?,
            _ => return None,
        };
        Some((key >> 3, field))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
        let head = [number << 3 | 2, u8::try_from(bytes.len()).unwrap()];
        [&head, bytes].concat()
    }

    /// An encoded status with a message, and with a delay in seconds, if any.
    pub(in super::super) fn encoded(message: &str, retry: Option<u8>) -> Vec<u8> {
        let mut status = [vec![8, 14], field(2, message.as_bytes())].concat();
        if let Some(seconds) = retry {
            let info = field(1, &[8, seconds, 16, 1]);
            let of_type = field(1, b"type.googleapis.com/google.rpc.RetryInfo");
            status.extend(field(3, &[of_type, field(2, &info)].concat()));
        }
        status
    }

    #[test]
    fn a_status_is_read_as_far_as_it_is_one() {
        let whole = encoded("later", Some(3));
        let status = Status::read(&whole);
        assert_eq!(status.message, "later");
        assert_eq!(status.retry, Some(Duration::new(3, 1)));
        assert_eq!(Status::read(&encoded("no", None)).retry, None);
        for end in 0..whole.len() {
            let _ = Status::read(&whole[..end]);
        }
        assert_eq!(Status::read(&[0xff; 40]), Status::default());
    }

    #[test]
    fn the_reason_is_found_in_every_form() {
        for (content_type, body, message) in [
            (
                "application/x-protobuf",
                encoded("bad span", None),
                "bad span [400]",
            ),
            (
                "application/json",
                br#"{"code":3,"message":"bad\nspan"}"#.to_vec(),
                "bad span [400]",
            ),
            (
                "application/json",
                br#"{"detail":"no such"}"#.to_vec(),
                "no such [400]",
            ),
            ("text/plain", b"nope".to_vec(), "nope [400]"),
            ("", Vec::new(), "it gives no reason [400]"),
        ] {
            let refusal = Refusal::http(400, content_type, &body);
            assert_eq!(refusal.to_string(), message);
        }
    }
}
