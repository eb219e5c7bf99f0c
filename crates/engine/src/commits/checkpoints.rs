//! Checkpoints by what their sessions work for.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use siglum_domain::link::Link;
use siglum_domain::{CheckpointId, RepositoryId, SessionId, Timestamp};
use siglum_ledger::{CheckpointRecord, LedgerError, SessionFilter, Transaction};

/// How many checkpoints of one session are looked at.
const MOST: usize = 10_000;

/// Checkpoints, newest first, at most `limit`; of a session, of some repositories, and only those that pin a session to which
/// all of these links are attached now; those that come after the one of this time and id, if one is given.
///
/// # Errors
/// Those of the ledger.
pub fn listed(
    tx: &mut dyn Transaction,
    session: Option<SessionId>,
    repositories: &[RepositoryId],
    links: &[Link],
    after: Option<(Timestamp, CheckpointId)>,
    limit: usize,
) -> Result<Vec<CheckpointRecord>, LedgerError> {
    let mut found: Vec<CheckpointRecord> = match links.is_empty() {
        true if repositories.is_empty() || session.is_some() => {
            return tx.checkpoints(session, None, after, limit);
        }
        true => {
            let mut all = Vec::new();
            for repository in repositories {
                all.extend(tx.checkpoints(None, Some(*repository), after, limit)?);
            }
            all
        }
        false => linked(tx, session, repositories, links)?,
    };
    found.retain(|record| after.is_none_or(|after| (record.at, record.id) < after));
    found.sort_by_key(|record| Reverse((record.at, record.id)));
    found.truncate(limit);
    Ok(found)
}

/// All checkpoints that pin a session with these links.
fn linked(
    tx: &mut dyn Transaction,
    session: Option<SessionId>,
    repositories: &[RepositoryId],
    links: &[Link],
) -> Result<Vec<CheckpointRecord>, LedgerError> {
    let linked = SessionFilter {
        id: session,
        links: links.to_vec(),
        ..SessionFilter::default()
    };
    // Two sessions may be pinned by one checkpoint.
    let mut found: BTreeMap<CheckpointId, CheckpointRecord> = BTreeMap::new();
    for listing in tx.sessions(&linked)? {
        for record in tx.checkpoints(Some(listing.record.id), None, None, MOST)? {
            let is_there = record.repository.is_some_and(|r| repositories.contains(&r));
            if repositories.is_empty() || is_there {
                found.insert(record.id, record);
            }
        }
    }
    Ok(found.into_values().collect())
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
