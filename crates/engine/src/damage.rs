//! Reading around what is damaged.

use siglum_domain::SessionId;
use siglum_domain::fold::Entry;
use siglum_ledger::{LedgerError, Transaction};

/// How many entries are read at a time.
const PAGE: usize = 256;

/// What a verb gave; nothing where a row of it is damaged.
pub(crate) fn undamaged<T>(given: Result<T, LedgerError>) -> Result<Option<T>, LedgerError> {
    match given {
        Err(LedgerError::Damaged(_)) => Ok(None),
        other => other.map(Some),
    }
}

/// The log of a session, without the entries that cannot be read.
pub(crate) fn readable(
    tx: &mut dyn Transaction,
    session: SessionId,
) -> Result<Vec<Entry>, LedgerError> {
    if let Some(entries) = undamaged(tx.entries(session, 0, 0))? {
        return Ok(entries);
    }
    let (mut entries, mut after) = (Vec::new(), 0);
    loop {
        let page = tx.stored_entries(session, after, PAGE)?;
        let Some(last) = page.last() else {
            return Ok(entries);
        };
        after = last.number;
        let rows = page.into_iter().filter_map(|stored| stored.row.ok());
        entries.extend(rows.filter_map(|row| row.entry?.ok()));
    }
}
