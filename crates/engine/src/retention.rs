//! What is kept for a time only: old sessions are forgotten, old telemetry and old entries of the audit go.
//!
//! A session goes as by `siglum forget`: its log stays without payloads, and what it cost stays. One that something holds
//! stays until nothing does. Each pass is bounded, and each step is a transaction that may be the last one.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use serde_json::json;
use siglum_domain::audit::Action;
use siglum_domain::{SessionId, Timestamp};
use siglum_gitstore::{ObjectAddress, ObjectStore};
use siglum_ledger::{Durability, Ledger, LedgerError, TelemetryStore, Transaction, read, write};

use crate::forget::{Costs, forget_in};
use crate::identity::audit::{self, Entry, SIGLUM};
use crate::{EngineError, Here};

/// How many sessions one pass forgets, at most.
const SESSIONS: usize = 64;
/// How many rows of telemetry go from one place in a pass, at most.
const TELEMETRY: usize = 1_000;
/// How many entries of the audit go in a pass, at most.
const ENTRIES: usize = 1_000;

/// How long what a ledger has is kept; what has no time is kept for good.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// Sessions, since anything was heard of them last.
    pub sessions: Option<Duration>,
    /// Telemetry that waits to be joined or has no session, since it was taken.
    pub telemetry: Option<Duration>,
    /// Entries of the audit, since they were made.
    pub audit: Option<Duration>,
}

impl RetentionPolicy {
    /// Whether nothing ever goes.
    #[must_use]
    pub const fn keeps_all(&self) -> bool {
        self.sessions.is_none() && self.telemetry.is_none() && self.audit.is_none()
    }
}

/// What a pass let go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Removed {
    /// Sessions that were forgotten.
    pub sessions: u64,
    /// Rows of telemetry, each with some records.
    pub telemetry: u64,
    /// Entries of the audit.
    pub audit: u64,
    /// Whether there may be more that is old enough.
    pub has_more: bool,
}

impl Removed {
    /// Whether nothing went.
    #[must_use]
    pub const fn is_nothing(&self) -> bool {
        self.sessions + self.telemetry + self.audit == 0
    }
}

/// Lets go of what is older than it is kept, a bounded part of it. `versions` are the versions of edited files, where the
/// store has any beside it. The audit tells how much went. What went may be left in the store's files: whoever lets go of
/// the last part scrubs them, which others wait for.
///
/// # Errors
/// Those of the ledger or of the object store; what went before is gone.
pub fn apply(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    versions: Option<&ObjectStore>,
    policy: &RetentionPolicy,
) -> Result<Removed, EngineError> {
    let mut removed = Removed::default();
    if let Some(kept) = policy.sessions {
        let before = since(here, kept);
        (removed.sessions, removed.has_more) = forget_idle(here, ledger, versions, before)?;
    }
    let old = policy.telemetry.map(|kept| since(here, kept));
    if removed.sessions > 0 || old.is_some() {
        let sessions = removed.sessions;
        let (telemetry, has_more) = write(ledger, Durability::Process, |tx| {
            drop_telemetry(tx, here, old, sessions)
        })?;
        removed.telemetry = telemetry;
        removed.has_more |= has_more;
    }
    if let Some(kept) = policy.audit {
        removed.audit = audit::trim(here, ledger, since(here, kept), ENTRIES)?;
        removed.has_more |= removed.audit == ENTRIES as u64;
    }
    Ok(removed)
}

/// Sessions that a policy forgets now: silent for so long, and held by nothing; longest silent first.
///
/// # Errors
/// Those of the ledger.
pub fn idle_sessions(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    kept: Duration,
    limit: usize,
) -> Result<Vec<SessionId>, LedgerError> {
    let (before, now) = (since(here, kept), here.now());
    read(ledger, |tx| tx.idle_sessions(None, before, now, limit))
}

/// What is older than this is not kept any more.
fn since(here: &Here<'_>, kept: Duration) -> Timestamp {
    let millis = i64::try_from(kept.as_millis()).unwrap_or(i64::MAX);
    here.now().plus_millis(millis.saturating_neg())
}

/// Lets go of some old telemetry, and notes it, together with how many sessions went before; gives how many rows went, and
/// whether there may be more.
fn drop_telemetry(
    tx: &mut dyn Transaction,
    here: &Here<'_>,
    old: Option<Timestamp>,
    sessions: u64,
) -> Result<(u64, bool), LedgerError> {
    let (mut telemetry, mut has_more) = (0_u64, false);
    for store in [TelemetryStore::Inbox, TelemetryStore::Unassigned] {
        let Some(before) = old else { break };
        let gone = tx.drop_old_telemetry(store, before, TELEMETRY)?;
        telemetry += gone;
        has_more |= gone == TELEMETRY as u64;
    }
    if telemetry > 0 {
        tx.owe_scrub()?;
    }
    if sessions + telemetry > 0 {
        let body = json!({ "sessions": sessions, "telemetry": telemetry });
        let entry = Entry::done(SIGLUM, Action::RetentionApplied).with(body);
        audit::record(tx, here, &entry)?;
    }
    Ok((telemetry, has_more))
}

/// Forgets some idle sessions; gives how many, and whether there may be more. One that is damaged holds up no other.
fn forget_idle(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    versions: Option<&ObjectStore>,
    before: Timestamp,
) -> Result<(u64, bool), EngineError> {
    let now = here.now();
    let mut idle = read(ledger, |tx| tx.idle_sessions(None, before, now, SESSIONS))?;
    let is_full = idle.len() == SESSIONS;
    if let Some(versions) = versions.filter(|_| !idle.is_empty()) {
        let gone = versions_of(ledger, &idle)?;
        // That takes a while. Where something was heard of one of them meanwhile, all wait: they may share versions.
        let still = read(ledger, |tx| tx.idle_sessions(None, before, now, SESSIONS))?;
        if !idle.iter().all(|session| still.contains(session)) {
            idle.clear();
        }
        // First the versions: an address without one is no harm, one that nothing speaks of would never be found again.
        if !idle.is_empty() {
            versions.remove(&gone)?;
        }
    }
    let mut forgotten = 0_u64;
    for session in idle {
        let done = write(ledger, Durability::Disk, |tx| {
            // Something may have been heard of it since it was listed.
            if tx.idle_sessions(Some(session), before, now, 1)?.is_empty() {
                return Ok(0_u64);
            }
            forget_in(tx, here, session, Costs::Kept, SIGLUM)?;
            tx.owe_scrub()?;
            Ok(1)
        });
        match done {
            Ok(count) => forgotten += count,
            Err(LedgerError::Damaged(what)) => {
                tracing::warn!(
                    "cannot forget session {session}: the ledger is damaged here: {what}"
                );
            }
            Err(error) => return Err(error.into()),
        }
    }
    // Each pass must come to something, so that passes end.
    Ok((forgotten, is_full && forgotten > 0))
}

/// The file versions that these sessions saw, and no others.
fn versions_of(
    ledger: &mut dyn Ledger,
    sessions: &[SessionId],
) -> Result<HashSet<ObjectAddress>, LedgerError> {
    read(ledger, |tx| {
        let mut own = BTreeSet::new();
        for session in sessions {
            own.extend(tx.objects_of(*session)?);
        }
        if own.is_empty() {
            return Ok(HashSet::new());
        }
        for object in tx.objects_of_others(sessions)? {
            own.remove(&object);
        }
        Ok(own
            .iter()
            .filter_map(|object| object.parse().ok())
            .collect())
    })
}
