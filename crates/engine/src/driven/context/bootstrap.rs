//! A run begins, comes to its end, and what it leaves behind is looked after.

use siglum_domain::SessionId;
use siglum_domain::TurnKey;
use siglum_domain::context::{Cause, Inherit, Keys};
use siglum_ledger::{
    ContextGap, ContextRecord, ContextTurn, ContextTurnKind, Durability, LastRun, Ledger,
    RouteRecord, Transaction,
};

use super::commit::Hand;
use super::error::{attempt, belongs};
use super::{ContextError, gaps};
use crate::Here;

/// For how long asking for a run again gives it the same context, in milliseconds: a week.
const RUNS_KEPT: i64 = 7 * 24 * 60 * 60 * 1_000;
/// How many notes of runs one call lets go of.
const TRIMMED: usize = 1_000;
/// How long the word of an outcome may be.
const OUTCOME_MOST: usize = 64;

type Outcome<T> = Result<T, ContextError>;

/// What a host says when a run begins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bootstrap {
    /// The last position in its own order before the turn that is about to begin: what it did not hand over up to there
    /// is a gap.
    pub last: Option<u64>,
}

/// How a context stands when a run begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bootstrapped {
    pub session: SessionId,
    pub cause: Cause,
    /// What it has of the one that it came from.
    pub inherit: Inherit,
    /// The last committed sequence of its session.
    pub committed: u64,
    /// The next position in the host's own order, where one is known.
    pub next: Option<u64>,
    /// The gaps that nobody filled or accepted.
    pub gaps: Vec<ContextGap>,
}

/// A run begins: what another one left open in the context is settled, and what was not handed over is noted.
///
/// # Errors
/// [`TurnError::Leased`](crate::driven::turn::TurnError::Leased) while somebody else drives.
pub fn bootstrap(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    keys: &Keys,
    by: &str,
    ask: &Bootstrap,
) -> Outcome<Bootstrapped> {
    let hand = Hand::new(here, ledger, by);
    attempt(ledger, Durability::Disk, |tx| {
        let context = hand.open(tx, keys)?;
        hand.settle(tx, keys, &context)?;
        if let (Some(next), Some(last)) = (context.next, ask.last)
            && last >= next
        {
            gaps::note(here, tx, &context, (next, last), gaps::MISSING)?;
        }
        let mut gaps = tx.context_gaps(&context.key)?;
        gaps.retain(ContextGap::is_open);
        Ok(Bootstrapped {
            session: context.session,
            cause: context.cause,
            inherit: context.inherit,
            committed: tx.session(context.session)?.map_or(0, |s| s.sealed),
            next: context.next,
            gaps,
        })
    })
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// The key of its turn, if it was committed.
    pub turn: Option<TurnKey>,
    /// How, in a stable word of the host.
    pub outcome: String,
    pub kind: ContextTurnKind,
}

/// A run came to its end: its route says so, and its turn is known for what it was, also where it was not handed over
/// through [`commit`](super::commit()).
///
/// # Errors
/// [`ContextError::NoTurn`] for a turn that is not committed in this context.
pub fn after_turn(here: &Here<'_>, ledger: &mut dyn Ledger, keys: &Keys, ran: &Ran) -> Outcome<()> {
    let length = ran.outcome.chars().count();
    if !(1..=OUTCOME_MOST).contains(&length) || ran.outcome.chars().any(char::is_control) {
        return Err(ContextError::invalid(
            "outcome",
            "1 to 64 characters, no control characters",
        ));
    }
    let outcome = here.redactor.redact(&ran.outcome).into_string();
    attempt(ledger, Durability::Process, |tx| {
        let route = tx.route(&keys.route)?;
        let context = belongs(tx, keys)?;
        if let Some(key) = &ran.turn {
            known_for(here, tx, &context, key, ran.kind)?;
        }
        let at = here.now();
        // A run that had a context to itself leaves nothing that goes on.
        if matches!(context.cause, Cause::Tick | Cause::CronRun) {
            tx.set_ended(context.session, Some(at))?;
        }
        tx.put_context(&ContextRecord {
            seen_at: at,
            ..context.clone()
        })?;
        let Some(route) = route else { return Ok(()) };
        tx.put_route(&RouteRecord {
            seen_at: at,
            last: Some(LastRun {
                context: context.key,
                session: context.session,
                outcome: Some(outcome.clone()),
                at,
            }),
            ..route
        })?;
        Ok(())
    })
}

fn known_for(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    context: &ContextRecord,
    key: &TurnKey,
    kind: ContextTurnKind,
) -> Outcome<()> {
    let known = tx.context_turn(&context.key, key.as_str())?;
    let turn = match known {
        Some(turn) => ContextTurn { kind, ..turn },
        None => {
            let receipt = tx.keyed_receipt(context.session, key.as_str())?;
            let receipt = receipt.ok_or_else(|| ContextError::NoTurn {
                context: context.key.clone(),
                turn: key.to_string(),
            })?;
            let receipt = receipt.receipt;
            let fresh = siglum_domain::TurnId::mint(here.ids);
            ContextTurn {
                context: context.key.clone(),
                key: key.to_string(),
                turn: tx.turn(context.session, key.as_str(), fresh, receipt.at)?,
                log: (receipt.first, receipt.last),
                positions: None,
                kind,
                recovers: None,
                digest: None,
                at: receipt.at,
            }
        }
    };
    tx.put_context_turn(&turn)?;
    Ok(())
}

/// What looking after a context gave.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Maintained {
    /// How many notes of runs were let go, of any context.
    pub runs: u64,
    /// How many gaps wait to be filled or accepted.
    pub gaps: usize,
}

/// Looks after a context: what a host that died left open is settled, and notes of old runs are let go.
///
/// # Errors
/// As [`bootstrap`].
pub fn maintain(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    keys: &Keys,
    by: &str,
) -> Outcome<Maintained> {
    let hand = Hand::new(here, ledger, by);
    attempt(ledger, Durability::Process, |tx| {
        let context = belongs(tx, keys)?;
        if context.ended_at.is_none() && context.prepared.is_none() {
            hand.settle(tx, keys, &context)?;
        }
        let before = here.now().plus_millis(-RUNS_KEPT);
        let gaps = tx.context_gaps(&context.key)?;
        Ok(Maintained {
            runs: tx.trim_context_runs(before, TRIMMED)?,
            gaps: gaps.iter().filter(|gap| gap.is_open()).count(),
        })
    })
}
