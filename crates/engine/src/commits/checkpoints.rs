//! Checkpoints by what their sessions work for.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use siglum_domain::link::Link;
use siglum_domain::{CheckpointId, RepositoryId, SessionId, Timestamp};
use siglum_ledger::{CheckpointRecord, LedgerError, SessionFilter, Transaction};

/// How many checkpoints of one session are looked at.
const MOST: usize = 10_000;

/// Checkpoints, newest first, at most `limit`; of a session, of a repository, and only those that pin a session to which
/// all of these links are attached now; those that come after the one of this time and id, if one is given.
///
/// # Errors
/// Those of the ledger.
pub fn listed(
    tx: &mut dyn Transaction,
    session: Option<SessionId>,
    repository: Option<RepositoryId>,
    links: &[Link],
    after: Option<(Timestamp, CheckpointId)>,
    limit: usize,
) -> Result<Vec<CheckpointRecord>, LedgerError> {
    if links.is_empty() {
        return tx.checkpoints(session, repository, after, limit);
    }
    let linked = SessionFilter {
        id: session,
        links: links.to_vec(),
        ..SessionFilter::default()
    };
    // Two sessions may be pinned by one checkpoint.
    let mut found: BTreeMap<CheckpointId, CheckpointRecord> = BTreeMap::new();
    for listing in tx.sessions(&linked)? {
        for record in tx.checkpoints(Some(listing.record.id), None, None, MOST)? {
            if repository.is_none() || record.repository == repository {
                found.insert(record.id, record);
            }
        }
    }
    let mut found: Vec<CheckpointRecord> = found.into_values().collect();
    found.retain(|record| after.is_none_or(|after| (record.at, record.id) < after));
    found.sort_by_key(|record| Reverse((record.at, record.id)));
    found.truncate(limit);
    Ok(found)
}

/// What is attached now to each session that a checkpoint pins, in the order of its pins.
///
/// # Errors
/// Those of the ledger.
pub fn links(
    tx: &mut dyn Transaction,
    record: &CheckpointRecord,
) -> Result<Vec<Vec<Link>>, LedgerError> {
    let of = |(session, _): &(SessionId, u64)| {
        let statements = tx.statements_of_session(*session)?;
        Ok(crate::identity::statements::links(&statements))
    };
    record.pins.iter().map(of).collect()
}
