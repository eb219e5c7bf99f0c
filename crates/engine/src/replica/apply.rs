//! Taking a batch: all of it, or nothing.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use siglum_domain::link::Link;
use siglum_domain::observation::Fact;
use siglum_domain::receipt::{GENESIS, Receipt, SealedEntry, payload_digest, verifies};
use siglum_domain::redact::Redactor;
use siglum_domain::scope::Kinds;
use siglum_domain::{LedgerId, RepositoryId, SessionId, Timestamp};
use siglum_ledger::{
    CheckpointRecord, CommitRecord, Durability, FileAuthors, Forgotten, Ledger, LedgerError,
    ReplicaRepository, ReplicaRow, ReplicaTurn, SessionRecord, Statement, StatementRecord,
    Transaction, write,
};

use super::clean::{self, Cleaned};
use super::error::refuse;
use super::limits::{PAYLOAD_MOST, list, word};
use super::wire::*;
use super::{DocumentName, ReplicaError};
use crate::Here;

type Result<T, E = ReplicaError> = std::result::Result<T, E>;

/// Takes a batch of another ledger, and tells how far this one is with it. The same one again changes nothing, and so
/// does one that is older than what is here.
///
/// # Errors
/// [`ReplicaError::Refused`] with the document and the rule that it breaks; nothing was written then.
pub fn apply(here: &Here<'_>, ledger: &mut dyn Ledger, batch: &Batch) -> Result<Positions> {
    let own = ledger.id();
    if batch.ledger == own {
        let rule = "a ledger takes no replica of itself";
        return Err(refuse(DocumentName::Batch, rule));
    }
    let mut refusal = None;
    let done = write(ledger, Durability::Disk, |tx| {
        refusal = None;
        let mut taking = Taking {
            redactor: here.redactor,
            at: here.now(),
            own,
            batch,
            tx,
            newer: None,
            fresh: BTreeSet::new(),
        };
        taking.all().map_err(|error| match error {
            ReplicaError::Ledger(error) => error,
            refused => {
                let text = refused.to_string();
                refusal = Some(refused);
                LedgerError::Storage(text.into())
            }
        })
    });
    match refusal {
        Some(refused) => Err(refused),
        None => Ok(done?),
    }
}

struct Taking<'a> {
    redactor: &'a Redactor,
    at: Timestamp,
    own: LedgerId,
    batch: &'a Batch,
    tx: &'a mut dyn Transaction,
    /// The newest stamp of a document that is here in a newer state.
    newer: Option<Timestamp>,
    /// The sessions whose record in the batch is not older than the one here.
    fresh: BTreeSet<SessionId>,
}

impl Taking<'_> {
    fn all(&mut self) -> Result<Positions> {
        let batch = self.batch;
        let here = self.tx.repositories()?;
        let here: BTreeSet<RepositoryId> = here.iter().map(|r| r.id).collect();
        for document in &batch.repositories {
            self.repository(document, &here)?;
        }
        for document in &batch.sessions {
            self.session(document)?;
        }
        let mut receipts: BTreeMap<SessionId, Vec<&ReceiptDocument>> = BTreeMap::new();
        for document in &batch.receipts {
            let of = receipts.entry(document.receipt.session).or_default();
            of.push(document);
        }
        let mut positions: BTreeMap<SessionId, Position> = BTreeMap::new();
        for (session, documents) in receipts {
            let position = self.receipts(session, &documents)?;
            positions.insert(session, position);
        }
        for document in &batch.sessions {
            self.erase(document)?;
        }
        for document in &batch.statements {
            self.statement(document)?;
        }
        for document in &batch.checkpoints {
            self.checkpoint(document)?;
        }
        for document in &batch.commits {
            self.commit(document)?;
        }
        Ok(Positions {
            version: VERSION,
            ledger: self.own,
            receipts: positions.into_values().collect(),
            statements: self.tx.last_stated(batch.ledger)?,
            newer: self.newer,
        })
    }

    /// Whether the state of a document in the batch is newer than the one here; then it is the one here from now on.
    fn is_newer(&mut self, kind: &str, document: &str) -> Result<bool> {
        let (home, stamp) = (self.batch.ledger, self.batch.stamp);
        match self.tx.stamp(home, kind, document)? {
            Some(known) if known >= stamp => {
                if known > stamp {
                    self.newer = self.newer.max(Some(known));
                }
                Ok(false)
            }
            _ => {
                self.tx.put_stamp(home, kind, document, stamp)?;
                Ok(true)
            }
        }
    }

    /// Refuses a repository that is not the sender's.
    fn of_sender(&mut self, name: &DocumentName, id: RepositoryId) -> Result<()> {
        match self.tx.replica_repository(id)? {
            Some(known) if known.home == self.batch.ledger => Ok(()),
            Some(_) => Err(refuse(
                name.clone(),
                format!("repository {id} is another ledger's"),
            )),
            None => Err(refuse(
                name.clone(),
                format!("repository {id} is not in the batch"),
            )),
        }
    }

    fn repository(
        &mut self,
        document: &RepositoryDocument,
        here: &BTreeSet<RepositoryId>,
    ) -> Result<()> {
        let name = DocumentName::Repository(document.id);
        word(&name, "common_dir", &document.common_dir)?;
        word(&name, "host", &document.host)?;
        if here.contains(&document.id) {
            return Err(refuse(name, "this repository is at home here"));
        }
        if self.tx.replica_repository(document.id)?.is_some() {
            self.of_sender(&name, document.id)?;
        }
        if !self.is_newer("repository", &document.id.to_string())? {
            return Ok(());
        }
        let repository = ReplicaRepository {
            id: document.id,
            home: self.batch.ledger,
            host: clean::text(self.redactor, document.host.clone()),
            common_dir: clean::text(self.redactor, document.common_dir.clone()),
        };
        self.tx.put_replica_repository(&repository, self.at)?;
        Ok(())
    }

    fn session(&mut self, document: &SessionDocument) -> Result<()> {
        let name = DocumentName::Session(document.id);
        let words = [("cwd", &document.cwd), ("worktree", &document.worktree)];
        for (field, text) in words {
            word(&name, field, text.as_deref().unwrap_or_default())?;
        }
        list(&name, "natives", document.natives.len())?;
        if document.home != self.batch.ledger {
            return Err(refuse(name, "its home is another ledger than the sender"));
        }
        if let Some(known) = self.tx.session(document.id)? {
            self.owned(&name, &known)?;
        }
        if let Some(repository) = document.repository {
            self.of_sender(&name, repository)?;
        }
        if !self.is_newer("session", &document.id.to_string())? {
            return Ok(());
        }
        self.fresh.insert(document.id);
        let record = SessionRecord {
            parent: document.parent.map(|p| (p.session, p.relation)),
            parent_at: document.parent_at,
            last_at: document.last_at,
            ended_at: document.ended_at,
            archived_at: document.archived_at,
            cwd: clean::optional(self.redactor, document.cwd.clone()),
            repository: document.repository,
            worktree: clean::optional(self.redactor, document.worktree.clone()),
            ..SessionRecord::new(
                document.id,
                document.agent.clone(),
                document.conversation_id.clone(),
                document.home,
                document.mode,
                document.origin,
                document.created_at,
            )
        };
        self.tx.put_replica_session(&record, &document.natives)?;
        let forgotten = self.tx.session(document.id)?.and_then(|r| r.forgotten);
        if let Some(at) = document.forgotten_at
            && forgotten != Some(Forgotten::Whole { at })
        {
            // What came before was recorded before: each batch has the session as it was after its entries were read.
            self.tx.forget_session(document.id, at)?;
        }
        Ok(())
    }

    /// Refuses a session that is somebody else's.
    fn owned(&self, name: &DocumentName, known: &SessionRecord) -> Result<()> {
        let rule = match known.home {
            home if home == self.batch.ledger => return Ok(()),
            home if home == self.own => "this session is at home here",
            _ => "this session is a replica of another ledger's",
        };
        Err(refuse(name.clone(), rule))
    }

    /// Takes over which parts were erased at home, as far as they are here.
    fn erase(&mut self, document: &SessionDocument) -> Result<()> {
        if !self.fresh.contains(&document.id) {
            return Ok(());
        }
        for erased in &document.erased {
            let fact = erased.fact.as_deref();
            let cleaned = fact.map(|f| (f, clean::fact(self.redactor, Kinds::Conversations, f)));
            let left = match &cleaned {
                Some((fact, Cleaned::Same)) => Some(*fact),
                Some((_, Cleaned::Changed(fact))) => Some(fact.as_str()),
                Some((_, Cleaned::Nothing)) | None => None,
            };
            self.tx.replace_fact(document.id, erased.sequence, left)?;
        }
        if !document.erased.is_empty() {
            self.tx.refold(Some(document.id))?;
        }
        Ok(())
    }

    /// Takes the receipts of a session that follow the last one here.
    fn receipts(&mut self, session: SessionId, documents: &[&ReceiptDocument]) -> Result<Position> {
        let first = documents.first().map_or(0, |d| d.receipt.number);
        let name = DocumentName::Receipt(session, first);
        let Some(record) = self.tx.session(session)? else {
            return Err(refuse(name, "its session is not in the batch"));
        };
        self.owned(&name, &record)?;
        let mut last = self.tx.last_receipt(session)?;
        // Something was erased at home after this was read there: the sender reads it again.
        let known = self
            .tx
            .stamp(self.batch.ledger, "session", &session.to_string())?;
        let is_stale = record.forgotten.is_some() && known > Some(self.batch.stamp);
        for document in documents {
            let number = document.receipt.number;
            let have = last.as_ref().map_or(0, |r| r.number);
            match number {
                0 => {
                    let name = DocumentName::Receipt(session, 0);
                    return Err(refuse(name, "receipts are numbered from 1"));
                }
                n if n <= have => self.is_known(document)?,
                n if n == have + 1 && !is_stale => {
                    self.receipt(document, last.as_ref())?;
                    last = Some(document.receipt.clone());
                }
                // There is a gap: the sender goes on from where we are.
                _ => break,
            }
        }
        Ok(Position {
            session,
            number: last.as_ref().map_or(0, |r| r.number),
            digest: last.map(|r| r.digest),
        })
    }

    /// Refuses a receipt that is here and says something else.
    fn is_known(&mut self, document: &ReceiptDocument) -> Result<()> {
        let (session, number) = (document.receipt.session, document.receipt.number);
        let known = self.tx.receipts_after(session, number - 1, 1)?.pop();
        match known {
            Some(known) if known.digest == document.receipt.digest => Ok(()),
            _ => Err(refuse(
                DocumentName::Receipt(session, number),
                "another receipt of this number is here",
            )),
        }
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
            return Err(refuse(name, "its digest is not that of its entries"));
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
        let turns = turns(&name, receipt, &document.turns)?;
        self.tx.put_replica_rows(session, &turns, &rows)?;
        if self.tx.put_receipt(receipt)? {
            return Ok(());
        }
        Err(refuse(name, "it does not follow the last one here"))
    }

    fn statement(&mut self, document: &StatementDocument) -> Result<()> {
        let name = DocumentName::Statement(document.sequence);
        word(&name, "by", &document.by)?;
        word(&name, "source", &document.source)?;
        if document.sequence == 0 || i64::try_from(document.sequence).is_err() {
            return Err(refuse(name, "statements are numbered from 1"));
        }
        if let Statement::LinkAttached { link, .. } | Statement::LinkDetached { link, .. } =
            &document.statement
        {
            let checked = Link::parse(link.field(), &link.value());
            let checked = checked.map_err(|e| refuse(name.clone(), e.to_string()))?;
            if checked != *link {
                return Err(refuse(name, "its link is not what it says"));
            }
        }
        if let Statement::Launched { launch, .. } = &document.statement {
            word(&name, "program", &launch.program)?;
        }
        self.tx.put_statement(&StatementRecord {
            ledger: self.batch.ledger,
            sequence: document.sequence,
            at: document.at,
            by: clean::text(self.redactor, document.by.clone()),
            source: clean::text(self.redactor, document.source.clone()),
            statement: clean::statement(self.redactor, document.statement.clone()),
        })?;
        Ok(())
    }

    fn checkpoint(&mut self, document: &CheckpointDocument) -> Result<()> {
        let (id, home) = (document.id, self.batch.ledger);
        let name = DocumentName::Checkpoint(id);
        let key = id.to_string();
        let is_there = self.tx.checkpoint(id)?.is_some();
        if is_there && self.tx.stamp(home, "checkpoint", &key)?.is_none() {
            return Err(refuse(name, "this checkpoint is another ledger's"));
        }
        if let Some(pinned) = &document.pinned {
            list(&name, "pins", pinned.pins.len())?;
            if let Some(repository) = pinned.repository {
                self.of_sender(&name, repository)?;
            }
            for pin in &pinned.pins {
                match self.tx.session(pin.session)? {
                    Some(known) => self.owned(&name, &known)?,
                    None => {
                        let rule = format!("session {} is not in the batch", pin.session);
                        return Err(refuse(name, rule));
                    }
                }
            }
        }
        if !self.is_newer("checkpoint", &key)? {
            return Ok(());
        }
        if is_there {
            self.tx.withdraw_checkpoint(id)?;
        }
        if let Some(pinned) = &document.pinned {
            self.tx.put_checkpoint(&CheckpointRecord {
                id,
                kind: pinned.kind,
                repository: pinned.repository,
                commit: pinned.commit.clone(),
                at: pinned.at,
                pins: pinned
                    .pins
                    .iter()
                    .map(|p| (p.session, p.sequence))
                    .collect(),
            })?;
        }
        Ok(())
    }

    fn commit(&mut self, document: &CommitDocument) -> Result<()> {
        let name = DocumentName::Commit(document.repository, document.commit.clone());
        self.of_sender(&name, document.repository)?;
        list(&name, "rewritten", document.rewritten.len())?;
        for rewrite in &document.rewritten {
            word(&name, "command", &rewrite.command)?;
        }
        word(
            &name,
            "patch",
            document.patch.as_deref().unwrap_or_default(),
        )?;
        list(&name, "evidence", document.judgement.evidence.len())?;
        list(&name, "candidates", document.judgement.candidates.len())?;
        if document
            .facts
            .as_ref()
            .is_some_and(|f| f.commit != document.commit)
        {
            return Err(refuse(name, "its facts are those of another commit"));
        }
        let spans = document.authors.iter().flatten().flat_map(|f| &f.spans);
        if spans.into_iter().any(|s| s.first == 0 || s.last < s.first) {
            return Err(refuse(name, "its lines are no lines"));
        }
        for rewrite in &document.rewritten {
            let (repository, at) = (document.repository, rewrite.at);
            let (old, new) = (&rewrite.old, &document.commit);
            self.tx
                .put_rewrite(repository, old, new, &rewrite.command, at)?;
        }
        let key = format!("{}:{}", document.repository, document.commit);
        if !self.is_newer("commit", &key)? {
            return Ok(());
        }
        self.tx.put_commit(&CommitRecord {
            repository: document.repository,
            commit: document.commit.clone(),
            checkpoint: document.checkpoint,
            // What its git looked like stays where it was seen.
            intent: None,
            judgement: clean::judgement(self.redactor, document.judgement.clone()),
            facts: document
                .facts
                .clone()
                .map(|f| clean::facts(self.redactor, f)),
            patch: document.patch.clone(),
            at: document.at,
            seen_by: document.seen_by,
        })?;
        if let Some(authors) = &document.authors {
            let file = |f: &FileDocument| FileAuthors {
                path: f.path.clone(),
                spans: f.spans.clone(),
            };
            let files: Vec<FileAuthors> = authors.iter().map(file).collect();
            self.tx
                .put_authors(document.repository, &document.commit, &files)?;
        }
        Ok(())
    }
}

fn sealed(entry: &EntryDocument) -> SealedEntry {
    SealedEntry {
        sequence: entry.sequence,
        header: format!("{}\n{}\n{}", entry.source.as_str(), entry.key, entry.event),
        payload: entry.digest.clone(),
    }
}

fn turns(
    name: &DocumentName,
    receipt: &Receipt,
    documents: &[TurnDocument],
) -> Result<Vec<ReplicaTurn>> {
    let mut turns = Vec::with_capacity(documents.len());
    for document in documents {
        word(name, "turn", &document.native)?;
        if !receipt.turns.contains(&document.id) {
            let rule = format!("turn {} is not in the receipt", document.id);
            return Err(refuse(name.clone(), rule));
        }
        turns.push(ReplicaTurn {
            id: document.id,
            native: document.native.clone(),
            opened_at: document.opened_at,
            prompt: document.prompt.filter(|p| *p <= receipt.last),
        });
    }
    Ok(turns)
}

/// An entry as it is stored: checked against its digest, and without what the rules of today remove.
fn row(redactor: &Redactor, name: &DocumentName, entry: &EntryDocument) -> Result<ReplicaRow> {
    word(name, "key", &entry.key)?;
    word(name, "event", &entry.event)?;
    word(name, "kind", &entry.kind)?;
    word(
        name,
        "subagent",
        entry.subagent.as_deref().unwrap_or_default(),
    )?;
    let at = entry.sequence;
    let broken = |rule: &str| refuse(name.clone(), format!("entry {at}: {rule}"));
    let mut salt = match &entry.salt {
        Some(text) => Some(bytes(text).ok_or_else(|| broken("its salt is not 32 bytes in hex"))?),
        None => None,
    };
    let mut kind = entry.kind.clone();
    let mut fact = None;
    if let Some(text) = &entry.fact {
        if text.len() > PAYLOAD_MOST {
            return Err(broken("its payload is too large"));
        }
        if salt.is_some_and(|salt| payload_digest(&salt, text.as_bytes()) != entry.digest) {
            return Err(broken("its digest is not that of its payload"));
        }
        let cleaned = clean::fact(redactor, Kinds::Conversations, text);
        fact = match cleaned {
            Cleaned::Same => Some(text.clone()),
            Cleaned::Changed(ref changed) => Some(changed.clone()),
            Cleaned::Nothing => None,
        };
        if cleaned != Cleaned::Same {
            salt = None;
        }
        let parsed = fact.as_deref().map(serde_json::from_str::<Fact>);
        if let Some(Ok(fact)) = parsed {
            fact.kind().clone_into(&mut kind);
        }
    } else {
        salt = None;
    }
    Ok(ReplicaRow {
        sequence: entry.sequence,
        turn: entry.turn,
        id: entry.id,
        source: entry.source,
        key: entry.key.clone(),
        event: entry.event.clone(),
        subagent: entry.subagent.clone(),
        kind,
        at: entry.at,
        recorded_at: entry.recorded_at,
        salt,
        digest: entry.digest.clone(),
        fact,
    })
}

/// 32 bytes from hex.
fn bytes(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |d: u8| {
            char::from(d)
                .to_digit(16)
                .and_then(|d| u8::try_from(d).ok())
        };
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}
