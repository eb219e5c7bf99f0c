//! What a destination lacks, as one batch.

use std::collections::BTreeSet;

use siglum_domain::receipt::Receipt;
use siglum_domain::redact::Redactor;
use siglum_domain::{CheckpointId, LedgerId, Oid, RepositoryId, SessionId, Timestamp};
use siglum_ledger::{
    CommitRecord, Delivery, DueDocument, Durability, Forgotten, Ledger, LedgerError, ReplicaRow,
    RepositoryRecord, SessionRecord, StatementRecord, Transaction, read, write,
};

use super::clean::{self, Cleaned};
use super::send::Destined;
use super::wire::*;
use crate::Here;

/// How long a session is kept from other workers while its receipts are sent, in ms.
const CLAIM_MS: i64 = 60_000;
/// The most sessions whose receipts are in one batch.
const SESSIONS: usize = 64;
/// The most receipts of a session in one batch.
const RECEIPTS: usize = 256;
/// The most documents, and the most statements, of one batch.
const DOCUMENTS: usize = 256;
/// The cursor under which the stamp of the last batch is kept.
const STAMP: &str = "replica-stamp";

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
    /// The batch.
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
    let mut packing = Packing::new(here.redactor, home, width);
    packing.receipts(here, ledger, to.name)?;
    let (claims, receipts, bytes) = (packing.claims, packing.receipts, packing.bytes);
    // One transaction that writes: who has the greater stamp has read the newer state.
    write(ledger, Durability::Process, |tx| {
        let stamp = next_stamp(here, tx)?;
        let mut rest = Rest::new(tx, here.redactor, home, to.host)?;
        rest.bytes = bytes;
        rest.batch.stamp = stamp;
        rest.named.extend(claims.iter().map(|c| c.delivery.session));
        if width != Width::One || claims.is_empty() {
            rest.documents(to.name, width)?;
            rest.statements(to.name, width)?;
        }
        let (due, stated) = (std::mem::take(&mut rest.due), rest.stated);
        Ok((rest.into_batch()?, due, stated))
    })
    .map(|(mut batch, documents, stated)| {
        batch.receipts = receipts;
        Outgoing {
            batch,
            claims,
            documents,
            stated,
        }
    })
}

/// The stamp of a batch that is read in this transaction: greater than all before.
pub(super) fn next_stamp(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
) -> Result<Timestamp, LedgerError> {
    let last = tx.cursor(STAMP)?;
    let now = u64::try_from(here.now().nanos()).unwrap_or(0);
    let stamp = now.max(last + 1);
    tx.set_cursor(STAMP, stamp)?;
    let stamp = i64::try_from(stamp).unwrap_or(i64::MAX);
    Ok(Timestamp::from_nanos(stamp))
}

/// The sender's clock went back, or its ledger came from a backup: what it reads next is newer than this.
pub(super) fn newer_than(ledger: &mut dyn Ledger, stamp: Timestamp) -> Result<(), LedgerError> {
    write(ledger, Durability::Process, |tx| {
        let stamp = u64::try_from(stamp.nanos()).unwrap_or(0);
        match tx.cursor(STAMP)? < stamp {
            true => tx.set_cursor(STAMP, stamp),
            false => Ok(()),
        }
    })
}

/// Receipts on their way into a batch.
pub(super) struct Packing<'a> {
    redactor: &'a Redactor,
    home: LedgerId,
    width: Width,
    claims: Vec<Claimed>,
    receipts: Vec<ReceiptDocument>,
    bytes: usize,
}

impl<'a> Packing<'a> {
    pub(super) const fn new(redactor: &'a Redactor, home: LedgerId, width: Width) -> Self {
        Self {
            redactor,
            home,
            width,
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
            entries: rows.into_iter().map(|r| entry(self.redactor, r)).collect(),
        })
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// An entry as it leaves. What the rules of today change has no salt any more.
fn entry(redactor: &Redactor, row: ReplicaRow) -> EntryDocument {
    let (salt, fact) = match row.fact.as_deref().map(|f| clean::fact(redactor, f)) {
        None | Some(Cleaned::Nothing) => (None, None),
        Some(Cleaned::Same) => (row.salt, row.fact),
        Some(Cleaned::Changed(fact)) => (None, Some(fact)),
    };
    EntryDocument {
        sequence: row.sequence,
        turn: row.turn,
        id: row.id,
        source: row.source,
        key: row.key,
        event: row.event,
        subagent: row.subagent,
        kind: row.kind,
        at: row.at,
        recorded_at: row.recorded_at,
        salt: salt.map(|s| hex(&s)),
        digest: row.digest,
        fact,
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
    /// Of no other sessions than these; of all where there are none.
    only: Option<&'a BTreeSet<SessionId>>,
}

impl<'a> Rest<'a> {
    pub(super) fn new(
        tx: &'a mut dyn Transaction,
        redactor: &'a Redactor,
        home: LedgerId,
        host: &'a str,
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
            only: None,
        })
    }

    /// The same, of these sessions alone.
    pub(super) fn of(self, sessions: &'a BTreeSet<SessionId>) -> Self {
        let only = Some(sessions);
        Self { only, ..self }
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
                let may_leave = self.only.is_none_or(|only| only.contains(&session));
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
        self.places.insert(repository);
        let authors = self.tx.authors(repository, commit)?;
        let rewritten = self.tx.rewrites_to(repository, commit)?;
        let document = commit_document(self.redactor, record, authors, rewritten);
        self.bytes += serde_json::to_vec(&document).map_or(0, |json| json.len());
        self.batch.commits.push(document);
        Ok(())
    }

    fn statements(&mut self, name: &str, width: Width) -> Result<(), LedgerError> {
        let Some(destination) = self.tx.destination(name)? else {
            return Ok(());
        };
        let found = self
            .tx
            .statements_of_ledger(self.home, destination.stated, DOCUMENTS)?;
        for record in found {
            if !self.has_room(width) {
                break;
            }
            self.stated = Some(record.sequence);
            self.statement(record);
        }
        Ok(())
    }

    pub(super) fn statement(&mut self, record: StatementRecord) {
        self.bytes += 400;
        self.batch.statements.push(StatementDocument {
            sequence: record.sequence,
            at: record.at,
            by: clean::text(self.redactor, record.by),
            source: clean::text(self.redactor, record.source),
            statement: clean::statement(self.redactor, record.statement),
        });
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
            if record.home == self.home {
                self.places.extend(record.repository);
                let document = session_document(self.tx, self.redactor, record)?;
                self.batch.sessions.push(document);
            }
        }
        for record in self.here.iter().filter(|r| self.places.contains(&r.id)) {
            self.batch.repositories.push(RepositoryDocument {
                id: record.id,
                common_dir: clean::text(self.redactor, record.common_dir.clone()),
                host: self.host.to_owned(),
            });
        }
        Ok(())
    }
}

fn session_document(
    tx: &mut dyn Transaction,
    redactor: &Redactor,
    record: SessionRecord,
) -> Result<SessionDocument, LedgerError> {
    let natives = tx.aliases(record.id)?;
    let (forgotten_at, erased) = match record.forgotten {
        Some(Forgotten::Whole { at }) => (Some(at), Vec::new()),
        Some(Forgotten::Parts { .. }) => (None, erased(tx, redactor, &record)?),
        None => (None, Vec::new()),
    };
    Ok(SessionDocument {
        id: record.id,
        agent: record.agent,
        conversation_id: record.conversation,
        home: record.home,
        mode: record.mode,
        origin: record.origin,
        parent: record
            .parent
            .map(|(session, relation)| ParentDocument { session, relation }),
        parent_at: record.parent_at,
        created_at: record.created_at,
        last_at: record.last_at,
        ended_at: record.ended_at,
        archived_at: record.archived_at,
        cwd: clean::optional(redactor, record.cwd),
        repository: record.repository,
        worktree: clean::optional(redactor, record.worktree),
        natives,
        forgotten_at,
        erased,
    })
}

/// The sealed entries of which parts were erased.
fn erased(
    tx: &mut dyn Transaction,
    redactor: &Redactor,
    record: &SessionRecord,
) -> Result<Vec<ErasedDocument>, LedgerError> {
    const PAGE: usize = 256;
    let mut found = Vec::new();
    let mut after = 0;
    loop {
        let page = tx.log_rows(record.id, after, PAGE)?;
        let Some(last) = page.last() else {
            return Ok(found);
        };
        after = last.sequence;
        for row in page {
            if row.salt.is_none() && row.sequence <= record.sealed {
                let entry = entry(redactor, row);
                found.push(ErasedDocument {
                    sequence: entry.sequence,
                    fact: entry.fact,
                });
            }
        }
    }
}

fn commit_document(
    redactor: &Redactor,
    record: CommitRecord,
    authors: Option<Vec<siglum_ledger::FileAuthors>>,
    rewritten: Vec<siglum_ledger::RewriteRecord>,
) -> CommitDocument {
    let file = |f: siglum_ledger::FileAuthors| FileDocument {
        path: f.path,
        spans: f.spans,
    };
    let rewrite = |r: siglum_ledger::RewriteRecord| RewriteDocument {
        old: r.old,
        command: r.command,
        at: r.at,
    };
    CommitDocument {
        repository: record.repository,
        commit: record.commit,
        checkpoint: record.checkpoint,
        judgement: clean::judgement(redactor, record.judgement),
        facts: record.facts.map(|f| clean::facts(redactor, f)),
        patch: record.patch,
        at: record.at,
        seen_by: record.seen_by,
        authors: authors.map(|files| files.into_iter().map(file).collect()),
        rewritten: rewritten.into_iter().map(rewrite).collect(),
    }
}
