//! Entries and turns of a receipt, checked and as they are stored.

use siglum_domain::observation::Fact;
use siglum_domain::receipt::{Receipt, SealedEntry, payload_digest};
use siglum_domain::redact::Redactor;
use siglum_domain::scope::Kinds;
use siglum_ledger::{ReplicaRow, ReplicaTurn};

use super::clean::{self, Cleaned};
use super::error::refuse;
use super::limits::{PAYLOAD_MOST, open_name, word};
use super::wire::{EntryDocument, TurnDocument};
use super::{DocumentName, ReplicaError};

type Result<T, E = ReplicaError> = std::result::Result<T, E>;

/// An entry as its receipt's digest covers it.
pub(super) fn sealed(entry: &EntryDocument) -> SealedEntry {
    SealedEntry {
        sequence: entry.sequence,
        header: format!("{}\n{}\n{}", entry.source.as_str(), entry.key, entry.event),
        payload: entry.digest.clone(),
    }
}

/// The turns of a receipt, and no others.
pub(super) fn turns(
    redactor: &Redactor,
    name: &DocumentName,
    receipt: &Receipt,
    documents: &[TurnDocument],
) -> Result<Vec<ReplicaTurn>> {
    let mut turns = Vec::with_capacity(documents.len());
    for document in documents {
        word(name, "turn", &document.native)?;
        if !receipt.turns.contains(&document.id) {
            let rule = format!("turn {} is not in the receipt", document.id);
            return Err(refuse(name.clone(), rule));
        }
        turns.push(ReplicaTurn {
            id: document.id,
            native: clean::text(redactor, document.native.clone()),
            opened_at: document.opened_at,
            prompt: document.prompt.filter(|p| *p <= receipt.last),
        });
    }
    Ok(turns)
}

/// An entry as it is stored: checked against its digest, and without what the rules of today remove.
pub(super) fn row(
    redactor: &Redactor,
    name: &DocumentName,
    entry: &EntryDocument,
) -> Result<ReplicaRow> {
    for (field, text) in [
        ("key", entry.key.as_str()),
        ("event", &entry.event),
        ("kind", &entry.kind),
        ("subagent", entry.subagent.as_deref().unwrap_or_default()),
    ] {
        open_name(redactor, name, field, text)?;
    }
    let at = entry.sequence;
    let broken = |rule: &str| refuse(name.clone(), format!("entry {at}: {rule}"));
    if bytes(&entry.digest).is_none() {
        return Err(broken("its digest is not 32 bytes in hex"));
    }
    let mut salt = match &entry.salt {
        Some(text) => Some(bytes(text).ok_or_else(|| broken("its salt is not 32 bytes in hex"))?),
        None => None,
    };
    let mut kind = entry.kind.clone();
    let mut fact = None;
    if let Some(text) = &entry.fact {
        if text.len() > PAYLOAD_MOST {
            return Err(broken("its payload is too large"));
        }
        if salt.is_some_and(|salt| payload_digest(&salt, text.as_bytes()) != entry.digest) {
            return Err(broken("its digest does not match its payload"));
        }
        let cleaned = clean::fact(redactor, Kinds::Conversations, text);
        fact = match cleaned {
            Cleaned::Same => Some(text.clone()),
            Cleaned::Changed(ref changed) => Some(changed.clone()),
            Cleaned::Nothing => None,
        };
        if cleaned != Cleaned::Same {
            salt = None;
        }
        let parsed = fact.as_deref().map(serde_json::from_str::<Fact>);
        if let Some(Ok(fact)) = parsed {
            fact.kind().clone_into(&mut kind);
        }
    } else {
        salt = None;
    }
    Ok(ReplicaRow {
        sequence: entry.sequence,
        turn: entry.turn,
        id: entry.id,
        source: entry.source,
        key: entry.key.clone(),
        event: entry.event.clone(),
        subagent: entry.subagent.clone(),
        kind,
        at: entry.at,
        recorded_at: entry.recorded_at,
        salt,
        digest: entry.digest.clone(),
        fact,
    })
}

/// 32 bytes from hex.
fn bytes(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |d: u8| {
            char::from(d)
                .to_digit(16)
                .and_then(|d| u8::try_from(d).ok())
        };
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}
