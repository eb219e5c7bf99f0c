//! What is known of sessions as a whole, so that sums of their usage can be told apart by links and commits.

use std::collections::BTreeMap;

use siglum_domain::SessionId;
use siglum_domain::link::Link;
use siglum_ledger::{
    LedgerError, QuarterFilter, QuarterRecord, SessionLink, Transaction, UsingSessions,
};

use super::commits::{self, Made};
use super::{By, CostQuery};

/// With as many sessions that have the links of a question, or fewer, the sums of each are looked up.
const FEW: usize = 10_000;

/// What is known before sums are added up.
#[derive(Default)]
pub(super) struct Known {
    /// The sessions that had all links of the question, and whether these stood for the whole session. Without links,
    /// nothing.
    linked: Option<BTreeMap<SessionId, bool>>,
    /// Whether these are few.
    has_few: bool,
    /// The values of the links that rows are of; nothing where one did not stand for the whole session.
    values: BTreeMap<SessionId, Option<Vec<String>>>,
    commits: BTreeMap<SessionId, Vec<Made>>,
}

/// What usage of a session counts for.
pub(super) enum CountsFor<'k> {
    /// It is not asked for.
    Nothing,
    /// No link and no commit.
    Session,
    /// These links, one at least.
    Links(&'k [String]),
    /// This commit, or none.
    Commit(Option<&'k Made>),
    /// Only the messages of the sum tell.
    ItsMessages,
    /// Only all messages of the session tell.
    AllMessages,
}

impl Known {
    /// Reads what matters to a question; nothing where no session can have an answer to it.
    pub(super) fn read(
        tx: &mut dyn Transaction,
        query: &CostQuery,
    ) -> Result<Option<Self>, LedgerError> {
        let mut known = Self::default();
        if let Some((first, others)) = query.links.split_first() {
            let (mut linked, has_few) = sessions_with(tx, query, first)?;
            for link in others {
                let (also, _) = sessions_with(tx, query, link)?;
                linked.retain(|session, _| also.contains_key(session));
                for (session, is_whole) in &mut linked {
                    *is_whole &= also.get(session) == Some(&true);
                }
            }
            if linked.is_empty() {
                return Ok(None);
            }
            known.has_few = has_few;
            known.linked = Some(linked);
        }
        let sessions = known.sessions(query);
        let of = UsingSessions {
            sessions: &sessions,
            since: query.since,
            until: query.until,
        };
        if let Some(field) = query.by.field() {
            known.read_values(tx.session_links(field, None, of, 0)?);
        }
        if query.by == By::Commit {
            let made = tx.session_commits(of)?;
            known.commits = commits::commits_of_sessions(tx, made)?;
        }
        Ok(Some(known))
    }

    fn read_values(&mut self, links: Vec<SessionLink>) {
        for link in links {
            let values = self.values.entry(link.session).or_insert(Some(Vec::new()));
            match values {
                Some(values) if link.is_whole => values.push(link.value),
                _ => *values = None,
            }
        }
    }

    /// The sessions that the question is about; none where it is about all, or many.
    fn sessions(&self, query: &CostQuery) -> Vec<SessionId> {
        match (query.session, &self.linked) {
            (Some(session), _) => vec![session],
            (None, Some(linked)) if self.has_few => linked.keys().copied().collect(),
            (None, _) => Vec::new(),
        }
    }

    /// The sums that the answer is made of.
    pub(super) fn quarters(&self, query: &CostQuery) -> QuarterFilter {
        QuarterFilter {
            sessions: self.sessions(query),
            // What a session used is counted once: in its own repository, and not wherever it worked.
            repositories: query.repositories.clone(),
            agent: query.agent.clone(),
            model: query.model.clone(),
            since: query.since,
            until: query.until,
        }
    }

    /// What a sum counts for.
    pub(super) fn counts_for(&self, query: &CostQuery, record: &QuarterRecord) -> CountsFor<'_> {
        let session = record.session.id;
        if let Some(linked) = &self.linked {
            match linked.get(&session) {
                None => return CountsFor::Nothing,
                Some(false) => return CountsFor::AllMessages,
                Some(true) => {}
            }
        }
        if query.by == By::Turn {
            return CountsFor::AllMessages;
        }
        match self.values.get(&session) {
            None => {}
            Some(None) => return CountsFor::AllMessages,
            Some(Some(values)) => return CountsFor::Links(values),
        }
        let Some(made) = self.commits.get(&session) else {
            return CountsFor::Session;
        };
        let (start, last) = (record.quarter.start, record.quarter.last_at);
        let next = commits::after(made, start);
        match next.is_some_and(|next| next.at < last) {
            true => CountsFor::ItsMessages,
            false => CountsFor::Commit(next),
        }
    }
}

/// The sessions that ever had a link, and whether there are few of them. Of many, those that used something in time.
fn sessions_with(
    tx: &mut dyn Transaction,
    query: &CostQuery,
    link: &Link,
) -> Result<(BTreeMap<SessionId, bool>, bool), LedgerError> {
    let (field, value) = (link.field(), link.value());
    let all = UsingSessions::default();
    let mut found = tx.session_links(field, Some(&value), all, FEW + 1)?;
    let has_few = found.len() <= FEW;
    if !has_few {
        let in_time = UsingSessions {
            since: query.since,
            until: query.until,
            ..all
        };
        found = tx.session_links(field, Some(&value), in_time, 0)?;
    }
    let sessions = found.into_iter().map(|l| (l.session, l.is_whole)).collect();
    Ok((sessions, has_few))
}
