//! What a session says: its log, with that of the sessions it was forked from, and for its driver what waits.

use siglum_domain::SessionId;
use siglum_domain::fold::Entry;
use siglum_domain::observation::Observation;
use siglum_domain::receipt::Receipt;
use siglum_ledger::{Ledger, LedgerError, SessionRecord, Transaction, read};

use super::lease::Hold;
use super::{TurnError, attempt, fence};

/// How many forks of forks are followed.
const FORKS_MOST: usize = 64;
/// The kind of the fact that the context was compacted.
const COMPACTED: &str = "compacted";

/// A part of the log of one session.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The entries, in order.
    pub entries: Vec<Entry>,
    /// Up to where the log is sealed: what is behind it was observed and is open.
    pub committed: u64,
}

/// The log of a session behind `after`, at most `limit` entries (0: all). Nothing of a turn that is open is in it.
///
/// # Errors
/// [`TurnError::NoSession`].
pub fn committed(
    ledger: &mut dyn Ledger,
    session: SessionId,
    after: u64,
    limit: usize,
) -> Result<Page, TurnError> {
    let page = read(ledger, |tx| {
        let Some(record) = tx.session(session)? else {
            return Ok(None);
        };
        Ok(Some(Page {
            entries: tx.entries(session, after, limit)?,
            committed: record.sealed,
        }))
    })?;
    page.ok_or(TurnError::NoSession(session))
}

/// What was said in the turn that is open. For its driver alone.
///
/// # Errors
/// [`TurnError::Fenced`] for anybody else.
pub fn pending(ledger: &mut dyn Ledger, hold: Hold) -> Result<Vec<Observation>, TurnError> {
    attempt(ledger, siglum_ledger::Durability::Process, |tx| {
        fence(tx, hold)?;
        let Some(turn) = tx.open_turn(hold.session)? else {
            return Ok(Vec::new());
        };
        let rows = tx.pending(hold.session)?;
        let entries = rows.iter().map(|row| row.entry(0, turn.id));
        Ok(entries
            .map(|entry| entry.map(|e| e.observation))
            .collect::<Result<_, _>>()?)
    })
}

/// The receipt of the turn that a driver calls by this key, if it was committed.
///
/// # Errors
/// Those of the store.
pub fn receipt(
    ledger: &mut dyn Ledger,
    session: SessionId,
    key: &str,
) -> Result<Option<Receipt>, TurnError> {
    let keyed = read(ledger, |tx| tx.keyed_receipt(session, key))?;
    Ok(keyed.map(|k| k.receipt))
}

/// Everything that was said up to `until` in a session and, before it was forked, in those that it came from: oldest
/// first, each part with its session. `None` means up to its end.
///
/// # Errors
/// [`TurnError::NoSession`].
pub fn history(
    ledger: &mut dyn Ledger,
    session: SessionId,
    until: Option<u64>,
) -> Result<Vec<(SessionId, Vec<Entry>)>, TurnError> {
    let parts = read(ledger, |tx| parts(tx, session, until, From::TheBeginning))?;
    parts.ok_or(TurnError::NoSession(session))
}

type Parts = Vec<(SessionId, Vec<Entry>)>;

/// Where a history begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    TheBeginning,
    /// With the last compaction of the context, if there was one.
    TheCompaction,
}

fn parts(
    tx: &mut dyn Transaction,
    session: SessionId,
    until: Option<u64>,
    from: From,
) -> Result<Option<Parts>, LedgerError> {
    let Some(mut record) = tx.session(session)? else {
        return Ok(None);
    };
    let mut until = until;
    let mut parts = Vec::new();
    for _ in 0..FORKS_MOST {
        let last = until.map_or(record.head, |most| most.min(record.head));
        let first = match from {
            From::TheBeginning => None,
            From::TheCompaction => tx.last_of_kind(record.id, COMPACTED, last)?,
        };
        parts.push((record.id, between(tx, record.id, first.unwrap_or(1), last)?));
        let Some((parent, at)) = forked_from(&record).filter(|_| first.is_none()) else {
            break;
        };
        let Some(next) = tx.session(parent)? else {
            break;
        };
        (record, until) = (next, Some(at));
    }
    parts.reverse();
    Ok(Some(parts))
}

/// The entries `first ..= last`. Places have no holes, so that there are at most so many, and no more are read.
pub(crate) fn between(
    tx: &mut dyn Transaction,
    session: SessionId,
    first: u64,
    last: u64,
) -> Result<Vec<Entry>, LedgerError> {
    let after = first.saturating_sub(1);
    match usize::try_from(last.saturating_sub(after)) {
        // No limit would mean all.
        Ok(0) => Ok(Vec::new()),
        Ok(most) => tx.entries(session, after, most),
        Err(_) => tx.entries(session, after, 0),
    }
}

const fn forked_from(record: &SessionRecord) -> Option<(SessionId, u64)> {
    match (record.parent, record.parent_at) {
        (Some((parent, relation)), Some(at)) if relation.shares_history() => Some((parent, at)),
        _ => None,
    }
}

/// What an agent that goes on needs to read: all that was said since the context was compacted last, beginning with
/// that. An older state of it is the same with `until` before the compaction, which is an entry like any other. Nothing
/// of before is read.
///
/// # Errors
/// [`TurnError::NoSession`].
pub fn context(
    ledger: &mut dyn Ledger,
    session: SessionId,
    until: Option<u64>,
) -> Result<Vec<Entry>, TurnError> {
    let parts = read(ledger, |tx| parts(tx, session, until, From::TheCompaction))?;
    let parts = parts.ok_or(TurnError::NoSession(session))?;
    Ok(parts.into_iter().flat_map(|(_, entries)| entries).collect())
}
