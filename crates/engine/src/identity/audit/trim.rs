//! Letting go of the beginning of the audit, so that the rest verifies.

use serde_json::json;
use siglum_domain::Timestamp;
use siglum_domain::audit::Action;
use siglum_ledger::{Durability, Ledger, LedgerError, write};

use super::read::begin;
use super::{Entry, SIGLUM, record};
use crate::Here;

/// Lets go of the first entries that were made before a time, `most` at once; gives how many. An entry of the audit holds
/// the number and the digest of the last one of them: the chain begins behind it. What is not sound stays, since it is
/// evidence of that.
///
/// # Errors
/// Those of the ledger; nothing is gone then.
pub(crate) fn trim(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    before: Timestamp,
    most: usize,
) -> Result<u64, LedgerError> {
    let id = ledger.id();
    write(ledger, Durability::Process, |tx| {
        let mut verifying = begin(tx, id)?;
        let (mut count, mut last) = (0, None);
        for stored in tx.audit_after(0, most)? {
            let row = stored.row.as_ref();
            if row.is_ok_and(|entry| entry.header.at >= before) {
                break;
            }
            let flaws = verifying.entry(stored.number, row.map_err(String::as_str));
            if let Some(flaw) = flaws.first() {
                tracing::warn!("cannot delete old entries of the audit log: {flaw}");
                return Ok(0);
            }
            count += 1;
            last = stored.row.ok();
        }
        let Some(last) = last else {
            return Ok(0);
        };
        if tx.drop_audit(last.number)? != count {
            // Another gateway lets go of them right now.
            return Err(LedgerError::Busy);
        }
        let body = json!({ "digest": last.digest, "entries": count, "last": last.number });
        record(
            tx,
            here,
            &Entry::done(SIGLUM, Action::AuditTrimmed).with(body),
        )?;
        Ok(count)
    })
}
