//! Answers that several routes give.

use std::collections::BTreeMap;

use axum::Json;
use axum::http::StatusCode;
use siglum_domain::{RepositoryId, SessionId};
use siglum_engine::Here;
use siglum_engine::driven::{remote, turn};
use siglum_ledger::{
    LedgerError, RepositoryRecord, SessionFilter, SessionListing, Summary, Transaction,
};

use crate::wire::Session;

/// The answer to a request that makes something: 201, and 200 where it was there already.
pub(super) fn created<T>(body: T, already: bool) -> (StatusCode, Json<T>) {
    let status = match already {
        true => StatusCode::OK,
        false => StatusCode::CREATED,
    };
    (status, Json(body))
}

/// A session as it is now.
pub(super) fn session(
    tx: &mut dyn Transaction,
    id: SessionId,
) -> Result<Option<Session>, LedgerError> {
    let Some(listing) = listing(tx, id)? else {
        return Ok(None);
    };
    sessions(tx, &[listing]).map(|mut found| found.pop())
}

/// The same with the turn that waits for a decision. For transactions that only read, as [`turn::waits`] is.
pub(super) fn shown_session(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    id: SessionId,
) -> Result<Option<Session>, LedgerError> {
    let held = turn::waits(here, tx, id)?;
    let found = session(tx, id)?;
    Ok(found.map(|found| found.holding(held.as_ref())))
}

/// A session with what it amounts to.
fn listing(tx: &mut dyn Transaction, id: SessionId) -> Result<Option<SessionListing>, LedgerError> {
    let filter = SessionFilter {
        id: Some(id),
        ..SessionFilter::default()
    };
    if let Some(found) = tx.sessions(&filter)?.pop() {
        return Ok(Some(found));
    }
    let record = tx.session(id)?;
    Ok(record.map(|record| SessionListing {
        record,
        summary: Summary::default(),
        commits: 0,
    }))
}

/// What a repository is called: by the name that was given, by its directory, or by that and its machine.
pub(super) fn repository_name(
    tx: &mut dyn Transaction,
    id: RepositoryId,
) -> Result<Option<String>, LedgerError> {
    Ok(repository(tx, id)?.map(|r| r.common_dir))
}

fn repository(
    tx: &mut dyn Transaction,
    id: RepositoryId,
) -> Result<Option<RepositoryRecord>, LedgerError> {
    if let Some(replica) = tx.replica_repository(id)? {
        return Ok(Some(replica.into()));
    }
    let known = tx.repositories()?;
    Ok(known.into_iter().find(|r| r.id == id))
}

/// Repositories, each looked up once for a list.
#[derive(Default)]
struct KnownRepositories(BTreeMap<RepositoryId, Option<RepositoryRecord>>);

impl KnownRepositories {
    fn get(
        &mut self,
        tx: &mut dyn Transaction,
        id: RepositoryId,
    ) -> Result<Option<RepositoryRecord>, LedgerError> {
        if let Some(known) = self.0.get(&id) {
            return Ok(known.clone());
        }
        let found = repository(tx, id)?;
        self.0.insert(id, found.clone());
        Ok(found)
    }
}

/// Sessions with what is attached to them.
pub(super) fn sessions(
    tx: &mut dyn Transaction,
    listings: &[SessionListing],
) -> Result<Vec<Session>, LedgerError> {
    let mut known = KnownRepositories::default();
    let mut items = Vec::with_capacity(listings.len());
    for listing in listings {
        let statements = tx.statements_of_session(listing.record.id)?;
        let mut repositories = Vec::new();
        for id in remote::works_in(&listing.record, &statements) {
            repositories.extend(known.get(tx, id)?);
        }
        items.push(Session::new(listing, &statements, repositories));
    }
    Ok(items)
}

/// The same with the turns that wait for a decision. For transactions that only read, as [`turn::waits`] is.
pub(super) fn shown_sessions(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    listings: &[SessionListing],
) -> Result<Vec<Session>, LedgerError> {
    let mut items = Vec::with_capacity(listings.len());
    for (listing, item) in listings.iter().zip(sessions(tx, listings)?) {
        let held = turn::waits(here, tx, listing.record.id)?;
        items.push(item.holding(held.as_ref()));
    }
    Ok(items)
}
