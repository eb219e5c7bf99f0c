//! What a batch says of sessions that are at home in another ledger than the one that sends it: what its sender could say
//! by a request is taken, and the rest is left out by itself.

use std::collections::BTreeSet;

use siglum_domain::evidence::Committer;
use siglum_domain::{LedgerId, SessionId};
use siglum_ledger::{LedgerError, Statement};

use super::apply::Taking;
use super::wire::CommitDocument;
use super::{DocumentName, outsiders};
use crate::identity::{access, links};

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// Why a row is left out.
const OTHERS: &str =
    "it concerns a session or a repository of another ledger, for which this token cannot speak";

impl Taking<'_> {
    /// Whether a statement is the sender's to make; one that is not is left out.
    pub(super) fn may_state(&mut self, name: &DocumentName, statement: &Statement) -> Result<bool> {
        let may = self.is_senders_statement(statement)?;
        if !may {
            self.leave_out(name, OTHERS);
        }
        Ok(may)
    }

    /// Whether the session that made a commit is the sender's to name; a commit of another one is left out.
    pub(super) fn may_judge(
        &mut self,
        name: &DocumentName,
        document: &CommitDocument,
    ) -> Result<bool> {
        let may = match document.judgement.committer {
            Committer::Session { session } => self.speaks_of(session)?,
            _ => true,
        };
        if !may {
            self.leave_out(name, OTHERS);
        }
        Ok(may)
    }

    /// Takes out of a commit the sessions that are not the sender's to name beside its committer.
    pub(super) fn hide_others(&mut self, document: &mut CommitDocument) -> Result<()> {
        let mut others = BTreeSet::new();
        for session in outsiders::named_beside(document) {
            let is_own = match &self.family {
                Some(family) => family.contains(&session),
                None => self.speaks_of(session)?,
            };
            if !is_own {
                others.insert(session);
            }
        }
        outsiders::hide(document, |session| others.contains(&session));
        Ok(())
    }

    /// Links are attached and detached by whoever may do that by a request, and all else is stated by whoever speaks for
    /// the home of the session, and for that of the repository.
    fn is_senders_statement(&mut self, statement: &Statement) -> Result<bool> {
        let is_of_links = matches!(
            statement,
            Statement::LinkAttached { .. } | Statement::LinkDetached { .. }
        );
        if is_of_links && self.caller.limits.allows(links::RIGHT) {
            return Ok(true);
        }
        for session in statement.sessions() {
            if !self.speaks_of(session)? {
                return Ok(false);
            }
        }
        let Some((repository, _)) = statement.commit() else {
            return Ok(true);
        };
        if self.repositories.contains(&repository) {
            return Ok(false);
        }
        match self.tx.replica_repository(repository)? {
            Some(known) => self.speaks_for(known.home),
            None => Ok(true),
        }
    }

    /// Whether the sender speaks for the home of a session. One that is not known here is the sender's until its home
    /// tells of it.
    fn speaks_of(&mut self, session: SessionId) -> Result<bool> {
        match self.tx.session(session)? {
            Some(known) => self.speaks_for(known.home),
            None => Ok(true),
        }
    }

    /// Whether the sender speaks for a ledger, by the rule of requests. From elsewhere nobody does for the one here.
    fn speaks_for(&mut self, home: LedgerId) -> Result<bool> {
        if home == self.batch.ledger {
            return Ok(true);
        }
        Ok(home != self.own && access::speaks_for(self.here, self.tx, self.caller, home)?)
    }
}
