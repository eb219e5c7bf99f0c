//! A table of prices as a file has it: decimal texts in dollars for a million tokens.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Price, Prices, Rates};
use crate::time::Timestamp;

/// The form of the file.
const SCHEMA: &str = "siglum.prices/1";

/// Why a text is no table of prices.
#[derive(Debug, thiserror::Error)]
pub enum PriceError {
    /// It is not JSON of this form.
    #[error("not a price table")]
    Form(#[source] serde_json::Error),
    /// It has another schema or currency.
    #[error("`{found}` is not `{expected}`")]
    Other {
        found: String,
        expected: &'static str,
    },
    /// A price is no decimal number with at most three places.
    #[error("`{0}` is not a price in dollars per million tokens, such as `0.125`")]
    Amount(String),
    /// A day is none.
    #[error("`{0}` is not a date such as 2026-01-31")]
    Day(String),
    /// Two prices of a model hold from the same day on.
    #[error("`{0}` has two prices from the same day")]
    Twice(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: String,
    date: String,
    currency: String,
    prices: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    provider: String,
    /// The names of models that cost this, without days.
    models: Vec<String>,
    from: String,
    input: String,
    output: String,
    cache_read: Option<String>,
    cache_write: Option<String>,
    cache_write_1h: Option<String>,
    #[serde(default)]
    above: Vec<Above>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Above {
    prompt: u64,
    input: String,
    output: String,
    cache_read: Option<String>,
    cache_write: Option<String>,
    cache_write_1h: Option<String>,
}

pub(super) fn parse(text: &str) -> Result<Prices, PriceError> {
    let file: File = serde_json::from_str(text).map_err(PriceError::Form)?;
    for (found, expected) in [(&file.schema, SCHEMA), (&file.currency, "USD")] {
        if found != expected {
            let found = found.clone();
            return Err(PriceError::Other { found, expected });
        }
    }
    day(&file.date)?;
    let mut models: BTreeMap<String, Vec<Price>> = BTreeMap::new();
    for row in &file.prices {
        let price = price(row)?;
        for model in &row.models {
            models.entry(model.clone()).or_default().push(price.clone());
        }
    }
    for (model, prices) in &mut models {
        prices.sort_by_key(|p| p.from);
        if prices.windows(2).any(|two| two[0].from == two[1].from) {
            return Err(PriceError::Twice(model.clone()));
        }
    }
    Ok(Prices {
        date: file.date,
        models,
    })
}

fn price(row: &Row) -> Result<Price, PriceError> {
    let write = [&row.cache_write, &row.cache_write_1h].map(Option::as_deref);
    let rates = rates([&row.input, &row.output], row.cache_read.as_deref(), write)?;
    let mut above = Vec::new();
    for longer in &row.above {
        let write = [&longer.cache_write, &longer.cache_write_1h].map(Option::as_deref);
        let texts = [longer.input.as_str(), &longer.output];
        above.push((
            longer.prompt,
            self::rates(texts, longer.cache_read.as_deref(), write)?,
        ));
    }
    above.sort_by_key(|(prompt, _)| *prompt);
    Ok(Price {
        provider: row.provider.clone(),
        from: day(&row.from)?,
        rates,
        above,
        source: row.source.clone(),
    })
}

/// What has no price of its own is charged as input; what is kept for an hour, as what is kept for five minutes.
fn rates(
    [input, output]: [&str; 2],
    read: Option<&str>,
    [write, hour]: [Option<&str>; 2],
) -> Result<Rates, PriceError> {
    Ok(Rates {
        input: amount(input)?,
        output: amount(output)?,
        cache_read: amount(read.unwrap_or(input))?,
        cache_write: amount(write.unwrap_or(input))?,
        cache_write_1h: amount(hour.or(write).unwrap_or(input))?,
    })
}

/// Dollars for a million tokens as billionths of a dollar for one.
fn amount(text: &str) -> Result<u64, PriceError> {
    let refused = || PriceError::Amount(text.chars().take(40).collect());
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) || whole.len() > 9 || part.len() > 3 {
        return Err(refused());
    }
    let nanos = format!("{whole}{part:0<3}");
    nanos.parse().map_err(|_| refused())
}

/// The start of a day in UTC.
fn day(text: &str) -> Result<Timestamp, PriceError> {
    let refused = || PriceError::Day(text.chars().take(40).collect());
    if text.len() != 10 {
        return Err(refused());
    }
    format!("{text}T00:00:00Z").parse().map_err(|_| refused())
}
