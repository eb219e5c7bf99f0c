//! What sessions cost.

use serde::Serialize;
use siglum_domain::price::{Cost, Prices};
use siglum_engine::cost::{self, By, Costs, Sum};
use siglum_ledger::RepositoryRecord;
use utoipa::ToSchema;

use super::TokenUsage;

/// Usage, summed up. Each message is counted once.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct CostReport {
    /// By what.
    by: &'static str,
    /// What is not known, or belongs to nothing, comes last.
    rows: Vec<CostRow>,
    /// Whether there are more rows; the total has them, too.
    more: bool,
    /// All messages, each once.
    total: CostUsage,
    /// Messages that stand under more than one row, since several links stood.
    overlapping: u64,
    /// Sessions whose newest entries are not counted yet.
    waiting: u64,
    /// The day on which the prices were last looked through.
    prices: String,
}

/// One row.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct CostRow {
    /// An id, a name, a number or a day; absent where it is not known or there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    /// The repository that the key means something in.
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
    /// The session that the key means something in.
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// The title of the session, or the first line of the commit's message.
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// When the last of its messages was written.
    #[schema(format = DateTime)]
    last_at: String,
    used: CostUsage,
}

/// What was used.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct CostUsage {
    messages: u64,
    tokens: TokenUsage,
    cost: Money,
}

/// What it costs.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct Money {
    /// What is known of it, in US dollars with nine decimal places.
    usd: String,
    /// Whether all of it is known: a model without a price costs unknown, and never nothing.
    complete: bool,
    /// The tokens of models that have no price.
    unpriced: TokenUsage,
}

impl CostReport {
    pub(crate) fn of(by: By, costs: &Costs, more: bool, repositories: &[RepositoryRecord]) -> Self {
        let row = |row: &cost::CostRow| {
            let of_row = |r: &&RepositoryRecord| Some(r.id) == row.key.repository;
            CostRow {
                key: row.key.value.clone(),
                repository: repositories
                    .iter()
                    .find(of_row)
                    .map(|r| r.common_dir.clone()),
                session: row.key.session.map(|s| s.to_string()),
                title: row.title.clone(),
                last_at: row.last_at.to_string(),
                used: (&row.sum).into(),
            }
        };
        Self {
            by: by.word(),
            rows: costs.rows.iter().map(row).collect(),
            more,
            total: (&costs.total).into(),
            overlapping: costs.overlapping,
            waiting: costs.waiting as u64,
            prices: Prices::built_in().date().to_owned(),
        }
    }

    /// Of what nobody knows.
    pub(crate) fn nothing(by: By) -> Self {
        Self::of(by, &Costs::default(), false, &[])
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
