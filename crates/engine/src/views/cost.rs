//! What sessions cost: usage by session, turn, day, agent, model, repository, branch, link or commit.
//!
//! Each message is counted once ([`siglum_domain::fold::usage()`]), in the oldest session that has it. It is shown under
//! what is known of it and under nothing that is guessed: where nothing is known, under a row of its own; where several
//! links stood, under each of them, and the answer says that its rows overlap. The total has each message once.

mod commits;
mod standing;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use siglum_domain::fold::Records;
use siglum_domain::link::Link;
use siglum_domain::observation::Tokens;
use siglum_domain::price::{Cost, Prices};
use siglum_domain::{AgentName, RepositoryId, SessionId, Timestamp};
use siglum_ledger::{
    Ledger, LedgerError, SessionFilter, SessionListing, Transaction, UsageFilter, read,
};

use crate::identity::repositories;
use crate::views::overview::COUNT_MOST;
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
            Self::Model | Self::Branch => "unknown",
            Self::Turn => "outside any turn",
            Self::Commit => "not in a commit",
            _ => "none",
        }
    }
}

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
        }
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
        let filter = SessionFilter {
            id: query.session,
            repositories: query.repositories.clone(),
            agent: query.agent.clone(),
            since: query.since,
            until: query.until,
            ..SessionFilter::default()
        };
        // What a session used is counted once: in its own repository, and not wherever it worked.
        let mut listings = tx.sessions(&filter)?;
        let is_own = |l: &SessionListing| {
            let own = l.record.repository;
            query.repositories.is_empty() || own.is_some_and(|r| query.repositories.contains(&r))
        };
        listings.retain(is_own);
        let own = listings
            .iter_mut()
            .filter_map(|l| l.record.repository.as_mut());
        repositories::unite_clones(tx, own)?;
        for listing in listings {
            table.add(&used(tx, query, listing)?);
        }
        Ok(table.done(tx.unfolded(COUNT_MOST)?.len()))
    })
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

/// All that is needed to sum up the usage of a session.
fn used(
    tx: &mut dyn Transaction,
    query: &CostQuery,
    listing: SessionListing,
) -> Result<Used, LedgerError> {
    let id = listing.record.id;
    // Without the limits of time: when a turn ran depends on all of its messages.
    let usages = tx.usages(&UsageFilter {
        session: Some(id),
        ..UsageFilter::default()
    })?;
    let linked = matches!(query.by, By::Issue | By::Pr | By::Role | By::Pipeline);
    let spans = if linked || !query.links.is_empty() {
        let last = usages.iter().map(|u| u.usage.at).max();
        standing::spans(&tx.statements_of_session(id)?, last)
    } else {
        Vec::new()
    };
    let commits = match query.by {
        By::Commit => commits::commits_of_session(tx, id)?,
        _ => Vec::new(),
    };
    let turns = standing::turns(usages.iter().map(|u| &u.usage));
    Ok(Used {
        record: listing.record,
        title: listing.summary.title,
        usages,
        turns,
        spans,
        commits,
    })
}

/// When each turn of a session ran, by when its messages were written.
type Turns = BTreeMap<siglum_domain::TurnId, standing::Span>;
