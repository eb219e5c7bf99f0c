//! Batches of a token that is limited to repositories: each document belongs to one of these, or nothing is taken.

use std::collections::BTreeSet;

use siglum_domain::access::Limits;
use siglum_domain::evidence::Committer;
use siglum_domain::{RepositoryId, SessionId};
use siglum_ledger::{LedgerError, SessionFilter, Statement, Transaction};

use super::error::forbid;
use super::wire::*;
use super::{DocumentName, ReplicaError};
use crate::identity::repositories;

type Result<T, E = ReplicaError> = std::result::Result<T, E>;

/// Why a document is refused.
const OUTSIDE: &str = "the token is limited to other repositories";

/// Refuses a batch with a document that is outside of the repositories that its token is limited to.
pub(super) fn admit(tx: &mut dyn Transaction, limits: &Limits, batch: &Batch) -> Result<()> {
    let Some(within) = repositories::within(tx, limits)? else {
        return Ok(());
    };
    let mut inside = Inside {
        repositories: within.into_iter().collect(),
        sessions: BTreeSet::new(),
    };
    inside.add_new_repositories(tx, limits, batch)?;
    for document in &batch.repositories {
        let name = DocumentName::Repository(document.id);
        inside.repository(&name, Some(document.id))?;
        inside.remote(tx, limits, &name, document)?;
    }
    for document in &batch.sessions {
        let name = DocumentName::Session(document.id);
        if document.repository.is_none() && tx.session(document.id)?.is_some() {
            // One that left the scope of its ledger names none: what was erased of it since then is told all the same.
            inside.session(tx, &name, document.id)?;
        } else {
            inside.repository(&name, document.repository)?;
            inside.sessions.insert(document.id);
        }
    }
    for document in &batch.receipts {
        let receipt = &document.receipt;
        let name = DocumentName::Receipt(receipt.session, receipt.number);
        inside.session(tx, &name, receipt.session)?;
    }
    for document in &batch.statements {
        let name = DocumentName::Statement(document.sequence);
        for session in document.statement.sessions() {
            inside.session(tx, &name, session)?;
        }
        if let Some((repository, _)) = document.statement.commit() {
            inside.repository(&name, Some(repository))?;
        }
        if let Statement::WorksIn { repositories, .. } = &document.statement {
            for repository in repositories {
                inside.repository(&name, Some(*repository))?;
            }
        }
    }
    for document in &batch.checkpoints {
        let name = DocumentName::Checkpoint(document.id);
        if let Some(pinned) = &document.pinned {
            if pinned.repository.is_some() {
                inside.repository(&name, pinned.repository)?;
            }
            for pin in &pinned.pins {
                inside.session(tx, &name, pin.session)?;
            }
        }
    }
    for document in &batch.commits {
        let name = DocumentName::Commit(document.repository, document.commit.clone());
        inside.repository(&name, Some(document.repository))?;
        // The committer of a commit works in its repository from then on, and the token sees all of it. Those of the
        // sender itself are the sender's to tell.
        if let Committer::Session { session } = document.judgement.committer
            && tx
                .session(session)?
                .is_some_and(|known| known.home != batch.ledger)
        {
            inside.session(tx, &name, session)?;
        }
    }
    Ok(())
}

/// What is inside.
struct Inside {
    repositories: BTreeSet<RepositoryId>,
    /// Sessions of which that is known already.
    sessions: BTreeSet<SessionId>,
}

impl Inside {
    /// Adds the repositories of the batch that nobody knows here, where their remote or id is one that the token names.
    /// Of those that are known, what is known counts, and not what the batch says.
    fn add_new_repositories(
        &mut self,
        tx: &mut dyn Transaction,
        limits: &Limits,
        batch: &Batch,
    ) -> Result<(), LedgerError> {
        let known = repositories::known(tx)?;
        let known: BTreeSet<RepositoryId> = known.iter().map(|r| r.id).collect();
        for document in &batch.repositories {
            let names = limits.repositories();
            let is_named = names.contains(&document.id.to_string())
                || document.remote.as_ref().is_some_and(|r| names.contains(r));
            if is_named && !known.contains(&document.id) {
                self.repositories.insert(document.id);
            }
        }
        Ok(())
    }

    fn repository(&self, name: &DocumentName, of: Option<RepositoryId>) -> Result<()> {
        match of.is_some_and(|id| self.repositories.contains(&id)) {
            true => Ok(()),
            false => Err(forbid(name.clone(), OUTSIDE)),
        }
    }

    /// Refuses a remote that is new for a repository and that the token does not name, where others have it: they would be
    /// clones of what the token is limited to.
    fn remote(
        &self,
        tx: &mut dyn Transaction,
        limits: &Limits,
        name: &DocumentName,
        document: &RepositoryDocument,
    ) -> Result<()> {
        let Some(remote) = &document.remote else {
            return Ok(());
        };
        let before = tx.replica_repository(document.id)?;
        let before = before.and_then(|known| known.identity.remote);
        if limits.repositories().contains(remote) || before.as_ref() == Some(remote) {
            return Ok(());
        }
        let others = repositories::named(tx, remote)?;
        let are_inside = others.iter().all(|id| self.repositories.contains(id));
        match before.is_none() && are_inside {
            true => Ok(()),
            false => Err(forbid(name.clone(), OUTSIDE)),
        }
    }

    fn session(
        &mut self,
        tx: &mut dyn Transaction,
        name: &DocumentName,
        session: SessionId,
    ) -> Result<()> {
        if self.sessions.contains(&session) {
            return Ok(());
        }
        let filter = SessionFilter {
            id: Some(session),
            repositories: self.repositories.iter().copied().collect(),
            limit: 1,
            ..SessionFilter::default()
        };
        if filter.repositories.is_empty() || tx.sessions(&filter)?.is_empty() {
            return Err(forbid(name.clone(), OUTSIDE));
        }
        self.sessions.insert(session);
        Ok(())
    }
}
