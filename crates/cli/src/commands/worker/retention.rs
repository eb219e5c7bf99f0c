//! Letting go of what is older than the settings keep it, once a day.

use std::fs;

use siglum_domain::Timestamp;
use siglum_engine::World;
use siglum_engine::retention::{self, Removed};
use siglum_ledger::{Ledger as _, SqliteLedger};

use crate::clock;
use crate::cx::Cx;
use crate::platform::regular_file;

/// How often one looks, in milliseconds.
const EVERY_MS: i64 = 24 * 60 * 60 * 1000;
/// More bytes than a time has.
const TIME_MOST: u64 = 64;

/// Lets go of a bounded part of what is old, where it is time for that, or `always`; tells whether anything went. What
/// fails is tried again another day.
pub(super) fn apply(cx: &Cx, world: &World<'_>, ledger: &mut SqliteLedger, always: bool) -> bool {
    if !(always || is_due(cx)) {
        return false;
    }
    let policy = cx.config.retention();
    let applied = match policy.keeps_all() {
        true => Ok(Removed::default()),
        false => retention::apply(world, ledger, Some(&world.objects), &policy),
    };
    let removed = applied.unwrap_or_else(|error| {
        tracing::warn!("cannot delete old data: {}", error.in_full());
        Removed::default()
    });
    if removed.has_more {
        return true;
    }
    // Nothing more goes. What the parts before this one left in the file goes now, also those of another worker, which did
    // not come to it, and of settings that keep all again.
    let has_scrubbed = scrub_if_owed(ledger);
    if has_scrubbed || !policy.keeps_all() {
        note(cx);
    }
    !removed.is_nothing()
}

/// Takes what is deleted out of the file where that is due; tells whether it was. While the file is written anew nobody
/// else writes.
fn scrub_if_owed(ledger: &mut SqliteLedger) -> bool {
    let scrubbed = match ledger.owes_scrub() {
        Ok(false) => return false,
        Ok(true) => ledger.scrub(),
        Err(error) => Err(error),
    };
    if let Err(error) = scrubbed {
        tracing::warn!("old data is deleted, but not overwritten in the file: {error}");
    }
    true
}

fn is_due(cx: &Cx) -> bool {
    let last = regular_file::read_text(&cx.home.last_retention(), TIME_MOST);
    let last: Option<Timestamp> = last.ok().and_then(|text| text.parse().ok());
    // A clock that was set back does not hold it up.
    last.is_none_or(|last| !(0..EVERY_MS).contains(&clock::now().millis_since(last)))
}

fn note(cx: &Cx) {
    let _ = fs::write(cx.home.last_retention(), clock::now().to_string());
}

#[cfg(test)]
mod tests {
    use siglum_ledger::sqlite::Open;
    use siglum_ledger::{Durability, LedgerError, read, write};

    use super::*;

    #[test]
    fn what_could_not_be_scrubbed_is_scrubbed_by_the_next_pass() {
        let dir = tempfile::tempdir().unwrap();
        let cx = Cx::for_tests(dir.path());
        let world = cx.world_in_home().unwrap();
        let mut other = cx.open_ledger_in_home().unwrap();
        // From a hook it waits for a moment only.
        let mut ledger = SqliteLedger::open(&cx.home.ledger(), Open::Hook).unwrap();
        assert!(!apply(&cx, &world, &mut ledger, false));
        assert!(is_due(&cx), "there was nothing to do");
        write(&mut other, Durability::Process, |tx| tx.owe_scrub()).unwrap();
        read(&mut other, |tx| {
            // Somebody reads.
            tx.counts()?;
            assert!(matches!(ledger.scrub(), Err(LedgerError::Busy)));
            assert!(!apply(&cx, &world, &mut ledger, false));
            Ok(())
        })
        .unwrap();
        assert!(ledger.owes_scrub().unwrap());
        // It is not tried over and over.
        assert!(!is_due(&cx));
        assert!(!apply(&cx, &world, &mut ledger, false));
        assert!(ledger.owes_scrub().unwrap());
        fs::remove_file(cx.home.last_retention()).unwrap();
        assert!(!apply(&cx, &world, &mut ledger, false));
        assert!(!ledger.owes_scrub().unwrap());
    }
}
