//! What an answer shows of sessions, where whoever asks is limited to some repositories.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use siglum_domain::{RepositoryId, SessionId};
use siglum_ledger::{LedgerError, SessionFilter, SessionRecord, Transaction};

use crate::commits::cards::{SessionCard, card};
use crate::commits::origins::Origin;

/// The sessions that an answer may show: all, or those that work in one of some repositories.
pub(crate) struct Shown<'a> {
    within: Option<&'a [RepositoryId]>,
    known: BTreeMap<SessionId, bool>,
    /// Those that were read, each once for all answers of a request.
    cards: BTreeMap<SessionId, Option<SessionCard>>,
}

impl<'a> Shown<'a> {
    pub(crate) const fn new(within: Option<&'a [RepositoryId]>) -> Self {
        Self {
            within,
            known: BTreeMap::new(),
            cards: BTreeMap::new(),
        }
    }

    /// The repositories, unless it is all of them.
    pub(crate) const fn within(&self) -> Option<&'a [RepositoryId]> {
        self.within
    }

    pub(crate) fn has(
        &mut self,
        tx: &mut dyn Transaction,
        session: SessionId,
    ) -> Result<bool, LedgerError> {
        if self.within.is_none() {
            return Ok(true);
        }
        if let Some(known) = self.known.get(&session) {
            return Ok(*known);
        }
        let has = self.record(tx, session)?.is_some();
        self.known.insert(session, has);
        Ok(has)
    }

    /// The record of a session, if it may be shown.
    pub(crate) fn record(
        &self,
        tx: &mut dyn Transaction,
        session: SessionId,
    ) -> Result<Option<SessionRecord>, LedgerError> {
        let repositories = match self.within {
            None => return tx.session(session),
            Some([]) => return Ok(None),
            Some(within) => within.to_vec(),
        };
        let filter = SessionFilter {
            id: Some(session),
            repositories,
            limit: 1,
            ..SessionFilter::default()
        };
        let mut shown = tx.sessions(&filter)?;
        Ok(shown.pop().map(|listing| listing.record))
    }

    /// Those pins of a checkpoint whose sessions may be shown.
    pub(super) fn pins(
        &mut self,
        tx: &mut dyn Transaction,
        pins: Vec<(SessionId, u64)>,
    ) -> Result<Vec<(SessionId, u64)>, LedgerError> {
        let mut shown = Vec::with_capacity(pins.len());
        for (session, sequence) in pins {
            if self.has(tx, session)? {
                shown.push((session, sequence));
            }
        }
        Ok(shown)
    }

    /// The sessions that an answer names. Of those that work elsewhere their id is told and nothing else.
    pub(super) fn cards(
        &mut self,
        tx: &mut dyn Transaction,
        named: Vec<SessionId>,
    ) -> Result<BTreeMap<SessionId, SessionCard>, LedgerError> {
        let mut cards = BTreeMap::new();
        for id in named {
            if cards.contains_key(&id) || !self.has(tx, id)? {
                continue;
            }
            let card = match self.cards.entry(id) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(unknown) => unknown.insert(card(tx, id)?),
            };
            if let Some(card) = card {
                cards.insert(id, card.clone());
            }
        }
        Ok(cards)
    }

    /// Origins without the prompts of other sessions.
    pub(super) fn origins(
        &mut self,
        tx: &mut dyn Transaction,
        mut origins: Vec<Origin>,
    ) -> Result<Vec<Origin>, LedgerError> {
        for origin in &mut origins {
            let prompted = origin.prompt.as_ref().map(|prompt| prompt.session);
            if let Some(session) = prompted
                && !self.has(tx, session)?
            {
                origin.prompt = None;
            }
        }
        Ok(origins)
    }
}
