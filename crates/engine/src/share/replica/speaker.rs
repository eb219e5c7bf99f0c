//! Who hands over a batch, and which of its rows that one may say.
//!
//! A launcher's token speaks for the ledgers that it registered. A session's speaks for that session and for what came
//! from it: a row that is another session's is refused, with all of the batch. What several sessions share (repositories,
//! checkpoints, commits) it may add, and where others are concerned it stays as it is: that row alone is left out.

use std::collections::BTreeSet;

use siglum_domain::evidence::Committer;
use siglum_domain::{SessionId, Timestamp};
use siglum_ledger::{LedgerError, Transaction};

use super::error::{forbid, refuse};
use super::inside;
use super::passing::family;
use super::wire::*;
use super::{DocumentName, ReplicaError};
use crate::Here;
use crate::identity::access::{self, AccessError, Caller, Standing};

type Result<T, E = ReplicaError> = std::result::Result<T, E>;

/// No batch is read as late: whatever is later stays room for its home to say something newer.
const STAMP_END: Timestamp = Timestamp::from_seconds(7_258_118_400);
/// Why a row of another session is refused.
const OTHERS: &str = "a session token can send only its session and the data that came from it";

/// Refuses a batch of which a row is not the caller's to say. Tells whether the ledger is new here, and of a session's
/// token for which sessions it speaks.
pub(super) fn admit(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    caller: &Caller,
    batch: &Batch,
) -> Result<(Standing, Option<BTreeSet<SessionId>>)> {
    if batch.stamp >= STAMP_END {
        return Err(refuse(
            DocumentName::Batch,
            "its stamp is after the year 2199",
        ));
    }
    let standing =
        access::standing(here, tx, caller, batch.ledger).map_err(|error| match error {
            AccessError::Ledger(error) => ReplicaError::Ledger(error),
            other => forbid(DocumentName::Batch, other.to_string()),
        })?;
    inside::admit(tx, &caller.limits, batch)?;
    let Some(own) = caller.scope.session() else {
        return Ok((standing, None));
    };
    let family = speaks_for(tx, own, batch)?;
    for document in &batch.sessions {
        let name = DocumentName::Session(document.id);
        is_within(&family, &name, document.id)?;
        has_own_parent(tx, &family, own, document)?;
    }
    for document in &batch.receipts {
        let receipt = &document.receipt;
        let name = DocumentName::Receipt(receipt.session, receipt.number);
        is_within(&family, &name, receipt.session)?;
    }
    for document in &batch.statements {
        let name = DocumentName::Statement(document.sequence);
        for session in document.statement.sessions() {
            is_within(&family, &name, session)?;
        }
    }
    for document in &batch.checkpoints {
        let name = DocumentName::Checkpoint(document.id);
        for pin in document.pinned.iter().flat_map(|p| &p.pins) {
            is_within(&family, &name, pin.session)?;
        }
    }
    for document in &batch.commits {
        let name = DocumentName::Commit(document.repository, document.commit.clone());
        if let Committer::Session { session } = document.judgement.committer {
            is_within(&family, &name, session)?;
        }
    }
    Ok((standing, Some(family)))
}

fn is_within(family: &BTreeSet<SessionId>, name: &DocumentName, session: SessionId) -> Result<()> {
    match family.contains(&session) {
        true => Ok(()),
        false => Err(forbid(name.clone(), OTHERS)),
    }
}

/// A session and what came from it: what is here says so, and of what is not here yet the batch.
fn speaks_for(
    tx: &mut dyn Transaction,
    own: SessionId,
    batch: &Batch,
) -> Result<BTreeSet<SessionId>, LedgerError> {
    let mut family: BTreeSet<SessionId> = family(tx, batch.ledger, own)?.into_iter().collect();
    let mut strangers = Vec::new();
    for document in &batch.sessions {
        if !family.contains(&document.id) && tx.session(document.id)?.is_none() {
            strangers.push(document);
        }
    }
    loop {
        let before = family.len();
        for document in &strangers {
            if document.parent.is_some_and(|p| family.contains(&p.session)) {
                family.insert(document.id);
            }
        }
        if family.len() == before {
            return Ok(family);
        }
    }
}

/// Refuses to say that a session has the history of another one, which it could read then, or that it came from one
/// that has nothing to do with it, unless that is known here already.
fn has_own_parent(
    tx: &mut dyn Transaction,
    family: &BTreeSet<SessionId>,
    own: SessionId,
    document: &SessionDocument,
) -> Result<()> {
    let Some(parent) = document.parent.filter(|p| !family.contains(&p.session)) else {
        return Ok(());
    };
    let known = tx.session(document.id)?;
    let stated = (Some((parent.session, parent.relation)), document.parent_at);
    let is_known = known.is_some_and(|k| (k.parent, k.parent_at) == stated);
    let reads_nothing = document.parent_at.is_none() || !parent.relation.shares_history();
    match is_known || document.id == own && reads_nothing {
        true => Ok(()),
        false => Err(forbid(
            DocumentName::Session(document.id),
            "a session token cannot state that a session came from another one",
        )),
    }
}
