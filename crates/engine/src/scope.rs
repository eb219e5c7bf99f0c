//! What may leave for a projection, in one place for all of them: gateways, traces, telemetry of agents, directories
//! and programs.
//!
//! The ledger lets nobody claim what is outside of a projection's scope, so it waits there, is counted apart, and is
//! due as soon as the scope grows. What leaves beside receipts is asked for here, one by one.

use std::collections::BTreeSet;

use siglum_domain::provenance::Origin;
use siglum_domain::scope::{Kinds, Scope};
use siglum_domain::{RepositoryId, SessionId};
use siglum_ledger::{CommitRecord, FileAuthors, LedgerError, Statement, Transaction};

/// The door to one projection.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    name: String,
    scope: Option<Scope>,
}

impl Guard {
    /// The door to the projection of this name; shut where there is none, or where it has no scope.
    pub(crate) fn read(tx: &mut dyn Transaction, name: &str) -> Result<Self, LedgerError> {
        let known = tx.projections()?;
        let scope = known.into_iter().find(|p| p.name == name);
        Ok(Self {
            name: name.to_owned(),
            scope: scope.and_then(|p| p.scope),
        })
    }

    /// Whether a session may leave.
    pub(crate) fn has_session(
        &self,
        tx: &mut dyn Transaction,
        session: SessionId,
    ) -> Result<bool, LedgerError> {
        Ok(self.scope.is_some() && tx.in_scope(&self.name, session)?)
    }

    /// Whether a repository may be named.
    pub(crate) fn has_repository(&self, repository: RepositoryId) -> bool {
        let scope = self.scope.as_ref();
        scope.is_some_and(|s| s.has_repository(repository))
    }

    /// Whether what belongs to no session may leave.
    pub(crate) fn has_strangers(&self) -> bool {
        let scope = self.scope.as_ref();
        scope.is_some_and(|s| s.everything || s.no_repository)
    }

    /// How much of a session leaves; nothing where there is no scope.
    pub(crate) fn kinds(&self) -> Option<Kinds> {
        self.scope.as_ref().map(|s| s.kinds)
    }

    /// Whether all texts of a session may leave.
    pub(crate) fn has_texts(&self) -> bool {
        self.kinds() == Some(Kinds::Conversations)
    }

    /// Whether a statement may leave: all that it speaks of must.
    pub(crate) fn has_statement(
        &self,
        tx: &mut dyn Transaction,
        statement: &Statement,
    ) -> Result<bool, LedgerError> {
        let commit = statement.commit();
        if commit.is_some_and(|(repository, _)| !self.has_repository(repository)) {
            return Ok(false);
        }
        match statement.session() {
            Some(session) => self.has_session(tx, session),
            None => Ok(true),
        }
    }

    /// Takes out of a commit whom it names beside its committer and who is outside of the scope.
    pub(crate) fn hide_outsiders(
        &self,
        tx: &mut dyn Transaction,
        record: &mut CommitRecord,
        authors: Option<&mut Vec<FileAuthors>>,
    ) -> Result<(), LedgerError> {
        let judgement = &mut record.judgement;
        let mut named: BTreeSet<SessionId> = judgement.candidates.iter().copied().collect();
        named.extend(&judgement.outer);
        named.extend(judgement.evidence.iter().filter_map(|e| e.session));
        let spans = || {
            authors
                .iter()
                .flat_map(|files| files.iter())
                .flat_map(|f| &f.spans)
        };
        named.extend(spans().filter_map(|span| match span.origin {
            Origin::Session(session) => Some(session),
            Origin::Parent | Origin::Unknown => None,
        }));
        let mut outside = BTreeSet::new();
        for session in named {
            if !self.has_session(tx, session)? {
                outside.insert(session);
            }
        }
        judgement.candidates.retain(|s| !outside.contains(s));
        judgement.outer.retain(|s| !outside.contains(s));
        judgement
            .evidence
            .retain(|e| e.session.is_none_or(|s| !outside.contains(&s)));
        for span in authors.into_iter().flatten().flat_map(|f| &mut f.spans) {
            if matches!(span.origin, Origin::Session(s) if outside.contains(&s)) {
                span.origin = Origin::Unknown;
            }
        }
        Ok(())
    }
}
