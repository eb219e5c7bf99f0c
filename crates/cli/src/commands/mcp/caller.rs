//! Which session asks.

use siglum_domain::SessionId;
use siglum_engine::driven::launch;
use siglum_ledger::{Ledger, LedgerError, Transaction, read};

use crate::claim;
use crate::error::CommandError;

/// The session that this process runs below: the one that it was launched for, else the only open one of the nearest
/// process above that has any.
pub fn session(ledger: &mut dyn Ledger) -> Result<SessionId, CommandError> {
    let chain = siglum_platform::chain();
    if let Some(claim) = claim::inherited(None)
        && let Some(session) = read(ledger, |tx| launch::speaker(tx, &claim, &chain))?
    {
        return Ok(session);
    }
    let open = read(ledger, |tx| {
        for above in &chain.ancestors {
            let open = open(tx, &above.identity.key())?;
            if let Some(open) = open {
                return Ok(open);
            }
        }
        Ok(Vec::new())
    })?;
    match open.as_slice() {
        [session] => Ok(*session),
        [] => Err(
            CommandError::not_found("this server does not run in a known session")
                .hint("Pass the id of a session; `search` finds sessions."),
        ),
        several => Err(CommandError::failed(format!(
            "an ancestor process has {} open sessions: {}",
            several.len(),
            several
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ")
        ))
        .hint("Pass the id of one of them.")),
    }
}

/// The sessions of a process that have not ended; nothing if it never had any.
fn open(tx: &mut dyn Transaction, process: &str) -> Result<Option<Vec<SessionId>>, LedgerError> {
    let mut bound: Vec<SessionId> = tx
        .bound_to(process)?
        .iter()
        .map(|binding| binding.session)
        .collect();
    bound.sort();
    bound.dedup();
    if bound.is_empty() {
        return Ok(None);
    }
    let mut open = Vec::new();
    for session in bound {
        let record = tx.session(session)?;
        open.extend(
            record
                .filter(|record| record.ended_at.is_none())
                .map(|record| record.id),
        );
    }
    Ok(Some(open))
}
