//! Taking a batch: all of it that its sender may say, or nothing.

use std::collections::{BTreeMap, BTreeSet};

use siglum_domain::redact::Redactor;
use siglum_domain::scope::Kinds;
use siglum_domain::{LedgerId, RepositoryId, SessionId, Timestamp};
use siglum_gitstore::is_remote_name;
use siglum_ledger::{
    Durability, Forgotten, Ledger, ReplicaRepository, ReplicaRow, RepositoryIdentity,
    SessionRecord, Statement, StatementRecord, Transaction, attempt,
};

use super::changes::Changes;
use super::clean::{self, Cleaned};
use super::error::{of_document, refuse};
use super::limits::{ROOTS_MOST, list, word};
use super::wire::*;
use super::{DocumentName, ReplicaError, speaker};
use crate::Here;
use crate::identity::access::Caller;
use crate::identity::{links, statements};

type Result<T, E = ReplicaError> = std::result::Result<T, E>;

/// The kind under which the stamp of the newest batch of a ledger is kept, beside those of its documents.
const BATCHES: &str = "batch";

/// Takes a batch of another ledger, and tells how far this one is with it. The same one again changes nothing, and so
/// does one that is older than what is here.
///
/// What it changes is in the audit, as is what was left out.
///
/// # Errors
/// [`ReplicaError::Refused`] with the document and the rule that it breaks, [`ReplicaError::Forbidden`] with the one that
/// the caller may not say; nothing was written then.
pub fn apply(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    caller: &Caller,
    batch: &Batch,
) -> Result<Positions> {
    let own = ledger.id();
    if batch.ledger == own {
        let rule = "a ledger cannot store a replica of itself";
        return Err(refuse(DocumentName::Batch, rule));
    }
    attempt(ledger, Durability::Disk, |tx| {
        taken(here, tx, own, caller, batch)
    })
}

fn taken(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    own: LedgerId,
    caller: &Caller,
    batch: &Batch,
) -> Result<Positions> {
    let (standing, family) = speaker::admit(here, tx, caller, batch)?;
    let repositories = tx.repositories()?;
    let mut taking = Taking {
        here,
        caller,
        repositories: repositories.iter().map(|r| r.id).collect(),
        redactor: here.redactor,
        at: here.now(),
        own,
        batch,
        family,
        tx: &mut *tx,
        newer: None,
        fresh: BTreeSet::new(),
        restored: BTreeSet::new(),
        changes: Changes::default(),
    };
    let positions = taking.all()?;
    let (restored, mut changes) = (taking.restored, taking.changes);
    changes.restored.extend(restored);
    // What goes into the audit comes last: until the end of the transaction nobody else writes there.
    standing.note(here, tx, caller, batch.ledger)?;
    changes.note(here, tx, caller, batch.ledger, &positions)?;
    Ok(positions)
}

pub(super) struct Taking<'a> {
    pub(super) here: &'a Here<'a>,
    pub(super) caller: &'a Caller,
    pub(super) redactor: &'a Redactor,
    at: Timestamp,
    pub(super) own: LedgerId,
    /// The repositories that are at home here.
    pub(super) repositories: BTreeSet<RepositoryId>,
    pub(super) batch: &'a Batch,
    /// The sessions that a session's token speaks for; nothing where it is a launcher's.
    pub(super) family: Option<BTreeSet<SessionId>>,
    pub(super) tx: &'a mut dyn Transaction,
    /// The newest stamp of a document that is here in a newer state.
    newer: Option<Timestamp>,
    /// The sessions whose record in the batch is not older than the one here.
    fresh: BTreeSet<SessionId>,
    /// Sessions that get back what was erased of them.
    pub(super) restored: BTreeSet<SessionId>,
    pub(super) changes: Changes,
}

impl Taking<'_> {
    fn all(&mut self) -> Result<Positions> {
        let batch = self.batch;
        for document in &batch.repositories {
            let done = self.repository(document);
            of_document(|| DocumentName::Repository(document.id), done)?;
        }
        for document in &batch.sessions {
            let done = self.session(document);
            of_document(|| DocumentName::Session(document.id), done)?;
        }
        let mut receipts: BTreeMap<SessionId, Vec<&ReceiptDocument>> = BTreeMap::new();
        for document in &batch.receipts {
            let of = receipts.entry(document.receipt.session).or_default();
            of.push(document);
        }
        let mut positions: BTreeMap<SessionId, Position> = BTreeMap::new();
        for (session, documents) in receipts {
            let first = documents.first().map_or(0, |d| d.receipt.number);
            let done = self.receipts(session, &documents);
            let position = of_document(|| DocumentName::Receipt(session, first), done)?;
            positions.insert(session, position);
        }
        for document in &batch.sessions {
            self.erase(document)?;
        }
        for document in &batch.statements {
            let done = self.statement(document);
            of_document(|| DocumentName::Statement(document.sequence), done)?;
        }
        for document in &batch.checkpoints {
            let done = self.checkpoint(document);
            of_document(|| DocumentName::Checkpoint(document.id), done)?;
        }
        for document in &batch.commits {
            let done = self.commit(document);
            let name = || DocumentName::Commit(document.repository, document.commit.clone());
            of_document(name, done)?;
        }
        list(&DocumentName::Batch, "asks", batch.asks.len())?;
        for session in &batch.asks {
            if let Some(position) = self.requested_position(*session)? {
                positions.entry(*session).or_insert(position);
            }
        }
        Ok(Positions {
            version: VERSION,
            ledger: self.own,
            receipts: positions.into_values().collect(),
            statements: self.tx.last_stated(batch.ledger)?,
            newer: self.newer,
            remembers: self.remembers()?,
            set_aside: self.changes.set_aside.clone(),
        })
    }

    /// Whether the batch is known here that this one comes after, as its sender says. If so, this one is from now on; if
    /// not, the sender has to send again what was lost, and says so by naming none that it comes after.
    fn remembers(&mut self) -> Result<Option<bool>> {
        let (home, stamp) = (self.batch.ledger, self.batch.stamp);
        // A session's token does not say what its ledger has sent.
        let Some(after) = self.batch.after.filter(|_| self.family.is_none()) else {
            return Ok(None);
        };
        let last = self.tx.stamp(home, BATCHES, "")?.unwrap_or_default();
        if last < after {
            return Ok(Some(false));
        }
        if last < stamp {
            self.tx.put_stamp(home, BATCHES, "", stamp)?;
        }
        Ok(Some(true))
    }

    /// How far this ledger is with a session that the sender asks about, as far as it is the sender's.
    fn requested_position(&mut self, session: SessionId) -> Result<Option<Position>> {
        if self.family.as_ref().is_some_and(|f| !f.contains(&session)) {
            return Ok(None);
        }
        match self.tx.session(session)?.map(|s| s.home) {
            None => Ok(Some(Position {
                session,
                number: 0,
                digest: None,
            })),
            Some(home) if home == self.batch.ledger => self.position(session).map(Some),
            Some(_) => Ok(None),
        }
    }

    /// Whether a row that several sessions share is one that the caller may change: its home may, and a session where
    /// nobody else is concerned.
    pub(super) fn may_change(&self, concerned: &[SessionId]) -> bool {
        let Some(family) = &self.family else {
            return true;
        };
        !concerned.is_empty() && concerned.iter().all(|s| family.contains(s))
    }

    /// Leaves out a document that is not the sender's to say, such as one of a session's token that would change what is
    /// others'.
    pub(super) fn leave_out(&mut self, name: &DocumentName, rule: &str) {
        self.changes.set_aside.push(SetAside {
            document: name.to_string(),
            rule: rule.to_owned(),
        });
    }

    /// A document as it may be stored: without the secrets in its texts.
    pub(super) fn cleaned<T>(&self, name: &DocumentName, document: &T) -> Result<T>
    where
        T: Clone + serde::Serialize + serde::de::DeserializeOwned,
    {
        clean::document(self.redactor, document)
            .ok_or_else(|| refuse(name.clone(), "a name in it contains a secret"))
    }

    /// Whether the state of a document in the batch is newer than the one here; then it is the one here from now on.
    pub(super) fn is_newer(&mut self, kind: &str, document: &str) -> Result<bool> {
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
    pub(super) fn of_sender(&mut self, name: &DocumentName, id: RepositoryId) -> Result<()> {
        match self.tx.replica_repository(id)? {
            Some(known) if known.home == self.batch.ledger => Ok(()),
            Some(_) => Err(refuse(
                name.clone(),
                format!("repository {id} belongs to another ledger"),
            )),
            None => Err(refuse(
                name.clone(),
                format!("repository {id} is not in the batch"),
            )),
        }
    }

    fn repository(&mut self, document: &RepositoryDocument) -> Result<()> {
        let name = DocumentName::Repository(document.id);
        keeps_rules(&name, document)?;
        let document = self.cleaned(&name, document)?;
        word(&name, "common_dir", &document.common_dir)?;
        word(&name, "host", &document.host)?;
        if self.repositories.contains(&document.id) {
            return Err(refuse(name, "this repository is at home here"));
        }
        let known = self.tx.replica_repository(document.id)?;
        if known.is_some() {
            self.of_sender(&name, document.id)?;
        }
        let mut repository = ReplicaRepository {
            id: document.id,
            home: self.batch.ledger,
            host: document.host,
            common_dir: document.common_dir,
            identity: RepositoryIdentity {
                roots: document.roots,
                remote: document.remote.filter(|remote| is_remote_name(remote)),
                clone_of: None,
            },
        };
        let nothing = RepositoryIdentity::default();
        if let Some(known) = &known
            && repository.identity == nothing
        {
            // Its ledger has not looked yet, or is of a program that does not tell.
            repository.identity = known.identity.clone();
        }
        if let (Some(known), Some(_)) = (&known, &self.family) {
            let place = (&known.host, &known.common_dir);
            let is_place_known = place == (&repository.host, &repository.common_dir);
            if *known == repository {
                return Ok(());
            }
            if !is_place_known || known.identity != nothing {
                self.leave_out(&name, "other sessions work there too; it is unchanged");
                return Ok(());
            }
            // What nobody has said yet is added.
            self.tx.put_replica_repository(&repository, self.at)?;
            self.changes.repositories += 1;
            return Ok(());
        }
        if !self.is_newer("repository", &document.id.to_string())? {
            return Ok(());
        }
        self.tx.put_replica_repository(&repository, self.at)?;
        self.changes.repositories += 1;
        Ok(())
    }

    fn session(&mut self, document: &SessionDocument) -> Result<()> {
        let name = DocumentName::Session(document.id);
        let document = &self.cleaned(
            &name,
            &SessionDocument {
                // Payloads have rules of their own.
                erased: Vec::new(),
                ..document.clone()
            },
        )?;
        let words = [("cwd", &document.cwd), ("worktree", &document.worktree)];
        for (field, text) in words {
            word(&name, field, text.as_deref().unwrap_or_default())?;
        }
        list(&name, "natives", document.natives.len())?;
        if document.home != self.batch.ledger {
            return Err(refuse(name, "its home is not the sending ledger"));
        }
        let known = self.tx.session(document.id)?;
        if let Some(known) = &known {
            self.owned(&name, known)?;
        }
        if let Some(repository) = document.repository {
            self.of_sender(&name, repository)?;
        }
        if !self.is_newer("session", &document.id.to_string())? {
            return Ok(());
        }
        self.fresh.insert(document.id);
        if known.is_none() {
            self.changes.dropped += statements::drop_early(self.tx, document.id, document.home)?;
        }
        let parent = document.parent.map(|p| (p.session, p.relation));
        // Where a session came from stays so: a sender that does not name it may not.
        let (parent, parent_at) = match (parent, known) {
            (None, Some(known)) => (known.parent, known.parent_at),
            (parent, _) => (parent, document.parent_at),
        };
        let record = SessionRecord {
            parent,
            parent_at,
            last_at: document.last_at,
            ended_at: document.ended_at,
            archived_at: document.archived_at,
            cwd: document.cwd.clone(),
            repository: document.repository,
            worktree: document.worktree.clone(),
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
        self.changes.sessions.insert(document.id);
        let forgotten = self.tx.session(document.id)?.and_then(|r| r.forgotten);
        if let Some(at) = document.forgotten_at
            && forgotten != Some(Forgotten::Whole { at })
        {
            let held = self.tx.holdings(document.id)?.map_or(0, |h| h.payloads);
            let was_coming = self.tx.erasure(document.id)?.is_some();
            // What came before was recorded before: each batch has the session as it was after its entries were read.
            self.tx.forget_session(document.id, at)?;
            self.erased(document.id, held, forgotten.is_none() || was_coming)?;
        }
        Ok(())
    }

    /// Notes that so many payloads of a session were erased. Its home can send them again, unless this ledger forgot
    /// something of it by itself.
    fn erased(&mut self, session: SessionId, payloads: u64, may_return: bool) -> Result<()> {
        if payloads == 0 {
            return Ok(());
        }
        if may_return {
            self.tx.put_erasure(session, Some(0))?;
        }
        *self.changes.erased.entry(session).or_default() += payloads;
        Ok(())
    }

    /// Refuses a session that is somebody else's.
    pub(super) fn owned(&self, name: &DocumentName, known: &SessionRecord) -> Result<()> {
        let rule = match known.home {
            home if home == self.batch.ledger => return Ok(()),
            home if home == self.own => "this session is at home here",
            _ => "this session is a replica from another ledger",
        };
        Err(refuse(name.clone(), rule))
    }

    /// Takes over which parts were erased at home, as far as they are here.
    fn erase(&mut self, document: &SessionDocument) -> Result<()> {
        if !self.fresh.contains(&document.id) {
            return Ok(());
        }
        let mut payloads = 0;
        for erased in &document.erased {
            let fact = erased.fact.as_deref();
            let cleaned = fact.map(|f| (f, clean::fact(self.redactor, Kinds::Conversations, f)));
            let left = match &cleaned {
                Some((fact, Cleaned::Same)) => Some(*fact),
                Some((_, Cleaned::Changed(fact))) => Some(fact.as_str()),
                Some((_, Cleaned::Nothing)) | None => None,
            };
            let before = erased.sequence.saturating_sub(1);
            let known = self.tx.log_rows(document.id, before, 1)?.pop();
            let is_erased = |row: &ReplicaRow| {
                row.sequence != erased.sequence
                    || row.salt.is_none() && row.fact.as_deref().is_none_or(|f| Some(f) == left)
            };
            if known.as_ref().is_none_or(is_erased) {
                continue;
            }
            self.tx.replace_fact(document.id, erased.sequence, left)?;
            payloads += 1;
        }
        if payloads > 0 {
            self.tx.refold(Some(document.id))?;
            let record = self.tx.session(document.id)?;
            let was_coming = self.tx.erasure(document.id)?.is_some();
            let may_return = was_coming || record.is_some_and(|r| r.forgotten.is_none());
            self.erased(document.id, payloads, may_return)?;
        }
        Ok(())
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
            let checked = link.check();
            checked.map_err(|e| refuse(name.clone(), e.to_string()))?;
        }
        if let Statement::Launched { launch, .. } = &document.statement {
            word(&name, "program", &launch.program)?;
        }
        if document.statement.stays_here() {
            self.leave_out(&name, "a ledger takes attestations from platforms alone");
            return Ok(());
        }
        let is_of_commit = matches!(
            document.statement,
            Statement::Adopted { .. } | Statement::Disowned { .. }
        );
        if is_of_commit && self.family.is_some() {
            self.leave_out(&name, "a session cannot state who made a commit");
            return Ok(());
        }
        if !self.may_state(&name, &document.statement)? {
            return Ok(());
        }
        let document = self.cleaned(&name, document)?;
        let record = StatementRecord {
            ledger: self.batch.ledger,
            sequence: document.sequence,
            at: document.at,
            by: document.by.clone(),
            source: document.source.clone(),
            statement: clean::statement(self.redactor, document.statement),
        };
        if self.tx.put_statement(&record)? {
            self.changes.statements += 1;
            return self.has_room(&name, &record.statement);
        }
        let before = record.sequence - 1;
        let known = self
            .tx
            .statements_of_ledger(record.ledger, before, 1)?
            .pop();
        if known.as_ref() == Some(&record) {
            return Ok(());
        }
        if self.family.is_some() {
            self.leave_out(
                &name,
                "a different statement with this number already exists",
            );
            return Ok(());
        }
        // What a session's token said in its name gives way to what the ledger says itself.
        self.tx.drop_statement(record.ledger, record.sequence)?;
        self.tx.put_statement(&record)?;
        self.changes.corrected += 1;
        self.has_room(&name, &record.statement)
    }

    /// Refuses a link that its session has no room for, with what others attached.
    fn has_room(&mut self, name: &DocumentName, statement: &Statement) -> Result<()> {
        let Statement::LinkAttached { session, .. } = statement else {
            return Ok(());
        };
        let standing = statements::links(&self.tx.statements_of_session(*session)?);
        links::check_room(standing.len()).map_err(|e| refuse(name.clone(), e.to_string()))
    }
}

/// Refuses a repository by what tells its clones from others.
fn keeps_rules(name: &DocumentName, document: &RepositoryDocument) -> Result<()> {
    if document.roots.len() > ROOTS_MOST {
        let rule = format!("roots has more than {ROOTS_MOST} items");
        return Err(refuse(name.clone(), rule));
    }
    match document.remote.as_deref().is_none_or(is_remote_name) {
        true => Ok(()),
        false => Err(refuse(
            name.clone(),
            "its remote is not a name like host/o/r",
        )),
    }
}
