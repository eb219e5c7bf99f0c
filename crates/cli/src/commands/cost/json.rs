//! The JSON form of the answer: the report that all doors give, and what only the command adds.

use serde::Serialize;
use siglum_domain::fold::Records;
use siglum_engine::views::cost::{CostReportJson, Explained};
use siglum_engine::views::session::TokenUsage;

use super::Answer;
use crate::team::SourceJson;

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    #[serde(flatten)]
    report: CostReportJson,
    /// The difference to the plain sum of all records, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    explained: Option<ExplainedJson>,
    /// The gateway that the answer is from, with `--team`.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<SourceJson>,
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

impl From<Answer> for Json {
    fn from(answer: Answer) -> Self {
        Self {
            explained: answer.explained.as_ref().map(ExplainedJson::from),
            source: answer.source.as_ref().map(SourceJson::from),
            report: answer.report,
        }
    }
}

impl From<&Explained> for ExplainedJson {
    fn from(explained: &Explained) -> Self {
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
