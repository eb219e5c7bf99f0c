//! Taking what several sessions may share: checkpoints and commits.

use siglum_domain::evidence::{Basis, Committer};
use siglum_domain::provenance::Origin;
use siglum_domain::{Oid, SessionId};
use siglum_ledger::{CheckpointRecord, CommitRecord, FileAuthors};

use super::apply::Taking;
use super::error::refuse;
use super::limits::{list, word};
use super::wire::{CheckpointDocument, CommitDocument, FileDocument};
use super::{DocumentName, ReplicaError, outsiders};

type Result<T, E = ReplicaError> = std::result::Result<T, E>;

/// The longest word for what git did, in letters.
const COMMAND_MOST: usize = 16;

impl Taking<'_> {
    pub(super) fn checkpoint(&mut self, document: &CheckpointDocument) -> Result<()> {
        let (id, home) = (document.id, self.batch.ledger);
        let name = DocumentName::Checkpoint(id);
        let document = &self.cleaned(&name, document)?;
        let key = id.to_string();
        let known = self.tx.checkpoint(id)?;
        let is_there = known.is_some();
        if is_there && self.tx.stamp(home, "checkpoint", &key)?.is_none() {
            return Err(refuse(name, "this checkpoint belongs to another ledger"));
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
        if let Some(known) = known {
            let pinned: Vec<SessionId> = known.pins.iter().map(|(session, _)| *session).collect();
            if !self.may_change(&pinned) {
                if !is_part_of(document, &known) {
                    self.leave_out(&name, "it also pins other sessions; it is unchanged");
                }
                return Ok(());
            }
        }
        if self.family.is_some() && !is_there && pins_nothing(document) {
            // It is nobody's yet, and would be nobody's then.
            return Ok(());
        }
        if !self.is_newer("checkpoint", &key)? {
            return Ok(());
        }
        self.changes.checkpoints += 1;
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

    pub(super) fn commit(&mut self, document: &CommitDocument) -> Result<()> {
        let name = DocumentName::Commit(document.repository, document.commit.clone());
        self.of_sender(&name, document.repository)?;
        keeps_rules(&name, document)?;
        let mut document = self.cleaned(&name, document)?;
        if !self.may_judge(&name, &document)? || self.is_others_commit(&name, &document)? {
            return Ok(());
        }
        self.hide_others(&mut document)?;
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
        self.changes.commits += 1;
        self.tx.put_commit(&CommitRecord {
            repository: document.repository,
            commit: document.commit.clone(),
            checkpoint: document.checkpoint,
            // What its git looked like stays where it was seen.
            intent: None,
            judgement: document.judgement.clone(),
            facts: document.facts.clone(),
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

    /// Whether a commit is here as one that others made or wrote lines of: it is not a session's to change then.
    fn is_others_commit(&mut self, name: &DocumentName, document: &CommitDocument) -> Result<bool> {
        let Some(family) = self.family.clone() else {
            return Ok(false);
        };
        let (repository, commit) = (document.repository, &document.commit);
        let Some(known) = self.tx.commit(repository, commit)? else {
            return Ok(false);
        };
        // Of one that is nobody's here nobody is concerned, and no session may make it its own.
        let mut concerned = Vec::new();
        if let Committer::Session { session } = known.judgement.committer {
            let authors = self.tx.authors(repository, commit)?.unwrap_or_default();
            let spans = authors.iter().flat_map(|file| &file.spans);
            concerned.extend(spans.filter_map(|span| match span.origin {
                Origin::Session(session) => Some(session),
                Origin::Parent | Origin::Unknown => None,
            }));
            concerned.push(session);
        }
        if self.may_change(&concerned) {
            return Ok(false);
        }
        // Who else had a part in it is not in what a session's token sends.
        let is_outside = |session| !family.contains(&session);
        let mut stated = document.judgement.clone();
        let mut known = known.judgement;
        outsiders::hide_in(&mut stated, is_outside);
        outsiders::hide_in(&mut known, is_outside);
        if stated != known {
            self.leave_out(name, "it already exists, and not only for this session");
        }
        Ok(true)
    }
}

/// Refuses a commit that breaks a rule by itself.
fn keeps_rules(name: &DocumentName, document: &CommitDocument) -> Result<()> {
    list(name, "rewritten", document.rewritten.len())?;
    for rewrite in &document.rewritten {
        // What git calls it: `amend`, `rebase`, or a word of a git that is to come.
        let letters = rewrite.command.bytes();
        let is_word = letters.clone().all(|b| b.is_ascii_lowercase() || b == b'-');
        if !is_word || !(1..=COMMAND_MOST).contains(&letters.len()) {
            return Err(refuse(name.clone(), "its command is not a git command"));
        }
    }
    let patch = document.patch.as_deref().unwrap_or_default();
    if !patch.is_empty() && Oid::new(patch).is_err() {
        return Err(refuse(name.clone(), "its patch is not a patch id"));
    }
    for file in document.authors.iter().flatten() {
        word(name, "path", &file.path)?;
    }
    list(name, "evidence", document.judgement.evidence.len())?;
    list(name, "candidates", document.judgement.candidates.len())?;
    let mut evidence = document.judgement.evidence.iter();
    if document.judgement.is_attested() || evidence.any(|e| e.basis == Basis::Attested) {
        // No ledger stores a judgement with one, and what rests on a token is not for others to say.
        let rule =
            "its judgement rests on an attestation, which a ledger takes from platforms alone";
        return Err(refuse(name.clone(), rule));
    }
    if document
        .facts
        .as_ref()
        .is_some_and(|f| f.commit != document.commit)
    {
        return Err(refuse(name.clone(), "its facts belong to another commit"));
    }
    let spans = document.authors.iter().flatten().flat_map(|f| &f.spans);
    if spans.into_iter().any(|s| s.first == 0 || s.last < s.first) {
        return Err(refuse(name.clone(), "its lines are invalid"));
    }
    Ok(())
}

/// Whether a checkpoint pins no session.
fn pins_nothing(document: &CheckpointDocument) -> bool {
    let pinned = document.pinned.as_ref();
    pinned.is_none_or(|pinned| pinned.pins.is_empty())
}

/// Whether a checkpoint that is here says all that a document says of it.
fn is_part_of(document: &CheckpointDocument, known: &CheckpointRecord) -> bool {
    document.pinned.as_ref().is_some_and(|pinned| {
        let mut pins = pinned.pins.iter().map(|p| (p.session, p.sequence));
        (pinned.repository, &pinned.commit) == (known.repository, &known.commit)
            && pins.all(|pin| known.pins.contains(&pin))
    })
}
