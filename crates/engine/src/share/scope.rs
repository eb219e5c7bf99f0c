//! What may leave for a projection, in one place for all of them: gateways, traces, telemetry of agents, directories
//! and programs.
//!
//! The ledger lets nobody claim what is outside of a projection's scope, so it waits there, is counted apart, and is
//! due as soon as the scope grows. What leaves beside receipts is asked for here, one by one.

use siglum_domain::scope::{Kinds, Scope};
use siglum_domain::{RepositoryId, SessionId};
use siglum_ledger::{LedgerError, Statement, Transaction};

use crate::identity::names;

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

    /// Whether a statement may leave: all that it speaks of must, and what is of this ledger alone never does.
    pub(crate) fn has_statement(
        &self,
        tx: &mut dyn Transaction,
        statement: &Statement,
    ) -> Result<bool, LedgerError> {
        if statement.stays_here() || names::speaks_of_agents_name(tx, statement)? {
            return Ok(false);
        }
        let commit = statement.commit();
        if commit.is_some_and(|(repository, _)| !self.has_repository(repository)) {
            return Ok(false);
        }
        for session in statement.sessions() {
            if !self.has_session(tx, session)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
