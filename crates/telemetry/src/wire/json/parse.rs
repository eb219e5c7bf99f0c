//! Text → JSON.

use serde_json::{Error, Value};

/// Reads JSON. Programs in JavaScript cut texts in the middle of a character and write half of it, which no JSON reader
/// takes; such halves become the sign for a character that is unknown.
pub(super) fn parse(bytes: &[u8]) -> Result<Value, Error> {
    serde_json::from_slice(bytes).or_else(|error| match whole_characters(bytes) {
        Some(bytes) => serde_json::from_slice(&bytes),
        None => Err(error),
    })
}

/// The same bytes without escapes of half a character; none if there are none.
fn whole_characters(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut whole: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        if byte != b'\\' {
            at += 1;
            continue;
        }
        at += match (unit(bytes, at), unit(bytes, at + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                let whole = whole.get_or_insert_with(|| bytes.to_vec());
                whole[at..at + 6].copy_from_slice(b"\\ufffd");
                6
            }
            _ => 2,
        };
    }
    whole
}

/// The number of the escape `\uXXXX` at this place.
fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}
