//! The bytes of a batch, and how large its parts may be.

use std::borrow::Cow;
use std::io::Read as _;

use siglum_domain::redact::Redactor;

use super::error::refuse;
use super::wire::{Batch, VERSION};
use super::{DocumentName, ReplicaError};

/// The largest batch, in bytes of JSON. A receipt is never torn apart, so one that seals a long import is one batch.
pub const BATCH_MOST: usize = 32 << 20;
/// The longest name, path or word, in bytes.
pub(super) const WORD_MOST: usize = 4096;
/// The most names, pins, rewrites or turns of one document.
pub(super) const LIST_MOST: usize = 10_000;
/// The most commits without parents that a repository is known by.
pub(super) const ROOTS_MOST: usize = 256;
/// The largest payload, and the largest judgement, in bytes of JSON.
pub(super) const PAYLOAD_MOST: usize = 16 << 20;

/// Most unknown fields of a batch that are told.
const IGNORED_MOST: usize = 32;

/// How hard zstd tries.
const LEVEL: i32 = 3;
/// What a zstd frame begins with.
const FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A batch on its way: JSON in a zstd frame.
#[must_use]
pub fn encode(batch: &Batch) -> Vec<u8> {
    let json =
        serde_json::to_vec(batch).expect("because a batch has text keys and no failing parts");
    zstd::bulk::compress(&json, LEVEL).expect("because compressing into memory cannot fail")
}

/// The batch in some bytes: JSON, as it is or in a zstd frame, of [`BATCH_MOST`] bytes at most. A newer home may say more
/// than is known here: the paths of such fields are added to `ignored`, at most 32.
///
/// # Errors
/// [`ReplicaError::TooLarge`], [`ReplicaError::Malformed`].
pub fn decode(bytes: &[u8], ignored: &mut Vec<String>) -> Result<Batch, ReplicaError> {
    let plain;
    let json = match bytes.starts_with(&FRAME) {
        true => {
            plain = unpacked(bytes)?;
            &plain[..]
        }
        false => bytes,
    };
    if json.len() > BATCH_MOST {
        return Err(ReplicaError::TooLarge { most: BATCH_MOST });
    }
    let malformed = |e: serde_json::Error| ReplicaError::Malformed(e.to_string());
    let mut reader = serde_json::Deserializer::from_slice(json);
    let mut note = |path: serde_ignored::Path<'_>| {
        if ignored.len() < IGNORED_MOST {
            ignored.push(path.to_string());
        }
    };
    let batch: Batch = serde_ignored::deserialize(&mut reader, &mut note)
        .and_then(|batch| reader.end().map(|()| batch))
        .map_err(malformed)?;
    match batch.version {
        VERSION => Ok(batch),
        other => Err(ReplicaError::Malformed(format!(
            "it has version {other}; this program supports {VERSION}"
        ))),
    }
}

/// A frame may say anything of its size: no more is unpacked than may be there.
fn unpacked(bytes: &[u8]) -> Result<Vec<u8>, ReplicaError> {
    let malformed = |e: std::io::Error| ReplicaError::Malformed(format!("zstd: {e}"));
    let mut decoder = zstd::stream::Decoder::new(bytes).map_err(malformed)?;
    decoder.window_log_max(24).map_err(malformed)?;
    let mut plain = Vec::new();
    let most = u64::try_from(BATCH_MOST).unwrap_or(u64::MAX) + 1;
    decoder
        .take(most)
        .read_to_end(&mut plain)
        .map_err(malformed)?;
    Ok(plain)
}

/// Refuses a text that is too long, or that holds what no name holds.
pub(super) fn word(document: &DocumentName, field: &str, text: &str) -> Result<(), ReplicaError> {
    let rule = match text {
        t if t.len() > WORD_MOST => format!("{field} is longer than {WORD_MOST} bytes"),
        t if t.contains('\0') => format!("{field} contains a zero byte"),
        _ => return Ok(()),
    };
    Err(refuse(document.clone(), rule))
}

/// Refuses a name that has to stay as it is, since a digest covers it, and holds a secret.
pub(super) fn open_name(
    redactor: &Redactor,
    document: &DocumentName,
    field: &str,
    text: &str,
) -> Result<(), ReplicaError> {
    word(document, field, text)?;
    match redactor.redact_cow(text) {
        Cow::Borrowed(_) => Ok(()),
        Cow::Owned(_) => Err(refuse(
            document.clone(),
            format!("{field} contains a secret"),
        )),
    }
}

/// Refuses a list that is too long.
pub(super) fn list(document: &DocumentName, field: &str, count: usize) -> Result<(), ReplicaError> {
    match count > LIST_MOST {
        true => Err(refuse(
            document.clone(),
            format!("{field} has more than {LIST_MOST} items"),
        )),
        false => Ok(()),
    }
}
