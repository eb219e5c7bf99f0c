//! What a destination lacks, as one batch.

use std::collections::BTreeSet;

use siglum_domain::evidence::Committer;
use siglum_domain::receipt::Receipt;
use siglum_domain::redact::Redactor;
use siglum_domain::scope::Kinds;
use siglum_domain::{CheckpointId, LedgerId, Oid, RepositoryId, SessionId, Timestamp};
use siglum_ledger::{
    Delivery, Destination, DueDocument, Durability, Ledger, LedgerError, RepositoryRecord,
    Statement, StatementRecord, Transaction, read, write,
};

use super::clean;
use super::documents;
use super::outsiders;
use super::stamps::{last_remembered, next_stamp};
use super::wire::*;
use crate::Here;
use crate::identity::{LINK_SOURCE, launch_of_link, names};
use crate::share::scope::Guard;

/// How long a session is kept from other workers while its receipts are sent, in ms.
const CLAIM_MS: i64 = 60_000;
/// The most sessions whose receipts are in one batch.
const SESSIONS: usize = 64;
/// The most receipts of a session in one batch.
const RECEIPTS: usize = 256;
/// The most documents, and the most statements, of one batch.
const DOCUMENTS: usize = 256;

/// Where to, and from which machine.
#[derive(Debug, Clone, Copy)]
pub struct Destined<'a> {
    /// The projection.
    pub name: &'a str,
    /// The name of this machine.
    pub host: &'a str,
}

/// How much goes into a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// As much as is due, up to so many bytes or a little more.
    Bytes(usize),
    /// The receipts of one session, or one document, or one statement: whoever refuses it means that.
    One,
}

/// A session whose receipts are in a batch.
#[derive(Debug)]
pub(super) struct Claimed {
    pub(super) delivery: Delivery,
    pub(super) until: Timestamp,
}

/// A batch, and what a destination has once it took it.
#[derive(Debug)]
pub struct Outgoing {
    pub batch: Batch,
    pub(super) claims: Vec<Claimed>,
    pub(super) documents: Vec<DueDocument>,
    /// The last statement in it.
    pub(super) stated: Option<u64>,
}

impl Outgoing {
    /// Whether there is nothing to send.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.claims.is_empty() && self.documents.is_empty() && self.stated.is_none()
    }
}

/// What a destination lacks, a batch of it. What is in it is kept from other workers for a while, as far as receipts go;
/// the same document twice is no harm.
///
/// # Errors
/// Those of the ledger.
pub fn outgoing(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    to: &Destined<'_>,
    width: Width,
) -> Result<Outgoing, LedgerError> {
    let home = ledger.id();
    let kinds = read(ledger, |tx| Guard::read(tx, to.name))?.kinds();
    let mut packing = Packing::new(here.redactor, home, width, kinds.unwrap_or(Kinds::Verdicts));
    packing.receipts(here, ledger, to.name)?;
    let (claims, receipts, bytes) = (packing.claims, packing.receipts, packing.bytes);
    // One transaction that writes: who has the greater stamp has read the newer state.
    write(ledger, Durability::Process, |tx| {
        let stamp = next_stamp(here, tx)?;
        let guard = Guard::read(tx, to.name)?;
        // The scope may have changed since they were claimed.
        let mut held = BTreeSet::new();
        for claim in &claims {
            let session = claim.delivery.session;
            if !guard.has_session(tx, session)? {
                held.insert(session);
            }
        }
        let claimed = claims.iter().map(|c| c.delivery.session);
        let claimed: Vec<SessionId> = claimed.filter(|s| !held.contains(s)).collect();
        let mut rest = Rest::new(tx, here.redactor, (home, to.host), Leaving::Scope(&guard))?;
        rest.bytes = bytes;
        rest.batch.stamp = stamp;
        rest.batch.after = last_remembered(rest.tx, to.name)?;
        rest.named.extend(claimed);
        if width != Width::One || claims.is_empty() {
            rest.documents(to.name, width)?;
            rest.statements(to.name, width)?;
        }
        let (due, stated) = (std::mem::take(&mut rest.due), rest.stated);
        Ok((rest.into_batch()?, due, stated, held))
    })
    .map(|(mut batch, documents, stated, held)| {
        batch.receipts = receipts;
        batch
            .receipts
            .retain(|r| !held.contains(&r.receipt.session));
        let mut claims = claims;
        claims.retain(|c| !held.contains(&c.delivery.session));
        Outgoing {
            batch,
            claims,
            documents,
            stated,
        }
    })
}

/// Receipts on their way into a batch.
pub(super) struct Packing<'a> {
    redactor: &'a Redactor,
    home: LedgerId,
    width: Width,
    kinds: Kinds,
    claims: Vec<Claimed>,
    receipts: Vec<ReceiptDocument>,
    bytes: usize,
}

impl<'a> Packing<'a> {
    pub(super) const fn new(
        redactor: &'a Redactor,
        home: LedgerId,
        width: Width,
        kinds: Kinds,
    ) -> Self {
        Self {
            redactor,
            home,
            width,
            kinds,
            claims: Vec::new(),
            receipts: Vec::new(),
            bytes: 0,
        }
    }

    fn is_full(&self) -> bool {
        match self.width {
            Width::Bytes(most) => self.bytes >= most || self.claims.len() >= SESSIONS,
            Width::One => !self.claims.is_empty(),
        }
    }

    /// Takes sessions as long as there is room.
    fn receipts(
        &mut self,
        here: &Here<'_>,
        ledger: &mut dyn Ledger,
        name: &str,
    ) -> Result<(), LedgerError> {
        while !self.is_full() {
            let (claimed, until) = write(ledger, Durability::Process, |tx| {
                let now = tx.clock(here.now())?;
                let until = now.plus_millis(CLAIM_MS);
                Ok((tx.claim(name, now, until, 1)?.pop(), until))
            })?;
            let Some(delivery) = claimed else { break };
            let session = delivery.session;
            let record = read(ledger, |tx| tx.session(session))?;
            if record.is_none_or(|r| r.home != self.home) {
                // Replicas are handed on by their home alone.
                write(ledger, Durability::Process, |tx| {
                    tx.come_to(name, session, delivery.due, until)
                })?;
                continue;
            }
            self.session(ledger, session, delivery.taken)?;
            self.claims.push(Claimed { delivery, until });
        }
        Ok(())
    }

    /// The receipts, and about how many bytes they are.
    pub(super) fn into_receipts(self) -> (Vec<ReceiptDocument>, usize) {
        (self.receipts, self.bytes)
    }

    pub(super) fn session(
        &mut self,
        ledger: &mut dyn Ledger,
        session: SessionId,
        taken: u64,
    ) -> Result<(), LedgerError> {
        let receipts = read(ledger, |tx| tx.receipts_after(session, taken, RECEIPTS))?;
        for receipt in receipts {
            let document = read(ledger, |tx| self.receipt(tx, &receipt))?;
            let text = |t: &Option<String>| t.as_ref().map_or(0, String::len);
            let size = |e: &EntryDocument| 300 + e.key.len() + e.event.len() + text(&e.fact);
            self.bytes += 400 + document.entries.iter().map(size).sum::<usize>();
            self.receipts.push(document);
            if matches!(self.width, Width::Bytes(most) if self.bytes >= most) {
                break;
            }
        }
        Ok(())
    }

    fn receipt(
        &self,
        tx: &mut dyn Transaction,
        receipt: &Receipt,
    ) -> Result<ReceiptDocument, LedgerError> {
        let session = receipt.session;
        let count = usize::try_from(receipt.last + 1 - receipt.first).unwrap_or(usize::MAX);
        let rows = tx.log_rows(session, receipt.first - 1, count)?;
        let turns = tx.turns_named(session, &receipt.turns)?;
        let turn = |t: siglum_ledger::ReplicaTurn| TurnDocument {
            id: t.id,
            native: t.native,
            opened_at: t.opened_at,
            prompt: t.prompt.filter(|p| *p <= receipt.last),
        };
        Ok(ReceiptDocument {
            receipt: receipt.clone(),
            turns: turns.into_iter().map(turn).collect(),
            entries: rows
                .into_iter()
                .map(|r| documents::entry(self.redactor, self.kinds, r))
                .collect(),
        })
    }
}

/// What may be in a batch.
#[derive(Debug, Clone, Copy)]
pub(super) enum Leaving<'a> {
    /// These sessions, since somebody named them.
    Sessions(&'a BTreeSet<SessionId>),
    /// What is in the scope of a destination.
    Scope(&'a Guard),
}

impl Leaving<'_> {
    /// Whether a session may leave, and be named at all.
    fn has_session(
        self,
        tx: &mut dyn Transaction,
        session: SessionId,
    ) -> Result<bool, LedgerError> {
        match self {
            Self::Sessions(named) => Ok(named.contains(&session)),
            Self::Scope(guard) => guard.has_session(tx, session),
        }
    }

    /// Whether a statement may leave: all that it names must, and what is of this ledger alone never does.
    fn has_statement(
        self,
        tx: &mut dyn Transaction,
        statement: &Statement,
    ) -> Result<bool, LedgerError> {
        match self {
            Self::Sessions(named) => {
                let stays = statement.stays_here() || names::speaks_of_agents_name(tx, statement)?;
                Ok(!stays && statement.sessions().all(|s| named.contains(&s)))
            }
            Self::Scope(guard) => guard.has_statement(tx, statement),
        }
    }

    /// How much of a session leaves.
    fn kinds(self) -> Kinds {
        match self {
            Self::Sessions(_) => Kinds::Conversations,
            Self::Scope(guard) => guard.kinds().unwrap_or(Kinds::Verdicts),
        }
    }
}

/// What a batch has beside receipts.
pub(super) struct Rest<'a> {
    tx: &'a mut dyn Transaction,
    redactor: &'a Redactor,
    home: LedgerId,
    host: &'a str,
    here: Vec<RepositoryRecord>,
    batch: Batch,
    due: Vec<DueDocument>,
    stated: Option<u64>,
    bytes: usize,
    named: BTreeSet<SessionId>,
    places: BTreeSet<RepositoryId>,
    leaving: Leaving<'a>,
}

impl<'a> Rest<'a> {
    pub(super) fn new(
        tx: &'a mut dyn Transaction,
        redactor: &'a Redactor,
        (home, host): (LedgerId, &'a str),
        leaving: Leaving<'a>,
    ) -> Result<Self, LedgerError> {
        let here = tx.repositories()?;
        Ok(Self {
            tx,
            redactor,
            home,
            host,
            here,
            batch: Batch::new(home, Timestamp::default()),
            due: Vec::new(),
            stated: None,
            bytes: 0,
            named: BTreeSet::new(),
            places: BTreeSet::new(),
            leaving,
        })
    }

    fn may_leave(&mut self, session: SessionId) -> Result<bool, LedgerError> {
        self.leaving.has_session(self.tx, session)
    }

    /// Begins the batch of a session whose receipts have so many bytes.
    pub(super) fn begin(&mut self, stamp: Timestamp, bytes: usize, session: SessionId) {
        (self.batch.stamp, self.bytes) = (stamp, bytes);
        self.named.insert(session);
    }

    pub(super) fn has_room(&self, width: Width) -> bool {
        match width {
            Width::Bytes(most) => self.bytes < most,
            Width::One => self.due.is_empty() && self.stated.is_none(),
        }
    }

    fn documents(&mut self, name: &str, width: Width) -> Result<(), LedgerError> {
        for document in self.tx.due_documents(name, DOCUMENTS)? {
            if !self.has_room(width) {
                break;
            }
            self.document(&document)?;
            self.due.push(document);
        }
        Ok(())
    }

    /// Adds a document in its newest state; one that is not this ledger's own to tell is left out.
    fn document(&mut self, due: &DueDocument) -> Result<(), LedgerError> {
        match due.kind.as_str() {
            "repository" => {
                self.places
                    .extend(format!("rep_{}", due.document).parse::<RepositoryId>().ok());
            }
            "session" => {
                self.named
                    .extend(format!("ses_{}", due.document).parse::<SessionId>().ok());
            }
            "checkpoint" => {
                if let Ok(id) = format!("chk_{}", due.document).parse() {
                    self.checkpoint(id)?;
                }
            }
            "commit" => {
                let Some((repository, commit)) = due.document.split_once(':') else {
                    return Ok(());
                };
                let repository = format!("rep_{repository}").parse();
                if let (Ok(repository), Ok(commit)) = (repository, Oid::new(commit)) {
                    self.commit(repository, &commit)?;
                }
            }
            _ => {}
        }
        self.bytes += 600;
        Ok(())
    }

    fn is_here(&self, repository: RepositoryId) -> bool {
        self.here.iter().any(|r| r.id == repository)
    }

    pub(super) fn checkpoint(&mut self, id: CheckpointId) -> Result<(), LedgerError> {
        let record = self.tx.checkpoint(id)?;
        if record
            .as_ref()
            .and_then(|r| r.repository)
            .is_some_and(|r| !self.is_here(r))
        {
            return Ok(());
        }
        let mut pinned = None;
        if let Some(record) = record {
            self.places.extend(record.repository);
            let mut pins = Vec::with_capacity(record.pins.len());
            for (session, sequence) in record.pins {
                let may_leave = self.may_leave(session)?;
                let known = self.tx.session(session)?;
                if may_leave && known.is_some_and(|s| s.home == self.home) {
                    self.named.insert(session);
                    pins.push(PinDocument { session, sequence });
                }
            }
            if pins.is_empty() && record.repository.is_none() {
                // What pins replicas alone is their home's to tell.
                return Ok(());
            }
            pinned = Some(PinnedDocument {
                kind: record.kind,
                repository: record.repository,
                commit: record.commit,
                at: record.at,
                pins,
            });
        }
        self.batch
            .checkpoints
            .push(CheckpointDocument { id, pinned });
        Ok(())
    }

    pub(super) fn commit(
        &mut self,
        repository: RepositoryId,
        commit: &Oid,
    ) -> Result<(), LedgerError> {
        if !self.is_here(repository) {
            return Ok(());
        }
        let Some(record) = self.tx.commit(repository, commit)? else {
            return Ok(());
        };
        if let Committer::Session { session } = record.judgement.committer
            && !self.may_leave(session)?
        {
            return Ok(());
        }
        self.places.insert(repository);
        let authors = self.tx.authors(repository, commit)?;
        let rewritten = self.tx.rewrites_to(repository, commit)?;
        let mut document = documents::commit(self.redactor, record, authors, rewritten);
        let mut outside = outsiders::named_beside(&document);
        for session in outside.clone() {
            if self.may_leave(session)? {
                outside.remove(&session);
            }
        }
        outsiders::hide(&mut document, |session| outside.contains(&session));
        self.bytes += serde_json::to_vec(&document).map_or(0, |json| json.len());
        self.batch.commits.push(document);
        Ok(())
    }

    fn statements(&mut self, name: &str, width: Width) -> Result<(), LedgerError> {
        let Some(destination) = self.tx.destination(name)? else {
            return Ok(());
        };
        let mut after = destination.stated;
        loop {
            let page = self.tx.statements_of_ledger(self.home, after, DOCUMENTS)?;
            let is_last = page.len() < DOCUMENTS;
            for record in page {
                if !self.has_room(width) {
                    return Ok(());
                }
                after = record.sequence;
                let sequence = record.sequence;
                if self.statement(record)? {
                    self.stated = Some(sequence);
                }
            }
            if is_last {
                break;
            }
        }
        if self.stated.is_none() && after > destination.stated {
            // All of it is outside. Where that changes the ledger goes back by itself.
            let stated = after;
            self.tx.put_destination(
                name,
                &Destination {
                    stated,
                    ..destination
                },
            )?;
        }
        Ok(())
    }

    /// Adds a statement, if it may leave; tells whether it did.
    pub(super) fn statement(&mut self, record: StatementRecord) -> Result<bool, LedgerError> {
        if !self.leaving.has_statement(self.tx, &record.statement)? {
            return Ok(false);
        }
        let source = match launch_of_link(&record.source) {
            Some(launch) if !self.may_leave(launch)? => LINK_SOURCE.to_owned(),
            _ => record.source,
        };
        self.bytes += 400;
        self.batch.statements.push(StatementDocument {
            sequence: record.sequence,
            at: record.at,
            by: clean::text(self.redactor, record.by),
            source: clean::text(self.redactor, source),
            statement: clean::statement(self.redactor, record.statement),
        });
        Ok(true)
    }

    /// The batch, with all that it speaks of.
    pub(super) fn into_batch(mut self) -> Result<Batch, LedgerError> {
        self.named_ones()?;
        Ok(self.batch)
    }

    /// Adds the sessions and repositories that the rest speaks of.
    fn named_ones(&mut self) -> Result<(), LedgerError> {
        for id in std::mem::take(&mut self.named) {
            let Some(record) = self.tx.session(id)? else {
                continue;
            };
            if record.home != self.home {
                continue;
            }
            let is_outside = !self.may_leave(id)?;
            self.places
                .extend(record.repository.filter(|_| !is_outside));
            let kinds = self.leaving.kinds();
            let mut document = documents::session(self.tx, self.redactor, kinds, record)?;
            if let Some(parent) = document.parent
                && !self.may_leave(parent.session)?
            {
                (document.parent, document.parent_at) = (None, None);
            }
            if is_outside {
                // It was inside once, and is told what was erased since then, and nothing else.
                (document.cwd, document.worktree, document.repository) = (None, None, None);
                document.erased.iter_mut().for_each(|e| e.fact = None);
                if document.forgotten_at.is_none() && document.erased.is_empty() {
                    continue;
                }
            }
            self.batch.sessions.push(document);
        }
        if let Leaving::Scope(guard) = self.leaving {
            self.places.retain(|r| guard.has_repository(*r));
        }
        for record in self.here.iter().filter(|r| self.places.contains(&r.id)) {
            let document = documents::repository(self.redactor, self.host, record);
            self.batch.repositories.push(document);
        }
        Ok(())
    }
}
