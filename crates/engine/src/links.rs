//! Links that are attached to a session, or detached from it, after it began.

use serde_json::json;
use siglum_domain::SessionId;
use siglum_domain::audit::Action;
use siglum_domain::link::Link;
use siglum_ledger::{Durability, Ledger, LedgerError, Statement, Transaction, write};

use crate::audit::{self, Entry};
use crate::{Here, why};

/// What is done with links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// They are attached.
    Attach,
    /// They are detached.
    Detach,
}

/// What a change of links came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changed {
    /// The links that were not as they should be before.
    pub changed: Vec<Link>,
    /// All that is attached now.
    pub standing: Vec<Link>,
}

/// Attaches links to a session or detaches them, by somebody, from somewhere. What stands already is not stated again.
///
/// # Errors
/// Those of the ledger; nothing was written then.
pub fn change(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    session: SessionId,
    links: &[Link],
    change: Change,
    (by, source): (&str, &str),
) -> Result<Changed, LedgerError> {
    write(ledger, Durability::Process, |tx| {
        change_in(tx, here, session, links, change, (by, source))
    })
}

/// [`change`] in a transaction that does more.
///
/// # Errors
/// Those of the ledger.
pub fn change_in(
    tx: &mut dyn Transaction,
    here: &Here<'_>,
    session: SessionId,
    links: &[Link],
    change: Change,
    (by, source): (&str, &str),
) -> Result<Changed, LedgerError> {
    let at = here.now();
    let mut standing = why::links(&tx.statements_of_session(session)?);
    let mut changed = Vec::new();
    for link in links {
        let attaching = change == Change::Attach;
        if standing.contains(link) == attaching {
            continue;
        }
        let link = link.clone();
        changed.push(link.clone());
        let statement = match change {
            Change::Attach => {
                standing.push(link.clone());
                Statement::LinkAttached { session, link }
            }
            Change::Detach => {
                standing.retain(|l| *l != link);
                Statement::LinkDetached { session, link }
            }
        };
        tx.state(at, by, source, &statement)?;
    }
    if !changed.is_empty() {
        let action = match change {
            Change::Attach => Action::LinkAttached,
            Change::Detach => Action::LinkDetached,
        };
        let body = json!({ "links": audit::links(&changed), "source": source });
        let mut entry = Entry::done(by, action).of(session).with(body);
        // The pipeline that a session is taken out of is the one that it happened in.
        entry.pipeline = audit::pipeline(&changed);
        audit::record(tx, here, &entry)?;
    }
    Ok(Changed { changed, standing })
}
