//! Sending: a batch at a time, until a destination has everything.
//!
//! What cannot be reached, or does not answer, is tried for as long as it takes. What is refused is sent alone, so that
//! the refusal is that of one thing; that is set aside after some tries and holds up nothing else.

use siglum_domain::{IdSource, LedgerId, SessionId, Timestamp};
use siglum_ledger::{
    Destination, DueDocument, Durability, Ledger, LedgerError, Transaction, read, write,
};

use super::outgoing::{Claimed, Destined, Outgoing, Width, outgoing};
use super::recheck::{Gate, GateError, is_ours, recheck};
use super::stamps::{newer_than, note_remembered};
use super::wire::Positions;
use super::{DocumentName, encode};
use crate::Here;
use crate::share::scope::Guard;
use crate::world::Slice;

/// How many bytes of documents go into one batch, or a little more.
pub(super) const BATCH: usize = 256 << 10;
/// How many statements are looked at together.
const STATEMENTS: usize = 256;
/// How often something may be refused before it is set aside.
const REFUSALS: u32 = 3;
/// The pause after the first failure, in ms; it doubles with each.
const PAUSE_MS: i64 = 500;
/// The longest pause, in ms.
const PAUSE_MOST_MS: i64 = 5 * 60_000;

/// How much was taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sent {
    pub batches: u64,
    pub receipts: u64,
    pub statements: u64,
    /// Repositories, sessions, checkpoints and commits that had changed.
    pub documents: u64,
}

impl std::ops::AddAssign for Sent {
    fn add_assign(&mut self, other: Self) {
        self.batches += other.batches;
        self.receipts += other.receipts;
        self.statements += other.statements;
        self.documents += other.documents;
    }
}

/// What came of one batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fed {
    pub slice: Slice,
    pub sent: Sent,
    /// What went wrong, and is noted.
    pub trouble: Option<GateError>,
}

/// How much a destination lacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Due {
    pub receipts: u64,
    /// Sessions that they belong to.
    pub sessions: u64,
    pub statements: u64,
    /// Repositories, sessions, checkpoints and commits that changed.
    pub documents: u64,
}

impl Due {
    /// Whether it lacks nothing.
    #[must_use]
    pub const fn is_nothing(self) -> bool {
        self.receipts == 0 && self.statements == 0 && self.documents == 0
    }
}

/// How much a destination lacks.
///
/// # Errors
/// Those of the ledger.
pub fn due(ledger: &mut dyn Ledger, name: &str) -> Result<Due, LedgerError> {
    let home = ledger.id();
    read(ledger, |tx| due_in(tx, home, name))
}

/// How much a destination lacks of the ledger `home`, in a transaction.
///
/// # Errors
/// Those of the ledger.
pub fn due_in(tx: &mut dyn Transaction, home: LedgerId, name: &str) -> Result<Due, LedgerError> {
    let lag = tx.lag(name)?;
    let statements = match tx.destination(name)? {
        Some(to) => {
            let guard = Guard::read(tx, name)?;
            let (mut count, mut after) = (0, to.stated);
            loop {
                let page = tx.statements_of_ledger(home, after, STATEMENTS)?;
                let Some(last) = page.last() else { break };
                after = last.sequence;
                for record in &page {
                    count += u64::from(guard.has_statement(tx, &record.statement)?);
                }
            }
            count
        }
        None => 0,
    };
    Ok(Due {
        receipts: lag.receipts,
        sessions: lag.sessions,
        statements,
        documents: tx.documents_due(name)?,
    })
}

/// From when on there is something to send; nothing where a destination lacks nothing, or all of it is set aside.
///
/// # Errors
/// Those of the ledger.
pub fn next_try(
    ledger: &mut dyn Ledger,
    name: &str,
    now: Timestamp,
) -> Result<Option<Timestamp>, LedgerError> {
    let home = ledger.id();
    read(ledger, |tx| {
        let Some(to) = tx.destination(name)? else {
            return Ok(None);
        };
        let beside = !tx.due_documents(name, 1)?.is_empty() || is_stated(tx, home, name, &to)?;
        let receipts = tx.next_try(name)?;
        let first = match (receipts, beside) {
            (receipts, false) => receipts,
            (Some(receipts), true) => Some(receipts.min(now)),
            (None, true) => Some(now),
        };
        Ok(first.map(|at| at.max(to.retry_at)))
    })
}

/// Whether there are statements to send. Where many are outside that is found out once, by whoever sends.
fn is_stated(
    tx: &mut dyn Transaction,
    home: LedgerId,
    name: &str,
    to: &Destination,
) -> Result<bool, LedgerError> {
    let page = tx.statements_of_ledger(home, to.stated, STATEMENTS)?;
    if page.is_empty() {
        return Ok(false);
    }
    let guard = Guard::read(tx, name)?;
    for record in &page {
        if guard.has_statement(tx, &record.statement)? {
            return Ok(true);
        }
    }
    Ok(page.len() == STATEMENTS)
}

/// Whoever sends to one destination.
#[derive(Debug, Default)]
pub struct Sender {
    /// How many of the next batches are narrow, since a wide one was refused.
    narrow: u32,
}

/// How many narrow batches follow a refusal that named nothing.
const NARROW: u32 = 64;

impl Sender {
    /// Sends one batch of what a destination lacks.
    ///
    /// # Errors
    /// Those of the ledger; what goes wrong on the way is noted and tried again, or set aside.
    pub fn feed(
        &mut self,
        here: &Here<'_>,
        ledger: &mut dyn Ledger,
        to: &Destined<'_>,
        gate: &mut dyn Gate,
    ) -> Result<Fed, LedgerError> {
        let width = match self.narrow {
            0 => Width::Bytes(BATCH),
            _ => Width::One,
        };
        let out = outgoing(here, ledger, to, width)?;
        if out.is_empty() {
            self.narrow = 0;
            return Ok(Fed {
                slice: Slice::Idle,
                sent: Sent::default(),
                trouble: None,
            });
        }
        self.narrow = self.narrow.saturating_sub(1);
        let (sent, trouble) = match gate.send(&encode(&out.batch)) {
            Ok(answer) => {
                let sent = taken(here, ledger, to.name, &out, &answer)?;
                let trouble = match answer.remembers {
                    Some(false) => make_lost_due(here, ledger, to, &out, gate)?,
                    _ => None,
                };
                (sent, trouble)
            }
            Err(error) => {
                self.failed(here, ledger, to.name, &out, &error, width)?;
                (Sent::default(), Some(error))
            }
        };
        Ok(Fed {
            slice: Slice::Worked,
            sent,
            trouble,
        })
    }

    fn failed(
        &mut self,
        here: &Here<'_>,
        ledger: &mut dyn Ledger,
        name: &str,
        out: &Outgoing,
        error: &GateError,
        width: Width,
    ) -> Result<(), LedgerError> {
        let GateError::Refused { document, reason } = error else {
            return unreached(here, ledger, name, out, &error.to_string());
        };
        let culprit = match width {
            Width::One => Some(Culprit::All),
            Width::Bytes(_) => document.as_ref().and_then(|d| culprit(out, d)),
        };
        if culprit.is_none() {
            // It named nothing that can be left out by itself.
            self.narrow = NARROW;
        }
        refused(here, ledger, name, out, culprit.as_ref(), reason)
    }
}

/// What of a batch is refused.
#[derive(Debug)]
enum Culprit {
    /// All of it: it holds one thing.
    All,
    /// The receipts of this session.
    Session(SessionId),
    /// This document.
    Document(DueDocument),
}

fn culprit(out: &Outgoing, document: &DocumentName) -> Option<Culprit> {
    let due = |kind: &str, id: String| {
        let found = out.documents.iter();
        found
            .into_iter()
            .find(|d| d.kind == kind && d.document == id)
            .cloned()
            .map(Culprit::Document)
    };
    let hex = |id: String| id.split('_').nth(1).unwrap_or_default().to_owned();
    match document {
        DocumentName::Receipt(session, _) => {
            let mut claimed = out.claims.iter().map(|c| c.delivery.session);
            claimed
                .any(|s| s == *session)
                .then_some(Culprit::Session(*session))
        }
        DocumentName::Checkpoint(id) => due("checkpoint", hex(id.to_string())),
        DocumentName::Commit(repository, commit) => due(
            "commit",
            format!("{}:{commit}", hex(repository.to_string())),
        ),
        // What others speak of, too, and what moves on in order, is found by sending it alone.
        DocumentName::Batch
        | DocumentName::Repository(_)
        | DocumentName::Session(_)
        | DocumentName::Statement(_) => None,
    }
}

/// Whether what was claimed is still ours. In a transaction that writes it is so to its end.
fn stands(tx: &mut dyn Transaction, name: &str, claim: &Claimed) -> Result<bool, LedgerError> {
    let now = tx.delivery(name, claim.delivery.session)?;
    Ok(now.is_some_and(|d| d.retry_at == claim.until))
}

/// Notes what a destination has by its own account.
fn taken(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    name: &str,
    out: &Outgoing,
    answer: &Positions,
) -> Result<Sent, LedgerError> {
    if let Some(newer) = answer.newer {
        newer_than(ledger, newer)?;
    }
    write(ledger, Durability::Process, |tx| {
        let now = tx.clock(here.now())?;
        let mut sent = Sent {
            batches: 1,
            ..Sent::default()
        };
        for claim in &out.claims {
            if stands(tx, name, claim)? {
                sent.receipts += come_to(here, tx, name, claim, answer, now)?;
            }
        }
        if answer.remembers == Some(false) {
            // Whatever happens next, there is something due, so that it is asked again.
            tx.restart_documents(name)?;
            return Ok(sent);
        }
        if answer.newer.is_none() {
            for document in &out.documents {
                tx.document_sent(name, document)?;
            }
            sent.documents = out.documents.len() as u64;
        }
        if answer.remembers == Some(true) {
            note_remembered(tx, name, out.batch.stamp)?;
        }
        let Some(before) = tx.destination(name)? else {
            return Ok(sent);
        };
        let stated = out.stated.unwrap_or(0).max(before.stated);
        sent.statements = out.batch.statements.len() as u64;
        let after = Destination {
            stated,
            ..Destination::default()
        };
        if after != before {
            tx.put_destination(name, &after)?;
        }
        Ok(sent)
    })
}

/// Asks a destination that came from an older backup what it lacks. Where it does not answer, the next batch finds out
/// again.
fn make_lost_due(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    to: &Destined<'_>,
    out: &Outgoing,
    gate: &mut dyn Gate,
) -> Result<Option<GateError>, LedgerError> {
    let Some(trouble) = recheck(here, ledger, to, gate)?.trouble else {
        return Ok(None);
    };
    let reason = trouble.to_string();
    unreached(here, ledger, to.name, out, &reason)?;
    Ok(Some(GateError::Unavailable(reason)))
}

/// Notes how far a destination is with a session; gives how many receipts it has more.
fn come_to(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    name: &str,
    claim: &Claimed,
    answer: &Positions,
    now: Timestamp,
) -> Result<u64, LedgerError> {
    let session = claim.delivery.session;
    let at = answer.receipts.iter().find(|p| p.session == session);
    let number = at.map_or(0, |p| p.number);
    if !is_ours(tx, session, at)? {
        let why = format!(
            "it has a different receipt {number} of this session: this ledger was restored from a backup, or that one is not a replica"
        );
        set_back(here, tx, name, claim, &why)?;
        return Ok(0);
    }
    tx.come_to(name, session, number, now)?;
    Ok(number.saturating_sub(claim.delivery.taken))
}

/// Notes that the receipts of a session are refused.
fn set_back(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    name: &str,
    claim: &Claimed,
    reason: &str,
) -> Result<(), LedgerError> {
    let now = tx.clock(here.now())?;
    let tries = claim.delivery.tries;
    let parked = (tries + 1 >= REFUSALS).then_some(now);
    let retry_at = now.plus_millis(pause(here.ids, tries));
    tx.failed(name, claim.delivery.session, reason, retry_at, parked)
}

/// Notes that nothing of a batch is known to have been taken.
fn unreached(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    name: &str,
    out: &Outgoing,
    reason: &str,
) -> Result<(), LedgerError> {
    let reason = here.redactor.redact(reason);
    write(ledger, Durability::Process, |tx| {
        let now = tx.clock(here.now())?;
        let Some(before) = tx.destination(name)? else {
            return Ok(());
        };
        let retry_at = now.plus_millis(pause(here.ids, before.tries));
        for claim in &out.claims {
            if stands(tx, name, claim)? {
                // What cannot be reached is nobody's fault, and no try of a session's.
                tx.release(name, claim.delivery.session, claim.until, retry_at)?;
            }
        }
        tx.put_destination(
            name,
            &Destination {
                tries: before.tries.saturating_add(1),
                reason: Some(reason.as_str().to_owned()),
                retry_at,
                ..before
            },
        )
    })
}

/// Sets back what was refused, and lets go of the rest.
fn refused(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    name: &str,
    out: &Outgoing,
    culprit: Option<&Culprit>,
    reason: &str,
) -> Result<(), LedgerError> {
    let reason = here.redactor.redact(reason);
    let reason = reason.as_str();
    write(ledger, Durability::Process, |tx| {
        let now = tx.clock(here.now())?;
        for claim in &out.claims {
            let session = claim.delivery.session;
            if !stands(tx, name, claim)? {
                continue;
            }
            match culprit {
                Some(Culprit::All) => set_back(here, tx, name, claim, reason)?,
                Some(Culprit::Session(s)) if *s == session => {
                    set_back(here, tx, name, claim, reason)?;
                }
                _ => tx.release(name, session, claim.until, now)?,
            }
        }
        for document in &out.documents {
            match culprit {
                Some(Culprit::Document(d)) if d == document => {
                    set_aside(tx, name, document, now, reason)?;
                }
                Some(Culprit::All) => set_aside(tx, name, document, now, reason)?,
                _ => {}
            }
        }
        let is_statement = matches!(culprit, Some(Culprit::All)) && out.claims.is_empty();
        if let (true, Some(stated), Some(before)) =
            (is_statement, out.stated, tx.destination(name)?)
        {
            let item = format!("statement {stated}");
            tx.park(&queue(name), &item, now, reason)?;
            tx.put_destination(name, &Destination { stated, ..before })?;
        }
        Ok(())
    })
}

/// A document that is refused is due no more until it changes.
fn set_aside(
    tx: &mut dyn Transaction,
    name: &str,
    document: &DueDocument,
    now: Timestamp,
    reason: &str,
) -> Result<(), LedgerError> {
    let item = format!("{} {}", document.kind, document.document);
    tx.park(&queue(name), &item, now, reason)?;
    tx.document_sent(name, document)
}

/// Ends the pause of a destination, and makes due again what it refused beside receipts: everything then, since what it has
/// it does not take twice.
///
/// # Errors
/// Those of the ledger.
pub fn retry(ledger: &mut dyn Ledger, name: &str) -> Result<(), LedgerError> {
    let queue = queue(name);
    write(ledger, Durability::Process, |tx| {
        let Some(before) = tx.destination(name)? else {
            return Ok(());
        };
        let mut parked = tx.parked()?;
        parked.retain(|(of, ..)| *of == queue);
        for (_, item, ..) in &parked {
            tx.unpark(&queue, item)?;
        }
        if !parked.is_empty() {
            return tx.restart_documents(name);
        }
        let retry_at = Timestamp::default();
        tx.put_destination(name, &Destination { retry_at, ..before })
    })
}

/// The queue in which what a destination refuses is set aside.
fn queue(name: &str) -> String {
    format!("gateway {name}")
}

/// How long to wait after so many failures, in ms: twice as long each time, and never the same for all.
fn pause(ids: &dyn IdSource, tries: u32) -> i64 {
    let whole = PAUSE_MS
        .saturating_mul(1 << tries.min(20))
        .min(PAUSE_MOST_MS);
    let chance = i64::from(ids.fresh().as_bytes()[15]);
    whole / 2 + whole * chance / 510
}
