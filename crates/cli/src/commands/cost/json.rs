//! The JSON form of the answer.

use serde::Serialize;
use siglum_domain::fold::Records;
use siglum_engine::views::cost::{CostRow, Explained, Sum};
use siglum_engine::views::session::TokenUsage;

use super::Answer;

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    /// By what usage is summed up.
    by: String,
    /// From when on messages count; absent where all do.
    since: Option<String>,
    rows: Vec<Row>,
    /// Whether there are more rows than were asked for; the total has them, too.
    more: bool,
    /// All messages, each once.
    total: Used,
    /// Messages that stand under more than one row.
    overlapping: u64,
    /// Sessions whose newest entries are not counted yet.
    waiting: u64,
    /// The day on which the prices were last looked through.
    prices: String,
    /// Models of which no price was known when they were used.
    unpriced: Vec<UnpricedJson>,
    /// The difference to the plain sum of all records, if it was asked for.
    explained: Option<ExplainedJson>,
}

/// One row.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Row {
    /// What it is of: an id, a name, a number or a day; absent where it is not known or there is none.
    key: Option<String>,
    /// The git common directory of the repository that the key means something in; its remote, if that is on another machine.
    repository: Option<String>,
    /// Where that repository is fetched from, as `host/owner/name`; its clones are one row.
    repository_remote: Option<String>,
    /// The session that the key means something in.
    session: Option<String>,
    /// The title of the session, or the first line of the commit's message.
    title: Option<String>,
    /// When the last of its messages was written.
    last_at: String,
    messages: u64,
    tokens: TokenUsage,
    cost: CostJson,
}

/// What was used.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Used {
    messages: u64,
    tokens: TokenUsage,
    cost: CostJson,
}

/// What it costs.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CostJson {
    /// What is known of it, in billionths of a US dollar.
    nano_usd: u64,
    /// The same in dollars.
    usd: String,
    /// Whether all of it is known.
    complete: bool,
    /// The tokens of models that have no price.
    unpriced: TokenUsage,
}

/// A model of which no price was known when it was used.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct UnpricedJson {
    /// The model; absent where no source told it.
    model: Option<String>,
    /// From when on its price is known, if it ever is.
    known_from: Option<String>,
}

/// What became of the records.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ExplainedJson {
    /// All records, and their plain sum.
    records: RecordsJson,
    /// Those by which the same source told of a message again.
    repeated: RecordsJson,
    /// Those by which another source told of a message, too.
    retold: RecordsJson,
    /// Those of messages that were copied from another session.
    copied: RecordsJson,
    /// Those that are counted, one for each message.
    counted: RecordsJson,
}

/// Records and their tokens.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RecordsJson {
    count: u64,
    tokens: TokenUsage,
}

impl Json {
    pub(super) fn from_answer(answer: &Answer<'_>, explain: bool) -> Self {
        let costs = answer.costs;
        let row = |row| Row::from_row(answer, row);
        Self {
            by: answer.by.word().to_owned(),
            since: answer.since.map(|since| since.to_string()),
            rows: costs.rows.iter().map(row).collect(),
            more: costs.more,
            total: Used::from_sum(&costs.total),
            overlapping: costs.overlapping,
            waiting: costs.waiting as u64,
            prices: answer.prices.date().to_owned(),
            unpriced: costs
                .unpriced
                .iter()
                .map(|(model, from)| UnpricedJson {
                    model: model.clone(),
                    known_from: from.map(|from| from.to_string()),
                })
                .collect(),
            explained: explain.then(|| ExplainedJson::from_explained(&costs.explained)),
        }
    }
}

impl Row {
    fn from_row(answer: &Answer<'_>, row: &CostRow) -> Self {
        let repository = super::record(row, answer.repositories);
        let used = Used::from_sum(&row.sum);
        Self {
            key: row.key.value.clone(),
            repository: repository.map(|r| r.name().to_owned()),
            repository_remote: repository
                .and_then(|r| r.identity.hosted_remote())
                .map(str::to_owned),
            session: row.key.session.map(|s| s.to_string()),
            title: row.title.clone(),
            last_at: row.last_at.to_string(),
            messages: used.messages,
            tokens: used.tokens,
            cost: used.cost,
        }
    }
}

impl Used {
    fn from_sum(sum: &Sum) -> Self {
        Self {
            messages: sum.messages,
            tokens: sum.tokens.into(),
            cost: CostJson {
                nano_usd: sum.cost.known.saturating(),
                usd: sum.cost.known.to_string(),
                complete: sum.cost.is_whole(),
                unpriced: sum.cost.unpriced.into(),
            },
        }
    }
}

impl ExplainedJson {
    fn from_explained(explained: &Explained) -> Self {
        let records = |r: Records| RecordsJson {
            count: r.count,
            tokens: r.tokens.into(),
        };
        Self {
            records: records(explained.records),
            repeated: records(explained.repeated),
            retold: records(explained.retold),
            copied: records(explained.copied),
            counted: records(explained.counted),
        }
    }
}
