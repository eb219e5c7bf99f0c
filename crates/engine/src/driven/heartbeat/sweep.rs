//! Old ticks go, with their sessions and contexts; what they came to is kept.

use serde_json::json;
use siglum_domain::audit::Action;
use siglum_domain::{SessionId, Timestamp};
use siglum_ledger::{
    Durability, HeartbeatRecord, Ledger, LedgerError, TickRecord, Transaction, read, write,
};

use super::keep::{definition, note};
use crate::Here;
use crate::identity::audit::SIGLUM;

/// How many ticks go in one transaction.
const SLICE: usize = 64;
/// Who attaches the links of a tick's session: they pin nothing.
pub const BY: &str = "heartbeat";

/// The most ticks that go in one sweep: whoever sweeps may have others wait.
pub const SWEPT_MOST: u64 = 1_000;

/// What one sweep let go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    pub ticks: u64,
    /// Sessions, with their contexts.
    pub sessions: u64,
    /// Sessions that something pins, which stay.
    pub pinned: u64,
}

/// What keeps a session only for a while: it is asked again, and the tick is kept with it.
const PASSING: &[&str] = &[
    "intent",
    "newest statement",
    "open",
    "projection",
    "telemetry",
    "transcript",
];

/// Lets go of ticks that their heartbeats need not keep any more, [`SWEPT_MOST`] or a few more at most. One entry of the
/// audit tells of all of them.
///
/// # Errors
/// Those of the ledger; what went before is gone.
pub fn sweep(here: &Here<'_>, ledger: &mut dyn Ledger) -> Result<Swept, LedgerError> {
    let mut swept = Swept::default();
    for record in read(ledger, |tx| tx.heartbeats())? {
        // What cannot be read here is kept.
        if let Ok(definition) = definition(&record) {
            let keep = i64::try_from(definition.keep.as_millis()).unwrap_or(i64::MAX);
            let before = here.now().plus_millis(keep.saturating_neg());
            sweep_one(ledger, &record, before, &mut swept)?;
        }
        if swept.ticks >= SWEPT_MOST {
            break;
        }
    }
    if swept.ticks > 0 {
        let body =
            json!({ "pinned": swept.pinned, "sessions": swept.sessions, "ticks": swept.ticks });
        write(ledger, Durability::Process, |tx| {
            note(tx, here, SIGLUM, Action::HeartbeatSwept, body.clone())
        })?;
    }
    Ok(swept)
}

fn sweep_one(
    ledger: &mut dyn Ledger,
    record: &HeartbeatRecord,
    before: Timestamp,
    swept: &mut Swept,
) -> Result<(), LedgerError> {
    let mut after = None;
    loop {
        let (done, last) = write(ledger, Durability::Process, |tx| {
            slice(tx, record, after, before)
        })?;
        swept.ticks += done.ticks;
        swept.sessions += done.sessions;
        swept.pinned += done.pinned;
        match last {
            Some(_) if swept.ticks < SWEPT_MOST => after = last,
            _ => break,
        }
    }
    write(ledger, Durability::Process, |tx| match record.removed_at {
        Some(at) if at < before && tx.ticks(&record.name, None, 2)?.len() <= 1 => {
            let last = tx.ticks(&record.name, None, 1)?.pop();
            if let Some(tick) = last.filter(|t| t.due < before && t.outcome.is_final()) {
                let_go(tx, &tick)?;
            }
            tx.drop_heartbeat(&record.name)
        }
        _ => Ok(()),
    })
}

/// One transaction of a sweep, and how far it came where there may be more.
fn slice(
    tx: &mut dyn Transaction,
    record: &HeartbeatRecord,
    after: Option<Timestamp>,
    before: Timestamp,
) -> Result<(Swept, Option<Timestamp>), LedgerError> {
    let mut swept = Swept::default();
    let old = tx.old_ticks(&record.name, after, before, SLICE)?;
    for tick in &old {
        match let_go(tx, tick)? {
            Fate::Kept => {}
            Fate::Gone { session } => {
                swept.ticks += 1;
                swept.sessions += u64::from(session);
            }
            Fate::Pinned => {
                swept.ticks += 1;
                swept.pinned += 1;
            }
        }
    }
    let more = old.len() == SLICE;
    Ok((swept, old.last().filter(|_| more).map(|tick| tick.due)))
}

/// What becomes of an old tick.
enum Fate {
    /// It waits for something that passes.
    Kept,
    /// It is gone, maybe with a session.
    Gone { session: bool },
    /// It is gone, and its session stays.
    Pinned,
}

fn let_go(tx: &mut dyn Transaction, tick: &TickRecord) -> Result<Fate, LedgerError> {
    let fate = match own_session(tick) {
        None => Fate::Gone { session: false },
        Some(session) => match tx.drop_session(session, BY)?.as_deref() {
            None => Fate::Gone { session: true },
            Some("unknown") => Fate::Gone { session: false },
            Some(word) if PASSING.contains(&word) => return Ok(Fate::Kept),
            Some(_) => Fate::Pinned,
        },
    };
    tx.drop_tick(&tick.heartbeat, tick.due)?;
    Ok(fate)
}

/// The session that a tick has for itself: its context is named after it. One that goes on has other ticks, too, or
/// turns that somebody asked for.
fn own_session(tick: &TickRecord) -> Option<SessionId> {
    let session = tick.session?;
    let own = format!("-run:{session}");
    let context = tick.context.as_ref()?;
    context.as_str().ends_with(&own).then_some(session)
}
