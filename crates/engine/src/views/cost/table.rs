//! Adding up, session by session.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use siglum_domain::fold::{Records, Usage};
use siglum_domain::link::Link;
use siglum_domain::price::Prices;
use siglum_domain::{Timestamp, TurnId};
use siglum_ledger::{
    LedgerError, QUARTER, QuarterRecord, Transaction, UsageQuarter, UsageRecord, UsageSession,
    quarter_start,
};

use super::commits::{self, Made};
use super::known::CountsFor;
use super::standing::{self, Standing};
use super::{By, CostKey, CostQuery, CostRow, Costs, Explained, Sum, Turns};
use crate::identity::repositories;

/// A session with messages of it, and what tells what they count for.
pub(super) struct Used {
    pub(super) session: UsageSession,
    pub(super) usages: Vec<UsageRecord>,
    pub(super) turns: Turns,
    pub(super) spans: Vec<Standing>,
    pub(super) commits: Vec<Made>,
}

impl Used {
    /// A session without links and commits, or for a question that they do not matter to.
    pub(super) const fn unlinked(session: UsageSession, usages: Vec<UsageRecord>) -> Self {
        Self {
            session,
            usages,
            turns: Turns::new(),
            spans: Vec::new(),
            commits: Vec::new(),
        }
    }
}

/// What a row is of, with its title.
type RowKey = (CostKey, Option<String>);

/// The row of a commit.
fn of_commit(made: &Made) -> RowKey {
    let key = CostKey {
        repository: Some(made.repository),
        session: None,
        value: Some(made.commit.to_string()),
    };
    (key, made.subject.clone())
}

pub(super) struct Table<'a> {
    query: &'a CostQuery,
    prices: &'a Prices,
    day: &'a dyn Fn(Timestamp) -> String,
    /// The day of each quarter of an hour that was asked for, by its start; nothing where a day ends within it.
    days: BTreeMap<Timestamp, Option<String>>,
    rows: BTreeMap<CostKey, CostRow>,
    costs: Costs,
}

/// A message at these prices; nothing where it is counted elsewhere.
pub(super) fn priced(message: &UsageRecord, prices: &Prices) -> Option<Sum> {
    let usage = &message.usage;
    message.is_counted().then(|| Sum {
        messages: 1,
        tokens: usage.tokens,
        cost: prices.cost(usage.model.as_deref(), usage.at, usage.tokens),
    })
}

impl<'a> Table<'a> {
    pub(super) fn new(
        query: &'a CostQuery,
        prices: &'a Prices,
        day: &'a dyn Fn(Timestamp) -> String,
    ) -> Self {
        Self {
            query,
            prices,
            day,
            days: BTreeMap::new(),
            rows: BTreeMap::new(),
            costs: Costs::default(),
        }
    }

    pub(super) fn add(&mut self, used: &Used) {
        for message in &used.usages {
            if self.is_meant(used, &message.usage) {
                self.costs.explained.add(message);
                self.count(used, message);
            }
        }
    }

    /// Adds what messages cost together; or refuses where that says less than the messages do.
    pub(super) fn add_quarter(
        &mut self,
        record: &QuarterRecord,
        counts_for: &CountsFor<'_>,
    ) -> bool {
        let quarter = &record.quarter;
        let (model, at) = (quarter.model.as_deref(), quarter.start);
        let tokens = quarter.counted.tokens;
        let cost = self
            .prices
            .cost_of_several(model, at, tokens, quarter.prompts);
        let (Some(cost), true) = (cost, self.is_whole(quarter)) else {
            return false;
        };
        let Some(keys) = self.keys_of_quarter(record, counts_for) else {
            return false;
        };
        self.costs.explained.add_quarter(quarter);
        if quarter.counted.count > 0 {
            let sum = Sum {
                messages: quarter.counted.count,
                tokens,
                cost,
            };
            self.put(model, sum, quarter.last_at, keys);
        }
        true
    }

    /// The rows that all messages of a sum stand in; nothing where they may stand in several.
    fn keys_of_quarter(
        &mut self,
        record: &QuarterRecord,
        counts_for: &CountsFor<'_>,
    ) -> Option<Vec<RowKey>> {
        let quarter = &record.quarter;
        let (model, branch) = (quarter.model.as_deref(), quarter.branch.as_deref());
        let none = match self.query.by {
            By::Day => CostKey {
                value: Some(self.day_of_quarter(quarter)?),
                ..CostKey::default()
            },
            _ => self.key(&record.session, None, model, branch),
        };
        match counts_for {
            CountsFor::Session | CountsFor::Commit(None) => Some(vec![(none, None)]),
            CountsFor::Links(values) => {
                let key = |value: &String| CostKey {
                    value: Some(value.clone()),
                    ..none.clone()
                };
                Some(values.iter().map(|value| (key(value), None)).collect())
            }
            CountsFor::Commit(Some(made)) => Some(vec![of_commit(made)]),
            CountsFor::Nothing | CountsFor::ItsMessages | CountsFor::AllMessages => None,
        }
    }

    /// Whether the limits of time leave all of it.
    fn is_whole(&self, quarter: &UsageQuarter) -> bool {
        let q = self.query;
        q.since.is_none_or(|since| quarter.start >= since)
            && q.until.is_none_or(|until| quarter.past <= until)
    }

    fn day_of_quarter(&mut self, quarter: &UsageQuarter) -> Option<String> {
        let start = quarter_start(quarter.start);
        let day = self.day;
        let known = self.days.entry(start).or_insert_with(|| {
            let last = Timestamp::from_nanos(start.nanos().saturating_add(QUARTER - 1));
            let first = day(start);
            (day(last) == first).then_some(first)
        });
        known.clone()
    }

    fn is_meant(&self, used: &Used, usage: &Usage) -> bool {
        let q = self.query;
        let stood: BTreeSet<&Link> = if q.links.is_empty() {
            BTreeSet::new()
        } else {
            standing::standing(&used.spans, &used.turns, usage).collect()
        };
        q.since.is_none_or(|since| usage.at >= since)
            && q.until.is_none_or(|until| usage.at < until)
            && (q.model.is_none() || usage.model == q.model)
            && q.links.iter().all(|link| stood.contains(link))
    }

    fn count(&mut self, used: &Used, message: &UsageRecord) {
        let Some(sum) = priced(message, self.prices) else {
            return;
        };
        let usage = &message.usage;
        let keys = self.keys(used, usage);
        self.put(usage.model.as_deref(), sum, usage.at, keys);
    }

    /// Adds what counts to the total and to its rows, each with its title.
    fn put(&mut self, model: Option<&str>, sum: Sum, last_at: Timestamp, keys: Vec<RowKey>) {
        self.costs.total += sum;
        if !sum.cost.is_whole() {
            let known_from = model.and_then(|model| self.prices.known_from(model));
            let unpriced = self.costs.unpriced.entry(model.map(str::to_owned));
            unpriced.or_insert(known_from);
        }
        if keys.len() > 1 {
            self.costs.overlapping += sum.messages;
        }
        for (key, title) in keys {
            self.put_row(CostRow {
                key,
                title,
                sum,
                last_at,
            });
        }
    }

    fn put_row(&mut self, row: CostRow) {
        match self.rows.entry(row.key.clone()) {
            Entry::Vacant(place) => {
                place.insert(row);
            }
            Entry::Occupied(known) => {
                let known = known.into_mut();
                known.sum += row.sum;
                known.last_at = known.last_at.max(row.last_at);
            }
        }
    }

    /// Makes one row of those of clones.
    pub(super) fn unite_clones(&mut self, tx: &mut dyn Transaction) -> Result<(), LedgerError> {
        if self.rows.keys().all(|key| key.repository.is_none()) {
            return Ok(());
        }
        let mut rows: Vec<CostRow> = std::mem::take(&mut self.rows).into_values().collect();
        let repositories = rows
            .iter_mut()
            .filter_map(|row| row.key.repository.as_mut());
        repositories::unite_clones(tx, repositories)?;
        for mut row in rows {
            if self.query.by == By::Repository {
                row.key.value = row.key.repository.map(|r| r.to_string());
            }
            self.put_row(row);
        }
        Ok(())
    }

    /// The rows that a message stands in: at least one.
    fn keys(&self, used: &Used, usage: &Usage) -> Vec<RowKey> {
        let field = match self.query.by {
            By::Day => {
                let key = CostKey {
                    value: Some((self.day)(usage.at)),
                    ..CostKey::default()
                };
                return vec![(key, None)];
            }
            By::Commit => {
                let made = commits::after(&used.commits, usage.at);
                return vec![made.map(of_commit).unwrap_or_default()];
            }
            by => by.field(),
        };
        let model = usage.model.as_deref();
        let none = self.key(&used.session, usage.turn, model, usage.branch.as_deref());
        let values = field.map_or_else(BTreeSet::new, |field| links(used, usage, field));
        if values.is_empty() {
            return vec![(none, None)];
        }
        let key = |value| CostKey {
            value: Some(value),
            ..none.clone()
        };
        values.into_iter().map(|value| (key(value), None)).collect()
    }

    /// The row of what has no link, is in no commit, and whose day does not matter.
    fn key(
        &self,
        session: &UsageSession,
        turn: Option<TurnId>,
        model: Option<&str>,
        branch: Option<&str>,
    ) -> CostKey {
        let value = |value: Option<String>| CostKey {
            value,
            ..CostKey::default()
        };
        let of_repository = |value: Option<String>| CostKey {
            repository: session.repository,
            session: None,
            value,
        };
        let of_session = |value: Option<String>| CostKey {
            session: Some(session.id),
            repository: None,
            value,
        };
        match self.query.by {
            By::Session => of_session(Some(session.id.to_string())),
            By::Turn => of_session(turn.map(|t| t.to_string())),
            By::Agent => value(session.agent.as_ref().map(ToString::to_string)),
            By::Model => value(model.map(str::to_owned)),
            By::Repository => of_repository(session.repository.map(|r| r.to_string())),
            By::Branch => of_repository(branch.map(str::to_owned)),
            By::Issue | By::Pr => of_repository(None),
            By::Day | By::Role | By::Pipeline | By::Commit => value(None),
        }
    }

    pub(super) fn done(mut self, waiting: usize) -> Costs {
        self.costs.rows = self.rows.into_values().collect();
        let by_time = matches!(self.query.by, By::Session | By::Turn | By::Day | By::Commit);
        self.costs.rows.sort_by(|a, b| {
            let known = |row: &CostRow| row.key.value.is_none();
            let newest = || b.last_at.cmp(&a.last_at);
            let most = || {
                let weight = |row: &CostRow| (row.sum.cost.known, row.sum.messages);
                weight(b).cmp(&weight(a))
            };
            let order = if by_time { newest() } else { most() };
            let unknown = known(a).cmp(&known(b));
            unknown.then(order).then_with(|| a.key.cmp(&b.key))
        });
        let limit = self.query.limit;
        self.costs.more = limit > 0 && self.costs.rows.len() > limit;
        if self.costs.more {
            self.costs.rows.truncate(limit);
        }
        self.costs.waiting = waiting;
        self.costs
    }
}

/// The values of the links of a kind that stood.
fn links(used: &Used, usage: &Usage, field: &str) -> BTreeSet<String> {
    let stood = standing::standing(&used.spans, &used.turns, usage);
    stood
        .filter(|link| link.field() == field)
        .map(Link::value)
        .collect()
}

impl Explained {
    fn add(&mut self, message: &UsageRecord) {
        let usage = &message.usage;
        let own = Records {
            count: u64::from(usage.is_counted()),
            tokens: usage.tokens,
        };
        let mut all = own;
        all += usage.repeated;
        all += usage.retold;
        self.records += all;
        if message.copied {
            self.copied += all;
        } else {
            self.counted += own;
            self.repeated += usage.repeated;
            self.retold += usage.retold;
        }
    }

    fn add_quarter(&mut self, quarter: &UsageQuarter) {
        let parts = [
            (&mut self.counted, quarter.counted),
            (&mut self.repeated, quarter.repeated),
            (&mut self.retold, quarter.retold),
            (&mut self.copied, quarter.copied),
        ];
        for (part, records) in parts {
            *part += records;
            self.records += records;
        }
    }
}
