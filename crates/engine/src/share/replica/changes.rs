//! What a batch changed, for the audit.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use siglum_domain::audit::Action;
use siglum_domain::{LedgerId, SessionId};
use siglum_ledger::{LedgerError, Transaction};

use super::wire::{Positions, SetAside};
use crate::Here;
use crate::identity::access::Caller;
use crate::identity::audit::{self, Entry};

/// The most names of one kind in an entry of the audit.
const NAMES_MOST: usize = 100;

/// What a batch changed.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) repositories: u64,
    /// Sessions whose record is another one now.
    pub(super) sessions: BTreeSet<SessionId>,
    pub(super) receipts: u64,
    pub(super) statements: u64,
    /// Statements that took the place of what was here under their number.
    pub(super) corrected: u64,
    /// Statements of other ledgers that went, since the home of their session told of it only now.
    pub(super) dropped: u64,
    pub(super) checkpoints: u64,
    pub(super) commits: u64,
    /// How many payloads of a session were erased.
    pub(super) erased: BTreeMap<SessionId, u64>,
    /// Sessions that got back what was erased of them.
    pub(super) restored: BTreeSet<SessionId>,
    /// What was left out.
    pub(super) set_aside: Vec<SetAside>,
}

impl Changes {
    fn is_nothing(&self) -> bool {
        let counts = [
            self.repositories,
            self.receipts,
            self.statements,
            self.corrected,
            self.checkpoints,
            self.commits,
        ];
        counts.iter().all(|n| *n == 0) && self.sessions.is_empty() && self.restored.is_empty()
    }

    /// Writes all of it into the audit: each erasing and each return by itself, the rest in one entry, what was left out
    /// in another.
    pub(super) fn note(
        &self,
        here: &Here<'_>,
        tx: &mut dyn Transaction,
        caller: &Caller,
        from: LedgerId,
        positions: &Positions,
    ) -> Result<(), LedgerError> {
        let by = audit::bearer(caller.token, &caller.name);
        let from = from.to_string();
        for (session, payloads) in &self.erased {
            let body = json!({ "ledger": from, "payloads": payloads });
            let entry = Entry::done(&by, Action::SessionForgotten).for_session(*session);
            audit::record(tx, here, &entry.with(body))?;
        }
        for session in &self.restored {
            let entry = Entry::done(&by, Action::SessionRestored).for_session(*session);
            audit::record(tx, here, &entry.with(json!({ "ledger": from })))?;
        }
        let own = caller.scope.session();
        if !self.is_nothing() {
            let mut entry = Entry::done(&by, Action::ReplicaTaken).with(self.body(&from));
            entry.session = own;
            audit::record(tx, here, &entry)?;
        }
        if let Some(first) = positions.set_aside.first() {
            let rule = format!("{}: {}", first.document, first.rule);
            let names = self.set_aside.iter().take(NAMES_MOST);
            let names: Vec<&str> = names.map(|s| s.document.as_str()).collect();
            let mut entry =
                Entry::refused(&by, Action::ReplicaRefused, &rule, Some(&first.document));
            entry.session = own;
            let body = json!({ "ledger": from, "documents": self.set_aside.len(), "names": names });
            audit::record(tx, here, &entry.with(body))?;
        }
        Ok(())
    }

    fn body(&self, from: &str) -> Value {
        let sessions = self.sessions.iter().take(NAMES_MOST);
        json!({
            "ledger": from,
            "repositories": self.repositories,
            "sessions": self.sessions.len(),
            "names": sessions.map(ToString::to_string).collect::<Vec<_>>(),
            "receipts": self.receipts,
            "statements": self.statements,
            "corrected": self.corrected,
            "dropped": self.dropped,
            "checkpoints": self.checkpoints,
            "commits": self.commits,
        })
    }
}
