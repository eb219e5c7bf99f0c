//! What sessions cost as it is sent: the same for the command line, its tools for agents, and the API.

#[cfg(feature = "schemas")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use siglum_domain::price::{Cost, NanoUsd, Prices};
use siglum_domain::{SessionId, Timestamp};
use siglum_ledger::RepositoryRecord;

use super::{CostQuery, CostRow, Costs, Sum};
use crate::views::session::TokenUsage;

/// What sessions used, and what that costs at list prices. Each message counts once.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct CostReportJson {
    /// By what usage is summed up.
    pub by: String,
    /// From when on messages count; absent where all do.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemas", schemars(with = "Option<String>"))]
    pub since: Option<Timestamp>,
    /// The rows; what is not known, or in none, comes last.
    pub rows: Vec<CostRowJson>,
    /// Whether there are more rows than were asked for; the total has them, too.
    pub more: bool,
    /// All messages, each once.
    pub total: CostUsageJson,
    /// Messages that count in more than one row, because several links were attached.
    pub overlapping: u64,
    /// Sessions whose newest entries are not counted yet.
    pub waiting: u64,
    /// The day on which the prices were last looked through.
    pub prices: String,
    /// Models of which no price was known when they were used.
    pub unpriced: Vec<UnpricedModelJson>,
}

/// One row.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct CostRowJson {
    /// What it is of: an id, a name, a number or a day; absent where it is not known or there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The repository that the key means something in: its git common directory; its remote, if that is on another machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// Where that repository is fetched from, as `host/owner/name`; its clones are one row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository_remote: Option<String>,
    /// The session that the key means something in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The title of the session, or the first line of the commit's message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// When the last of its messages was written.
    pub last_at: Timestamp,
    pub usage: CostUsageJson,
}

/// What was used.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct CostUsageJson {
    pub messages: u64,
    pub tokens: TokenUsage,
    pub cost: MoneyJson,
}

/// Cost at list prices.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct MoneyJson {
    /// The known part, in billionths of a US dollar.
    nano_usd: u64,
    /// The same in US dollars.
    usd: String,
    /// Whether all of it is known.
    complete: bool,
    /// The tokens of models without a price.
    unpriced: TokenUsage,
}

/// A model of which no price was known when it was used.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(JsonSchema))]
pub struct UnpricedModelJson {
    /// The model; absent where no source told it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// From when on its price is known, if it ever is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemas", schemars(with = "Option<String>"))]
    pub known_from: Option<Timestamp>,
}

impl CostReportJson {
    /// What is sent of an answer. `repositories` are those that rows can be of.
    #[must_use]
    pub fn new(
        query: &CostQuery,
        costs: &Costs,
        prices: &Prices,
        repositories: &[RepositoryRecord],
    ) -> Self {
        let unpriced = costs.unpriced.iter();
        Self {
            by: query.by.word().to_owned(),
            since: query.since,
            rows: costs
                .rows
                .iter()
                .map(|row| CostRowJson::new(row, repositories))
                .collect(),
            more: costs.more,
            total: (&costs.total).into(),
            overlapping: costs.overlapping,
            waiting: costs.waiting as u64,
            prices: prices.date().to_owned(),
            unpriced: unpriced
                .map(|(model, known_from)| UnpricedModelJson {
                    model: model.clone(),
                    known_from: *known_from,
                })
                .collect(),
        }
    }
}

impl CostRowJson {
    fn new(row: &CostRow, repositories: &[RepositoryRecord]) -> Self {
        let of_row = |r: &&RepositoryRecord| Some(r.id) == row.key.repository;
        let repository = repositories.iter().find(of_row);
        let remote = repository.and_then(|r| r.identity.hosted_remote());
        Self {
            key: row.key.value.clone(),
            repository: repository.map(|r| r.name().to_owned()),
            repository_remote: remote.map(str::to_owned),
            session: row.key.session,
            title: row.title.clone(),
            last_at: row.last_at,
            usage: (&row.sum).into(),
        }
    }
}

impl From<&Sum> for CostUsageJson {
    fn from(sum: &Sum) -> Self {
        Self {
            messages: sum.messages,
            tokens: sum.tokens.into(),
            cost: (&sum.cost).into(),
        }
    }
}

impl From<&Cost> for MoneyJson {
    fn from(cost: &Cost) -> Self {
        Self {
            nano_usd: cost.known.saturating(),
            usd: cost.known.to_string(),
            complete: cost.is_whole(),
            unpriced: cost.unpriced.into(),
        }
    }
}

impl From<&MoneyJson> for Cost {
    fn from(cost: &MoneyJson) -> Self {
        Self {
            known: NanoUsd(cost.nano_usd.into()),
            unpriced: cost.unpriced.into(),
        }
    }
}
