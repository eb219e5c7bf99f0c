//! Which sessions may be found: what the ledger says of them now, whatever the index has.

use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap};

use siglum_domain::SessionId;
use siglum_domain::link::Link;
use siglum_ledger::{LedgerError, Order, SessionFilter, SessionListing, Transaction};

use super::findings::Query;

/// Sessions with a link that are looked at, at most.
const LINKED_MOST: usize = 500;

/// The sessions that may be found, each asked for once.
pub(super) struct Sessions {
    filter: SessionFilter,
    known: HashMap<SessionId, Option<SessionListing>>,
}

impl Sessions {
    pub(super) fn new(query: &Query) -> Self {
        let mut filter = SessionFilter {
            // Times are those of turns.
            since: None,
            until: None,
            order: Order::default(),
            limit: 1,
            ..query.sessions.clone()
        };
        filter.links.extend(query.query.needed_links().cloned());
        Self {
            filter,
            known: HashMap::new(),
        }
    }

    /// The session, if it may be found.
    pub(super) fn listing(
        &mut self,
        tx: &mut dyn Transaction,
        session: SessionId,
    ) -> Result<Option<&SessionListing>, LedgerError> {
        let listing = match self.known.entry(session) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let filter = SessionFilter {
                    id: Some(session),
                    ..self.filter.clone()
                };
                new.insert(tx.sessions(&filter)?.pop())
            }
        };
        Ok(listing.as_ref())
    }
}

/// The sessions with the links that are searched for, as many as are looked at; nothing where none is searched for.
pub(super) fn linked(
    tx: &mut dyn Transaction,
    query: &Query,
) -> Result<Option<Vec<SessionId>>, LedgerError> {
    let mut linked: Option<BTreeSet<SessionId>> = None;
    for choice in &query.query.links {
        let mut of_choice = BTreeSet::new();
        for link in choice {
            of_choice.extend(sessions_with(tx, query, link)?);
        }
        linked = Some(match linked {
            Some(before) => before.intersection(&of_choice).copied().collect(),
            None => of_choice,
        });
    }
    Ok(linked.map(|linked| linked.into_iter().rev().take(LINKED_MOST).collect()))
}

fn sessions_with(
    tx: &mut dyn Transaction,
    query: &Query,
    link: &Link,
) -> Result<Vec<SessionId>, LedgerError> {
    let filter = SessionFilter {
        since: None,
        until: None,
        order: Order::default(),
        links: vec![link.clone()],
        limit: LINKED_MOST,
        ..query.sessions.clone()
    };
    let listed = tx.sessions(&filter)?;
    Ok(listed
        .into_iter()
        .map(|listing| listing.record.id)
        .collect())
}
