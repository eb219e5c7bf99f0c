//! What is said in a context is handed over: message by message, or as a whole turn.
//!
//! Each is one transaction that takes the lease of the session for itself. Where somebody else drives it, nothing is
//! written and the error says who.

use std::time::Duration;

use serde_json::json;
use siglum_domain::audit::Action;
use siglum_domain::context::Keys;
use siglum_domain::observation::Observation;
use siglum_domain::receipt::Receipt;
use siglum_domain::{LedgerId, TurnKey};
use siglum_ledger::{
    ContextRecord, ContextTurn, ContextTurnKind, Durability, Joined, Ledger, LedgerError,
    Transaction,
};

use super::error::{attempt, belongs};
use super::keep::used;
use super::message::{events, stop, summary};
use super::{ContextError, Message, gaps};
use crate::Here;
use crate::driven::turn::{self, Hold, Holder, TurnError};
use crate::identity::audit;
use crate::identity::audit::Entry;

/// How long a turn whose messages come one by one keeps others out after the last of them.
const TERM: Duration = Duration::from_secs(120);
/// How often a commit whose answer was lost is asked for again.
const ASK_AGAIN: usize = 3;
/// The word of the audit for a key that was used twice.
const CONFLICT: &str = "context.conflict";

/// A part of a host's own order, from its first position to its last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Positions {
    pub first: u64,
    pub last: u64,
}

/// One message of a turn that is not over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ingest {
    /// The key under which the turn will be handed over.
    pub key: TurnKey,
    /// The place of the message in the turn, from 0.
    pub place: usize,
    pub message: Message,
}

/// A turn that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The key of the turn: the same on each try.
    pub key: TurnKey,
    /// Where it stands in the host's own order, if the host counts.
    pub positions: Option<Positions>,
    /// All messages of the turn, also those that were handed over before.
    pub messages: Vec<Message>,
    pub kind: ContextTurnKind,
    /// The host's own digest of what it hands over.
    pub digest: Option<String>,
    /// The key of the turn that was broken off and that this one does again.
    pub recovers: Option<TurnKey>,
    /// The trace that asked for the turn.
    pub traced: Option<siglum_domain::trace::TraceParent>,
}

impl Commit {
    /// A turn that somebody asked for.
    #[must_use]
    pub const fn new(key: TurnKey, messages: Vec<Message>) -> Self {
        Self {
            key,
            positions: None,
            messages,
            kind: ContextTurnKind::Asked,
            digest: None,
            recovers: None,
            traced: None,
        }
    }
}

/// What was said so far is summed up by the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compact {
    /// The same on each try.
    pub key: TurnKey,
    pub summary: String,
    /// Why, in the host's own word.
    pub trigger: String,
    /// How many of the last messages stay beside it.
    pub keep: u32,
}

/// What became of a turn that was handed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Committed {
    /// It is stored.
    Done(Receipt),
    Duplicate(Receipt),
    /// Turns before it are missing, so that nothing was stored but the gap.
    Behind {
        expected: u64,
    },
}

type Outcome<T> = Result<T, ContextError>;

/// Whoever hands something over to a context.
pub(super) struct Hand<'a> {
    here: &'a Here<'a>,
    home: LedgerId,
    secret: [u8; 32],
    by: &'a str,
}

impl<'a> Hand<'a> {
    pub(super) fn new(here: &'a Here<'a>, ledger: &dyn Ledger, by: &'a str) -> Self {
        Self {
            here,
            home: ledger.id(),
            secret: ledger.key(),
            by,
        }
    }

    fn holder(&self, keys: &Keys) -> Holder {
        Holder {
            name: self.by.to_owned(),
            nonce: format!("context {}", keys.context),
            process: None,
        }
    }

    /// Takes the lease of the context's session. A turn in which somebody asked and nothing was answered is dropped
    /// where whoever opened it is gone, or where this one does it again.
    pub(super) fn hold(
        &self,
        tx: &mut dyn Transaction,
        keys: &Keys,
        context: &ContextRecord,
        (key, recovers): (&TurnKey, Option<&TurnKey>),
    ) -> Outcome<(Hold, u64)> {
        let home = (self.home, &self.secret);
        let session = context.session;
        // The lease comes first, as with every driver.
        tx.lease(session)?;
        let left = tx.open_turn(session)?;
        let (hold, head) = turn::borrow(self.here, tx, home, session, &self.holder(keys), TERM)?;
        let again = |open: &str| recovers.is_some_and(|key| key.as_str() == open);
        if let Some(left) = left
            && (again(&left.key) || (left.epoch != hold.epoch && left.key != key.as_str()))
        {
            tx.drop_turn(session)?;
        }
        Ok((hold, head))
    }

    /// Takes the lease for what is whole by itself. A turn that this one has open stays as it is, however long ago its
    /// last message came.
    fn hold_before(
        &self,
        tx: &mut dyn Transaction,
        keys: &Keys,
        context: &ContextRecord,
    ) -> Outcome<(Hold, u64)> {
        let (session, holder) = (context.session, self.holder(keys));
        let lease = tx.lease(session)?;
        let own = lease.filter(|lease| turn::is_held_by(lease, &holder));
        let open = tx.open_turn(session)?;
        if let Some((lease, open)) = own.zip(open)
            && lease.epoch == open.epoch
        {
            let epoch = lease.epoch;
            let hold = turn::prolong(self.here, tx, Hold { session, epoch }, TERM)?;
            let sealed = tx.session(session)?.map_or(0, |record| record.sealed);
            return Ok((hold, sealed));
        }
        let home = (self.home, &self.secret);
        Ok(turn::borrow(self.here, tx, home, session, &holder, TERM)?)
    }

    /// Settles what is left open in the context, if nobody else drives: what came to its stop is committed, and where
    /// somebody asked and nothing was answered nobody goes on.
    pub(super) fn settle(
        &self,
        tx: &mut dyn Transaction,
        keys: &Keys,
        context: &ContextRecord,
    ) -> Outcome<()> {
        let session = context.session;
        tx.lease(session)?;
        if tx.open_turn(session)?.is_none() {
            return Ok(());
        }
        let me = Holder {
            nonce: format!("{} begins", self.holder(keys).nonce),
            ..self.holder(keys)
        };
        let at = tx.clock(self.here.now())?;
        // A turn that this one's own lease keeps open is left by a run that is over.
        if let Some(lease) = tx.lease(session)?
            && turn::is_held_by(&lease, &self.holder(keys))
        {
            tx.release_lease(session, lease.epoch, at)?;
        }
        let home = (self.home, &self.secret);
        let (hold, _) = turn::borrow(self.here, tx, home, session, &me, TERM)?;
        if tx.open_turn(session)?.is_some() {
            tx.drop_turn(session)?;
        }
        tx.release_lease(session, hold.epoch, at)?;
        Ok(())
    }

    /// The context of the keys, with its session, if it may be written to.
    pub(super) fn open(&self, tx: &mut dyn Transaction, keys: &Keys) -> Outcome<ContextRecord> {
        let context = belongs(tx, keys)?;
        if context.ended_at.is_some() {
            let current = tx.route(&keys.route)?.and_then(|route| route.current);
            return Err(ContextError::Ended {
                context: context.key,
                current: current.map_or_else(|| "none".to_owned(), |key| format!("`{key}`")),
            });
        }
        used(self.here, tx, context, self.home)
    }
}

/// Hands over one message of a turn that is not over. The same one twice is there once.
///
/// # Errors
/// [`TurnError::Leased`] while somebody else drives; [`TurnError::NotOpen`] while another turn is open.
pub fn ingest(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    keys: &Keys,
    by: &str,
    ask: &Ingest,
) -> Outcome<()> {
    let hand = Hand::new(here, ledger, by);
    let observed = events(
        here.redactor,
        &ask.key,
        &[(ask.place, &ask.message)],
        here.now(),
    );
    attempt(ledger, Durability::Process, |tx| {
        let context = hand.open(tx, keys)?;
        let (hold, head) = hand.hold(tx, keys, &context, (&ask.key, None))?;
        let mut joined = Joined::new(tx, hand.home, hand.secret);
        turn::open(here, &mut joined, hold, head, ask.key.as_str(), &observed)?;
        Ok(())
    })
}

/// Hands over a turn that is over. The same one twice is stored once; one that says something else under the same key
/// is refused. Where turns before it are missing, the gap is noted and nothing else is stored.
///
/// # Errors
/// [`ContextError::Conflict`] for a key that was used, and for positions that are taken; [`TurnError::Leased`] while
/// somebody else drives.
pub fn commit(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    keys: &Keys,
    by: &str,
    ask: &Commit,
) -> Outcome<Committed> {
    store(here, ledger, keys, by, ask, Into::Next)
}

/// Hands over a turn that stands in a gap: it is seen at its place, and the gap is smaller by it.
///
/// # Errors
/// As [`commit`]; [`ContextError::Invalid`] where its positions do not lie in a gap.
pub fn backfill(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    keys: &Keys,
    by: &str,
    ask: &Commit,
) -> Outcome<Committed> {
    if ask.positions.is_none() {
        return Err(ContextError::invalid(
            "positions",
            "is required: the gap that it fills",
        ));
    }
    store(here, ledger, keys, by, ask, Into::Gap)
}

/// Sums up what was said so far in this context, and in no other one.
///
/// # Errors
/// As [`commit`].
pub fn compact(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    keys: &Keys,
    by: &str,
    ask: &Compact,
) -> Outcome<Committed> {
    let observed = vec![summary(
        here.redactor,
        &ask.key,
        (&ask.trigger, &ask.summary),
        here.now(),
    )];
    let commit = Commit {
        kind: ContextTurnKind::Compaction { keep: ask.keep },
        ..Commit::new(ask.key.clone(), Vec::new())
    };
    write(here, ledger, keys, by, &commit, &observed, Into::Next)
}

/// Where a turn comes into the order of its host.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Into {
    /// Behind the last one.
    Next,
    Gap,
}

fn store(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    keys: &Keys,
    by: &str,
    ask: &Commit,
    into: Into,
) -> Outcome<Committed> {
    if ask.messages.is_empty() {
        return Err(ContextError::invalid("messages", "must have at least one"));
    }
    let now = here.now();
    let messages: Vec<(usize, &Message)> = ask.messages.iter().enumerate().collect();
    let mut observed = events(here.redactor, &ask.key, &messages, now);
    observed.push(stop(&ask.key, now));
    let traced = ask
        .traced
        .map(|parent| turn::Event::traced(ask.key.as_str(), parent));
    observed.extend(traced.map(|event| event.observed(now)));
    write(here, ledger, keys, by, ask, &observed, into)
}

fn write(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    keys: &Keys,
    by: &str,
    ask: &Commit,
    observed: &[Observation],
    into: Into,
) -> Outcome<Committed> {
    let hand = Hand::new(here, ledger, by);
    let mut tries = 0;
    loop {
        let done = attempt(ledger, Durability::Disk, |tx| {
            one(&hand, tx, keys, ask, observed, into)
        });
        match done {
            // Its key tells whether the write that was cut off is stored.
            Err(ContextError::Turn(TurnError::Ledger(LedgerError::Unknown(_))))
                if tries < ASK_AGAIN =>
            {
                tries += 1;
            }
            Err(ContextError::Turn(TurnError::Ledger(error))) if tries > 0 => {
                return Err(turn::still_unknown(error).into());
            }
            Err(error @ ContextError::Conflict { .. }) => {
                noted(here, ledger, keys, by, &error)?;
                return Err(error);
            }
            done => return done,
        }
    }
}

/// Writes into the audit that a key was used twice.
fn noted(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    keys: &Keys,
    by: &str,
    error: &ContextError,
) -> Outcome<()> {
    let action = Action::Other(CONFLICT.to_owned());
    let more = json!({ "route": keys.route.as_str(), "context": keys.context.as_str() });
    let entry = Entry::refused(by, action, &error.to_string(), Some("key")).with(more);
    audit::note(here, ledger, &entry)?;
    Ok(())
}

fn one(
    hand: &Hand<'_>,
    tx: &mut dyn Transaction,
    keys: &Keys,
    ask: &Commit,
    observed: &[Observation],
    into: Into,
) -> Outcome<Committed> {
    let context = belongs(tx, keys)?;
    let joined = |tx| Joined::new(tx, hand.home, hand.secret);
    let key = ask.key.as_str();
    // What was stored is told again also where nothing may be added any more.
    if tx.keyed_receipt(context.session, key)?.is_some() {
        if let Some(known) = tx.context_turn(&context.key, key)? {
            same(keys, ask, &known)?;
        }
        let hold = Hold {
            session: context.session,
            epoch: 0,
        };
        let done = turn::commit(hand.here, &mut joined(tx), hold, 0, key, observed);
        let done = done.map_err(|error| conflict(keys, error))?;
        return Ok(Committed::Duplicate(done.receipt));
    }
    let context = hand.open(tx, keys)?;
    if let Some(expected) = place(hand, tx, &context, ask.positions, into)? {
        return Ok(Committed::Behind { expected });
    }
    let (hold, done) = match ask.kind {
        // An overflow is met in the middle of a turn.
        ContextTurnKind::Compaction { .. } => {
            let (hold, head) = hand.hold_before(tx, keys, &context)?;
            let done = turn::commit_before(hand.here, &mut joined(tx), hold, head, key, observed);
            (hold, done)
        }
        _ => {
            let of = (&ask.key, ask.recovers.as_ref());
            let (hold, head) = hand.hold(tx, keys, &context, of)?;
            let done = turn::commit(hand.here, &mut joined(tx), hold, head, key, observed);
            (hold, done)
        }
    };
    let done = done.map_err(|error| conflict(keys, error))?;
    if tx.open_turn(context.session)?.is_none() {
        let at = tx.clock(hand.here.now())?;
        tx.release_lease(context.session, hold.epoch, at)?;
    }
    record(hand, tx, &context, ask, &done.receipt, into)?;
    Ok(Committed::Done(done.receipt))
}

fn conflict(keys: &Keys, error: TurnError) -> ContextError {
    match error {
        TurnError::Conflict { key, .. } => ContextError::Conflict {
            context: keys.context.to_string(),
            key,
        },
        other => other.into(),
    }
}

/// Refuses a turn that was handed over before under its key and that the host itself says was another one.
fn same(keys: &Keys, ask: &Commit, known: &ContextTurn) -> Outcome<()> {
    let positions = ask.positions.map(|p| (p.first, p.last));
    let digests = (&ask.digest, &known.digest);
    let differs = matches!(digests, (Some(new), Some(old)) if new != old)
        || (positions.is_some() && known.positions.is_some() && positions != known.positions);
    match differs {
        false => Ok(()),
        true => Err(ContextError::Conflict {
            context: keys.context.to_string(),
            key: ask.key.to_string(),
        }),
    }
}

/// Looks whether a turn comes where it may. Gives the position that was expected where turns are missing, which is
/// noted.
fn place(
    hand: &Hand<'_>,
    tx: &mut dyn Transaction,
    context: &ContextRecord,
    positions: Option<Positions>,
    into: Into,
) -> Outcome<Option<u64>> {
    let Some(Positions { first, last }) = positions else {
        return Ok(None);
    };
    if last < first || i64::try_from(last).is_err() {
        return Err(ContextError::invalid(
            "positions",
            "first must not be greater than last",
        ));
    }
    if into == Into::Gap {
        return gaps::within(tx, context, (first, last)).map(|()| None);
    }
    match context.next {
        Some(next) if first > next => {
            gaps::note(hand.here, tx, context, (next, first - 1), gaps::MISSING)?;
            Ok(Some(next))
        }
        Some(next) if first < next => Err(ContextError::Conflict {
            context: context.key.to_string(),
            key: format!("positions {first} to {last}"),
        }),
        _ => Ok(None),
    }
}

/// What is known of the turn beside its log.
fn record(
    hand: &Hand<'_>,
    tx: &mut dyn Transaction,
    context: &ContextRecord,
    ask: &Commit,
    receipt: &Receipt,
    into: Into,
) -> Outcome<()> {
    let at = hand.here.now();
    let key = ask.key.as_str();
    let fresh = siglum_domain::TurnId::mint(hand.here.ids);
    // It is there: the receipt names it.
    let turn = tx.turn(context.session, key, fresh, at)?;
    let redact = |text: &String| hand.here.redactor.redact(text).into_string();
    tx.put_context_turn(&ContextTurn {
        context: context.key.clone(),
        key: key.to_owned(),
        turn,
        log: (receipt.first, receipt.last),
        positions: ask.positions.map(|p| (p.first, p.last)),
        kind: ask.kind,
        recovers: ask.recovers.as_ref().map(ToString::to_string),
        digest: ask.digest.as_ref().map(redact),
        at,
    })?;
    let mut context = ContextRecord {
        seen_at: at,
        ..context.clone()
    };
    if let Some(Positions { first, last }) = ask.positions {
        if into == Into::Gap {
            gaps::fill(tx, &context, (first, last), at)?;
        }
        if into == Into::Next || context.next == Some(first) {
            context.next = Some(last + 1);
        }
    }
    tx.put_context(&context)?;
    Ok(())
}
