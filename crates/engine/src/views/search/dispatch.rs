//! Searching by the index where it can be asked, and without it elsewhere.

use siglum_ledger::{Ledger, LedgerError};

use super::findings::{Findings, Query};
use super::{ranked, scan};
use crate::Here;

/// Searches sessions.
///
/// # Errors
/// Those of the ledger. Where only the index fails, there is a search without it.
pub fn search(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    query: &Query,
) -> Result<Findings, LedgerError> {
    let standing = ledger.index().and_then(|index| index.index_standing());
    let waiting = standing.as_ref().map_or(0, |standing| standing.waiting);
    if standing.is_ok_and(|standing| standing.is_ready)
        && let Some(findings) = ranked::search(here, ledger, query, waiting)?
    {
        return Ok(findings);
    }
    scan::search(here, ledger, query, waiting)
}
