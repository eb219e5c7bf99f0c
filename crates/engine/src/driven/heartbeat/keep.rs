//! Writing heartbeats down, and what is done with them besides running them.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use siglum_domain::Timestamp;
use siglum_domain::audit::Action;
use siglum_domain::heartbeat::HeartbeatName;
use siglum_ledger::{Durability, HeartbeatRecord, Ledger, LedgerError, Transaction, read, write};

use super::{Definition, Form, HeartbeatError};
use crate::Here;
use crate::identity::audit::{self, Entry};

/// Where a heartbeat was written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// In the operator's configuration, which says alone what it is.
    Config,
    /// On the command line, or over the API.
    Asked,
}

impl Origin {
    /// Its word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Asked => "asked",
        }
    }
}

/// Whether a heartbeat is paused or goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// It is not due until it goes on.
    Paused,
    /// Its schedule is followed from now on.
    GoesOn,
}

/// What a kept heartbeat is.
///
/// # Errors
/// [`LedgerError::Damaged`] where it cannot be read here, also for a time zone that this machine does not know.
pub fn definition(record: &HeartbeatRecord) -> Result<Definition, LedgerError> {
    let form: Form = serde_json::from_str(&record.definition)
        .map_err(|e| LedgerError::Damaged(format!("heartbeat {}: {e}", record.name)))?;
    Definition::parse(record.name.clone(), form)
        .map_err(|e| LedgerError::Damaged(format!("heartbeat {}: {e}", record.name)))
}

/// Writes a heartbeat down. One of its name is changed; its intervals go on where its schedule stays.
///
/// # Errors
/// [`HeartbeatError::Configured`] for one that the configuration has, and those of the ledger; nothing was written
/// then.
pub fn put(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    definition: &Definition,
    origin: Origin,
    by: &str,
) -> Result<HeartbeatRecord, HeartbeatError> {
    decided(ledger, |tx| put_in(tx, here, definition, origin, by))
}

fn put_in(
    tx: &mut dyn Transaction,
    here: &Here<'_>,
    definition: &Definition,
    origin: Origin,
    by: &str,
) -> Result<Result<HeartbeatRecord, HeartbeatError>, LedgerError> {
    let now = here.now();
    let found = tx.heartbeat(&definition.name)?;
    let before = found.as_ref().filter(|r| r.removed_at.is_none());
    if origin == Origin::Asked && before.is_some_and(|r| r.origin == Origin::Config.as_str()) {
        return Ok(Err(HeartbeatError::Configured(definition.name.clone())));
    }
    let old: Option<Form> = before.and_then(|r| serde_json::from_str(&r.definition).ok());
    let text =
        serde_json::to_string(&definition.form).map_err(|e| LedgerError::Storage(Box::new(e)))?;
    if let Some(same) = before
        && same.definition == text
        && same.origin == origin.as_str()
        && same.by == by
    {
        return Ok(Ok(same.clone()));
    }
    let follows = old
        .as_ref()
        .is_some_and(|old| is_same_schedule(old, &definition.form));
    let kept = before.filter(|_| follows);
    let anchor = kept.map_or(now, |r| r.anchor);
    let paused_at = before.and_then(|r| r.paused_at);
    let record = HeartbeatRecord {
        name: definition.name.clone(),
        definition: text,
        origin: origin.as_str().to_owned(),
        by: by.to_owned(),
        created_at: before.map_or(now, |r| r.created_at),
        changed_at: now,
        anchor,
        paused_at,
        removed_at: None,
        next_due: match (paused_at, kept) {
            (Some(_), _) => None,
            (None, Some(kept)) => kept.next_due,
            (None, None) => definition.schedule.next(anchor, now),
        },
        alive_at: found.as_ref().and_then(|r| r.alive_at),
    };
    tx.put_heartbeat(&record)?;
    let target = |form: &Form| {
        Definition::parse(record.name.clone(), form.clone())
            .ok()
            .map(|d| d.target.place())
    };
    let body = json!({
        "heartbeat": record.name.as_str(),
        "origin": record.origin,
        "route": definition.route.as_str(),
        "target": definition.target.place(),
        "target_before": old.as_ref().and_then(target),
    });
    note(tx, here, by, Action::HeartbeatChanged, body)?;
    Ok(Ok(record))
}

fn is_same_schedule(one: &Form, other: &Form) -> bool {
    (&one.every, &one.cron, &one.zone, &one.active)
        == (&other.every, &other.cron, &other.zone, &other.active)
}

/// Makes the heartbeats of a configuration those of the ledger: those that it had and has no more are removed.
///
/// # Errors
/// Those of the ledger.
pub fn sync(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    configured: &[Definition],
    by: &str,
) -> Result<(), HeartbeatError> {
    let names: BTreeSet<_> = configured.iter().map(|d| &d.name).collect();
    for definition in configured {
        put(here, ledger, definition, Origin::Config, by)?;
    }
    for record in read(ledger, |tx| tx.heartbeats())? {
        let was_here = record.origin == Origin::Config.as_str() && record.by == by;
        if was_here && record.removed_at.is_none() && !names.contains(&record.name) {
            decided(ledger, |tx| remove_in(tx, here, &record.name, by))?;
        }
    }
    Ok(())
}

/// Pauses a heartbeat, or lets it go on; `false` where it was so.
///
/// # Errors
/// [`HeartbeatError::Unknown`], and those of the ledger; nothing was written then.
pub fn pause(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    name: &HeartbeatName,
    to: Pause,
    by: &str,
) -> Result<bool, HeartbeatError> {
    let now = here.now();
    decided(ledger, |tx| {
        let Some(record) = known(tx, name)? else {
            return Ok(Err(HeartbeatError::Unknown(name.clone())));
        };
        if record.paused_at.is_some() == (to == Pause::Paused) {
            return Ok(Ok(false));
        }
        let record = match to {
            Pause::Paused => HeartbeatRecord {
                paused_at: Some(now),
                next_due: None,
                ..record
            },
            Pause::GoesOn => HeartbeatRecord {
                paused_at: None,
                next_due: definition(&record)?.schedule.next(record.anchor, now),
                ..record
            },
        };
        tx.put_heartbeat(&record)?;
        let body = json!({ "heartbeat": name.as_str(), "paused": to == Pause::Paused });
        note(tx, here, by, Action::HeartbeatPaused, body)?;
        Ok(Ok(true))
    })
}

/// Removes a heartbeat. What became of its ticks is kept as long as it would have been.
///
/// # Errors
/// [`HeartbeatError::Unknown`], [`HeartbeatError::Configured`], and those of the ledger; nothing was written then.
pub fn remove(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    name: &HeartbeatName,
    by: &str,
) -> Result<(), HeartbeatError> {
    decided(ledger, |tx| match known(tx, name)? {
        Some(record) if record.origin == Origin::Config.as_str() => {
            Ok(Err(HeartbeatError::Configured(name.clone())))
        }
        _ => remove_in(tx, here, name, by),
    })
}

fn remove_in(
    tx: &mut dyn Transaction,
    here: &Here<'_>,
    name: &HeartbeatName,
    by: &str,
) -> Result<Result<(), HeartbeatError>, LedgerError> {
    let Some(record) = known(tx, name)? else {
        return Ok(Err(HeartbeatError::Unknown(name.clone())));
    };
    tx.put_heartbeat(&HeartbeatRecord {
        removed_at: Some(here.now()),
        paused_at: None,
        next_due: None,
        ..record
    })?;
    let body = json!({ "heartbeat": name.as_str() });
    note(tx, here, by, Action::HeartbeatRemoved, body)?;
    Ok(Ok(()))
}

/// A heartbeat that is not removed.
pub(super) fn known(
    tx: &mut dyn Transaction,
    name: &HeartbeatName,
) -> Result<Option<HeartbeatRecord>, LedgerError> {
    Ok(tx.heartbeat(name)?.filter(|r| r.removed_at.is_none()))
}

pub(super) fn note(
    tx: &mut dyn Transaction,
    here: &Here<'_>,
    by: &str,
    action: Action,
    body: Value,
) -> Result<(), LedgerError> {
    audit::record(tx, here, &Entry::done(by, action).with(body)).map(drop)
}

/// One write whose work may refuse; then nothing was written before.
pub(super) fn decided<T>(
    ledger: &mut dyn Ledger,
    work: impl FnMut(&mut dyn Transaction) -> Result<Result<T, HeartbeatError>, LedgerError>,
) -> Result<T, HeartbeatError> {
    write(ledger, Durability::Disk, work)?
}

/// A time so much later.
pub(super) fn later(at: Timestamp, by: std::time::Duration) -> Timestamp {
    at.plus_millis(i64::try_from(by.as_millis()).unwrap_or(i64::MAX))
}
