//! Documents of the gateway's API, as far as they are shown. What another machine says is taken by its form, without secrets.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use siglum_domain::observation::{Fact, Observation, Source};
use siglum_domain::price::{Cost, NanoUsd};
use siglum_domain::redact::Redactor;
use siglum_domain::{SessionId, Timestamp, TurnId, observation};
use siglum_engine::views::session::{LinkJson, SessionJson};

use crate::commands::link;
use crate::ui::Style;

/// Removes secrets from a text.
pub(super) fn redact(text: &mut String) {
    if let Cow::Owned(clean) = Redactor::shared().redact_cow(text) {
        *text = clean;
    }
}

/// What is attached to a session, in a few words.
pub(super) fn link_words(session: &SessionJson) -> String {
    let links = session.links.iter().filter_map(LinkJson::to_link);
    link::words(&links.collect::<Vec<_>>())
}

/// Where a session stands, as far as a gateway knows: whether its process runs is seen on its own machine.
pub(super) const fn state(session: &SessionJson) -> (&'static str, Style) {
    match (&session.quarantined, session.archived_at, session.ended_at) {
        (Some(_), ..) => ("quarantined", Style::Warning),
        (None, Some(_), _) => ("archived", Style::Dim),
        (None, None, Some(_)) => ("ended", Style::Dim),
        (None, None, None) => ("open", Style::Added),
    }
}

/// Tokens.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Tokens {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

impl From<Tokens> for observation::Tokens {
    fn from(tokens: Tokens) -> Self {
        Self {
            input: tokens.input,
            output: tokens.output,
            cache_read: tokens.cache_read,
            cache_write: tokens.cache_write,
        }
    }
}

/// A session in which all words stand.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct SearchResult {
    pub(super) session: SessionJson,
    pub(super) hits: Vec<Hit>,
}

/// A text in which something stands that was searched for.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Hit {
    /// `prompt`, `answer`, `call`, `result`, `path`, `commit`, `link`, `name` or `directory`.
    pub(super) place: String,
    /// The part of it around the first place.
    pub(super) text: String,
    /// The number of the turn in the session.
    #[serde(default)]
    pub(super) turn: Option<u64>,
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    pub(super) at: Option<Timestamp>,
}

impl SearchResult {
    /// The same without secrets.
    pub(super) fn cleaned(mut self) -> Self {
        for hit in &mut self.hits {
            redact(&mut hit.place);
            redact(&mut hit.text);
        }
        Self {
            session: self.session.cleaned(),
            ..self
        }
    }
}

/// What sessions used, and what that costs at list prices.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct CostReport {
    /// By what usage is summed up.
    by: String,
    pub(super) rows: Vec<CostRow>,
    /// Whether there are more rows; the total has them, too.
    pub(super) more: bool,
    /// All messages, each once.
    pub(super) total: Used,
    /// Messages that stand under more than one row.
    pub(super) overlapping: u64,
    /// Sessions whose newest entries are not counted yet.
    waiting: u64,
    /// The day on which the gateway's prices were last looked through.
    prices: String,
}

impl CostReport {
    /// The same without secrets.
    pub(super) fn cleaned(mut self) -> Self {
        redact(&mut self.by);
        redact(&mut self.prices);
        for row in &mut self.rows {
            let texts = [
                &mut row.key,
                &mut row.repository,
                &mut row.repository_remote,
                &mut row.title,
            ];
            texts.into_iter().flatten().for_each(redact);
        }
        self
    }
}

/// One row.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct CostRow {
    /// What it is of: an id, a name, a number or a day; absent where it is not known or there is none.
    pub(super) key: Option<String>,
    /// The repository that the key means something in.
    pub(super) repository: Option<String>,
    /// Where that repository is fetched from, as `host/owner/name`.
    pub(super) repository_remote: Option<String>,
    /// The session that the key means something in.
    #[cfg_attr(test, schemars(with = "Option<String>"))]
    session: Option<SessionId>,
    /// The title of the session, or the first line of the commit's message.
    pub(super) title: Option<String>,
    /// When the last of its messages was written.
    #[cfg_attr(test, schemars(with = "String"))]
    last_at: Timestamp,
    pub(super) usage: Used,
}

/// What was used.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Used {
    messages: u64,
    pub(super) tokens: Tokens,
    cost: Money,
}

/// What it costs.
#[derive(Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Money {
    /// What is known of it, in US dollars.
    usd: String,
    /// Whether all of it is known.
    complete: bool,
    /// The tokens of models that have no price.
    unpriced: Tokens,
}

impl Used {
    /// What it costs, if the gateway gives an amount.
    pub(super) fn cost(&self) -> Option<Cost> {
        Some(Cost {
            known: nano_usd(&self.cost.usd)?,
            unpriced: self.cost.unpriced.into(),
        })
    }
}

/// Reads an amount of dollars with nine decimal places.
fn nano_usd(usd: &str) -> Option<NanoUsd> {
    let (dollars, billionths) = usd.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if billionths.len() != 9 || !is_number(dollars) || !is_number(billionths) {
        return None;
    }
    let (dollars, billionths): (u128, u128) = (dollars.parse().ok()?, billionths.parse().ok()?);
    let nanos = dollars.checked_mul(1_000_000_000)?;
    Some(NanoUsd(nanos.checked_add(billionths)?))
}

/// An entry of a session's log.
#[derive(Deserialize)]
pub(super) struct LogEntry {
    pub(super) sequence: u64,
    pub(super) turn: Option<TurnId>,
    source: Source,
    key: String,
    event: String,
    at: Timestamp,
    subagent: Option<String>,
    fact: Fact,
}

impl LogEntry {
    /// What was seen.
    pub(super) fn into_observation(self) -> Observation {
        Observation {
            source: self.source,
            key: self.key,
            event: self.event,
            at: self.at,
            turn: None,
            subagent: self.subagent,
            fact: self.fact,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_has_nine_decimal_places() {
        assert_eq!(nano_usd("0.001500000"), Some(NanoUsd(1_500_000)));
        assert_eq!(nano_usd("12.000000001"), Some(NanoUsd(12_000_000_001)));
        let huge = "9".repeat(60) + ".000000000";
        for text in [
            "",
            "1",
            "1.5",
            ".000000000",
            "-1.000000000",
            "1.00000000x",
            &huge,
        ] {
            assert_eq!(nano_usd(text), None, "{text}");
        }
    }
}
