//! What a driver that died left open: settled where that is certain, else held for a person.

use std::time::Duration;

use serde_json::json;
use siglum_domain::audit::Action;
use siglum_domain::observation::{Fact, Observation, Outcome, Recovery, Source};
use siglum_domain::receipt::Receipt;
use siglum_domain::tail::{Tail, tail};
use siglum_domain::{LedgerId, SessionId, Timestamp};
use siglum_ledger::{
    Durability, Ledger, LedgerError, LogRow, OpenTurn, Statement, Transaction, read,
};

use super::lease::{Hold, Holder, take};
use super::say::{SerializedObservation, content, into_the_log, not_open, rows_of};
use super::{TurnError, at_home, attempt, writable};
use crate::Here;
use crate::identity::audit::{self, Entry};

/// What a driver gets with its lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leased {
    pub hold: Hold,
    /// The last committed sequence.
    pub committed: u64,
    /// What became of the turn that the driver before left open.
    pub recovered: Recovered,
    /// A turn in which somebody asked and nothing was answered: to be taken up, or aborted.
    pub open: Option<OpenTurn>,
}

/// What became of the turn that a driver left open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovered {
    /// There was none, or nothing had been said in it.
    Nothing,
    /// Somebody had asked, and nothing was answered: it stays open for the next driver.
    Asked,
    /// It had come to its stop, and is committed.
    Committed(Receipt),
    /// It was broken off with no call open, and is committed as that.
    Interrupted(Receipt),
    /// Calls have no result: a person has to decide.
    Held {
        /// The calls, by event.
        calls: Vec<String>,
    },
}

/// What a person decides of a turn that is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The calls without a result were done: the turn is kept.
    Done,
    /// The calls without a result failed: the turn is kept.
    Failed,
    Discard,
}

impl Decision {
    /// Its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Discard => "discard",
        }
    }
}

/// Who decides, and of which turn.
#[derive(Debug, Clone, Copy)]
pub struct Decider<'a> {
    /// The turn that was looked at, by the key of its driver: by now another one may be open, of which nobody decided
    /// anything. Without a key it is the one that is open.
    pub turn: Option<&'a str>,
    /// The name under which it is written down.
    pub by: &'a str,
    /// Where it was said: `cli`, `api`.
    pub source: &'a str,
}

/// A turn that nobody drives and that is not settled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    pub turn: OpenTurn,
    /// What was said in it, as far as it can be read.
    pub observations: Vec<Observation>,
    pub tail: Tail,
    /// Who drives the session, while somebody does.
    pub driver: Option<(String, Timestamp)>,
}

impl Held {
    /// How the calls without a result began, in their order.
    #[must_use]
    pub fn calls(&self) -> Vec<&Observation> {
        let Tail::Unanswered(events) = &self.tail else {
            return Vec::new();
        };
        let began = |event: &String| {
            self.observations
                .iter()
                .find(|o| o.event == *event && matches!(o.fact, Fact::ToolStarted { .. }))
        };
        events.iter().filter_map(began).collect()
    }
}

/// Takes the lease of a session for `term`, if nobody else has it, and settles what the driver before left.
///
/// # Errors
/// [`TurnError::Leased`] while somebody else drives; [`TurnError::Held`] while a turn waits for a decision.
pub fn lease(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    session: SessionId,
    holder: &Holder,
    term: Duration,
) -> Result<Leased, TurnError> {
    let (key, home) = (ledger.key(), ledger.id());
    attempt(ledger, Durability::Disk, |tx| {
        at_home(&writable(tx, session)?, home)?;
        let at = tx.clock(here.now())?;
        let epoch = take(here, tx, session, holder, at, term)?;
        let hold = Hold { session, epoch };
        let recovered = settle(here, tx, hold, &key, at)?;
        let open = tx.open_turn(session)?;
        if let Some(OpenTurn {
            key: turn,
            held: Some(why),
            ..
        }) = open
        {
            return Err(TurnError::Held { session, turn, why });
        }
        if let Some(turn) = &open {
            let mine = OpenTurn {
                epoch,
                ..turn.clone()
            };
            tx.put_open_turn(&mine)?;
        }
        let committed = writable(tx, session)?.sealed;
        Ok(Leased {
            hold,
            committed,
            recovered,
            open,
        })
    })
}

/// Takes the lease as a part of a transaction, as [`lease`] does. The turn that this holder itself has open stays as it
/// is while its lease has not run out; what anybody else left is settled. Gives the last committed sequence, too.
pub(crate) fn borrow(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    home: (LedgerId, &[u8; 32]),
    session: SessionId,
    holder: &Holder,
    term: Duration,
) -> Result<(Hold, u64), TurnError> {
    at_home(&writable(tx, session)?, home.0)?;
    let at = tx.clock(here.now())?;
    let before = tx.lease(session)?.filter(|lease| lease.expires_at > at);
    let epoch = take(here, tx, session, holder, at, term)?;
    let hold = Hold { session, epoch };
    if before.map(|lease| lease.epoch) != Some(epoch) {
        settle(here, tx, hold, home.1, at)?;
    }
    match tx.open_turn(session)? {
        Some(OpenTurn {
            key: turn,
            held: Some(why),
            ..
        }) => return Err(TurnError::Held { session, turn, why }),
        Some(turn) if turn.epoch != epoch => tx.put_open_turn(&OpenTurn { epoch, ..turn })?,
        _ => {}
    }
    Ok((hold, writable(tx, session)?.sealed))
}

/// Settles what a driver that died left in a session. Done twice it does nothing more.
///
/// # Errors
/// [`TurnError::Leased`] while its driver lives.
pub fn recover(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    session: SessionId,
) -> Result<Recovered, TurnError> {
    let key = ledger.key();
    attempt(ledger, Durability::Disk, |tx| {
        writable(tx, session)?;
        first_the_lease(tx, session)?;
        if tx.open_turn(session)?.is_none() {
            return Ok(Recovered::Nothing);
        }
        let at = tx.clock(here.now())?;
        let hold = alone(here, tx, session, at)?;
        let recovered = settle(here, tx, hold, &key, at)?;
        tx.release_lease(session, hold.epoch, at)?;
        Ok(recovered)
    })
}

/// Commits what is left of the turn of a session that nobody will ever drive again, as broken off: calls without a result
/// stay without one.
///
/// # Errors
/// [`TurnError::Leased`] while its driver lives.
pub(crate) fn break_off(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    session: SessionId,
) -> Result<(), TurnError> {
    writable(tx, session)?;
    first_the_lease(tx, session)?;
    let Some(turn) = tx.open_turn(session)? else {
        return Ok(());
    };
    let at = tx.clock(here.now())?;
    let hold = alone(here, tx, session, at)?;
    let rows = tx.pending(session)?;
    match rows.is_empty() {
        true => tx.drop_turn(session)?,
        // Nobody commits it once more, so that no digest of its own is needed to tell that it is the same.
        false => drop(close(
            here,
            tx,
            &turn,
            rows,
            Recovery::Interrupted,
            &[],
            &[0; 32],
            at,
        )?),
    }
    tx.release_lease(session, hold.epoch, at)?;
    Ok(())
}

/// Locks the lease, as drivers do before they look at the open turn: in another order two wait for each other, until the
/// store ends one of them.
fn first_the_lease(tx: &mut dyn Transaction, session: SessionId) -> Result<(), TurnError> {
    tx.lease(session)?;
    Ok(())
}

/// Takes the lease for as long as this transaction, so that a driver that comes back is fenced.
fn alone(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    session: SessionId,
    at: Timestamp,
) -> Result<Hold, TurnError> {
    let me = Holder {
        name: "siglum, recovering".to_owned(),
        nonce: here.ids.fresh().to_string(),
        process: None,
    };
    let epoch = take(here, tx, session, &me, at, Duration::from_secs(1))?;
    Ok(Hold { session, epoch })
}

/// Settles the open turn of a session, whose lease this transaction has.
fn settle(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    hold: Hold,
    key: &[u8; 32],
    at: Timestamp,
) -> Result<Recovered, TurnError> {
    let Some(turn) = tx.open_turn(hold.session)? else {
        return Ok(Recovered::Nothing);
    };
    let rows = tx.pending(hold.session)?;
    match tail(&observations(&turn, &rows)?) {
        Tail::Empty => {
            tx.drop_turn(hold.session)?;
            Ok(Recovered::Nothing)
        }
        Tail::Asked => Ok(Recovered::Asked),
        Tail::Complete => {
            close(here, tx, &turn, rows, Recovery::Complete, &[], key, at).map(Recovered::Committed)
        }
        Tail::Interrupted => close(here, tx, &turn, rows, Recovery::Interrupted, &[], key, at)
            .map(Recovered::Interrupted),
        Tail::Unanswered(calls) => {
            let held = format!("nobody knows whether {} was done", calls.join(", "));
            tx.put_open_turn(&OpenTurn {
                held: Some(held),
                epoch: hold.epoch,
                ..turn
            })?;
            Ok(Recovered::Held { calls })
        }
    }
}

/// Commits a turn without its driver, and says in it how it came to that.
#[expect(clippy::too_many_arguments, reason = "one turn, and how it ends")]
fn close(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    turn: &OpenTurn,
    mut rows: Vec<LogRow>,
    how: Recovery,
    more: &[Observation],
    key: &[u8; 32],
    at: Timestamp,
) -> Result<Receipt, TurnError> {
    let record = writable(tx, turn.session)?;
    let end = siglum_observation(turn, "recovered", at, Fact::Recovered { how });
    let more: Vec<SerializedObservation<'_>> =
        more.iter().map(SerializedObservation::from).collect();
    rows.extend(rows_of(here, turn.session, &more, at));
    rows.extend(rows_of(
        here,
        turn.session,
        &[SerializedObservation::from(&end)],
        at,
    ));
    let opened = (turn.id, turn.opened_at);
    // The driver's own commit of this key was never taken: one that comes late is told so.
    let digest = content(key, &more);
    let receipt = into_the_log(tx, &record, opened, &turn.key, &rows, &digest, at)?;
    tx.drop_turn(turn.session)?;
    Ok(receipt)
}

fn siglum_observation(turn: &OpenTurn, what: &str, at: Timestamp, fact: Fact) -> Observation {
    Observation {
        source: Source::Siglum,
        key: format!("{what}:{}", turn.id),
        event: format!("{what}:{}", turn.id),
        at,
        turn: None,
        subagent: None,
        fact,
    }
}

fn observations(turn: &OpenTurn, rows: &[LogRow]) -> Result<Vec<Observation>, TurnError> {
    let entries = rows.iter().map(|row| row.entry(0, turn.id));
    Ok(entries
        .map(|entry| entry.map(|e| e.observation))
        .collect::<Result<_, _>>()?)
}

/// Ends what holds a session: keeps its turn with what a person says of the calls without a result, or drops it.
/// Gives the receipt of a turn that was kept.
///
/// # Errors
/// [`TurnError::Leased`] while its driver lives; [`TurnError::NotOpen`] where no turn is open, or another one than was
/// looked at.
pub fn decide(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    session: SessionId,
    decision: Decision,
    who: Decider<'_>,
) -> Result<Option<Receipt>, TurnError> {
    let key = ledger.key();
    attempt(ledger, Durability::Disk, |tx| {
        writable(tx, session)?;
        first_the_lease(tx, session)?;
        let wanted = who.turn.unwrap_or_default();
        let Some(turn) = tx.open_turn(session)? else {
            return Err(not_open(session, wanted, "none is"));
        };
        if who.turn.is_some_and(|wanted| wanted != turn.key) {
            return Err(not_open(session, wanted, &format!("`{}` is", turn.key)));
        }
        let at = tx.clock(here.now())?;
        let hold = alone(here, tx, session, at)?;
        let receipt = match decision {
            Decision::Discard => {
                tx.drop_turn(session)?;
                None
            }
            Decision::Done => Some(keep(here, tx, &turn, Outcome::Ok, &key, at)?),
            Decision::Failed => Some(keep(here, tx, &turn, Outcome::Failed, &key, at)?),
        };
        tx.release_lease(session, hold.epoch, at)?;
        let statement = Statement::Decided {
            session,
            turn: turn.id,
            decision: decision.word().to_owned(),
        };
        tx.state(at, who.by, who.source, &statement)?;
        let entry = Entry::done(who.by, Action::TurnDecided)
            .for_session(session)
            .with(json!({
                "decision": decision.word(),
                "receipt": receipt.as_ref().map(|receipt| receipt.number),
                "source": who.source,
                "turn": turn.id.to_string(),
                "turn_key": turn.key,
            }));
        audit::record(tx, here, &entry)?;
        Ok(receipt)
    })
}

/// Keeps a turn; each call without a result ends as a person says.
fn keep(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    turn: &OpenTurn,
    outcome: Outcome,
    key: &[u8; 32],
    at: Timestamp,
) -> Result<Receipt, TurnError> {
    let rows = tx.pending(turn.session)?;
    let all = observations(turn, &rows)?;
    let open = match tail(&all) {
        Tail::Unanswered(calls) => calls,
        _ => Vec::new(),
    };
    let ends: Vec<Observation> = open
        .iter()
        .filter_map(|event| all.iter().find(|o| o.event == *event))
        .filter_map(|call| match &call.fact {
            Fact::ToolStarted { tool, class, .. } => Some(Observation {
                event: call.event.clone(),
                subagent: call.subagent.clone(),
                ..siglum_observation(
                    turn,
                    &format!("decided:{}", call.key),
                    at,
                    Fact::ToolEnded {
                        tool: tool.clone(),
                        class: *class,
                        outcome,
                        output: None,
                        duration_ms: None,
                    },
                )
            }),
            _ => None,
        })
        .collect();
    close(here, tx, turn, rows, Recovery::Decided, &ends, key, at)
}

/// The turns that are open and not settled, oldest first.
///
/// # Errors
/// Those of the store.
pub fn held(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    limit: usize,
) -> Result<Vec<Held>, TurnError> {
    let mut all = Vec::new();
    for turn in read(ledger, |tx| tx.open_turns(limit))? {
        all.push(read(ledger, |tx| {
            let driver = driver(here, tx, turn.session)?;
            left_turn(tx, turn.clone(), driver)
        })?);
    }
    Ok(all)
}

/// The turns that wait for a person, by session from the one after `after` on: nobody drives them, and a call has no
/// result. Whether one was found before, so that it is marked, is all the same.
///
/// # Errors
/// Those of the store.
pub fn waiting(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    after: Option<SessionId>,
    limit: usize,
) -> Result<Vec<Held>, TurnError> {
    let mut open = read(ledger, |tx| tx.open_turns(usize::MAX))?;
    open.retain(|turn| after.is_none_or(|after| turn.session > after));
    open.sort_by_key(|turn| turn.session);
    let mut found = Vec::new();
    for turn in open {
        if found.len() >= limit {
            break;
        }
        found.extend(read(ledger, |tx| waits(here, tx, turn.session))?);
    }
    Ok(found)
}

/// The turn of a session that waits for a person. For transactions that only read: one that writes would lock the turn
/// and the lease in another order than drivers do.
///
/// # Errors
/// Those of the store.
pub fn waits(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    session: SessionId,
) -> Result<Option<Held>, LedgerError> {
    let Some(turn) = tx.open_turn(session)? else {
        return Ok(None);
    };
    if driver(here, tx, session)?.is_some() {
        return Ok(None);
    }
    let held = left_turn(tx, turn, None)?;
    Ok(matches!(held.tail, Tail::Unanswered(_)).then_some(held))
}

/// What was said in an open turn.
fn left_turn(
    tx: &mut dyn Transaction,
    turn: OpenTurn,
    driver: Option<(String, Timestamp)>,
) -> Result<Held, LedgerError> {
    let rows = tx.pending(turn.session)?;
    let entries = rows.iter().map(|row| row.entry(0, turn.id));
    let observations: Vec<Observation> = entries.flatten().map(|e| e.observation).collect();
    Ok(Held {
        tail: tail(&observations),
        turn,
        observations,
        driver,
    })
}

/// Who drives a session, and until when unless the lease is prolonged.
fn driver(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    session: SessionId,
) -> Result<Option<(String, Timestamp)>, LedgerError> {
    let at = tx.clock(here.now())?;
    let lease = tx.lease(session)?.filter(|l| l.expires_at > at);
    let living = lease.filter(|lease| {
        let process = Holder::read(&lease.holder).process;
        process.as_ref().and_then(|p| (here.alive)(p)) != Some(false)
    });
    Ok(living.map(|l| (Holder::read(&l.holder).name, l.expires_at)))
}

/// Settles all turns that nobody drives any more. Gives how many were settled or newly held.
///
/// # Errors
/// Those of the store. One session that is driven, or damaged, holds up no other.
pub(crate) fn recover_all(here: &Here<'_>, ledger: &mut dyn Ledger) -> Result<usize, LedgerError> {
    const LOOKED_AT: usize = 10_000;
    let mut settled = 0;
    for turn in read(ledger, |tx| tx.open_turns(LOOKED_AT))? {
        if turn.held.is_some() {
            continue;
        }
        match recover(here, ledger, turn.session) {
            Ok(Recovered::Asked) => {}
            Ok(_) => settled += 1,
            Err(TurnError::Ledger(error)) if !matches!(error, LedgerError::Damaged(_)) => {
                return Err(error);
            }
            Err(error) => tracing::debug!("left {} open: {error}", turn.session),
        }
    }
    Ok(settled)
}
