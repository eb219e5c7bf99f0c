//! Firing: who runs a tick, and what becomes of it.
//!
//! A tick is claimed in the transaction that moves the heartbeat on to its next time, so that each due time is claimed
//! once, by one. Whoever claimed it holds it and says so again and again; what nobody holds any more is told as
//! interrupted. It is never run again: what it did before its runner died cannot be known.

use std::time::Duration;

use siglum_domain::context::{Cause, ContextKey};
use siglum_domain::heartbeat::{HeartbeatName, Skip, TickCause, TickOutcome};
use siglum_domain::{SessionId, Timestamp};
use siglum_ledger::{
    Durability, HeartbeatRecord, Ledger, LedgerError, TickRecord, TickTotal, Transaction, read,
    write,
};

use super::answer::is_acknowledged;
use super::keep::{decided, definition, known, later};
use super::{Definition, HeartbeatError, Target};
use crate::Here;
use crate::driven::turn::{self, TurnError};

/// How long a tick is held by whoever says that he runs it.
pub const HOLD: Duration = Duration::from_secs(60);
/// How many heartbeats are claimed in one transaction.
const CLAIMS: usize = 256;
/// How many missed times are counted one by one.
const MISSED_MOST: u64 = 10_000;
/// The most characters of a reason.
const REASON_MOST: usize = 500;
/// The most bytes of an answer that waits to be delivered.
const OWED_MOST: usize = 256 << 10;

/// A tick that this process is to run.
#[derive(Debug, Clone)]
pub struct Claimed {
    pub tick: TickRecord,
    pub definition: Definition,
}

/// Which tick, and who holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub heartbeat: HeartbeatName,
    pub due: Timestamp,
    /// Who runs it.
    pub by: String,
}

impl Claimed {
    /// Which tick it is, and who holds it.
    #[must_use]
    pub fn held(&self) -> Held {
        Held {
            heartbeat: self.tick.heartbeat.clone(),
            due: self.tick.due,
            by: self.tick.by.clone(),
        }
    }
}

/// How a tick ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    Answered {
        text: String,
    },
    Skipped(Skip),
    /// It ran into an error, or into a limit.
    Failed {
        /// Why, in words.
        reason: String,
    },
}

/// What a tick used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Used {
    pub tokens: u64,
    /// What they cost, in billionths of a dollar.
    pub nano_usd: u64,
}

/// Claims what is due and can be run here, for a process that says who it is. What cannot be run now is told as skipped.
///
/// # Errors
/// Those of the ledger; nothing was claimed then.
pub fn claim(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    by: &str,
    can: &dyn Fn(&Definition) -> bool,
) -> Result<Vec<Claimed>, LedgerError> {
    let now = here.now();
    write(ledger, Durability::Disk, |tx| {
        let mut claimed = Vec::new();
        for record in tx.due_heartbeats(now, CLAIMS)? {
            // Another machine may know its zone.
            let definition = match definition(&record) {
                Ok(definition) if can(&definition) => definition,
                Ok(_) => continue,
                Err(error) => {
                    tracing::warn!("heartbeat {} is left out here: {error}", record.name);
                    continue;
                }
            };
            claimed.extend(claim_one(here, tx, &record, definition, by)?);
        }
        Ok(claimed)
    })
}

fn claim_one(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    record: &HeartbeatRecord,
    definition: Definition,
    by: &str,
) -> Result<Option<Claimed>, LedgerError> {
    let now = here.now();
    let Some(first) = record.next_due else {
        return Ok(None);
    };
    let (due, missed) = newest(&definition, record.anchor, first, now);
    let next_due = definition.schedule.next(record.anchor, due);
    tx.put_heartbeat(&HeartbeatRecord {
        next_due,
        ..record.clone()
    })?;
    let mut tick = fresh(&definition, due, TickCause::Schedule, now, by);
    tick.missed = missed;
    let skip = match running(here, tx, &record.name)? {
        Some(_) => Some(Skip::StillRunning),
        None if !definition.schedule.is_active(now) => Some(Skip::QuietHours),
        None => None,
    };
    if let Some(skip) = skip {
        tick.outcome = TickOutcome::Skipped;
        tick.reason = Some(skip.to_string());
        tick.ended_at = Some(now);
    }
    if !tx.put_tick(&tick)? {
        return Ok(None);
    }
    match skip {
        Some(_) => {
            add(tx, &tick)?;
            Ok(None)
        }
        None => Ok(Some(Claimed { tick, definition })),
    }
}

/// The newest time up to now that a heartbeat was due, and how many it missed before.
fn newest(
    definition: &Definition,
    anchor: Timestamp,
    first: Timestamp,
    now: Timestamp,
) -> (Timestamp, u64) {
    let (mut due, mut missed) = (first, 0);
    while let Some(next) = definition.schedule.next(anchor, due).filter(|n| *n <= now) {
        due = next;
        missed += 1;
        if missed >= MISSED_MOST {
            // So many that their number says nothing: what counts is where it goes on.
            let recent = now.plus_millis(-3_600_000).max(due);
            due = definition
                .schedule
                .next(anchor, recent)
                .filter(|n| *n <= now)
                .unwrap_or(due);
            break;
        }
    }
    (due, missed)
}

fn fresh(
    definition: &Definition,
    due: Timestamp,
    cause: TickCause,
    now: Timestamp,
    by: &str,
) -> TickRecord {
    TickRecord {
        heartbeat: definition.name.clone(),
        due,
        cause,
        fired_at: now,
        by: by.to_owned(),
        held_until: later(now, HOLD),
        outcome: TickOutcome::Running,
        reason: None,
        ended_at: None,
        missed: 0,
        session: None,
        context: None,
        tokens: 0,
        nano_usd: 0,
        target: definition.target.place(),
        owed: None,
        tries: 0,
        retry_at: None,
        delivered_at: None,
    }
}

/// The tick that somebody runs right now. One that nobody holds any more is told as interrupted.
fn running(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    name: &HeartbeatName,
) -> Result<Option<TickRecord>, LedgerError> {
    let now = here.now();
    while let Some(tick) = tx.running_tick(name)? {
        if tick.held_until > now {
            return Ok(Some(tick));
        }
        interrupt(here, tx, tick)?;
    }
    Ok(None)
}

fn interrupt(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    tick: TickRecord,
) -> Result<(), LedgerError> {
    let now = here.now();
    if let Some(session) = tick.session {
        left_alone(here, tx, session)?;
    }
    let reason = format!("{} ran it and was not heard of any more", tick.by);
    let tick = TickRecord {
        outcome: TickOutcome::Interrupted,
        reason: Some(reason),
        ended_at: Some(now),
        ..tick
    };
    tx.set_tick(&tick)?;
    add(tx, &tick)
}

/// Nobody goes on with the session of an isolated tick: what was said in it is kept as it is, and nobody is asked about it.
fn left_alone(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    session: SessionId,
) -> Result<(), LedgerError> {
    let context = tx.context_of_session(session)?;
    if context.is_none_or(|context| context.cause != Cause::Tick) {
        return Ok(());
    }
    match turn::break_off(here, tx, session) {
        Err(TurnError::Ledger(error)) => Err(error),
        Err(error) => {
            tracing::warn!("the turn of a tick in session {session} stays open: {error}");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// Claims a tick now, whatever the schedule says: also in quiet hours, also of a heartbeat that is paused.
///
/// # Errors
/// [`HeartbeatError::Unknown`], [`HeartbeatError::StillRunning`], and those of the ledger; nothing was claimed then.
pub fn ask(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    name: &HeartbeatName,
    by: &str,
) -> Result<Claimed, HeartbeatError> {
    let now = here.now();
    decided(ledger, |tx| {
        let Some(record) = known(tx, name)? else {
            return Ok(Err(HeartbeatError::Unknown(name.clone())));
        };
        let definition = definition(&record)?;
        if let Some(tick) = running(here, tx, name)? {
            return Ok(Err(HeartbeatError::StillRunning {
                heartbeat: tick.heartbeat,
                due: tick.due,
            }));
        }
        let mut tick = fresh(&definition, now, TickCause::Asked, now, by);
        // A time that is taken was due just then.
        while !tx.put_tick(&tick)? {
            tick.due = Timestamp::from_nanos(tick.due.nanos() + 1);
        }
        Ok(Ok(Claimed { tick, definition }))
    })
}

/// A tick that its holder still has.
fn mine(
    tx: &mut dyn Transaction,
    held: &Held,
) -> Result<Result<TickRecord, HeartbeatError>, LedgerError> {
    let found = tx.tick(&held.heartbeat, held.due)?;
    let mine = found.filter(|t| t.outcome == TickOutcome::Running && t.by == held.by);
    Ok(mine.ok_or_else(|| HeartbeatError::Lost {
        heartbeat: held.heartbeat.clone(),
        due: held.due,
    }))
}

/// Changes a tick that its holder still has.
fn change(
    ledger: &mut dyn Ledger,
    held: &Held,
    mut change: impl FnMut(&mut TickRecord),
) -> Result<(), HeartbeatError> {
    decided(ledger, |tx| match mine(tx, held)? {
        Err(lost) => Ok(Err(lost)),
        Ok(mut tick) => {
            change(&mut tick);
            tx.set_tick(&tick).map(Ok)
        }
    })
}

/// Says that a tick is still run.
///
/// # Errors
/// [`HeartbeatError::Lost`] where it was told as interrupted meanwhile, and those of the ledger.
pub fn hold(here: &Here<'_>, ledger: &mut dyn Ledger, held: &Held) -> Result<(), HeartbeatError> {
    let until = later(here.now(), HOLD);
    change(ledger, held, |tick| tick.held_until = until)
}

/// Notes the session and the context of a tick that runs.
///
/// # Errors
/// As [`hold`].
pub fn began(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    held: &Held,
    session: SessionId,
    context: &ContextKey,
) -> Result<(), HeartbeatError> {
    let until = later(here.now(), HOLD);
    change(ledger, held, |tick| {
        tick.held_until = until;
        tick.session = Some(session);
        tick.context = Some(context.clone());
    })
}

/// Notes how a tick ended. Gives what it came to.
///
/// # Errors
/// As [`hold`].
pub fn end(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    claimed: &Claimed,
    ended: &Ended,
    used: Used,
) -> Result<TickRecord, HeartbeatError> {
    let now = here.now();
    let held = claimed.held();
    decided(ledger, |tx| {
        let mut tick = match mine(tx, &held)? {
            Ok(tick) => tick,
            Err(lost) => return Ok(Err(lost)),
        };
        (tick.tokens, tick.nano_usd) = (used.tokens, used.nano_usd);
        tick.ended_at = Some(now);
        came_to(here, &claimed.definition, ended, &mut tick);
        tx.set_tick(&tick)?;
        if tick.outcome.is_alive()
            && let Some(record) = tx.heartbeat(&tick.heartbeat)?
        {
            let alive_at = record.alive_at.max(Some(now));
            tx.put_heartbeat(&HeartbeatRecord { alive_at, ..record })?;
        }
        if tick.outcome.is_final() {
            add(tx, &tick)?;
        }
        Ok(Ok(tick))
    })
}

fn came_to(here: &Here<'_>, definition: &Definition, ended: &Ended, tick: &mut TickRecord) {
    match ended {
        Ended::Skipped(skip) => {
            tick.outcome = TickOutcome::Skipped;
            tick.reason = Some(skip.to_string());
        }
        Ended::Failed { reason } => {
            tick.outcome = TickOutcome::Failed;
            tick.reason = Some(redacted_reason(here, reason));
        }
        Ended::Answered { text } => {
            let is_nothing = text.trim().is_empty();
            tick.outcome = match &definition.target {
                _ if is_acknowledged(text, &definition.acknowledge) => TickOutcome::Acknowledged,
                Target::Nowhere => TickOutcome::Ran,
                _ if is_nothing => TickOutcome::Ran,
                _ => TickOutcome::Owed,
            };
            if tick.outcome == TickOutcome::Owed {
                let clean = here.redactor.redact(text);
                let mut text = clean.as_str();
                while text.len() > OWED_MOST {
                    let cut = text.floor_char_boundary(OWED_MOST);
                    text = &text[..cut];
                }
                tick.owed = Some(text.to_owned());
                tick.retry_at = tick.ended_at;
            }
        }
    }
}

/// A reason, without secrets, cut.
pub(super) fn redacted_reason(here: &Here<'_>, reason: &str) -> String {
    let clean = here.redactor.redact(reason);
    let plain = clean.as_str().chars().filter(|c| !c.is_control());
    plain.take(REASON_MOST).collect()
}

/// Tells ticks as interrupted that nobody holds any more. Gives their number.
///
/// # Errors
/// Those of the ledger.
pub fn bury(here: &Here<'_>, ledger: &mut dyn Ledger) -> Result<usize, LedgerError> {
    let now = here.now();
    write(ledger, Durability::Disk, |tx| {
        let lost = tx.lost_ticks(now, CLAIMS)?;
        let count = lost.len();
        for tick in lost {
            interrupt(here, tx, tick)?;
        }
        Ok(count)
    })
}

/// Adds a tick that is over to what all came to.
pub(super) fn add(tx: &mut dyn Transaction, tick: &TickRecord) -> Result<(), LedgerError> {
    let reason = match tick.outcome {
        // There is a word for each of these reasons; the others are texts.
        TickOutcome::Skipped => tick.reason.clone().unwrap_or_default(),
        _ => String::new(),
    };
    let total = TickTotal {
        outcome: tick.outcome,
        reason,
        ticks: 1,
        tokens: tick.tokens,
        nano_usd: tick.nano_usd,
    };
    tx.add_tick_total(&tick.heartbeat, &total)
}

/// Tells whether there is anything to claim, to bury or to deliver. Nothing is written.
///
/// # Errors
/// Those of the ledger.
pub fn is_due(here: &Here<'_>, ledger: &mut dyn Ledger) -> Result<bool, LedgerError> {
    let now = here.now();
    read(ledger, |tx| {
        Ok(!tx.due_heartbeats(now, 1)?.is_empty()
            || !tx.owed_ticks(now, 1)?.is_empty()
            || !tx.lost_ticks(now, 1)?.is_empty())
    })
}
