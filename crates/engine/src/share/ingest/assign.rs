//! A person, or a program that knows better, says whose a trace is.

use serde_json::json;
use siglum_domain::SessionId;
use siglum_domain::audit::Action;
use siglum_domain::trace::TraceId;
use siglum_ledger::{Durability, Ledger, LedgerError, write};

use crate::Here;
use crate::identity::audit::{self, Entry};
use crate::record::unassigned;

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assignment {
    /// It is noted, and what was kept of the trace is looked at once more.
    Noted,
    NoSession,
    /// The session is at home in another ledger.
    Elsewhere,
}

/// Says which session a trace belongs to.
///
/// # Errors
/// Those of the ledger; nothing was written then.
pub fn assign(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    trace: &TraceId,
    session: SessionId,
    by: &str,
) -> Result<Assignment, LedgerError> {
    let (home, at) = (ledger.id(), here.now());
    write(ledger, Durability::Disk, |tx| {
        match tx.session(session)? {
            None => return Ok(Assignment::NoSession),
            Some(record) if record.home != home => return Ok(Assignment::Elsewhere),
            Some(_) => unassigned::note_trace(tx, trace, session, at)?,
        }
        let entry = Entry::done(by, Action::TraceAssigned).for_session(session);
        let more = json!({ "trace_id": trace.to_string() });
        audit::record(tx, here, &entry.with(more))?;
        Ok(Assignment::Noted)
    })
}
