//! Runs as the gateways of one store see those of each other: which go on, what happens in them, who wants them to end.
//!
//! A run is its gateway's, and the store is all that others share with it. So its gateway announces it under its lease, and
//! stores what those who follow it are told. Others write what they want of it, and it looks.

use std::time::Duration;

use siglum_domain::{SessionId, TurnId};
use siglum_ledger::{
    ActiveRun, Durability, InteractionRecord, Joined, Ledger, LedgerError, RunEvents, RunRecord,
    Settlement, Transaction, attempt, read, write,
};

use crate::Here;
use crate::driven::turn::{self, Hold, Holder, Leased, TurnError};

/// Takes the lease of a session as [`turn::lease`] does, and announces the run in the same transaction.
///
/// # Errors
/// As [`turn::lease`].
pub fn lease(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    holder: &Holder,
    term: Duration,
    run: &ActiveRun,
) -> Result<Leased, TurnError> {
    let (home, secret) = (ledger.id(), ledger.key());
    attempt(ledger, Durability::Disk, |tx| {
        let mut joined = Joined::new(tx, home, secret);
        let leased = turn::lease(here, &mut joined, run.session, holder, term)?;
        tx.put_active_run(run)?;
        Ok(leased)
    })
}

/// Notes a run whose turn is open, and stores its first event. Gives the run as it is noted: behind all others of its
/// session, whose gateways have clocks of their own.
///
/// # Errors
/// Those of the ledger.
pub fn begin(
    ledger: &mut dyn Ledger,
    driver: &str,
    run: &RunRecord,
    first: &RunEvents,
) -> Result<RunRecord, LedgerError> {
    write(ledger, Durability::Process, |tx| {
        let newest = tx.runs_of(run.session, 1)?.into_iter().next();
        let newest = newest.filter(|newest| newest.turn != run.turn);
        let behind = newest.map_or(run.started_at, |newest| newest.started_at.plus_millis(1));
        let run = RunRecord {
            started_at: run.started_at.max(behind),
            ..run.clone()
        };
        tx.put_run(&run)?;
        tx.put_run_events(first)?;
        tx.begin_active_run(run.session, driver, run.turn)?;
        Ok(run)
    })
}

/// Stores more events of a run, and lets go of those up to the one with the number `cut`, but the first one. Of a turn that
/// is open no more nothing is stored: somebody had it forgotten, or settled it since its lease ran out.
///
/// # Errors
/// Those of the ledger.
pub fn store_events(
    ledger: &mut dyn Ledger,
    events: &RunEvents,
    cut: u64,
) -> Result<(), LedgerError> {
    write(ledger, Durability::Process, |tx| {
        // Whoever forgets drops the turn before the events, and waits for this lock.
        let open = tx.open_turn(events.session)?;
        if open.is_none_or(|open| open.id != events.turn) {
            return Ok(());
        }
        tx.put_run_events(events)?;
        match cut {
            0 => Ok(()),
            cut => tx.cut_run_events(events.turn, cut),
        }
    })
}

/// Lets go of the events of a run that ended.
///
/// # Errors
/// Those of the ledger.
pub fn drop_events(ledger: &mut dyn Ledger, turn: TurnId) -> Result<(), LedgerError> {
    write(ledger, Durability::Process, |tx| tx.drop_run_events(turn))
}

/// Gives a lease back as [`turn::release`] does, and stores the last events of the run in the same transaction: whoever
/// sees that it goes on no more sees how it ended.
///
/// # Errors
/// As [`turn::release`].
pub fn release(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    hold: Hold,
    last: &RunEvents,
) -> Result<(), TurnError> {
    let (home, secret) = (ledger.id(), ledger.key());
    attempt(ledger, Durability::Process, |tx| {
        tx.put_run_events(last)?;
        turn::release(here, &mut Joined::new(tx, home, secret), hold)
    })
}

/// The run of a session that goes on, or whose agent starts.
///
/// # Errors
/// Those of the ledger.
pub fn active(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    session: SessionId,
) -> Result<Option<ActiveRun>, LedgerError> {
    read(ledger, |tx| active_of(here, tx, session))
}

/// The lease comes first, which a transaction that writes locks.
fn active_of(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    session: SessionId,
) -> Result<Option<ActiveRun>, LedgerError> {
    let Some(lease) = tx.lease(session)? else {
        return Ok(None);
    };
    let at = tx.clock(here.now())?;
    let run = tx.active_run(session)?;
    let is_held = |run: &ActiveRun| Holder::read(&lease.holder).nonce == run.driver;
    Ok(run.filter(|run| lease.expires_at > at && is_held(run)))
}

/// Asks the gateway that runs a session to end that. Gives the run.
///
/// # Errors
/// Those of the ledger.
pub fn cancel(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    session: SessionId,
    by: &str,
) -> Result<Option<ActiveRun>, LedgerError> {
    write(ledger, Durability::Process, |tx| {
        let Some(run) = active_of(here, tx, session)? else {
            return Ok(None);
        };
        let is_asked = tx.cancel_active_run(session, &run.driver, by)?;
        Ok(is_asked.then_some(run))
    })
}

/// What comes of an answer for a run of another gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It is stored: the agent gets it.
    Stored,
    /// Somebody else was faster.
    Late,
    /// The run that asked goes on no more.
    Lost,
}

/// Answers what an agent asked whose run goes on at another gateway, which looks for it there.
///
/// # Errors
/// Those of the ledger.
pub fn answer(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    interaction: &InteractionRecord,
    settled: &Settlement,
) -> Result<Answer, LedgerError> {
    write(ledger, Durability::Disk, |tx| {
        let run = active_of(here, tx, interaction.session)?;
        if run.and_then(|run| run.turn) != Some(interaction.turn) {
            return Ok(Answer::Lost);
        }
        Ok(match tx.settle_interaction(interaction.id, settled)? {
            true => Answer::Stored,
            false => Answer::Late,
        })
    })
}

/// Events of a run behind a number, and whether it still goes on.
///
/// # Errors
/// Those of the ledger.
pub fn events(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    run: &ActiveRun,
    after: u64,
    limit: usize,
) -> Result<(bool, Vec<RunEvents>), LedgerError> {
    read(ledger, |tx| {
        let active = active_of(here, tx, run.session)?;
        let goes_on = active.is_some_and(|active| active.driver == run.driver);
        let events = match run.turn {
            Some(turn) => tx.run_events(turn, after, limit)?,
            None => Vec::new(),
        };
        Ok((goes_on, events))
    })
}

#[cfg(test)]
mod tests {
    use siglum_domain::{ConversationId, InteractionId, Redacted};
    use siglum_ledger::OpenTurn;
    use uuid::Uuid;

    use super::*;
    use crate::driven::turn::NewSession;
    use crate::tests::stage::{Stage, agent, at};

    const TERM: Duration = Duration::from_secs(30);

    fn turn_id() -> TurnId {
        TurnId::from_uuid(Uuid::from_u128(7))
    }

    fn run_events(session: SessionId, number: u64) -> RunEvents {
        RunEvents {
            turn: turn_id(),
            session,
            first: number,
            last: number,
            at: at(0),
            events: "[]".to_owned(),
        }
    }

    /// A session with a run of this driver, whose turn is open.
    fn running(driver: &str) -> (Stage, ActiveRun, Hold) {
        let mut stage = Stage::new();
        let (run, hold) = stage.play(|world, ledger| {
            let new = NewSession {
                agent: agent(),
                conversation: ConversationId::new("c-1").unwrap(),
                cwd: None,
                links: Vec::new(),
                by: "ann".to_owned(),
            };
            let session = turn::create(world, ledger, &new).unwrap().id;
            let starts = ActiveRun {
                session,
                driver: driver.to_owned(),
                key: "k".to_owned(),
                by: "ann".to_owned(),
                since: at(0),
                turn: None,
                cancelled_by: None,
            };
            let holder = Holder {
                name: "a run".to_owned(),
                nonce: driver.to_owned(),
                process: None,
            };
            let hold = lease(world, ledger, &holder, TERM, &starts).unwrap().hold;
            assert_eq!(
                active(world, ledger, session).unwrap(),
                Some(starts.clone())
            );
            let record = RunRecord {
                turn: turn_id(),
                session,
                key: "k".to_owned(),
                native: None,
                route: None,
                context: None,
                by: "ann".to_owned(),
                started_at: at(0),
                end: None,
            };
            let open = OpenTurn {
                session,
                id: turn_id(),
                key: "k".to_owned(),
                epoch: hold.epoch,
                base: 0,
                opened_at: at(0),
                held: None,
            };
            write(ledger, Durability::Process, |tx| tx.put_open_turn(&open)).unwrap();
            begin(ledger, driver, &record, &run_events(session, 1)).unwrap();
            let run = ActiveRun {
                turn: Some(turn_id()),
                ..starts
            };
            assert_eq!(active(world, ledger, session).unwrap(), Some(run.clone()));
            (run, hold)
        });
        (stage, run, hold)
    }

    #[test]
    fn whoever_sees_that_a_run_is_over_sees_its_last_event() {
        let (mut stage, run, hold) = running("one");
        let numbers = |(goes_on, events): (bool, Vec<RunEvents>)| {
            let numbers: Vec<u64> = events.iter().map(|events| events.first).collect();
            (goes_on, numbers)
        };
        stage.play(|world, ledger| {
            store_events(ledger, &run_events(run.session, 2), 0).unwrap();
            let found = events(world, ledger, &run, 1, 9).unwrap();
            assert_eq!(numbers(found), (true, vec![2]));
            store_events(ledger, &run_events(run.session, 3), 2).unwrap();
            release(world, ledger, hold, &run_events(run.session, 4)).unwrap();
            let found = events(world, ledger, &run, 0, 9).unwrap();
            assert_eq!(numbers(found), (false, vec![1, 3, 4]));
            assert_eq!(active(world, ledger, run.session).unwrap(), None);
        });
    }

    #[test]
    fn nothing_more_is_stored_of_a_turn_that_was_forgotten() {
        let (mut stage, run, _) = running("one");
        stage.play(|world, ledger| {
            write(ledger, Durability::Process, |tx| {
                tx.drop_turn(run.session)?;
                tx.forget_session(run.session, at(1))
            })
            .unwrap();
            store_events(ledger, &run_events(run.session, 2), 0).unwrap();
            let (_, found) = events(world, ledger, &run, 0, 9).unwrap();
            assert_eq!(found, Vec::new());
        });
    }

    #[test]
    fn a_run_whose_lease_ran_out_is_nobodys() {
        let (mut stage, run, _) = running("one");
        stage.now.set(stage.now.get() + 60);
        stage.play(|world, ledger| {
            assert_eq!(active(world, ledger, run.session).unwrap(), None);
            assert_eq!(cancel(world, ledger, run.session, "bob").unwrap(), None);
        });
    }

    #[test]
    fn a_run_is_cancelled_and_its_driver_sees_by_whom() {
        let (mut stage, run, _) = running("one");
        stage.play(|world, ledger| {
            let cancelled = cancel(world, ledger, run.session, "bob").unwrap();
            assert_eq!(cancelled, Some(run.clone()));
            let seen = active(world, ledger, run.session).unwrap();
            let by = seen.and_then(|run| run.cancelled_by);
            assert_eq!(by.as_deref(), Some("bob"));
        });
    }

    #[test]
    fn what_an_agent_asks_is_answered_once_while_its_run_goes_on() {
        let (mut stage, run, hold) = running("one");
        let interaction = |n: u128| InteractionRecord {
            id: InteractionId::from_uuid(Uuid::from_u128(n)),
            session: run.session,
            turn: turn_id(),
            kind: "permission".to_owned(),
            title: Redacted::from_stored(String::new()),
            call: None,
            options: Vec::new(),
            raised_at: at(0),
            settled: None,
        };
        let settled = Settlement {
            at: at(1),
            how: "answered".to_owned(),
            option: Some("yes".to_owned()),
            by: "bob".to_owned(),
        };
        stage.play(|world, ledger| {
            for n in [1, 2] {
                write(ledger, Durability::Process, |tx| {
                    tx.put_interaction(&interaction(n))
                })
                .unwrap();
            }
            let first = answer(world, ledger, &interaction(1), &settled).unwrap();
            let again = answer(world, ledger, &interaction(1), &settled).unwrap();
            assert_eq!((first, again), (Answer::Stored, Answer::Late));
            release(world, ledger, hold, &run_events(run.session, 2)).unwrap();
            let late = answer(world, ledger, &interaction(2), &settled).unwrap();
            assert_eq!(late, Answer::Lost);
        });
    }
}
