//! Receipts: proof that a contiguous range of a session's log is sealed, chained to the one before.
//!
//! What is sealed is the header of each entry and a salted digest of its payload, so that a payload
//! can be forgotten and the chain still verifies.

use serde::{Deserialize, Serialize};

use crate::digest::Hasher;
use crate::id::{SessionId, TurnId};
use crate::time::Timestamp;

/// The digest of a chain that has no receipt yet.
pub const GENESIS: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// One entry of a session's log as a receipt sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedEntry {
    /// Its place in the log, from 1, without holes.
    pub sequence: u64,
    /// Source, key and event of the observation.
    pub header: String,
    /// The salted digest of its payload, in hex.
    pub payload: String,
}

/// Proof that entries `first ..= last` are sealed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    pub session: SessionId,
    /// The number of the receipt in its session, from 1.
    pub number: u64,
    /// The first sealed sequence.
    pub first: u64,
    /// The last sealed sequence.
    pub last: u64,
    /// The turns that entries of this range belong to.
    pub turns: Vec<TurnId>,
    /// The digest of the receipt before, or [`GENESIS`].
    pub previous: String,
    /// The digest of this one, in hex.
    pub digest: String,
    /// When it was sealed.
    pub at: Timestamp,
}

/// The digest of a payload, salted so that a short payload cannot be guessed from it.
#[must_use]
pub fn payload_digest(salt: &[u8; 32], payload: &[u8]) -> String {
    let mut hasher = Hasher::keyed(salt);
    hasher.update(payload);
    hasher.hex()
}

/// Seals `entries`, which follow without a hole, behind the receipt before.
#[must_use]
pub fn seal(
    session: SessionId,
    before: Option<&Receipt>,
    entries: &[SealedEntry],
    turns: Vec<TurnId>,
    at: Timestamp,
) -> Option<Receipt> {
    let (first, last) = (entries.first()?.sequence, entries.last()?.sequence);
    let number = before.map_or(1, |r| r.number + 1);
    let previous = before.map_or_else(|| GENESIS.to_owned(), |r| r.digest.clone());
    let digest = digest(session, number, &previous, entries, &turns);
    Some(Receipt {
        session,
        number,
        first,
        last,
        turns,
        previous,
        digest,
        at,
    })
}

/// Tells whether `receipt` is what sealing `entries` behind `previous` gives.
#[must_use]
pub fn verifies(receipt: &Receipt, previous: &str, entries: &[SealedEntry]) -> bool {
    let mut verifying = Verifying::new(receipt, previous);
    entries.iter().for_each(|entry| verifying.entry(entry));
    verifying.holds()
}

/// [`verifies`], entry by entry: for logs that are longer than memory should be.
#[derive(Debug)]
pub struct Verifying<'a> {
    receipt: &'a Receipt,
    follows: bool,
    next: u64,
    digest: Digest,
}

impl<'a> Verifying<'a> {
    /// Begins to check `receipt`, which should stand behind `previous`.
    #[must_use]
    pub fn new(receipt: &'a Receipt, previous: &str) -> Self {
        Self {
            receipt,
            follows: receipt.previous == previous,
            next: receipt.first,
            digest: Digest::new(receipt.session, receipt.number, previous, &receipt.turns),
        }
    }

    /// The next entry of the log.
    pub fn entry(&mut self, entry: &SealedEntry) {
        self.follows &= entry.sequence == self.next;
        self.next = entry.sequence.saturating_add(1);
        self.digest.entry(entry);
    }

    /// Tells whether the receipt is what sealing these entries gives.
    #[must_use]
    pub fn holds(self) -> bool {
        let Self {
            receipt,
            follows,
            next,
            digest,
        } = self;
        let some = receipt.first <= receipt.last;
        some && follows
            && next == receipt.last.saturating_add(1)
            && receipt.digest == digest.finish()
    }
}

fn digest(
    session: SessionId,
    number: u64,
    previous: &str,
    entries: &[SealedEntry],
    turns: &[TurnId],
) -> String {
    let mut digest = Digest::new(session, number, previous, turns);
    entries.iter().for_each(|entry| digest.entry(entry));
    digest.finish()
}

/// What the digest of a receipt is made of, in order.
#[derive(Debug)]
struct Digest(Hasher);

impl Digest {
    fn new(session: SessionId, number: u64, previous: &str, turns: &[TurnId]) -> Self {
        let mut digest = Self(Hasher::new());
        digest.field(b"siglum receipt 1");
        digest.field(session.uuid().as_bytes());
        digest.field(&number.to_le_bytes());
        digest.field(previous.as_bytes());
        for turn in turns {
            digest.field(turn.uuid().as_bytes());
        }
        digest
    }

    fn entry(&mut self, entry: &SealedEntry) {
        self.field(&entry.sequence.to_le_bytes());
        self.field(entry.header.as_bytes());
        self.field(entry.payload.as_bytes());
    }

    fn finish(&self) -> String {
        self.0.hex()
    }

    fn field(&mut self, bytes: &[u8]) {
        self.0.field(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(range: std::ops::RangeInclusive<u64>) -> Vec<SealedEntry> {
        range
            .map(|sequence| SealedEntry {
                sequence,
                header: format!("h{sequence}"),
                payload: "p".into(),
            })
            .collect()
    }

    fn session() -> SessionId {
        SessionId::from_uuid(uuid::Uuid::from_u128(1))
    }

    #[test]
    fn a_chain_verifies_and_any_change_breaks_it() {
        let first = seal(
            session(),
            None,
            &entries(1..=3),
            vec![],
            Timestamp::default(),
        )
        .unwrap();
        let second = seal(
            session(),
            Some(&first),
            &entries(4..=5),
            vec![],
            Timestamp::default(),
        )
        .unwrap();
        assert!(verifies(&first, GENESIS, &entries(1..=3)));
        assert!(verifies(&second, &first.digest, &entries(4..=5)));
        assert!(!verifies(&second, GENESIS, &entries(4..=5)));
        let mut changed = entries(4..=5);
        changed[1].payload = "q".into();
        assert!(!verifies(&second, &first.digest, &changed));
        let mut holed = entries(4..=5);
        holed[0].sequence = 3;
        assert!(!verifies(&second, &first.digest, &holed));
    }

    #[test]
    fn nothing_is_not_sealed() {
        assert_eq!(
            seal(session(), None, &[], vec![], Timestamp::default()),
            None
        );
    }

    #[test]
    fn the_salt_hides_the_payload() {
        assert_ne!(
            payload_digest(&[0; 32], b"yes"),
            payload_digest(&[1; 32], b"yes")
        );
    }
}
