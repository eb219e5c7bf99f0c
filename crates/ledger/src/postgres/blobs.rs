//! Payloads in a blob store: moved there when they are no longer new, fetched when they are read, and deleted after what
//! they belong to was erased.
//!
//! The database alone says what there is. A row tells which blob is about to be put, before it is; then a transaction puts
//! the reference to the blob in the place of the payload, unless that changed meanwhile. What erases a payload frees its
//! blob in the same transaction. So whoever dies on the way leaves a row by which others find the bytes. No name is used
//! for two blobs, so that nobody who is late deletes what somebody else has put.

use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

use blake3::Hash;
use siglum_domain::{LedgerId, SessionId, Timestamp};

use super::blob_store::{BlobError, BlobSettings};
use super::columns::{Col, count, get, int, raw};
use super::open::PostgresLedger;
use super::tx::{Tx, Value};
use crate::integrity::Read;
use crate::{BlobWork, Durability, Ledger as _, LedgerError};

type Result<T> = std::result::Result<T, LedgerError>;

/// A payload as it was packed, where there is one and it is not damaged.
type Fetched = Option<Read<Vec<u8>>>;

/// How many payloads are moved at a time. Each has 16 MiB at most, and all of them are in memory.
const MOVED: i64 = 8;
/// How many blobs are deleted at a time.
const DELETED: i64 = 256;
/// How many blobs a check looks at.
const CHECKED: i64 = 20;
/// How long another gateway has for what it began to move.
const CLAIM: Duration = Duration::from_secs(60);
/// A blob that nobody refers to for so long after it was put goes: whoever put it has died.
const GRACE: Duration = Duration::from_secs(60 * 60);

/// Frees all blobs of a session. Payloads go before, in the same transaction: whoever is about to replace one by a
/// reference has done it by then, or finds that it has changed.
pub(super) const FREE_BLOBS: &str =
    "UPDATE blobs SET held = false, at = 0 WHERE tenant = $1 AND session = $2 AND held";
const FREE_BLOB: &str = "UPDATE blobs SET held = false, at = 0 WHERE tenant = $1 AND session = $2 AND sequence = $3 AND held";

/// Payloads that are large, no longer new, and that nobody is about to move. The first two conditions are those of an index.
const LARGE: &str = "SELECT o.position, o.session, o.sequence, o.payload FROM observations o WHERE o.tenant = $1 \
     AND octet_length(o.payload) > 4096 AND o.kind <> 'file_seen' AND o.recorded_at < $2 \
     AND NOT EXISTS (SELECT 1 FROM blobs b WHERE b.tenant = $1 AND b.session = o.session AND b.sequence = o.sequence \
     AND NOT b.held AND b.at > $3) ORDER BY o.recorded_at LIMIT $4";
/// Takes up what was begun before: the same bytes may be under that name.
const CLAIM_AGAIN: &str = "UPDATE blobs SET at = $5 WHERE tenant = $1 AND session = $2 AND sequence = $3 AND digest = $4 \
     AND NOT held AND at > 0 RETURNING number";
const CLAIM_NEW: &str = "INSERT INTO blobs (tenant, session, sequence, digest, bytes, held, at) VALUES ($1, $2, $3, $4, $5, false, $6) \
     RETURNING number";
const HOLD: &str =
    "UPDATE blobs SET held = true WHERE tenant = $1 AND number = $2 AND NOT held AND at > 0";
const REPLACE: &str =
    "UPDATE observations SET payload = $3 WHERE tenant = $1 AND position = $2 AND payload = $4";
const LET_GO: &str = "UPDATE blobs SET held = false, at = 0 WHERE tenant = $1 AND number = $2";
/// Nobody will ever hold it: whoever puts it now comes late.
const IS_OVER: &str = "SELECT NOT EXISTS (SELECT 1 FROM blobs WHERE tenant = $1 AND number = $2 AND (held OR at > 0))";
/// From now on nobody holds one of these any more. The time is looked at twice, since somebody may just have taken one up.
const DUE: &str = "UPDATE blobs SET at = 0 WHERE tenant = $1 AND NOT held AND at < $2 AND number IN \
     (SELECT number FROM blobs WHERE tenant = $1 AND NOT held AND at < $2 ORDER BY at LIMIT $3) RETURNING number, digest";
const GONE: &str = "DELETE FROM blobs WHERE tenant = $1 AND number = ANY($2) AND NOT held";

/// What stands in the place of a payload that is in the blob store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Reference {
    number: u64,
    digest: Hash,
    bytes: u64,
}

impl Reference {
    /// A payload is JSON or a frame of zstd, and begins with neither.
    fn parse(payload: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(payload.strip_prefix(b"@")?).ok()?;
        let mut words = text.split(' ');
        let reference = Self {
            number: words.next()?.parse().ok()?,
            digest: Hash::from_hex(words.next()?).ok()?,
            bytes: words.next()?.parse().ok()?,
        };
        words.next().is_none().then_some(reference)
    }

    fn payload(&self) -> Vec<u8> {
        format!("@{} {} {}", self.number, self.digest, self.bytes).into_bytes()
    }

    /// What is wrong with bytes that the blob store gave for it.
    fn check(&self, bytes: &[u8]) -> std::result::Result<(), String> {
        match bytes.len() as u64 == self.bytes && blake3::hash(bytes) == self.digest {
            true => Ok(()),
            false => Err(format!(
                "blob {} in the blob store is damaged: it is not what its digest says",
                self.number
            )),
        }
    }
}

/// What a blob is called in the blob store.
fn name(ledger: LedgerId, number: u64, digest: &Hash) -> String {
    format!("{}/{number}-{digest}", ledger.uuid().simple())
}

/// A payload that is to be moved.
struct Large {
    position: u64,
    session: SessionId,
    sequence: u64,
    payload: Vec<u8>,
}

impl Large {
    /// Notes which blob it is about to be, which may be that of a try before.
    fn claim(&self, tx: &mut Tx<'_>, at: Timestamp) -> Result<Reference> {
        let digest = blake3::hash(&self.payload);
        let (stored, bytes) = (digest.as_bytes().as_slice(), self.payload.len() as u64);
        let (session, sequence, size) = (Col(self.session), int(self.sequence), int(bytes));
        let again: [Value<'_>; 4] = [&session, &sequence, &stored, &Col(at)];
        let number = match tx.row(CLAIM_AGAIN, &again, |row| count(row, 0))? {
            Some(number) => number,
            None => {
                let new: [Value<'_>; 5] = [&session, &sequence, &stored, &size, &Col(at)];
                tx.one(CLAIM_NEW, &new, |row| count(row, 0))?
            }
        };
        Ok(Reference {
            number,
            digest,
            bytes,
        })
    }

    /// Puts the reference in its place; `false` where it changed meanwhile, or its blob was taken for one that nobody needs.
    fn replace(&self, tx: &mut Tx<'_>, reference: &Reference) -> Result<bool> {
        let number = int(reference.number);
        if tx.run(HOLD, &[&number])? == 0 {
            return Ok(false);
        }
        let of: [Value<'_>; 3] = [&int(self.position), &reference.payload(), &self.payload];
        let is_replaced = tx.run(REPLACE, &of)? > 0;
        if !is_replaced {
            tx.run(LET_GO, &[&number])?;
        }
        Ok(is_replaced)
    }
}

impl Tx<'_> {
    /// Payloads as they were packed: those that are in the blob store are fetched. What is wrong with one is told of it alone.
    ///
    /// # Errors
    /// The blob store does not give them: nothing can be said of any.
    pub(super) fn fetched(&self, payloads: Vec<Option<Vec<u8>>>) -> Result<Vec<Fetched>> {
        let reference = |p: &Option<Vec<u8>>| p.as_deref().and_then(Reference::parse);
        let references: Vec<Option<Reference>> = payloads.iter().map(reference).collect();
        let names: Vec<String> = references
            .iter()
            .flatten()
            .map(|r| name(self.ledger, r.number, &r.digest))
            .collect();
        let mut blobs = match (names.is_empty(), self.blobs) {
            (true, _) => Vec::new(),
            (false, Some(blobs)) => blobs.store.get(&names),
            (false, None) => return Err(unconfigured()),
        }
        .into_iter();
        let mut all = Vec::with_capacity(payloads.len());
        for (payload, reference) in payloads.into_iter().zip(references) {
            all.push(match reference {
                None => payload.map(Ok),
                Some(reference) => Some(checked(&reference, blobs.next())?),
            });
        }
        Ok(all)
    }

    /// Frees the blob of an entry, whose payload went before in the same transaction.
    pub(super) fn free_blob(&mut self, session: SessionId, sequence: u64) -> Result<()> {
        self.run(FREE_BLOB, &[&Col(session), &int(sequence)])
            .map(drop)
    }
}

/// What a blob store gave, if it is what was put there.
fn checked(
    reference: &Reference,
    got: Option<std::result::Result<Vec<u8>, BlobError>>,
) -> Result<Read<Vec<u8>>> {
    match got {
        Some(Ok(bytes)) => Ok(reference.check(&bytes).map(|()| bytes)),
        None | Some(Err(BlobError::Missing)) => Ok(Err(format!(
            "blob {} is not in the blob store",
            reference.number
        ))),
        Some(Err(error)) => Err(refused(error)),
    }
}

fn refused(error: BlobError) -> LedgerError {
    LedgerError::Unreachable(Box::new(error))
}

fn unconfigured() -> LedgerError {
    let what = "large payloads of this store are in a blob store, and SIGLUM_BLOBS names none";
    LedgerError::Unreachable(what.into())
}

/// Writes, with a result.
fn written<T>(
    ledger: &mut PostgresLedger,
    mut work: impl FnMut(&mut Tx<'_>) -> Result<T>,
) -> Result<T> {
    let mut result = None;
    ledger.run_again(Durability::Disk, &mut |tx| {
        result = Some(work(tx)?);
        Ok(())
    })?;
    Ok(result.expect("because a transaction that succeeds has run its work"))
}

/// So long before a time.
fn before(at: Timestamp, by: Duration) -> Timestamp {
    let millis = i64::try_from(by.as_millis()).unwrap_or(i64::MAX);
    at.plus_millis(millis.saturating_neg())
}

impl PostgresLedger {
    /// See [`crate::Ledger::keep_blobs`]. What cannot be deleted does not hold up what can be moved.
    pub(super) fn tend_blobs(&mut self, at: Timestamp) -> Result<BlobWork> {
        let Some(blobs) = self.blobs() else {
            return Ok(BlobWork::default());
        };
        let deleted = delete_due(self, &blobs, before(at, GRACE));
        let moved = move_large(self, &blobs, at)?;
        Ok(BlobWork {
            moved,
            deleted: deleted?,
        })
    }

    /// Deletes the blobs of all that was erased.
    ///
    /// # Errors
    /// Those of the blob store: the gateways go on later.
    pub(super) fn delete_freed_blobs(&mut self) -> Result<()> {
        let freed = Timestamp::from_nanos(1);
        match self.blobs() {
            Some(blobs) => {
                while delete_due(self, &blobs, freed)? > 0 {}
                Ok(())
            }
            None => {
                let sql = "SELECT EXISTS (SELECT 1 FROM blobs WHERE tenant = $1 AND NOT held AND at < $2)";
                let mut is_due = false;
                self.run_once(&mut |tx| {
                    is_due = tx.one(sql, &[&Col(freed)], |row| raw(row, 0))?;
                    Ok(())
                })?;
                match is_due {
                    true => Err(unconfigured()),
                    false => Ok(()),
                }
            }
        }
    }

    /// What is wrong with the blobs that were put last, in words.
    pub(super) fn blob_problems(&mut self) -> Result<Vec<String>> {
        // Few are not held. To leave them out here would be to pass over rows.
        let sql = "SELECT number, digest, bytes, session, sequence, held FROM blobs WHERE tenant = $1 \
             ORDER BY number DESC LIMIT $2";
        let mut found = Vec::new();
        self.run_once(&mut |tx| {
            found = tx.rows(sql, &[&CHECKED], |row| {
                let reference = Reference {
                    number: count(row, 0)?,
                    digest: digest(raw(row, 1)?)?,
                    bytes: count(row, 2)?,
                };
                let entry: (SessionId, u64) = (get(row, 3)?, count(row, 4)?);
                Ok(raw::<bool>(row, 5)?.then_some((reference, entry)))
            })?;
            Ok(())
        })?;
        let found: Vec<_> = found.into_iter().flatten().collect();
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let Some(blobs) = self.blobs() else {
            return Ok(vec![cause(&unconfigured())]);
        };
        let id = self.id();
        let names = found.iter().map(|(r, _)| name(id, r.number, &r.digest));
        let got = blobs.store.get(&names.collect::<Vec<_>>());
        let mut wrong = Vec::new();
        for ((reference, (session, sequence)), got) in found.iter().zip(got) {
            match checked(reference, Some(got)) {
                Ok(Ok(_)) => {}
                Ok(Err(what)) => wrong.push(format!(
                    "the payload of entry {sequence} of {session}: {what}"
                )),
                // Of the others nothing else can be said.
                Err(error) => {
                    wrong.push(cause(&error));
                    break;
                }
            }
        }
        Ok(wrong)
    }
}

/// Deletes some blobs that nobody refers to since before a time; gives how many there were. One that the blob store does
/// not delete holds up no other.
fn delete_due(ledger: &mut PostgresLedger, blobs: &BlobSettings, since: Timestamp) -> Result<u64> {
    let due = written(ledger, |tx| {
        tx.rows(DUE, &[&Col(since), &DELETED], |row| {
            Ok((count(row, 0)?, digest(raw(row, 1)?)?))
        })
    })?;
    if due.is_empty() {
        return Ok(0);
    }
    let id = ledger.id();
    let (mut numbers, mut failed) = (Vec::with_capacity(due.len()), None);
    for (number, digest) in &due {
        match blobs.store.delete(&name(id, *number, digest)) {
            Ok(()) => numbers.push(int(*number)),
            Err(error) => {
                let is_away = matches!(error, BlobError::Unreachable(_));
                failed = Some(error);
                if is_away {
                    break;
                }
            }
        }
    }
    if !numbers.is_empty() {
        written(ledger, |tx| tx.run(GONE, &[&numbers]))?;
    }
    match failed {
        Some(error) => Err(refused(error)),
        None => Ok(due.len() as u64),
    }
}

fn digest(stored: &[u8]) -> Result<Hash> {
    let bytes: std::result::Result<[u8; 32], _> = stored.try_into();
    let wrong = |_| LedgerError::Damaged("the digest of a blob has not 32 bytes".to_owned());
    bytes.map(Hash::from).map_err(wrong)
}

/// Moves some payloads that are large and no longer new; gives how many.
fn move_large(ledger: &mut PostgresLedger, blobs: &BlobSettings, at: Timestamp) -> Result<u64> {
    let (recorded, claimed) = (before(at, blobs.after), before(at, CLAIM));
    let claims = written(ledger, |tx| {
        let of: [Value<'_>; 3] = [&Col(recorded), &Col(claimed), &MOVED];
        let found = tx.rows(LARGE, &of, |row| {
            Ok(Large {
                position: count(row, 0)?,
                session: get(row, 1)?,
                sequence: count(row, 2)?,
                payload: raw(row, 3)?,
            })
        })?;
        let mut claims = Vec::with_capacity(found.len());
        for large in found {
            let reference = large.claim(tx, at)?;
            claims.push((large, reference));
        }
        Ok(claims)
    })?;
    if claims.is_empty() {
        return Ok(0);
    }
    let id = ledger.id();
    let puts = put_all(id, blobs, &claims);
    let (moved, late) = written(ledger, |tx| {
        let (mut moved, mut late) = (0, Vec::new());
        for ((large, reference), put) in claims.iter().zip(&puts) {
            if put.is_ok() && large.replace(tx, reference)? {
                moved += 1;
            } else if tx.one(IS_OVER, &[&int(reference.number)], |row| raw(row, 0))? {
                late.push(*reference);
            }
        }
        Ok((moved, late))
    })?;
    // Others may have deleted it before it was put, and then nothing names it any more.
    for reference in late {
        let deleted = blobs
            .store
            .delete(&name(id, reference.number, &reference.digest));
        deleted.map_err(refused)?;
    }
    match puts.into_iter().find_map(std::result::Result::err) {
        Some(error) => Err(refused(error)),
        None => Ok(moved),
    }
}

/// Puts payloads, all at once: whoever puts one mostly waits.
fn put_all(
    id: LedgerId,
    blobs: &BlobSettings,
    claims: &[(Large, Reference)],
) -> Vec<std::result::Result<(), BlobError>> {
    thread::scope(|scope| {
        let put = |(large, reference): &(Large, Reference)| {
            let name = name(id, reference.number, &reference.digest);
            blobs.store.put(&name, &large.payload)
        };
        let puts: Vec<_> = claims
            .iter()
            .map(|claim| scope.spawn(move || put(claim)))
            .collect();
        let joined = puts.into_iter().map(|put| match put.join() {
            Ok(done) => done,
            Err(panic) => resume_unwind(panic),
        });
        joined.collect()
    })
}

/// Why the blob store is of no use, without the words that are the same for each store.
fn cause(error: &LedgerError) -> String {
    let source = std::error::Error::source(error);
    source.map_or_else(|| error.to_string(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_read_as_it_was_written_and_no_payload_is_one() {
        let reference = Reference {
            number: 17,
            digest: blake3::hash(b"x"),
            bytes: 5000,
        };
        assert_eq!(Reference::parse(&reference.payload()), Some(reference));
        let text = String::from_utf8(reference.payload()).unwrap();
        for other in [
            "",
            "@",
            "@17",
            "{}",
            &text[1..],
            &format!("{text} 1"),
            &text.replace("@17", "@x"),
            &text.replace(' ', "  "),
        ] {
            assert_eq!(Reference::parse(other.as_bytes()), None, "{other}");
        }
        let compressed = crate::row::pack(&format!("{{\"a\":\"{}\"}}", "@1 ".repeat(5000)));
        assert_eq!(Reference::parse(&compressed), None);
    }

    #[test]
    fn other_bytes_than_were_put_are_damage() {
        let reference = Reference {
            number: 1,
            digest: blake3::hash(b"abc"),
            bytes: 3,
        };
        assert_eq!(reference.check(b"abc"), Ok(()));
        for other in ["ab", "abd", "abcd", ""] {
            assert!(reference.check(other.as_bytes()).is_err(), "{other}");
        }
    }
}
