//! Adding up, session by session.

use std::collections::{BTreeMap, BTreeSet};

use siglum_domain::fold::{Records, Usage};
use siglum_domain::link::Link;
use siglum_domain::price::Prices;
use siglum_domain::{Timestamp, TurnId};
use siglum_ledger::{SessionRecord, UsageRecord};

use super::commits::{self, Made};
use super::standing::{self, Standing};
use super::{By, CostKey, CostQuery, CostRow, Costs, Explained, Sum, Turns};

/// A session with what it used.
pub(super) struct Used {
    pub(super) record: SessionRecord,
    pub(super) title: Option<String>,
    pub(super) usages: Vec<UsageRecord>,
    pub(super) turns: Turns,
    pub(super) spans: Vec<Standing>,
    pub(super) commits: Vec<Made>,
}

pub(super) struct Table<'a> {
    query: &'a CostQuery,
    prices: &'a Prices,
    day: &'a dyn Fn(Timestamp) -> String,
    rows: BTreeMap<CostKey, CostRow>,
    costs: Costs,
}

/// A message at these prices; nothing where it is counted elsewhere.
pub(super) fn priced(message: &UsageRecord, prices: &Prices) -> Option<Sum> {
    let usage = &message.usage;
    let counts = !message.copied && usage.is_counted();
    counts.then(|| Sum {
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
        let model = usage.model.as_deref();
        self.costs.total += sum;
        if !sum.cost.is_whole() {
            let known_from = model.and_then(|model| self.prices.known_from(model));
            let unpriced = self.costs.unpriced.entry(usage.model.clone());
            unpriced.or_insert(known_from);
        }
        let keys = self.keys(used, usage);
        self.costs.overlapping += u64::from(keys.len() > 1);
        for (key, title) in keys {
            let row = self.rows.entry(key.clone()).or_insert(CostRow {
                key,
                title,
                sum: Sum::default(),
                last_at: usage.at,
            });
            row.sum += sum;
            row.last_at = row.last_at.max(usage.at);
        }
    }

    /// The rows that a message stands in: at least one.
    fn keys(&self, used: &Used, usage: &Usage) -> Vec<(CostKey, Option<String>)> {
        let record = &used.record;
        let (session, repository) = (Some(record.id), record.repository);
        let value = |value: Option<String>| CostKey {
            value,
            ..CostKey::default()
        };
        let of_repository = |value: Option<String>| CostKey {
            repository,
            session: None,
            value,
        };
        let of_session = |value: Option<String>| CostKey {
            session,
            repository: None,
            value,
        };
        let key = match self.query.by {
            By::Session => of_session(Some(record.id.to_string())),
            By::Turn => of_session(usage.turn.map(|t: TurnId| t.to_string())),
            By::Day => value(Some((self.day)(usage.at))),
            By::Agent => value(Some(record.agent.to_string())),
            By::Model => value(usage.model.clone()),
            By::Repository => of_repository(repository.map(|r| r.to_string())),
            By::Branch => of_repository(usage.branch.clone()),
            By::Issue => return links(used, usage, "issue_number", &of_repository),
            By::Pr => return links(used, usage, "pr_number", &of_repository),
            By::Role => return links(used, usage, "agent_role", &value),
            By::Pipeline => return links(used, usage, "pipeline_id", &value),
            By::Commit => {
                let made = commits::after(&used.commits, usage.at);
                let key = CostKey {
                    repository: made.map(|m| m.repository),
                    session: None,
                    value: made.map(|m| m.commit.to_string()),
                };
                return vec![(key, made.and_then(|m| m.subject.clone()))];
            }
        };
        let titled = matches!(self.query.by, By::Session | By::Turn);
        vec![(key, used.title.clone().filter(|_| titled))]
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
        self.costs.waiting = waiting;
        self.costs
    }
}

/// The links of a kind that stood, or a row for none of them.
fn links(
    used: &Used,
    usage: &Usage,
    field: &str,
    key: &dyn Fn(Option<String>) -> CostKey,
) -> Vec<(CostKey, Option<String>)> {
    let stood = standing::standing(&used.spans, &used.turns, usage);
    let values: BTreeSet<String> = stood
        .filter(|link| link.field() == field)
        .map(Link::value)
        .collect();
    if values.is_empty() {
        return vec![(key(None), None)];
    }
    let rows = values.into_iter().map(|value| (key(Some(value)), None));
    rows.collect()
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
}
