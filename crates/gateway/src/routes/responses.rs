//! Answers that several routes give.

use std::collections::BTreeMap;

use axum::Json;
use axum::http::StatusCode;
use siglum_domain::{RepositoryId, SessionId};
use siglum_engine::Here;
use siglum_engine::driven::remote;
use siglum_engine::views::overview::{self, Listed};
use siglum_engine::views::session::{self, SessionJson};
use siglum_ledger::{
    LedgerError, RepositoryRecord, SessionFilter, SessionListing, SessionRecord, Summary,
    Transaction,
};

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
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    id: SessionId,
) -> Result<Option<SessionJson>, LedgerError> {
    let Some(listing) = listing(tx, id)? else {
        return Ok(None);
    };
    let listed = overview::stand(here, tx, listing)?;
    sessions(tx, &[&listed]).map(|mut sessions| sessions.pop())
}

/// A session that this transaction created: no process is bound to it, and nothing was done in it.
pub(super) fn new_session(
    tx: &mut dyn Transaction,
    record: &SessionRecord,
) -> Result<Option<SessionJson>, LedgerError> {
    let listed = overview::stand_unbound(tx, nothing_done(record.clone()))?;
    sessions(tx, &[&listed]).map(|mut sessions| sessions.pop())
}

/// The same with the turn that waits for a decision. For transactions that only read, as [`session::shown`] is.
pub(super) fn shown_session(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    id: SessionId,
) -> Result<Option<SessionJson>, LedgerError> {
    let listing = listing(tx, id)?;
    let shown = shown_sessions(here, tx, listing.into_iter().collect());
    shown.map(|mut sessions| sessions.pop())
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
    Ok(tx.session(id)?.map(nothing_done))
}

fn nothing_done(record: SessionRecord) -> SessionListing {
    SessionListing {
        record,
        summary: Summary::default(),
        commits: 0,
    }
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

/// The repositories that sessions work in.
fn repositories(
    tx: &mut dyn Transaction,
    sessions: &[&Listed],
) -> Result<Vec<RepositoryRecord>, LedgerError> {
    let mut known = KnownRepositories::default();
    for session in sessions {
        for id in remote::works_in(&session.listing.record, &session.statements) {
            known.get(tx, id)?;
        }
    }
    Ok(known.0.into_values().flatten().collect())
}

/// Sessions with the repositories that they work in.
pub(super) fn sessions(
    tx: &mut dyn Transaction,
    sessions: &[&Listed],
) -> Result<Vec<SessionJson>, LedgerError> {
    let repositories = repositories(tx, sessions)?;
    let json = |listed: &&Listed| SessionJson::from_listed(listed, &repositories);
    Ok(sessions.iter().map(json).collect())
}

/// The same with the turns that wait for a decision. For transactions that only read, as [`session::shown`] is.
pub(super) fn shown_sessions(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    listings: Vec<SessionListing>,
) -> Result<Vec<SessionJson>, LedgerError> {
    let stand = |listing| overview::stand(here, tx, listing);
    let listed: Vec<Listed> = listings.into_iter().map(stand).collect::<Result<_, _>>()?;
    let repositories = repositories(tx, &listed.iter().collect::<Vec<_>>())?;
    session::shown(here, tx, &listed, &repositories)
}
