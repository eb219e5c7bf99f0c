//! An entry as stores hold it: its payload packed, with a salted digest.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use siglum_domain::commit::CommitFacts;
use siglum_domain::fold::Entry;
use siglum_domain::observation::{Observation, Source};
use siglum_domain::receipt::{SealedEntry, payload_digest};
use siglum_domain::redact::Redactor;
use siglum_domain::{ObservationId, Timestamp, TurnId};
use zstd::bulk::Compressor;

use crate::{FileAuthors, LedgerError, NewEntry};

type Result<T> = std::result::Result<T, LedgerError>;

/// Payloads above this size are compressed; below, zstd's frame costs more than it saves.
const COMPRESS_ABOVE: usize = 1024;

/// How hard zstd tries.
const LEVEL: i32 = 3;

thread_local! {
    /// Kept, since the room that zstd works in takes longer to make than most payloads to pack.
    static PACKER: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
}

/// Packs a payload: `{…` is JSON, anything else a zstd frame.
pub(crate) fn pack(payload: &str) -> Vec<u8> {
    if payload.len() <= COMPRESS_ABOVE {
        return payload.as_bytes().to_vec();
    }
    compress(payload.as_bytes())
}

/// Compresses into a zstd frame.
pub(crate) fn compress(bytes: &[u8]) -> Vec<u8> {
    PACKER.with_borrow_mut(|packer| {
        let packer = packer.get_or_insert_with(|| {
            Compressor::new(LEVEL).expect("because zstd knows its own levels")
        });
        let packed = packer.compress(bytes);
        packed.expect("because compressing into memory cannot fail")
    })
}

pub(crate) fn unpack(stored: &[u8]) -> Result<String> {
    let bytes = if stored.first() == Some(&b'{') {
        stored.to_vec()
    } else {
        zstd::stream::decode_all(stored)
            .map_err(|e| LedgerError::Damaged(format!("payload: {e}")))?
    };
    String::from_utf8(bytes).map_err(|e| LedgerError::Damaged(format!("payload: {e}")))
}

/// An entry on its way into a store, or waiting in an open turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRow {
    pub id: ObservationId,
    pub source: Source,
    /// What its source calls it.
    pub key: String,
    pub event: String,
    pub subagent: Option<String>,
    /// The word for its kind of fact.
    pub kind: String,
    /// When it happened.
    pub at: Timestamp,
    /// When the ledger took it.
    pub recorded_at: Timestamp,
    /// The salt of its payload's digest.
    pub salt: [u8; 32],
    /// The salted digest of its payload, in hex.
    pub digest: String,
    /// Its payload, packed.
    pub payload: Vec<u8>,
}

impl LogRow {
    /// An observation as a row.
    #[must_use]
    pub fn from_entry(entry: &NewEntry<'_>) -> Self {
        Self::with_payload(entry, &json(&entry.observation.fact))
    }

    /// An observation as a row, whose fact is there in JSON already.
    #[must_use]
    pub fn with_payload(entry: &NewEntry<'_>, payload: &str) -> Self {
        let o = entry.observation;
        Self {
            id: entry.id,
            source: o.source,
            key: o.key.clone(),
            event: o.event.clone(),
            subagent: o.subagent.clone(),
            kind: o.fact.kind().to_owned(),
            at: o.at,
            recorded_at: entry.recorded_at,
            salt: entry.salt,
            digest: payload_digest(&entry.salt, payload.as_bytes()),
            payload: pack(payload),
        }
    }

    /// The row as a receipt sees it at a place of the log.
    #[must_use]
    pub fn sealed(&self, sequence: u64) -> SealedEntry {
        SealedEntry {
            sequence,
            header: header(self.source.as_str(), &self.key, &self.event),
            payload: self.digest.clone(),
        }
    }

    /// The payload as it was given, in JSON.
    ///
    /// # Errors
    /// [`LedgerError::Damaged`] where it is not what was stored.
    pub fn fact(&self) -> Result<String> {
        unpack(&self.payload)
    }

    /// The row as an entry of the log.
    ///
    /// # Errors
    /// [`LedgerError::Damaged`] where its payload is not what was stored.
    pub fn entry(&self, sequence: u64, turn: TurnId) -> Result<Entry> {
        Ok(Entry {
            id: self.id,
            sequence,
            turn: Some(turn),
            recorded_at: self.recorded_at,
            observation: Observation {
                source: self.source,
                key: self.key.clone(),
                event: self.event.clone(),
                at: self.at,
                turn: None,
                subagent: self.subagent.clone(),
                fact: from_json("fact", &self.fact()?)?,
            },
        })
    }
}

/// What a receipt covers of an entry beside its payload.
pub(crate) fn header(source: &str, key: &str, event: &str) -> String {
    format!("{source}\n{key}\n{event}")
}

/// A record as JSON.
pub(crate) fn json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).expect("because stored forms have text keys and no failing parts")
}

/// What git says of a commit as JSON, as it is stored.
pub(crate) fn facts_json(facts: &CommitFacts) -> String {
    json(&stored_facts(facts))
}

/// What git says of a commit as it is stored: people chose the names, the subject and the paths in it, so secrets go.
#[must_use]
pub fn stored_facts(facts: &CommitFacts) -> CommitFacts {
    let mut stored = facts.clone();
    for text in [&mut stored.author, &mut stored.subject] {
        *text = stored_name(text).into_owned();
    }
    for change in &mut stored.changes {
        if let Cow::Owned(path) = stored_name(&change.path) {
            change.path = path;
        }
    }
    stored
}

/// What git or a tool calls something, such as a path, as it is stored: without secrets. Whoever looks for it by its
/// own name finds it by this one.
#[must_use]
pub fn stored_name(name: &str) -> Cow<'_, str> {
    Redactor::shared().redact_cow(name)
}

/// The files of a commit as they are stored. Of those that only a secret in their names told apart nobody can say any
/// more which is which, so nothing is said of their lines.
pub(crate) fn stored_files(files: &[FileAuthors]) -> Vec<FileAuthors> {
    let mut stored: BTreeMap<Cow<'_, str>, Option<&FileAuthors>> = BTreeMap::new();
    for file in files {
        let alone = stored.entry(stored_name(&file.path));
        alone.and_modify(|of| *of = None).or_insert(Some(file));
    }
    let one = |(path, file): (Cow<'_, str>, Option<&FileAuthors>)| FileAuthors {
        path: path.into_owned(),
        spans: file.map(|f| f.spans.clone()).unwrap_or_default(),
    };
    stored.into_iter().map(one).collect()
}

/// A record from JSON.
pub(crate) fn from_json<T: DeserializeOwned>(what: &str, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|e| LedgerError::Damaged(format!("{what}: {e}")))
}

/// A word that an enum has in JSON, without quotes.
pub(crate) fn word<T: Serialize>(value: &T) -> String {
    json(value).trim_matches('"').to_owned()
}

/// The enum of a word.
pub(crate) fn from_word<T: DeserializeOwned>(what: &str, text: &str) -> Result<T> {
    from_json(what, &format!("\"{text}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_survive_packing() {
        for text in [
            "{}".to_owned(),
            format!("{{\"a\":\"{}\"}}", "x".repeat(5000)),
        ] {
            assert_eq!(unpack(&pack(&text)).unwrap(), text);
        }
        assert!(unpack(b"nonsense").is_err());
    }
}
