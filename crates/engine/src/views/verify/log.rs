//! The log of a session and its receipts, in one walk.

use std::collections::VecDeque;

use siglum_domain::receipt::{GENESIS, Receipt, Verifying, payload_digest};
use siglum_domain::{SessionId, Timestamp};
use siglum_ledger::{Ledger, LedgerError, Stored, StoredEntry, StoredSession, Verified, read};

use super::RESTORE;
use super::report::Report;

/// How many entries are read at a time, and how many receipts.
const PAGE: usize = 64;

/// Where a chain has come to.
pub(super) struct End {
    /// The number of its last receipt.
    pub(super) number: u64,
    /// The last entry under it.
    pub(super) last: u64,
    /// Unknown behind a receipt that cannot be read.
    pub(super) digest: Option<String>,
}

impl End {
    /// Before the first receipt.
    fn genesis() -> Self {
        Self {
            number: 0,
            last: 0,
            digest: Some(GENESIS.to_owned()),
        }
    }

    /// Where a log was verified up to.
    fn verified(verified: &Verified) -> Self {
        Self {
            number: verified.receipt,
            last: verified.sequence,
            digest: Some(verified.digest.clone()),
        }
    }
}

/// What a session said of its log when the walk began. What comes later is not looked at.
struct Marks {
    head: u64,
    sealed: u64,
}

/// Walks through the log of a session, from where it was `verified` up to, or from its beginning.
pub(super) fn log(
    ledger: &mut dyn Ledger,
    stored: &StoredSession,
    verified: Option<&Verified>,
    report: &mut Report,
) -> Result<End, LedgerError> {
    let marks = match &stored.record {
        Ok(_) => marks(ledger, stored.id, report)?,
        Err(_) => None,
    };
    let start = verified.map_or_else(End::genesis, End::verified);
    let mut walk = Walk {
        ledger,
        report,
        session: stored.id,
        page: VecDeque::new(),
        read_to: start.last,
        next: start.last + 1,
        forgotten: None,
        is_replica: false,
    };
    let sealed = marks.as_ref().map_or(u64::MAX, |m| m.sealed);
    let end = walk.chain(start, sealed)?;
    if marks.is_some() && end.last < sealed {
        let what = format!(
            "the session is sealed up to {sealed}, its receipts end at {}",
            end.last
        );
        walk.missing(format!("receipt {}", end.number + 1), what);
    }
    let head = marks.map_or(u64::MAX, |m| m.head);
    walk.entries(head, None)?;
    Ok(end)
}

/// What the record says of the log, compared with its end in the same state of the store.
fn marks(
    ledger: &mut dyn Ledger,
    id: SessionId,
    report: &mut Report,
) -> Result<Option<Marks>, LedgerError> {
    let found = read(ledger, |tx| {
        let Some(record) = tx.session(id)? else {
            return Ok(None);
        };
        let beyond = !tx.stored_entries(id, record.head, 1)?.is_empty();
        let last = tx.last_receipt(id).ok().flatten().map_or(0, |r| r.last);
        Ok(Some((record.head, record.sealed, beyond, last)))
    })?;
    let Some((head, sealed, beyond, last)) = found else {
        return Ok(None);
    };
    if beyond {
        let what = format!("it says that the log ends at {head}, and there are entries behind");
        report.damaged(Some(id), "its record", what, RESTORE);
    }
    if sealed > head || last > sealed {
        let what = format!("it says sealed up to {sealed} of {head}, receipts say {last}");
        report.damaged(Some(id), "its record", what, RESTORE);
    }
    Ok(Some(Marks { head, sealed }))
}

struct Walk<'a> {
    ledger: &'a mut dyn Ledger,
    report: &'a mut Report,
    session: SessionId,
    page: VecDeque<Stored<StoredEntry>>,
    read_to: u64,
    next: u64,
    /// Up to when things were forgotten, as of the last page.
    forgotten: Option<Timestamp>,
    /// Whether the session is at home in another ledger, which may send payloads in parts.
    is_replica: bool,
}

impl Walk<'_> {
    /// Verifies the receipts up to what is sealed, each with the entries under it.
    fn chain(&mut self, start: End, sealed: u64) -> Result<End, LedgerError> {
        let mut end = start;
        while end.last < sealed {
            let (session, after) = (self.session, end.number);
            let page = read(self.ledger, |tx| tx.stored_receipts(session, after, PAGE))?;
            if page.is_empty() {
                break;
            }
            for stored in page {
                if end.last >= sealed {
                    break;
                }
                end = self.link(end, stored)?;
            }
        }
        Ok(end)
    }

    /// Verifies the next receipt.
    fn link(&mut self, before: End, stored: Stored<Receipt>) -> Result<End, LedgerError> {
        self.report.counts.receipts += 1;
        let number = stored.number;
        let mut known = before.digest;
        if number > before.number + 1 {
            self.missing(format!("receipt {}", before.number + 1), "it is not there");
            known = None;
        }
        let place = format!("receipt {number}");
        let receipt = match stored.row {
            Ok(receipt) => receipt,
            Err(what) => {
                self.damaged(place, what);
                return Ok(End {
                    number,
                    last: before.last,
                    digest: None,
                });
            }
        };
        let end = End {
            number,
            last: receipt.last.max(before.last),
            digest: Some(receipt.digest.clone()),
        };
        let follows = match known.is_some() {
            true => receipt.first == before.last + 1,
            false => receipt.first > before.last,
        };
        if !follows || receipt.last < receipt.first {
            let what = format!(
                "{} to {} does not follow {}",
                receipt.first, receipt.last, before.last
            );
            self.damaged(place, what);
            return Ok(End {
                last: before.last,
                ..end
            });
        }
        self.entries(receipt.first - 1, None)?;
        if known.is_some_and(|digest| digest != receipt.previous) {
            self.damaged(place.clone(), "it is not chained to the one before");
        }
        let mut verifying = Verifying::new(&receipt, &receipt.previous);
        let is_whole = self.entries(receipt.last, Some(&mut verifying))?;
        // What is not whole was told, entry by entry.
        if is_whole && !verifying.holds() {
            self.damaged(place, "it does not seal what the log holds");
        }
        Ok(end)
    }

    /// Checks the entries up to one; `false` if one of them is not there or cannot be read.
    fn entries(
        &mut self,
        up_to: u64,
        mut receipt: Option<&mut Verifying<'_>>,
    ) -> Result<bool, LedgerError> {
        let mut is_whole = true;
        while self.next <= up_to {
            let found = self.peek()?.filter(|number| *number <= up_to);
            let Some(number) = found else {
                if up_to < u64::MAX {
                    self.hole(up_to);
                    is_whole = false;
                }
                self.next = up_to.saturating_add(1);
                break;
            };
            if number > self.next {
                self.hole(number - 1);
                is_whole = false;
            }
            self.next = number.saturating_add(1);
            let Some(stored) = self.page.pop_front() else {
                break;
            };
            match stored.row {
                Ok(entry) => {
                    if let Some(receipt) = receipt.as_deref_mut() {
                        receipt.entry(&entry.sealed);
                    }
                    self.entry(number, &entry);
                }
                Err(what) => {
                    self.damaged(format!("entry {number}"), what);
                    is_whole = false;
                }
            }
            if number == u64::MAX {
                break;
            }
        }
        Ok(is_whole)
    }

    /// The number of the next entry that is there.
    fn peek(&mut self) -> Result<Option<u64>, LedgerError> {
        if self.page.is_empty() {
            let (session, after) = (self.session, self.read_to);
            let home = self.ledger.id();
            let (page, forgotten, is_replica) = read(self.ledger, |tx| {
                let record = tx.session(session)?;
                let is_replica = record.as_ref().is_some_and(|s| s.home != home);
                let forgotten = record.and_then(|s| s.forgotten);
                Ok((
                    tx.stored_entries(session, after, PAGE)?,
                    forgotten,
                    is_replica,
                ))
            })?;
            self.read_to = page.last().map_or(u64::MAX, |stored| stored.number);
            self.is_replica = is_replica;
            self.forgotten = forgotten.map(siglum_ledger::Forgotten::at);
            self.page = page.into();
        }
        Ok(self.page.front().map(|stored| stored.number))
    }

    /// Checks the payload of an entry against its digest.
    fn entry(&mut self, number: u64, entry: &StoredEntry) {
        self.report.counts.entries += 1;
        let place = || format!("entry {number} ({})", entry.kind);
        let is_forgotten = self.forgotten.is_some_and(|until| entry.at <= until);
        match (&entry.payload, <[u8; 32]>::try_from(entry.salt.as_slice())) {
            (None, _) if is_forgotten => self.report.counts.forgotten += 1,
            (None, _) => self.missing(place(), "its payload is gone, and nobody had it forgotten"),
            (Some(Err(what)), _) => self.damaged(place(), what.clone()),
            (Some(Ok(json)), Ok(salt)) => {
                if payload_digest(&salt, json.as_bytes()) != entry.sealed.payload {
                    self.damaged(place(), "its payload is not what its digest says");
                } else if let Some(Err(what)) = &entry.entry {
                    self.damaged(place(), what.clone());
                } else {
                    self.report.counts.payloads += 1;
                }
            }
            // Where a text was forgotten, or is not for a replica, the rest of the payload stays without its salt.
            (Some(Ok(_)), Err(_))
                if entry.salt.is_empty() && (self.is_replica || self.forgotten.is_some()) =>
            {
                self.report.counts.forgotten += 1;
            }
            (Some(Ok(_)), Err(_)) => self.damaged(place(), "the salt of its digest is gone"),
        }
    }

    /// The entries from the next one up to this one are not there.
    fn hole(&mut self, last: u64) {
        let place = match last == self.next {
            true => format!("entry {last}"),
            false => format!("entries {} to {last}", self.next),
        };
        self.missing(place, "not there");
    }

    fn missing(&mut self, place: String, what: impl Into<String>) {
        self.report
            .missing(Some(self.session), place, what, RESTORE);
    }

    fn damaged(&mut self, place: String, what: impl Into<String>) {
        self.report
            .damaged(Some(self.session), place, what, RESTORE);
    }
}
