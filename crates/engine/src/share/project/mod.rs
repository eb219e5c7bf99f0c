//! Projections: whoever shows what is committed, fed after the commit and never before.
//!
//! A [`Sink`] gets every receipt of every session, in order within a session, once in effect. It fails, lags or hangs
//! by itself: nothing here is in the way of a commit or of another sink. What it says of how far it has come counts
//! more than our cursor: one that lost something gets it again, and one that has something that the ledger never
//! said, since one of them came from a backup, is emptied and filled again. Nothing is taken back from it, but for what was
//! forgotten, from a directory.

mod directory;
mod program;
mod sink;
#[cfg(test)]
mod tests;

pub use directory::Directory;
pub use program::Program;
pub use sink::{Position, Sealed, Sink, SinkError};

use siglum_domain::receipt::Receipt;
use siglum_domain::scope::{Kinds, Scope};
use siglum_domain::{IdSource, SessionId, Timestamp};
use siglum_ledger::{
    Delivery, Durability, Ledger, LedgerError, Projection, SessionRecord, Transaction, read, write,
};

use crate::Here;
use crate::share::scope::Guard;
use crate::world::Slice;

/// The kind of a projection that is a directory.
pub const DIRECTORY: &str = "directory";

/// How long a session is kept from other workers while its receipts are handed over, in ms.
const CLAIM_MS: i64 = 60_000;
/// How many sessions one slice takes.
const SESSIONS: usize = 16;
/// How many receipts of a session are handed over before others have their turn.
const RECEIPTS: usize = 256;
/// The pause after the first failure, in ms; it doubles with each.
const PAUSE_MS: i64 = 500;
/// The longest pause, in ms.
const PAUSE_MOST_MS: i64 = 5 * 60_000;
/// How often a sink may refuse something before it is set aside.
const REFUSALS: u32 = 3;

/// The kind of a projection that is a server of traces.
pub const OTLP: &str = "otlp";

/// What projections can be that are kept in the ledger, so that the worker feeds them.
pub const KINDS: &[&str] = &[DIRECTORY, "program", siglum_ledger::DESTINATION, OTLP];

/// The sink of a projection that the worker feeds; nothing for one that its own program feeds.
#[must_use]
pub fn sink(projection: &Projection) -> Option<Box<dyn Sink>> {
    match projection.kind.as_str() {
        DIRECTORY => Some(Box::new(Directory::at(&projection.target))),
        "program" => Some(Box::new(Program::new(&projection.target))),
        _ => None,
    }
}

/// How the names of projections begin that only the command feeds which made them, and which it takes away again.
const ONCE: &str = "once:";

/// The name of a projection that nobody feeds but the process of this number.
#[must_use]
pub fn once(process: u32) -> String {
    format!("{ONCE}{process}")
}

/// The process that alone feeds a projection, where it is such a one. It is none of the worker's.
#[must_use]
pub fn is_once(name: &str) -> Option<u32> {
    name.strip_prefix(ONCE)?.parse().ok()
}

/// Adds a projection, or changes one. All that was ever sealed and is in its scope is due at it.
///
/// # Errors
/// Those of the ledger.
pub fn add(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    name: &str,
    kind: &str,
    target: &str,
    scope: &Scope,
) -> Result<(), LedgerError> {
    let projection = Projection {
        name: name.to_owned(),
        kind: kind.to_owned(),
        target: target.to_owned(),
        at: here.now(),
        scope: Some(scope.clone()),
    };
    write(ledger, Durability::Disk, |tx| {
        let now = tx.clock(here.now())?;
        tx.put_projection(&projection)?;
        // What is on its way stops before its next receipt: it may be outside now.
        tx.free_claims(name, now).map(drop)
    })
}

/// Hands over what is due at a projection now, a few sessions of it.
///
/// # Errors
/// Those of the ledger; what goes wrong in the sink is noted and tried again, or set aside.
pub fn feed(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    name: &str,
    sink: &mut dyn Sink,
) -> Result<Slice, LedgerError> {
    let claims = claim(here, ledger, name)?;
    let slice = match claims.is_empty() {
        true => Slice::Idle,
        false => Slice::Worked,
    };
    for mut claim in claims {
        match hand_over(here, ledger, &mut claim, sink) {
            Ok(()) | Err(Trouble::Lost) => {}
            Err(Trouble::Sink(error)) => note(here, ledger, &claim, &error)?,
            // What is stored of one session is damaged: the others are served.
            Err(Trouble::Ledger(LedgerError::Damaged(what))) => {
                let error = SinkError::Refused(format!("the ledger is damaged here: {what}"));
                note(here, ledger, &claim, &error)?;
            }
            Err(Trouble::Ledger(error)) => return Err(error),
        }
    }
    Ok(slice)
}

/// What a projection lacks of a session, as long as nobody else has it or began it anew.
struct Claim {
    delivery: Delivery,
    until: Timestamp,
}

impl Claim {
    /// Whether it still stands. In a transaction that writes it does so to its end.
    fn stands(&self, tx: &mut dyn Transaction) -> Result<bool, LedgerError> {
        let now = tx.delivery(&self.delivery.projection, self.delivery.session)?;
        Ok(now.is_some_and(|d| d.retry_at == self.until))
    }
}

fn claim(here: &Here<'_>, ledger: &mut dyn Ledger, name: &str) -> Result<Vec<Claim>, LedgerError> {
    write(ledger, Durability::Process, |tx| {
        let now = tx.clock(here.now())?;
        let until = now.plus_millis(CLAIM_MS);
        let claimed = tx.claim(name, now, until, SESSIONS)?;
        let claim = |delivery| Claim { delivery, until };
        Ok(claimed.into_iter().map(claim).collect())
    })
}

/// From when on there is something to hand over; nothing where the projection lacks nothing, or all of it is set
/// aside.
///
/// # Errors
/// Those of the ledger.
pub fn next_try(ledger: &mut dyn Ledger, name: &str) -> Result<Option<Timestamp>, LedgerError> {
    read(ledger, |tx| tx.next_try(name))
}

/// Takes over from a worker that died: what it had in its hands can be had at once. Only where one worker at a time
/// feeds a ledger; elsewhere its claims run out.
///
/// # Errors
/// Those of the ledger.
pub fn take_over(here: &Here<'_>, ledger: &mut dyn Ledger, name: &str) -> Result<u64, LedgerError> {
    write(ledger, Durability::Process, |tx| {
        let now = tx.clock(here.now())?;
        tx.free_claims(name, now)
    })
}

/// Why a session was not handed over.
enum Trouble {
    Sink(SinkError),
    Ledger(LedgerError),
    /// Somebody else has it now, or it begins anew.
    Lost,
}

impl From<SinkError> for Trouble {
    fn from(error: SinkError) -> Self {
        Self::Sink(error)
    }
}

impl From<LedgerError> for Trouble {
    fn from(error: LedgerError) -> Self {
        Self::Ledger(error)
    }
}

/// Hands over the receipts of one session that its sink lacks.
fn hand_over(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    claim: &mut Claim,
    sink: &mut dyn Sink,
) -> Result<(), Trouble> {
    let (name, session) = (claim.delivery.projection.clone(), claim.delivery.session);
    let (record, kinds) = read(ledger, |tx| {
        let guard = Guard::read(tx, &name)?;
        let may_leave = claim.stands(tx)? && guard.has_session(tx, session)?;
        let record = match may_leave {
            true => tx.session(session)?,
            false => None,
        };
        Ok((record, guard.kinds()))
    })?;
    let (Some(record), Some(kinds)) = (record, kinds) else {
        return Err(Trouble::Lost);
    };
    let has = where_it_is(ledger, &claim.delivery, &record, sink)?;
    let mut has = has.max(claim.delivery.left_out);
    let receipts = read(ledger, |tx| tx.receipts_after(session, has, RECEIPTS))?;
    if has < claim.delivery.taken {
        claim.until = noted(ledger, claim, |tx| {
            let kept = tx.clock(here.now())?.plus_millis(CLAIM_MS);
            tx.come_to(&name, session, has, kept)?;
            Ok(kept)
        })?;
    }
    let mut pause = 0;
    for receipts in receipts.chunks(sink.at_once().max(1)) {
        match hand_some(ledger, (&record, kinds), receipts, sink) {
            Err(Trouble::Sink(SinkError::Early(wait))) => {
                pause = i64::try_from(wait.as_millis()).unwrap_or(CLAIM_MS);
                break;
            }
            handed => handed?,
        }
        has = receipts.last().map_or(has, |r| r.number);
        claim.delivery.tries = 0;
        claim.until = noted(ledger, claim, |tx| {
            let kept = tx.clock(here.now())?.plus_millis(CLAIM_MS);
            tx.taken(&name, session, has, kept)?;
            let now = tx.delivery(&name, session)?;
            Ok(now.map_or(kept, |d| d.retry_at))
        })?;
    }
    // From now on others may take what is left, or what comes.
    noted(ledger, claim, |tx| {
        let now = tx.clock(here.now())?;
        tx.come_to(&name, session, has, now.plus_millis(pause))
    })
}

/// Hands over what some receipts of one session seal.
fn hand_some(
    ledger: &mut dyn Ledger,
    (record, kinds): (&SessionRecord, Kinds),
    receipts: &[Receipt],
    sink: &mut dyn Sink,
) -> Result<(), Trouble> {
    let mut entries = Vec::new();
    for receipt in receipts {
        let count = usize::try_from(receipt.last + 1 - receipt.first).unwrap_or(usize::MAX);
        let mut own = read(ledger, |tx| tx.entries(record.id, receipt.first - 1, count))?;
        own.retain(|e| e.sequence <= receipt.last);
        for entry in &mut own {
            kinds.narrow(&mut entry.observation.fact);
        }
        entries.push(own);
    }
    let sealed = receipts
        .iter()
        .zip(&entries)
        .map(|(receipt, entries)| Sealed {
            session: record,
            receipt,
            entries,
        });
    let sealed: Vec<_> = sealed.collect();
    Ok(sink.take(ledger, &sealed)?)
}

/// Notes how a claim fares, unless somebody else has it by now.
fn noted<T>(
    ledger: &mut dyn Ledger,
    claim: &Claim,
    mut work: impl FnMut(&mut dyn Transaction) -> Result<T, LedgerError>,
) -> Result<T, Trouble> {
    let done = write(ledger, Durability::Process, |tx| {
        match claim.stands(tx)? {
            true => work(tx).map(Some),
            false => Ok(None),
        }
    })?;
    done.ok_or(Trouble::Lost)
}

/// The last receipt that the sink has. One that is ahead of the ledger, or that has what the ledger never said, is
/// emptied; so is one that has more than was handed to it, since nobody knows what is before that, and one that begins a
/// session anew of which something was forgotten: receipts do not tell what they sealed from what is left of it.
fn where_it_is(
    ledger: &mut dyn Ledger,
    delivery: &Delivery,
    record: &SessionRecord,
    sink: &mut dyn Sink,
) -> Result<u64, Trouble> {
    let session = delivery.session;
    let (number, digest) = match sink.position(session)? {
        Position::Unknown => return Ok(delivery.taken),
        Position::Nothing => return Ok(0),
        Position::At { number, digest } => (number, digest),
    };
    if delivery.taken == 0 && record.forgotten.is_some() {
        sink.reset(session)?;
        return Ok(0);
    }
    let ours = match number {
        0 => None,
        number => read(ledger, |tx| tx.receipts_after(session, number - 1, 1))?.pop(),
    };
    // The answer to one receipt may have been lost, and no more than one.
    let is_sent = number <= delivery.taken.saturating_add(1);
    if is_sent && ours.is_some_and(|r| r.number == number && r.digest == digest) {
        return Ok(number);
    }
    tracing::warn!(
        "projection {} was ahead of the ledger in session {session}: it is filled again",
        delivery.projection
    );
    sink.reset(session)?;
    Ok(0)
}

/// Notes a failure. What cannot be reached is tried for ever, what is refused is set aside after some tries.
fn note(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    claim: &Claim,
    error: &SinkError,
) -> Result<(), LedgerError> {
    let delivery = &claim.delivery;
    let reason = here.redactor.redact(&error.to_string());
    let refused = matches!(error, SinkError::Refused(_)) && delivery.tries + 1 >= REFUSALS;
    write(ledger, Durability::Process, |tx| {
        if !claim.stands(tx)? {
            return Ok(());
        }
        let now = tx.clock(here.now())?;
        let least = match error {
            SinkError::Busy { after, .. } => i64::try_from(after.as_millis()).unwrap_or(CLAIM_MS),
            _ => 0,
        };
        let retry_at = now.plus_millis(pause(here.ids, delivery.tries).max(least));
        let parked = refused.then_some(now);
        tx.failed(
            &delivery.projection,
            delivery.session,
            reason.as_str(),
            retry_at,
            parked,
        )
    })
}

/// How long to wait after so many failures, in ms: twice as long each time, and never the same for all.
fn pause(ids: &dyn IdSource, tries: u32) -> i64 {
    let whole = PAUSE_MS
        .saturating_mul(1 << tries.min(20))
        .min(PAUSE_MOST_MS);
    let chance = i64::from(ids.fresh().as_bytes()[15]);
    whole / 2 + whole * chance / 510
}

/// Tries what was set aside, or waits, at once; of one session, or of all. Gives how many sessions.
///
/// # Errors
/// Those of the ledger.
pub fn retry(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    name: &str,
    session: Option<SessionId>,
) -> Result<u64, LedgerError> {
    write(ledger, Durability::Process, |tx| {
        let now = tx.clock(here.now())?;
        tx.retry(name, session, now)
    })
}

/// Leaves out the receipt that a sink refuses, and goes on with the next one. Gives the receipt that is left out.
///
/// # Errors
/// Those of the ledger.
pub fn skip(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    name: &str,
    session: SessionId,
) -> Result<Option<u64>, LedgerError> {
    write(ledger, Durability::Process, |tx| {
        let now = tx.clock(here.now())?;
        let Some(delivery) = tx.delivery(name, session)? else {
            return Ok(None);
        };
        if delivery.taken >= delivery.due {
            return Ok(None);
        }
        let next = delivery.taken + 1;
        tx.leave_out(name, session, next, now)?;
        Ok(Some(next))
    })
}

/// Empties a projection and makes everything due at it again; of one session, or of all. Gives how many sessions.
///
/// # Errors
/// Those of the ledger, and of the sink in words.
pub fn rebuild(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    name: &str,
    sink: &mut dyn Sink,
    session: Option<SessionId>,
) -> Result<Result<u64, SinkError>, LedgerError> {
    // Whoever hands something over stops before its next receipt, and nobody begins until it is emptied.
    write(ledger, Durability::Process, |tx| {
        let now = tx.clock(here.now())?;
        tx.restart(name, session, now.plus_millis(CLAIM_MS))
    })?;
    let emptied = match session {
        Some(session) => sink.reset(session),
        None => sink.clear(),
    };
    write(ledger, Durability::Disk, |tx| {
        let now = tx.clock(here.now())?;
        tx.restart(name, session, now)
    })
    .map(|count| emptied.map(|()| count))
}
