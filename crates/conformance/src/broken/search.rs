//! The index of a store with one fault.

use siglum_domain::search::TurnText;
use siglum_domain::{RepositoryId, SessionId};
use siglum_ledger::{
    IndexCheck, IndexMatch, IndexQuery, IndexStanding, IndexUpdate, Ledger as _, LedgerError,
    PartMark, SearchIndex, WaitingSession,
};

use super::Fault;
use super::ledger::BrokenLedger;

/// What can be wrong with it.
pub(super) const FAULTS: &[Fault] = &[
    Fault::Blind("index_standing"),
    Fault::Lost("restart_index"),
    Fault::Blind("waiting_sessions"),
    Fault::Reversed("waiting_sessions"),
    Fault::Unlimited("waiting_sessions"),
    Fault::Blind("session_repositories"),
    Fault::Blind("indexed_parts"),
    Fault::Lost("update_index"),
    Fault::Ignores("update_index", "change"),
    Fault::Ignores("update_index", "is_whole"),
    Fault::Blind("search_index"),
    Fault::Reversed("search_index"),
    Fault::Unlimited("search_index"),
    Fault::Ignores("search_index", "all_of"),
    Fault::Ignores("search_index", "since"),
    Fault::Ignores("search_index", "until"),
    Fault::Ignores("search_index", "sessions"),
    Fault::Blind("indexed_texts"),
];

type Result<T> = std::result::Result<T, LedgerError>;

impl BrokenLedger {
    /// Whoever has the index may call any verb of it.
    pub(super) fn note_index(&self) {
        for verb in FAULTS.iter().filter_map(|fault| fault.verb()) {
            self.state.note(verb);
        }
    }

    fn has(&self, fault: Fault) -> bool {
        self.state.fault == fault
    }

    fn good_index(&mut self) -> Result<&mut dyn SearchIndex> {
        self.good.index()
    }

    fn listed<T>(&self, verb: &'static str, mut rows: Vec<T>) -> Vec<T> {
        if self.has(Fault::Blind(verb)) {
            rows.clear();
        }
        if self.has(Fault::Reversed(verb)) {
            rows.reverse();
        }
        rows
    }
}

impl SearchIndex for BrokenLedger {
    fn index_standing(&mut self) -> Result<IndexStanding> {
        let standing = self.good_index()?.index_standing()?;
        Ok(match self.has(Fault::Blind("index_standing")) {
            true => IndexStanding {
                waiting: 0,
                ..standing
            },
            false => standing,
        })
    }

    fn begin_index(&mut self) -> Result<()> {
        self.good_index()?.begin_index()
    }

    fn restart_index(&mut self) -> Result<u64> {
        match self.has(Fault::Lost("restart_index")) {
            true => Ok(3),
            false => self.good_index()?.restart_index(),
        }
    }

    fn waiting_sessions(&mut self, limit: usize) -> Result<Vec<WaitingSession>> {
        let verb = "waiting_sessions";
        let limit = match self.has(Fault::Unlimited(verb)) {
            true => 1_000_000,
            false => limit,
        };
        let rows = self.good_index()?.waiting_sessions(limit)?;
        Ok(self.listed(verb, rows))
    }

    fn session_repositories(&mut self, session: SessionId) -> Result<Vec<RepositoryId>> {
        let rows = self.good_index()?.session_repositories(session)?;
        Ok(self.listed("session_repositories", rows))
    }

    fn indexed_parts(&mut self, session: SessionId) -> Result<Vec<PartMark>> {
        let rows = self.good_index()?.indexed_parts(session)?;
        Ok(self.listed("indexed_parts", rows))
    }

    fn update_index(&mut self, updates: &[IndexUpdate<'_>]) -> Result<usize> {
        let verb = "update_index";
        if self.has(Fault::Lost(verb)) {
            return Ok(updates.len());
        }
        let mut updates = updates.to_vec();
        if self.has(Fault::Ignores(verb, "change")) {
            let now = self.good_index()?.waiting_sessions(1_000)?;
            for update in &mut updates {
                let same = |w: &&WaitingSession| w.session == update.waiting.session;
                update.waiting = now.iter().find(same).copied().unwrap_or(update.waiting);
            }
        }
        if self.has(Fault::Ignores(verb, "is_whole")) {
            updates.iter_mut().for_each(|update| update.is_whole = true);
        }
        self.good_index()?.update_index(&updates)
    }

    fn search_index(&mut self, query: &IndexQuery) -> Result<Vec<IndexMatch>> {
        let verb = "search_index";
        let mut query = query.clone();
        if self.has(Fault::Unlimited(verb)) {
            query.limit = 1_000_000;
        }
        if self.has(Fault::Ignores(verb, "all_of")) {
            query.all_of.clear();
        }
        if self.has(Fault::Ignores(verb, "since")) {
            query.since = None;
        }
        if self.has(Fault::Ignores(verb, "until")) {
            query.until = None;
        }
        if self.has(Fault::Ignores(verb, "sessions")) {
            query.sessions = None;
        }
        let rows = self.good_index()?.search_index(&query)?;
        Ok(self.listed(verb, rows))
    }

    fn indexed_texts(&mut self, ids: &[i64]) -> Result<Vec<(i64, TurnText)>> {
        let rows = self.good_index()?.indexed_texts(ids)?;
        Ok(self.listed("indexed_texts", rows))
    }

    fn check_index(&mut self) -> Result<IndexCheck> {
        self.good_index()?.check_index()
    }
}
