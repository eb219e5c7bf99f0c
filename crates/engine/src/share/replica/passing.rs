//! One session that is sent by itself, with what belongs to it, to a gateway of which nothing is remembered.

use std::collections::{BTreeSet, VecDeque};

use siglum_domain::scope::Kinds;
use siglum_domain::{CheckpointId, LedgerId, Oid, RepositoryId, SessionId};
use siglum_ledger::{
    CheckpointFilter, Durability, Ledger, LedgerError, SessionFilter, StatementRecord, Transaction,
    read, write,
};

use super::encode;
use super::outgoing::{Leaving, Packing, Rest, Width};
use super::recheck::{Gate, GateError, is_ours};
use super::send::{BATCH, Sent};
use super::stamps::{newer_than, next_stamp};
use super::wire::{Batch, Positions};
use crate::identity::repositories::usable_git;
use crate::{Here, World};

/// The most checkpoints, and the most commits, of a session that are sent.
const MOST: usize = 1 << 20;
/// The most documents of one batch.
const DOCUMENTS: usize = 256;

/// What came of it.
#[derive(Debug, Default)]
pub struct Passed {
    /// What the gateway took.
    pub sent: Sent,
    /// Why it has not everything; nothing where it has.
    pub trouble: Option<GateError>,
}

/// Sends one session and the sessions that came from it: their sealed turns, links, checkpoints and commits. Nothing
/// else leaves, and nothing of the gateway is noted here: who asks again sends all that is not there yet again, which
/// changes nothing there. `host` is the name of this machine.
///
/// A checkpoint that pins other sessions, too, leaves without them. Nobody else is named: neither a session that wrote
/// lines of a commit or ran beside it, nor the one that this one came from.
///
/// # Errors
/// Those of the ledger.
pub fn pass(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    session: SessionId,
    host: &str,
    gate: &mut dyn Gate,
    in_time: &dyn Fn() -> bool,
) -> Result<Passed, LedgerError> {
    let home = ledger.id();
    let family = read(ledger, |tx| family(tx, home, session))?;
    let only: BTreeSet<SessionId> = family.iter().copied().collect();
    let mut passed = Passed::default();
    for member in family {
        let mut passing = Passing {
            here,
            host,
            only: &only,
            session: member,
            begun: false,
            renewed: false,
            taken: 0,
            documents: read(ledger, |tx| documents(tx, home, member))?,
        };
        while let Some((batch, documents)) = passing.next(ledger)? {
            let answer = match in_time() {
                true => gate.send(&encode(&batch)),
                false => Err(GateError::Unavailable(
                    "not everything was sent in time".into(),
                )),
            };
            let taken = match answer {
                Ok(positions) => passing.note_answer(ledger, &batch, documents, &positions)?,
                Err(trouble) => Err(trouble),
            };
            match taken {
                Ok(sent) => passed.sent += sent,
                Err(trouble) => {
                    passed.trouble = Some(trouble);
                    return Ok(passed);
                }
            }
        }
    }
    Ok(passed)
}

/// Whether all is there that would be sent of a session: git was asked about its commits, and whose their lines are.
/// Nobody asks about those of a repository whose directories are gone.
///
/// # Errors
/// Those of the ledger.
pub fn is_settled(
    world: &World<'_>,
    ledger: &mut dyn Ledger,
    session: SessionId,
) -> Result<bool, LedgerError> {
    let home = ledger.id();
    read(ledger, |tx| {
        let mut askable = tx.repositories()?;
        askable.retain(|r| usable_git(world, r).is_some());
        for member in family(tx, home, session)? {
            for commit in tx.commits_of_session(member, MOST)? {
                let is_askable = askable.iter().any(|r| r.id == commit.repository);
                if is_askable && tx.authors(commit.repository, &commit.commit)?.is_none() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    })
}

/// A session and all that came from it, the former first.
pub(super) fn family(
    tx: &mut dyn Transaction,
    home: LedgerId,
    session: SessionId,
) -> Result<Vec<SessionId>, LedgerError> {
    let mut found = vec![session];
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        at += 1;
        let below = tx.sessions(&SessionFilter {
            parent: Some(parent),
            ..SessionFilter::default()
        })?;
        for record in below.into_iter().map(|listed| listed.record) {
            if record.home == home && !found.contains(&record.id) {
                found.push(record.id);
            }
        }
    }
    Ok(found)
}

/// What a session has beside its log.
enum Document {
    Checkpoint(CheckpointId),
    Commit(RepositoryId, Oid),
    Statement(Box<StatementRecord>),
}

fn documents(
    tx: &mut dyn Transaction,
    home: LedgerId,
    session: SessionId,
) -> Result<VecDeque<Document>, LedgerError> {
    let mut commits: BTreeSet<(RepositoryId, Oid)> = BTreeSet::new();
    let made = tx.commits_of_session(session, MOST)?;
    commits.extend(made.into_iter().map(|c| (c.repository, c.commit)));
    let checkpoints = tx.checkpoints(&CheckpointFilter::of_session(session, MOST))?;
    commits.extend(
        checkpoints
            .iter()
            .filter_map(|c| Some((c.repository?, c.commit.clone()?))),
    );
    let statements = tx.statements_of_session(session)?;
    let statements = statements.into_iter().filter(|s| s.ledger == home);
    let mut all: VecDeque<Document> = statements
        .map(|s| Document::Statement(Box::new(s)))
        .collect();
    all.extend(checkpoints.into_iter().map(|c| Document::Checkpoint(c.id)));
    all.extend(commits.into_iter().map(|(r, c)| Document::Commit(r, c)));
    Ok(all)
}

/// A session on its way.
struct Passing<'a> {
    here: &'a Here<'a>,
    host: &'a str,
    only: &'a BTreeSet<SessionId>,
    session: SessionId,
    begun: bool,
    /// Whether the stamp was moved on, since what the gateway had was newer.
    renewed: bool,
    /// The last receipt that the gateway has, by its own account.
    taken: u64,
    /// What it was not sent yet.
    documents: VecDeque<Document>,
}

impl Passing<'_> {
    /// The next batch, and how many of the documents are in it; nothing where the gateway has everything.
    fn next(&self, ledger: &mut dyn Ledger) -> Result<Option<(Batch, usize)>, LedgerError> {
        let (redactor, home) = (self.here.redactor, ledger.id());
        let mut packing = Packing::new(redactor, home, Width::Bytes(BATCH), Kinds::Conversations);
        packing.session(ledger, self.session, self.taken)?;
        let (receipts, bytes) = packing.into_receipts();
        if self.begun && receipts.is_empty() && self.documents.is_empty() {
            return Ok(None);
        }
        let (mut batch, documents) = write(ledger, Durability::Process, |tx| {
            let stamp = next_stamp(self.here, tx)?;
            let leaving = Leaving::Sessions(self.only);
            let mut rest = Rest::new(tx, redactor, (home, self.host), leaving)?;
            rest.begin(stamp, bytes, self.session);
            let mut added = 0;
            for document in self.documents.iter().take(DOCUMENTS) {
                if !rest.has_room(Width::Bytes(BATCH)) {
                    break;
                }
                match document {
                    Document::Checkpoint(id) => rest.checkpoint(*id)?,
                    Document::Commit(repository, commit) => rest.commit(*repository, commit)?,
                    Document::Statement(record) => {
                        rest.statement((**record).clone())?;
                    }
                }
                added += 1;
            }
            Ok((rest.into_batch()?, added))
        })?;
        batch.receipts = receipts;
        Ok(Some((batch, documents)))
    }

    /// Notes what the gateway took of a batch, by its own account.
    fn note_answer(
        &mut self,
        ledger: &mut dyn Ledger,
        batch: &Batch,
        documents: usize,
        answer: &Positions,
    ) -> Result<Result<Sent, GateError>, LedgerError> {
        let before = self.taken;
        if !batch.receipts.is_empty() {
            let at = answer.receipts.iter().find(|p| p.session == self.session);
            if !read(ledger, |tx| is_ours(tx, self.session, at))? {
                return Ok(Err(refused("it has another receipt of this session")));
            }
            self.taken = at.map_or(0, |p| p.number);
            if self.taken <= before {
                return Ok(Err(refused("it accepted no receipt")));
            }
        }
        self.begun = true;
        let mut sent = Sent {
            batches: 1,
            receipts: self.taken - before,
            ..Sent::default()
        };
        if let Some(newer) = answer.newer {
            // It has a newer state, by its stamp alone: the same goes again with a newer one.
            if std::mem::replace(&mut self.renewed, true) {
                return Ok(Err(refused("its data is newer than the data that is sent")));
            }
            newer_than(ledger, newer)?;
            return Ok(Ok(sent));
        }
        sent.statements = batch.statements.len() as u64;
        sent.documents = (batch.checkpoints.len() + batch.commits.len()) as u64;
        self.documents.drain(..documents);
        Ok(Ok(sent))
    }
}

fn refused(reason: &str) -> GateError {
    GateError::Refused {
        document: None,
        reason: reason.to_owned(),
    }
}
