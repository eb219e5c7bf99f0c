//! What a driver says: a turn is opened, grows, and is committed or aborted.

use std::collections::HashMap;

use siglum_domain::digest::Hasher;
use siglum_domain::observation::{Fact, Observation, Source};
use siglum_domain::receipt::{self, Receipt};
use siglum_domain::{ObservationId, SessionId, Timestamp, TurnId};
use siglum_ledger::{
    Durability, KeyedReceipt, Ledger, LedgerError, LogRow, NewEntry, OpenTurn, SessionRecord,
    Transaction, TurnRecord,
};

use super::lease::Hold;
use super::{
    EVENT_BYTES_MOST, EVENTS_MOST, TURN_BYTES_MOST, TurnError, attempt, fence, key, writable,
};
use crate::Here;
use crate::record::unassigned;
use crate::world::salt;

/// How often a commit whose answer was lost is asked for again.
const ASK_AGAIN: usize = 3;

/// What opening a turn gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opened {
    Turn(OpenTurn),
    /// A turn of this key was committed before.
    Committed(Receipt),
}

/// A turn that is in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    pub receipt: Receipt,
    /// Whether it had been committed before.
    pub already: bool,
}

/// Opens a turn behind the committed log, or finds it open. What is said first, such as the prompt, can come with it.
///
/// # Errors
/// [`TurnError::Stale`] where the log does not end at `expected`; [`TurnError::NotOpen`] while another turn is open.
pub fn open(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    hold: Hold,
    expected: u64,
    turn_key: &str,
    observations: &[Observation],
) -> Result<Opened, TurnError> {
    key("turn_key", turn_key)?;
    let events = check(observations)?;
    attempt(ledger, Durability::Process, |tx| {
        fence(tx, hold)?;
        let session = hold.session;
        if let Some(known) = tx.keyed_receipt(session, turn_key)? {
            return Ok(Opened::Committed(known.receipt));
        }
        let record = writable(tx, session)?;
        let turn = match tx.open_turn(session)? {
            Some(open) => mine(open, hold, turn_key)?,
            None => {
                at_its_end(&record, expected)?;
                let turn = OpenTurn {
                    session,
                    id: TurnId::mint(here.ids),
                    key: turn_key.to_owned(),
                    epoch: hold.epoch,
                    base: expected,
                    opened_at: here.now(),
                    held: None,
                };
                tx.put_open_turn(&turn)?;
                turn
            }
        };
        add(here, tx, session, &events)?;
        Ok(Opened::Turn(turn))
    })
}

/// Adds to the turn that is open. The same event twice is there once. Gives how many events wait in it.
///
/// # Errors
/// [`TurnError::NotOpen`] where this turn is not open; [`TurnError::Conflict`] for an event of the same key that says
/// something else.
pub fn append(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    hold: Hold,
    turn_key: &str,
    observations: &[Observation],
) -> Result<(), TurnError> {
    let events = check(observations)?;
    attempt(ledger, Durability::Process, |tx| {
        fence(tx, hold)?;
        writable(tx, hold.session)?;
        opened(tx, hold, turn_key)?;
        add(here, tx, hold.session, &events)
    })
}

/// Drops the turn that is open, with all that was said in it. Nobody has seen it.
///
/// # Errors
/// [`TurnError::NotOpen`] where this turn is not open.
pub fn abort(ledger: &mut dyn Ledger, hold: Hold, turn_key: &str) -> Result<(), TurnError> {
    attempt(ledger, Durability::Process, |tx| {
        fence(tx, hold)?;
        opened(tx, hold, turn_key)?;
        Ok(tx.drop_turn(hold.session)?)
    })
}

/// Commits a turn: what waits in it, if it was opened, and `observations` behind that. In one transaction it comes into
/// the log, is sealed, and is due at every projection. The same key with the same `observations` gives the same receipt
/// again.
///
/// # Errors
/// [`TurnError::Fenced`], [`TurnError::Stale`], [`TurnError::Conflict`] and the others: nothing was written, unless
/// [`TurnError::fate`] says that nobody can tell.
pub fn commit(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    hold: Hold,
    expected: u64,
    turn_key: &str,
    observations: &[Observation],
) -> Result<Committed, TurnError> {
    commit_as(
        here,
        ledger,
        hold,
        (expected, Standing::Ends),
        turn_key,
        observations,
    )
}

/// Commits what is whole by itself, such as a summary, before the turn that is open: that one stays open behind it.
///
/// # Errors
/// As [`commit`].
pub(crate) fn commit_before(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    hold: Hold,
    expected: u64,
    turn_key: &str,
    observations: &[Observation],
) -> Result<Committed, TurnError> {
    commit_as(
        here,
        ledger,
        hold,
        (expected, Standing::Goes),
        turn_key,
        observations,
    )
}

/// What a commit is to the turn that is open.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Its end.
    Ends,
    /// Something before it, which goes on.
    Goes,
}

fn commit_as(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    hold: Hold,
    at: (u64, Standing),
    turn_key: &str,
    observations: &[Observation],
) -> Result<Committed, TurnError> {
    key("turn_key", turn_key)?;
    let events = check(observations)?;
    let content = content(&ledger.key(), &events);
    let mut tries = 0;
    loop {
        let done = attempt(ledger, Durability::Disk, |tx| {
            fence_or_known(tx, hold, turn_key, &content)?
                .map_or_else(|| seal(here, tx, hold, at, turn_key, &events, &content), Ok)
        });
        // The key tells whether the write that was cut off is stored, and the locks that it took whether it may
        // still come to be.
        match done {
            Err(TurnError::Ledger(LedgerError::Unknown(_))) if tries < ASK_AGAIN => tries += 1,
            Err(TurnError::Ledger(error)) if tries > 0 => return Err(still_unknown(error)),
            done => return done,
        }
    }
}

/// A store that cannot be asked what became of a write does not say that it was not done.
pub(crate) fn still_unknown(error: LedgerError) -> TurnError {
    TurnError::Ledger(match error {
        LedgerError::Unknown(_) => error,
        other => LedgerError::Unknown(Box::new(other)),
    })
}

/// The receipt of a turn that was committed before; else the lease must be good.
fn fence_or_known(
    tx: &mut dyn Transaction,
    hold: Hold,
    turn_key: &str,
    content: &str,
) -> Result<Option<Committed>, TurnError> {
    // First, since it keeps others out until the end of the transaction.
    let fenced = fence(tx, hold);
    match tx.keyed_receipt(hold.session, turn_key)? {
        Some(known) => again(hold.session, turn_key, content, known).map(Some),
        None => fenced.map(|()| None),
    }
}

fn again(
    session: SessionId,
    turn_key: &str,
    content: &str,
    known: KeyedReceipt,
) -> Result<Committed, TurnError> {
    if known.content == content {
        return Ok(Committed {
            receipt: known.receipt,
            already: true,
        });
    }
    Err(TurnError::Conflict {
        session,
        key: turn_key.to_owned(),
        receipt: known.receipt.digest,
    })
}

fn seal(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    hold: Hold,
    (expected, standing): (u64, Standing),
    turn_key: &str,
    events: &[SerializedObservation<'_>],
    content: &str,
) -> Result<Committed, TurnError> {
    let record = writable(tx, hold.session)?;
    let (open, behind) = match tx.open_turn(hold.session)? {
        Some(open) if standing == Standing::Ends => (Some(mine(open, hold, turn_key)?), None),
        open => (None, open),
    };
    at_its_end(&record, expected)?;
    let at = here.now();
    let mut rows = match &open {
        Some(_) => tx.pending(hold.session)?,
        None => Vec::new(),
    };
    let fresh = rows_of(here, hold.session, events, at);
    rows = without_doubles(hold.session, rows, fresh)?;
    let bytes: usize = rows.iter().map(|r| r.payload.len()).sum();
    within("events", rows.len(), EVENTS_MOST)?;
    within("events", bytes, TURN_BYTES_MOST)?;
    let turn = open.as_ref().map_or_else(
        || (TurnId::mint(here.ids), at),
        |open| (open.id, open.opened_at),
    );
    let receipt = into_the_log(tx, &record, turn, turn_key, &rows, content, at)?;
    if open.is_some() {
        tx.drop_turn(hold.session)?;
    }
    if let Some(behind) = behind {
        let base = receipt.last;
        tx.put_open_turn(&OpenTurn { base, ..behind })?;
    }
    Ok(Committed {
        receipt,
        already: false,
    })
}

/// Takes the rows of a turn into the log and seals it up to there.
pub(super) fn into_the_log(
    tx: &mut dyn Transaction,
    record: &SessionRecord,
    (turn, opened_at): (TurnId, Timestamp),
    turn_key: &str,
    rows: &[LogRow],
    content: &str,
    at: Timestamp,
) -> Result<Receipt, TurnError> {
    if rows.is_empty() {
        return Err(TurnError::Invalid {
            field: "events",
            rule: "a turn without events cannot be committed".to_owned(),
        });
    }
    let session = record.id;
    // What others observed of the session meanwhile is sealed with it.
    let mut entries = Vec::new();
    let mut turns = Vec::new();
    if record.head > record.sealed {
        for (entry, of) in tx.to_seal(session, record.sealed + 1, record.head)? {
            entries.push(entry);
            turns.extend(of);
        }
    }
    turns.push(turn);
    turns.sort();
    turns.dedup();
    let first = record.head + 1;
    entries.extend((first..).zip(rows).map(|(n, row)| row.sealed(n)));
    let before = tx.last_receipt(session)?;
    let receipt = receipt::seal(session, before.as_ref(), &entries, turns, at)
        .expect("because a turn has entries");
    let prompt = rows.iter().position(|row| row.kind == "prompt");
    let begins = TurnRecord {
        id: turn,
        session,
        native: turn_key.to_owned(),
        opened_at,
    };
    let turn = tx.begin_turn(&begins, prompt.map(|place| first + place as u64))?;
    if let Some(key) = tx.append_rows(session, turn, rows)? {
        let receipt = String::new();
        return Err(TurnError::Conflict {
            session,
            key,
            receipt,
        });
    }
    for row in rows.iter().filter(|row| row.kind == "traced") {
        if let Ok(Fact::Traced { parent }) = serde_json::from_str(&row.fact()?) {
            unassigned::note_trace(tx, &parent.trace, session, at)?;
        }
    }
    if !tx.put_keyed_receipt(&receipt, turn_key, content)? {
        return Err(TurnError::Ledger(LedgerError::Busy));
    }
    tx.touch(session, at, None, None)?;
    Ok(receipt)
}

/// The rows that wait and those that are new, each event once.
fn without_doubles(
    session: SessionId,
    mut rows: Vec<LogRow>,
    fresh: Vec<LogRow>,
) -> Result<Vec<LogRow>, TurnError> {
    if rows.is_empty() {
        return Ok(fresh);
    }
    let place = |(at, row): (usize, &LogRow)| (row.key.clone(), at);
    let mut places: HashMap<String, usize> = rows.iter().enumerate().map(place).collect();
    for row in fresh {
        match places.get(&row.key) {
            Some(at) => same(session, &rows[*at], &row)?,
            None => {
                places.insert(row.key.clone(), rows.len());
                rows.push(row);
            }
        }
    }
    Ok(rows)
}

fn same(session: SessionId, known: &LogRow, row: &LogRow) -> Result<(), TurnError> {
    if known.event == row.event && known.fact()? == row.fact()? {
        return Ok(());
    }
    Err(TurnError::Conflict {
        session,
        key: row.key.clone(),
        receipt: String::new(),
    })
}

fn add(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    session: SessionId,
    events: &[SerializedObservation<'_>],
) -> Result<(), TurnError> {
    let mut again = Vec::new();
    for row in rows_of(here, session, events, here.now()) {
        if !tx.add_pending(session, &row)? {
            again.push(row);
        }
    }
    if again.is_empty() {
        return Ok(());
    }
    let waits = tx.pending(session)?;
    let waits: HashMap<&str, &LogRow> = waits.iter().map(|w| (w.key.as_str(), w)).collect();
    for row in &again {
        if let Some(known) = waits.get(row.key.as_str()) {
            same(session, known, row)?;
        }
    }
    Ok(())
}

pub(super) fn rows_of(
    here: &Here<'_>,
    session: SessionId,
    events: &[SerializedObservation<'_>],
    at: Timestamp,
) -> Vec<LogRow> {
    let row = |event: &SerializedObservation<'_>| {
        let entry = NewEntry {
            id: ObservationId::mint(here.ids),
            session,
            turn: None,
            recorded_at: at,
            salt: salt(here.ids),
            observation: event.observation,
        };
        LogRow::with_payload(&entry, &event.fact)
    };
    events.iter().map(row).collect()
}

/// The turn that is open, if it is this one and waits for nobody.
fn opened(tx: &mut dyn Transaction, hold: Hold, turn_key: &str) -> Result<OpenTurn, TurnError> {
    match tx.open_turn(hold.session)? {
        Some(open) => mine(open, hold, turn_key),
        None => Err(not_open(hold.session, turn_key, "none is")),
    }
}

fn mine(open: OpenTurn, hold: Hold, turn_key: &str) -> Result<OpenTurn, TurnError> {
    if let Some(why) = open.held {
        let (session, turn) = (hold.session, open.key);
        return Err(TurnError::Held { session, turn, why });
    }
    if open.key != turn_key {
        let other = format!("`{}` is", open.key);
        return Err(not_open(hold.session, turn_key, &other));
    }
    Ok(open)
}

pub(super) fn not_open(session: SessionId, turn_key: &str, open: &str) -> TurnError {
    TurnError::NotOpen {
        session,
        key: turn_key.to_owned(),
        open: open.to_owned(),
    }
}

const fn at_its_end(record: &SessionRecord, expected: u64) -> Result<(), TurnError> {
    if record.sealed == expected {
        return Ok(());
    }
    Err(TurnError::Stale {
        session: record.id,
        expected,
        committed: record.sealed,
    })
}

/// A keyed digest of what a driver asks for, so that the same request is known again and nothing can be guessed
/// from it. Who asks again may be in another trace by then.
pub(super) fn content(secret: &[u8; 32], events: &[SerializedObservation<'_>]) -> String {
    let mut hasher = Hasher::keyed(secret);
    let mut field = |text: &str| hasher.field(text.as_bytes());
    let counts =
        |event: &&SerializedObservation<'_>| !matches!(event.observation.fact, Fact::Traced { .. });
    for SerializedObservation { observation, fact } in events.iter().filter(counts) {
        field(&observation.key);
        field(&observation.event);
        field(observation.subagent.as_deref().unwrap_or_default());
        field(fact);
    }
    hasher.hex()
}

/// What is said in a turn, with its fact in JSON, which is digested and stored.
pub(super) struct SerializedObservation<'a> {
    observation: &'a Observation,
    fact: String,
}

impl<'a> From<&'a Observation> for SerializedObservation<'a> {
    fn from(observation: &'a Observation) -> Self {
        let fact = serde_json::to_string(&observation.fact);
        Self {
            observation,
            fact: fact.expect("because facts have text keys only"),
        }
    }
}

/// Refuses what a driver may not say, before anything is written.
fn check(observations: &[Observation]) -> Result<Vec<SerializedObservation<'_>>, TurnError> {
    within("events", observations.len(), EVENTS_MOST)?;
    let mut all = Vec::with_capacity(observations.len());
    let mut keys = std::collections::BTreeSet::new();
    for o in observations {
        key("event key", &o.key)?;
        key("event", &o.event)?;
        if !keys.insert(&o.key) {
            return Err(TurnError::Twice { key: o.key.clone() });
        }
        if o.source != Source::Api || matches!(o.fact, Fact::Recovered { .. }) {
            return Err(TurnError::Invalid {
                field: "event",
                rule: "events of a driver must have the source `api` and recover nothing"
                    .to_owned(),
            });
        }
        let event = SerializedObservation::from(o);
        within("event", event.fact.len(), EVENT_BYTES_MOST)?;
        all.push(event);
    }
    Ok(all)
}

fn within(field: &'static str, found: usize, most: usize) -> Result<(), TurnError> {
    if found <= most {
        return Ok(());
    }
    Err(TurnError::Invalid {
        field,
        rule: format!("must be at most {most} (got {found})"),
    })
}
