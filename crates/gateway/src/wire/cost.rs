//! What sessions cost.

use serde::Serialize;
use siglum_domain::price::{Cost, Prices};
use siglum_engine::views::cost::{self, By, Costs, Sum};
use siglum_engine::views::session;
use siglum_ledger::RepositoryRecord;

#[cfg(test)]
use crate::shared_schemas::TokenUsage;

/// Aggregated usage. Each message counts once.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct CostReport {
    /// Dimension that the rows are grouped by.
    by: &'static str,
    /// The rows; unknown and unassigned usage comes last.
    rows: Vec<CostRow>,
    /// Whether there are more rows; the total includes them.
    more: bool,
    /// The total: all messages, each once.
    total: CostUsage,
    /// Number of messages that count in more than one row, because several links were attached.
    overlapping: u64,
    /// Number of sessions whose newest entries are not counted yet.
    waiting: u64,
    /// Date of the last review of the prices.
    prices: String,
}

/// A row.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
struct CostRow {
    /// Id, name, number or day of the row; absent if unknown or unassigned.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// The repository that the key belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
    /// Where that repository is fetched from, as `host/owner/name`. Its clones are one row.
    #[serde(skip_serializing_if = "Option::is_none")]
    repository_remote: Option<String>,
    /// The session that the key belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// Title of the session, or subject of the commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// Time of its last message.
    #[cfg_attr(test, schema(format = DateTime))]
    last_at: String,
    usage: CostUsage,
}

/// Usage.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
struct CostUsage {
    messages: u64,
    #[cfg_attr(test, schema(value_type = TokenUsage))]
    tokens: session::TokenUsage,
    cost: Money,
}

/// Cost at list prices.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
struct Money {
    /// The known part, in US dollars with nine decimal places.
    usd: String,
    /// Whether the cost is complete: a model without a price has an unknown cost, not a cost of 0.
    complete: bool,
    /// Tokens of models without a price.
    #[cfg_attr(test, schema(value_type = TokenUsage))]
    unpriced: session::TokenUsage,
}

impl CostReport {
    pub(crate) fn new(by: By, costs: &Costs, repositories: &[RepositoryRecord]) -> Self {
        let row = |row: &cost::CostRow| {
            let of_row = |r: &&RepositoryRecord| Some(r.id) == row.key.repository;
            let repository = repositories.iter().find(of_row);
            let remote = repository.and_then(|r| r.identity.hosted_remote());
            CostRow {
                key: row.key.value.clone(),
                repository: repository.map(|r| r.name().to_owned()),
                repository_remote: remote.map(str::to_owned),
                session: row.key.session.map(|s| s.to_string()),
                title: row.title.clone(),
                last_at: row.last_at.to_string(),
                usage: (&row.sum).into(),
            }
        };
        Self {
            by: by.word(),
            rows: costs.rows.iter().map(row).collect(),
            more: costs.more,
            total: (&costs.total).into(),
            overlapping: costs.overlapping,
            waiting: costs.waiting as u64,
            prices: Prices::built_in().date().to_owned(),
        }
    }

    /// Of what nobody knows.
    pub(crate) fn nothing(by: By) -> Self {
        Self::new(by, &Costs::default(), &[])
    }
}

impl From<&Sum> for CostUsage {
    fn from(sum: &Sum) -> Self {
        Self {
            messages: sum.messages,
            tokens: sum.tokens.into(),
            cost: (&sum.cost).into(),
        }
    }
}

impl From<&Cost> for Money {
    fn from(cost: &Cost) -> Self {
        Self {
            usd: cost.known.to_string(),
            complete: cost.is_whole(),
            unpriced: cost.unpriced.into(),
        }
    }
}
