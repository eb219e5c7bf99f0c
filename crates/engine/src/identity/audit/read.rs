//! Listing, verifying and exporting the audit.

use serde_json::Value;
use siglum_domain::audit::wire::Line;
use siglum_domain::audit::{Action, Entry, Flaw, GENESIS, Verifying};
use siglum_domain::{LedgerId, Timestamp};
use siglum_ledger::{AuditFilter, Ledger, LedgerError, Stored, Transaction, read};

/// How many entries are read at a time.
const PAGE: usize = 256;
/// How many flaws are told; all of them are counted.
const FLAWS_MOST: usize = 1_000;

/// What verifying the audit found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    pub entries: u64,
    /// What is wrong, a thousand at most.
    pub flaws: Vec<Flaw>,
    /// How much is wrong.
    pub count: u64,
    /// The digest of the last entry. Whoever keeps it can tell later that nothing before it was changed.
    pub digest: Option<String>,
}

impl Report {
    /// Whether nothing is wrong.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        self.count == 0
    }

    fn add(&mut self, flaws: impl IntoIterator<Item = Flaw>) {
        for flaw in flaws {
            self.count += 1;
            if self.flaws.len() < FLAWS_MOST {
                self.flaws.push(flaw);
            }
        }
    }
}

/// The entries that are meant, newest first.
///
/// # Errors
/// Those of the ledger.
pub fn list(ledger: &mut dyn Ledger, filter: &AuditFilter) -> Result<Vec<Entry>, LedgerError> {
    read(ledger, |tx| tx.audit(filter))
}

/// Up to where a chain was let go: the number and the digest of the last entry that is gone.
type Anchor = Option<(u64, String)>;

/// Up to where the chain was let go, as the newest entry about that tells.
fn anchor(tx: &mut dyn Transaction) -> Result<Anchor, LedgerError> {
    let filter = AuditFilter {
        action: Some(Action::AuditTrimmed.as_str().to_owned()),
        limit: 1,
        ..AuditFilter::default()
    };
    let newest = match tx.audit(&filter) {
        // One that cannot be read is told where the chain is verified.
        Err(LedgerError::Damaged(_)) => None,
        found => found?.pop(),
    };
    Ok(newest.and_then(|entry| {
        let body: Value = serde_json::from_str(entry.body?.text.as_str()).ok()?;
        Some((body["last"].as_u64()?, body["digest"].as_str()?.to_owned()))
    }))
}

fn verifying(ledger: LedgerId, anchor: &Anchor) -> Verifying {
    match anchor {
        Some((number, digest)) => Verifying::after(ledger, *number, digest.clone()),
        None => Verifying::new(ledger),
    }
}

/// Begins to verify the chain of a ledger, where it begins by now.
pub(super) fn begin(tx: &mut dyn Transaction, ledger: LedgerId) -> Result<Verifying, LedgerError> {
    Ok(verifying(ledger, &anchor(tx)?))
}

/// Verifies the whole chain, in pages. What is added meanwhile is not looked at.
///
/// # Errors
/// Those of the store as a whole; what is wrong with an entry is in the report.
pub fn verify(ledger: &mut dyn Ledger) -> Result<Report, LedgerError> {
    loop {
        let before = read(ledger, anchor)?;
        let report = verify_behind(ledger, &before)?;
        // What was let go meanwhile was missed.
        if read(ledger, anchor)? == before {
            return Ok(report);
        }
    }
}

fn verify_behind(ledger: &mut dyn Ledger, anchor: &Anchor) -> Result<Report, LedgerError> {
    let (id, end) = (ledger.id(), read(ledger, |tx| tx.audit_end())?);
    let (mut report, mut verifying) = (Report::default(), verifying(id, anchor));
    let known = end.as_ref().map_or(0, |(number, _)| *number);
    let mut after = 0;
    loop {
        let page = read(ledger, |tx| tx.audit_after(after, PAGE))?;
        let (Some(last), length) = (page.last(), page.len()) else {
            break;
        };
        after = last.number;
        // What stands behind the end as it was is new, or does not belong there.
        let beyond = |s: &Stored<Entry>| s.number > known;
        let grown = page.iter().any(beyond) && is_grown(ledger, after)?;
        for stored in page.iter().filter(|s| !(grown && beyond(s))) {
            report.entries += 1;
            let row = stored.row.as_ref().map_err(String::as_str);
            let flaws = verifying.entry(stored.number, row);
            report.add(flaws);
        }
        if length < PAGE || grown || after == u64::MAX {
            break;
        }
    }
    let (number, digest) = end
        .as_ref()
        .map_or((0, GENESIS), |(number, digest)| (*number, digest));
    let flaw = verifying.end(number, digest);
    report.add(flaw);
    report.digest = end.map(|(_, digest)| digest);
    Ok(report)
}

/// Whether the audit goes up to a number by now.
fn is_grown(ledger: &mut dyn Ledger, number: u64) -> Result<bool, LedgerError> {
    let end = read(ledger, |tx| tx.audit_end())?;
    Ok(end.is_some_and(|(end, _)| end >= number))
}

/// Hands over all entries from a time on, in order, each with all that verifying it takes. Once one is not before
/// that time, all behind it are handed over, so that the run has no gap. Gives how many.
///
/// # Errors
/// Those of the ledger, and of whoever takes them. An entry that cannot be read ends it.
pub fn export<E: From<LedgerError>>(
    ledger: &mut dyn Ledger,
    since: Option<Timestamp>,
    take: &mut dyn FnMut(Line) -> Result<(), E>,
) -> Result<u64, E> {
    let id = ledger.id();
    let (mut after, mut count) = (0, 0);
    loop {
        let page = read(ledger, |tx| tx.audit_after(after, PAGE))?;
        let Some(last) = page.last() else {
            return Ok(count);
        };
        after = last.number;
        for Stored { number, row } in page {
            let entry = row.map_err(|what| {
                LedgerError::Damaged(format!("entry {number} of the audit: {what}"))
            })?;
            if count > 0 || since.is_none_or(|since| entry.header.at >= since) {
                take(Line::from_entry(id, &entry))?;
                count += 1;
            }
        }
    }
}
