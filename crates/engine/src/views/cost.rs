//! What sessions cost: usage by session, turn, day, agent, model, repository, branch, link or commit.
//!
//! Each message is counted once ([`siglum_domain::fold::usage()`]), in the oldest session that has it. It is shown under
//! what is known of it and under nothing that is guessed: where nothing is known, under a row of its own; where several
//! links stood, under each of them, and the answer says that its rows overlap. The total has each message once.
//!
//! Sums that the ledger keeps by quarters of an hour ([`siglum_ledger::UsageQuarter`]) answer what they can, so that an
//! answer does not cost a look at each message. Messages are read where a question is finer than these sums: of sessions
//! that had a link for a part of the time only, by turns, and where a limit of time, a day, a price or a commit lies
//! within a sum.

mod commits;
mod json;
mod known;
mod standing;
mod table;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use siglum_domain::fold::Records;
use siglum_domain::link::Link;
use siglum_domain::observation::Tokens;
use siglum_domain::price::{Cost, Prices};
use siglum_domain::{AgentName, RepositoryId, SessionId, Timestamp};
use siglum_ledger::{
    Ledger, LedgerError, QuarterRecord, Transaction, UsageFilter, UsageSession, read,
};

use crate::views::overview::COUNT_MOST;
pub use json::{CostReportJson, CostRowJson, CostUsageJson, MoneyJson, UnpricedModelJson};
use known::{CountsFor, Known};
use table::{Table, Used};

/// By what usage is summed up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    Session,
    /// Each turn of each session.
    Turn,
    /// Each day, by the messages' own times.
    Day,
    Agent,
    Model,
    Repository,
    /// Each branch of each repository, as agents told of it.
    Branch,
    /// Each issue of each repository.
    Issue,
    /// Each pull request of each repository.
    Pr,
    Role,
    Pipeline,
    /// Each commit that a session made: what it used since the one before.
    Commit,
}

impl By {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Session,
        Self::Turn,
        Self::Day,
        Self::Agent,
        Self::Model,
        Self::Repository,
        Self::Branch,
        Self::Issue,
        Self::Pr,
        Self::Role,
        Self::Pipeline,
        Self::Commit,
    ];

    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Turn => "turn",
            Self::Day => "day",
            Self::Agent => "agent",
            Self::Model => "model",
            Self::Repository => "repository",
            Self::Branch => "branch",
            Self::Issue => "issue",
            Self::Pr => "pr",
            Self::Role => "role",
            Self::Pipeline => "pipeline",
            Self::Commit => "commit",
        }
    }

    /// What a row is called that has no value.
    #[must_use]
    pub const fn without(self) -> &'static str {
        match self {
            Self::Agent | Self::Model | Self::Branch => "unknown",
            Self::Turn => "outside any turn",
            Self::Commit => "not in a commit",
            _ => "none",
        }
    }

    /// The kind of links that tells its rows apart.
    const fn field(self) -> Option<&'static str> {
        match self {
            Self::Issue => Some("issue_number"),
            Self::Pr => Some("pr_number"),
            Self::Role => Some("agent_role"),
            Self::Pipeline => Some("pipeline_id"),
            _ => None,
        }
    }
}

/// How many days before today an answer goes back where the question names no time, session or link.
pub const RECENT_DAYS: u16 = 30;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct CostQuery {
    pub by: By,
    /// Only this session.
    pub session: Option<SessionId>,
    /// Only sessions of these repositories.
    pub repositories: Vec<RepositoryId>,
    /// Only sessions of this agent.
    pub agent: Option<AgentName>,
    /// Only messages of this model.
    pub model: Option<String>,
    /// Only messages from this time on.
    pub since: Option<Timestamp>,
    /// Only messages before this time.
    pub until: Option<Timestamp>,
    /// Only turns for which all of these links stood.
    pub links: Vec<Link>,
    /// At most so many rows, the first ones; 0 means all. The total has the others, too.
    pub limit: usize,
}

impl CostQuery {
    /// Asks for all.
    #[must_use]
    pub const fn by(by: By) -> Self {
        Self {
            by,
            session: None,
            repositories: Vec::new(),
            agent: None,
            model: None,
            since: None,
            until: None,
            links: Vec::new(),
            limit: 0,
        }
    }

    /// Whether links matter to it.
    const fn is_of_links(&self) -> bool {
        self.by.field().is_some() || !self.links.is_empty()
    }
}

/// What a row is of.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct CostKey {
    /// The repository that the value means something in.
    pub repository: Option<RepositoryId>,
    /// The session that the value means something in.
    pub session: Option<SessionId>,
    /// The value: an id, a name, a number or a day; absent where it is not known or there is none.
    pub value: Option<String>,
}

/// What was used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    /// Messages that are counted.
    pub messages: u64,
    pub tokens: Tokens,
    pub cost: Cost,
}

impl std::ops::AddAssign for Sum {
    fn add_assign(&mut self, other: Self) {
        self.messages = self.messages.saturating_add(other.messages);
        self.tokens += other.tokens;
        self.cost += other.cost;
    }
}

/// One row of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CostRow {
    pub key: CostKey,
    /// The title of the session, or the first line of the commit's message.
    pub title: Option<String>,
    pub sum: Sum,
    /// When the last of its messages was written.
    pub last_at: Timestamp,
}

/// What became of the records that the usage was read from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Explained {
    /// All records, and their plain sum.
    pub records: Records,
    /// Those that count, one for each message.
    pub counted: Records,
    /// Those by which the same source told of a message again.
    pub repeated: Records,
    /// Those by which another source told of a message, too.
    pub retold: Records,
    /// Those of messages that were copied from another session.
    pub copied: Records,
}

/// Usage, summed up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Costs {
    /// The rows: days and what has a time newest first, else what cost most first; what is not known comes last.
    pub rows: Vec<CostRow>,
    /// Whether there are more rows than were asked for.
    pub more: bool,
    /// All messages, each once.
    pub total: Sum,
    /// Messages that stand under more than one row.
    pub overlapping: u64,
    /// The difference to the plain sum of all records.
    pub explained: Explained,
    /// Models of which no price was known when they were used, `None` where no source told the model; with the time from
    /// which on one is known.
    pub unpriced: BTreeMap<Option<String>, Option<Timestamp>>,
    /// Sessions whose newest entries are not counted yet, [`COUNT_MOST`] at most.
    pub waiting: usize,
}

/// Sums up usage. `day` gives the day that a time belongs to.
///
/// # Errors
/// Those of the ledger.
pub fn cost(
    ledger: &mut dyn Ledger,
    query: &CostQuery,
    prices: &Prices,
    day: &dyn Fn(Timestamp) -> String,
) -> Result<Costs, LedgerError> {
    read(ledger, |tx| {
        let mut table = Table::new(query, prices, day);
        if let Some(known) = Known::read(tx, query)? {
            let mut by_message = ByMessage::default();
            tx.usage_quarters(&known.quarters(query), &mut |record| match known
                .counts_for(query, &record)
            {
                CountsFor::Nothing => {}
                CountsFor::AllMessages => {
                    by_message.whole.insert(record.session.id, record.session);
                }
                counts_for if table.add_quarter(&record, &counts_for) => {}
                _ => by_message.parts.push(record),
            })?;
            by_message.add_to(&mut table, tx, query)?;
        }
        table.unite_clones(tx)?;
        let mut costs = table.done(tx.unfolded(COUNT_MOST)?.len());
        put_titles(tx, &mut costs.rows)?;
        Ok(costs)
    })
}

/// What sums do not answer.
#[derive(Default)]
struct ByMessage {
    /// Sessions of which all messages are read.
    whole: BTreeMap<SessionId, UsageSession>,
    /// Sums whose own messages are read.
    parts: Vec<QuarterRecord>,
}

impl ByMessage {
    /// Reads the messages and adds them.
    fn add_to(
        self,
        table: &mut Table<'_>,
        tx: &mut dyn Transaction,
        query: &CostQuery,
    ) -> Result<(), LedgerError> {
        for session in self.whole.into_values() {
            table.add(&used(tx, query, session)?);
        }
        for QuarterRecord { session, quarter } in self.parts {
            // What the links of a turn are depends on all of it.
            let mut used = match query.is_of_links() {
                true => used(tx, query, session)?,
                false => {
                    let of_quarter = CostQuery {
                        since: Some(quarter.start),
                        until: Some(quarter.past),
                        ..query.clone()
                    };
                    used(tx, &of_quarter, session)?
                }
            };
            used.usages.retain(|message| quarter.holds(message));
            table.add(&used);
        }
        Ok(())
    }
}

/// Gives the rows of sessions and turns the titles of their sessions.
fn put_titles(tx: &mut dyn Transaction, rows: &mut [CostRow]) -> Result<(), LedgerError> {
    let sessions: BTreeSet<SessionId> = rows.iter().filter_map(|row| row.key.session).collect();
    if sessions.is_empty() {
        return Ok(());
    }
    let sessions: Vec<SessionId> = sessions.into_iter().collect();
    let titles: BTreeMap<SessionId, String> = tx.titles(&sessions)?.into_iter().collect();
    for row in rows {
        if let Some(session) = row.key.session {
            row.title = titles.get(&session).cloned();
        }
    }
    Ok(())
}

/// What a session used at these prices: each of its messages once, without those copied from another session.
pub(crate) fn session_sum(
    tx: &mut dyn Transaction,
    session: SessionId,
    prices: &Prices,
) -> Result<Sum, LedgerError> {
    let usages = tx.usages(&UsageFilter {
        session: Some(session),
        ..UsageFilter::default()
    })?;
    let mut sum = Sum::default();
    for message in &usages {
        sum += table::priced(message, prices).unwrap_or_default();
    }
    Ok(sum)
}

/// All that is needed to sum up the usage of a session message by message.
fn used(
    tx: &mut dyn Transaction,
    query: &CostQuery,
    session: UsageSession,
) -> Result<Used, LedgerError> {
    let id = session.id;
    let is_linked = query.is_of_links();
    // For links without the limits of time: when a turn ran depends on all of its messages.
    let of_time = |limit: Option<Timestamp>| limit.filter(|_| !is_linked);
    let usages = tx.usages(&UsageFilter {
        session: Some(id),
        since: of_time(query.since),
        until: of_time(query.until),
        ..UsageFilter::default()
    })?;
    let mut used = Used::unlinked(session, usages);
    if is_linked {
        let last = used.usages.iter().map(|u| u.usage.at).max();
        used.spans = standing::spans(&tx.statements_of_session(id)?, last);
        used.turns = standing::turns(used.usages.iter().map(|u| &u.usage));
    }
    if query.by == By::Commit {
        used.commits = commits::commits_of_session(tx, id)?;
    }
    Ok(used)
}

/// When each turn of a session ran, by when its messages were written.
type Turns = BTreeMap<siglum_domain::TurnId, standing::Span>;
