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
use siglum_ledger::{Durability, Ledger, LedgerError, TelemetryStore, read, write};

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
/// store has any beside it. The audit tells how much went.
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
        removed.sessions = forget_idle(here, ledger, versions, before)?;
        removed.has_more |= removed.sessions == SESSIONS as u64;
    }
    if let Some(kept) = policy.telemetry {
        let before = since(here, kept);
        for store in [TelemetryStore::Inbox, TelemetryStore::Unassigned] {
            let gone = write(ledger, Durability::Process, |tx| {
                tx.drop_old_telemetry(store, before, TELEMETRY)
            })?;
            removed.telemetry += gone;
            removed.has_more |= gone == TELEMETRY as u64;
        }
    }
    if removed.sessions + removed.telemetry > 0 {
        let body = json!({ "sessions": removed.sessions, "telemetry": removed.telemetry });
        let entry = Entry::done(SIGLUM, Action::RetentionApplied).with(body);
        audit::note(here, ledger, &entry)?;
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

fn forget_idle(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    versions: Option<&ObjectStore>,
    before: Timestamp,
) -> Result<u64, EngineError> {
    let now = here.now();
    let idle = read(ledger, |tx| tx.idle_sessions(None, before, now, SESSIONS))?;
    if let Some(versions) = versions.filter(|_| !idle.is_empty()) {
        // First the versions: an address without one is no harm, one that nothing speaks of would never be found again.
        versions.remove(&versions_of(ledger, &idle)?)?;
    }
    let mut forgotten = 0_u64;
    for session in idle {
        forgotten += write(ledger, Durability::Disk, |tx| {
            // Something may have been heard of it since it was listed.
            if tx.idle_sessions(Some(session), before, now, 1)?.is_empty() {
                return Ok(0_u64);
            }
            forget_in(tx, here, session, Costs::Kept, SIGLUM)?;
            Ok(1)
        })?;
    }
    Ok(forgotten)
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
