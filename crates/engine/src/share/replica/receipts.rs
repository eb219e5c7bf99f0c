//! Taking receipts, and giving back to a replica what a batch erased of it.
//!
//! What was erased by a batch is not lost: while its home did not forget it, this ledger says that it has nothing of the
//! session, the home sends all of it again, and each entry is checked against the digest in the receipt that is here.

use std::collections::HashSet;

use siglum_domain::SessionId;
use siglum_domain::receipt::{GENESIS, Receipt, SealedEntry, verifies};
use siglum_ledger::{Forgotten, ReplicaRow};

use super::apply::Taking;
use super::entries::{row, sealed, turns};
use super::error::refuse;
use super::limits::list;
use super::wire::{Position, ReceiptDocument};
use super::{DocumentName, ReplicaError};

type Result<T, E = ReplicaError> = std::result::Result<T, E>;

impl Taking<'_> {
    /// Takes the receipts of a session that follow the last one here, and gives back what was erased of those that are.
    pub(super) fn receipts(
        &mut self,
        session: SessionId,
        documents: &[&ReceiptDocument],
    ) -> Result<Position> {
        let first = documents.first().map_or(0, |d| d.receipt.number);
        let name = DocumentName::Receipt(session, first);
        let Some(record) = self.tx.session(session)? else {
            return Err(refuse(name, "its session is not in the batch"));
        };
        self.owned(&name, &record)?;
        let mut last = self.tx.last_receipt(session)?;
        let mut coming = self.coming_back(session)?;
        // Something was erased at home after this was read there: the sender reads it again.
        let known = self
            .tx
            .stamp(self.batch.ledger, "session", &session.to_string())?;
        let is_old = known > Some(self.batch.stamp);
        let is_stale = record.forgotten.is_some() && is_old;
        let document = self.batch.sessions.iter().find(|d| d.id == session);
        let is_wanted = !is_old && document.is_some_and(|d| d.forgotten_at.is_none());
        for document in documents {
            let number = document.receipt.number;
            let have = last.as_ref().map_or(0, |r| r.number);
            let is_next = coming.is_some_and(|restored| number == restored + 1);
            match number {
                0 => {
                    let name = DocumentName::Receipt(session, 0);
                    return Err(refuse(name, "receipts are numbered from 1"));
                }
                n if n <= have => {
                    self.is_known(document)?;
                    if is_next && is_wanted {
                        self.give_back(document)?;
                    }
                }
                n if n == have + 1 && !is_stale => {
                    self.receipt(document, last.as_ref())?;
                    last = Some(document.receipt.clone());
                    self.changes.receipts += 1;
                }
                // There is a gap: the sender goes on from where we are.
                _ => break,
            }
            if is_next && !is_old {
                coming = Some(number);
            }
        }
        self.came_back(session, coming, last.as_ref())?;
        self.position(session)
    }

    /// How far this ledger is with a session, as its sender is told.
    pub(super) fn position(&mut self, session: SessionId) -> Result<Position> {
        let last = match self.coming_back(session)? {
            Some(0) => None,
            Some(n) => self.tx.receipts_after(session, n - 1, 1)?.pop(),
            None => self.tx.last_receipt(session)?,
        };
        Ok(Position {
            session,
            number: last.as_ref().map_or(0, |r| r.number),
            digest: last.map(|r| r.digest),
        })
    }

    /// Up to which receipt a session came again since something of it was erased: its home alone can give it back.
    fn coming_back(&mut self, session: SessionId) -> Result<Option<u64>> {
        match self.family {
            None => Ok(self.tx.erasure(session)?),
            Some(_) => Ok(None),
        }
    }

    fn came_back(
        &mut self,
        session: SessionId,
        coming: Option<u64>,
        last: Option<&Receipt>,
    ) -> Result<()> {
        let Some(restored) = coming else {
            return Ok(());
        };
        let is_all = restored >= last.map_or(0, |r| r.number);
        self.tx
            .put_erasure(session, (!is_all).then_some(restored))?;
        if is_all && self.restored.contains(&session) {
            self.tx.refold(Some(session))?;
        }
        Ok(())
    }

    /// Refuses a receipt that is here and says something else.
    fn is_known(&mut self, document: &ReceiptDocument) -> Result<()> {
        let (session, number) = (document.receipt.session, document.receipt.number);
        let known = self.tx.receipts_after(session, number - 1, 1)?.pop();
        match known {
            Some(known) if known.digest == document.receipt.digest => Ok(()),
            _ => Err(refuse(
                DocumentName::Receipt(session, number),
                "a different receipt with this number already exists",
            )),
        }
    }

    /// Gives back what was erased of the entries of a receipt that is here.
    fn give_back(&mut self, document: &ReceiptDocument) -> Result<()> {
        let receipt = &document.receipt;
        let (session, name) = (
            receipt.session,
            DocumentName::Receipt(receipt.session, receipt.number),
        );
        let entries: Vec<SealedEntry> = document.entries.iter().map(sealed).collect();
        if !verifies(receipt, &receipt.previous, &entries) {
            return Err(refuse(name, "its digest does not match its entries"));
        }
        let rows = document.entries.iter();
        let rows: Result<Vec<ReplicaRow>> = rows.map(|e| row(self.redactor, &name, e)).collect();
        self.tx.restore_rows(session, &rows?)?;
        self.restored.insert(session);
        Ok(())
    }

    fn receipt(&mut self, document: &ReceiptDocument, before: Option<&Receipt>) -> Result<()> {
        let receipt = &document.receipt;
        let session = receipt.session;
        let name = DocumentName::Receipt(session, receipt.number);
        list(&name, "turns", document.turns.len())?;
        let previous = before.map_or(GENESIS, |r| r.digest.as_str());
        let sealed: Vec<SealedEntry> = document.entries.iter().map(sealed).collect();
        let first = before.map_or(1, |r| r.last.saturating_add(1));
        if receipt.first != first || !verifies(receipt, previous, &sealed) {
            return Err(refuse(name, "its digest does not match its entries"));
        }
        let erased = match self.tx.session(session)?.and_then(|r| r.forgotten) {
            Some(Forgotten::Whole { at }) => Some(at),
            _ => None,
        };
        let mut rows = Vec::with_capacity(document.entries.len());
        let mut keys = HashSet::new();
        for entry in &document.entries {
            if !keys.insert((entry.source, entry.key.as_str()))
                || self
                    .tx
                    .sighted(session, entry.source, &entry.key)?
                    .is_some()
            {
                return Err(refuse(name, "two entries have the same source and key"));
            }
            let mut row = row(self.redactor, &name, entry)?;
            // It was read before it was erased.
            if erased.is_some_and(|at| row.recorded_at <= at) {
                (row.salt, row.fact) = (None, None);
            }
            rows.push(row);
        }
        let turns = turns(self.redactor, &name, receipt, &document.turns)?;
        self.tx.put_replica_rows(session, &turns, &rows)?;
        if self.tx.put_receipt(receipt)? {
            return Ok(());
        }
        Err(refuse(name, "it does not follow the last receipt here"))
    }
}
