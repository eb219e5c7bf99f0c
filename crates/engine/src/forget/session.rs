//! Forgetting a whole session.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use siglum_domain::audit::Action;
use siglum_domain::{NativeId, SessionId};
use siglum_gitstore::ObjectAddress;
use siglum_ledger::{
    Durability, Holdings, Ledger, LedgerError, SessionRecord, Transaction, read, write,
};

use super::walk;
use crate::identity::audit::{self, Entry};
use crate::identity::names;
use crate::{EngineError, Here, World};

/// What would go with a session.
#[derive(Debug, Clone)]
pub struct Holding {
    pub record: SessionRecord,
    /// Its payloads and lines.
    pub held: Holdings,
    /// The file versions that it alone saw.
    pub versions: HashSet<ObjectAddress>,
}

/// Tells what would go with a session; nothing if there is no such session.
///
/// # Errors
/// Those of the ledger.
pub fn holding(
    ledger: &mut dyn Ledger,
    session: SessionId,
) -> Result<Option<Holding>, EngineError> {
    let found = read(ledger, |tx| {
        let Some((record, held)) = tx.session(session)?.zip(tx.holdings(session)?) else {
            return Ok(None);
        };
        let others: HashSet<String> = tx.objects_of_others(&[session])?.into_iter().collect();
        let own = tx.objects_of(session)?.into_iter();
        let alone = own.filter(|object| !others.contains(object));
        let versions = alone.filter_map(|object| object.parse().ok()).collect();
        Ok(Some(Holding {
            record,
            held,
            versions,
        }))
    })?;
    Ok(found)
}

/// What becomes of the tokens that a session used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Costs {
    /// They stay, with model, turn and time, so that what a month or an issue cost does not change.
    Kept,
    /// They go, too.
    Erased,
}

/// Forgets what was said and done in a session until now. Its identity, the commits made of it and who wrote which
/// line stay. `files` are those beside the ledger that hold text: lines that speak of it go, and so does a delivery that
/// could not be read.
///
/// # Errors
/// Those of the ledger or of the object store; what was erased until then stays erased.
pub fn forget_session(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    holding: &Holding,
    costs: Costs,
    files: &[PathBuf],
    by: &str,
) -> Result<(), EngineError> {
    let session = holding.record.id;
    // First the versions: an address without one is no harm, one that nothing speaks of would never be found again.
    world.objects.remove(&holding.versions)?;
    write(ledger, Durability::Disk, |tx| {
        forget_in(tx, world, session, costs, by)
    })?;
    let (id, natives) = (session.to_string(), read(ledger, |tx| tx.aliases(session))?);
    let mut names: Vec<&str> = natives.iter().map(NativeId::as_str).collect();
    names.extend([id.as_str(), holding.record.conversation.as_str()]);
    let speaks_of_it = |text: &str| names.iter().any(|name| has_name(text, name));
    for path in files {
        let text = fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        if let Ok(text) = text
            && speaks_of_it(&text)
        {
            walk::drop_lines(path, &text, speaks_of_it)?;
        }
    }
    ledger.scrub()?;
    for projection in walk::shown_in(ledger)? {
        walk::show_anew(world, ledger, &projection, session)?;
    }
    Ok(())
}

/// Whether a name is in a text, and not only as a part of another one.
fn has_name(text: &str, name: &str) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        !before.is_some_and(goes_on) && !after.is_some_and(goes_on)
    })
}

/// Forgets what the ledger has of a session, as a part of a transaction. The audit tells of it.
pub(crate) fn forget_in(
    tx: &mut dyn Transaction,
    here: &Here<'_>,
    session: SessionId,
    costs: Costs,
    by: &str,
) -> Result<(), LedgerError> {
    tx.drop_turn(session)?;
    tx.forget_session(session, here.now())?;
    names::forget(tx, here, session)?;
    if costs == Costs::Erased {
        tx.drop_usages(session)?;
    }
    let entry = Entry::done(by, Action::SessionForgotten).for_session(session);
    audit::record(tx, here, &entry).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_as_a_whole() {
        for text in ["one", "{\"native\":\"one\"}", "session one\n", "é one,"] {
            assert!(has_name(text, "one"), "{text}");
        }
        for text in ["someone", "ones", "one-2", "x_one", "oneé", "o ne", ""] {
            assert!(!has_name(text, "one"), "{text}");
        }
    }
}
