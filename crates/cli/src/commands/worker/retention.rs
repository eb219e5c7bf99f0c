//! Letting go of what is older than the settings keep it, once a day.

use std::fs;

use siglum_domain::Timestamp;
use siglum_engine::World;
use siglum_engine::retention;
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
    let policy = cx.config.retention();
    if policy.keeps_all() || !(always || is_due(cx)) {
        return false;
    }
    let removed = match retention::apply(world, ledger, Some(&world.objects), &policy) {
        Ok(removed) => removed,
        Err(error) => {
            tracing::warn!("cannot delete old data: {}", error.in_full());
            note(cx);
            return false;
        }
    };
    if removed.sessions + removed.telemetry > 0
        && let Err(error) = ledger.scrub()
    {
        tracing::warn!("old data is deleted, but not overwritten in the file: {error}");
    }
    if !removed.has_more {
        note(cx);
    }
    !removed.is_nothing()
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
