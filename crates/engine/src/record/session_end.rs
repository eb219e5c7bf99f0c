//! A session that ends because somebody says so.

use serde_json::json;
use siglum_domain::audit::Action;
use siglum_domain::redact::Redactor;
use siglum_domain::{IdSource, SessionId, Timestamp};
use siglum_ledger::{Durability, Ledger, LedgerError, Statement, write};

use super::session_log;
use crate::identity::audit;

/// What became of a wish to end a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Now,
    Before(Timestamp),
}

/// Ends a session because somebody says so; a second time changes nothing. If its agent is heard of
/// again, it goes on.
///
/// # Errors
/// Those of the ledger.
pub fn end(
    ids: &dyn IdSource,
    ledger: &mut dyn Ledger,
    id: SessionId,
    by: &str,
    at: Timestamp,
) -> Result<Option<Ended>, LedgerError> {
    write(ledger, Durability::Process, |tx| {
        let Some(record) = tx.session(id)? else {
            return Ok(None);
        };
        if let Some(before) = record.ended_at {
            return Ok(Some(Ended::Before(before)));
        }
        let number = tx.state(
            at,
            by,
            "cli",
            &Statement::Ended {
                session: id,
                end: None,
            },
        )?;
        let (key, reason) = (format!("ended:{number}"), "a person said so".to_owned());
        session_log::say_ended(tx, ids, &record, key, reason, at)?;
        let entry = audit::Entry::done(by, Action::SessionEnded).for_session(id);
        let entry = entry.with(json!({ "how": "a person said so" }));
        audit::put(tx, ids, Redactor::shared(), at, &entry)?;
        Ok(Some(Ended::Now))
    })
}
