//! What tokens cost: a dated table of list prices, in integers from end to end.
//!
//! A price holds from a day on, until a later one of the same model takes its place; what was used is charged at the
//! price of its day. A model that the table does not have costs *unknown*, never nothing, and a sum with an unknown part
//! says so. Prices are those that providers publish for single requests: not modelled are discounts (batches, contracts,
//! subscriptions), surcharges (fast or regional service) and fees for tools. What was written to a cache is charged as
//! kept for five minutes, since most agents do not tell for how long.

mod file;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

use crate::observation::Tokens;
use crate::time::Timestamp;

pub use file::PriceError;

/// The table that comes with the program.
const BUILT_IN: &str = include_str!("price/prices.json");

/// An amount of money in billionths of a US dollar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NanoUsd(pub u128);

impl NanoUsd {
    /// The amount as a number of 64 bits; what is more than that is cut.
    #[must_use]
    pub fn saturating(self) -> u64 {
        u64::try_from(self.0).unwrap_or(u64::MAX)
    }
}

/// `12.345678901`, without a sign of its currency.
impl fmt::Display for NanoUsd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}.{:09}",
            self.0 / 1_000_000_000,
            self.0 % 1_000_000_000
        )
    }
}

/// What something cost, as far as that is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// What is known of it.
    pub known: NanoUsd,
    /// The tokens of models that have no price.
    pub unpriced: Tokens,
}

impl Cost {
    /// Whether all of it is known.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.unpriced == Tokens::default()
    }
}

/// `$1.2345`, `unknown`, or both: `$1.2345 + unknown`.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known.0;
        if known == 0 && !self.is_whole() {
            return f.write_str("unknown");
        }
        match known.saturating_add(50_000) / 100_000 {
            0 if known > 0 => f.write_str("<$0.0001")?,
            tenths => write!(f, "${}.{:04}", tenths / 10_000, tenths % 10_000)?,
        }
        match self.is_whole() {
            true => Ok(()),
            false => f.write_str(" + unknown"),
        }
    }
}

impl std::ops::AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.known.0 = self.known.0.saturating_add(other.known.0);
        self.unpriced += other.unpriced;
    }
}

/// Prices of one model, in billionths of a dollar for one token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    /// Tokens that no cache had.
    pub input: u64,
    /// Tokens that the model wrote.
    pub output: u64,
    /// Tokens from a cache.
    pub cache_read: u64,
    /// Tokens into a cache, kept for five minutes.
    pub cache_write: u64,
    /// Tokens into a cache, kept for an hour.
    pub cache_write_1h: u64,
}

impl Rates {
    fn cost(&self, tokens: Tokens) -> NanoUsd {
        let part = |count: u64, rate: u64| u128::from(count) * u128::from(rate);
        NanoUsd(
            part(tokens.input, self.input)
                + part(tokens.output, self.output)
                + part(tokens.cache_read, self.cache_read)
                + part(tokens.cache_write, self.cache_write),
        )
    }
}

/// A price from a day on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price {
    /// Who charges it.
    pub provider: String,
    /// The start of the day in UTC from which on it holds.
    pub from: Timestamp,
    /// What a token costs.
    pub rates: Rates,
    /// What each token of a request costs instead whose prompt is longer than so many tokens, shortest first.
    pub above: Vec<(u64, Rates)>,
    /// Where it was read.
    pub source: String,
}

impl Price {
    fn cost(&self, tokens: Tokens) -> NanoUsd {
        self.rates_for(tokens.prompt()).cost(tokens)
    }

    fn rates_for(&self, prompt: u64) -> &Rates {
        match self.exceeded(prompt) {
            0 => &self.rates,
            n => &self.above[n - 1].1,
        }
    }

    /// How many of the limits in `above` a prompt is longer than.
    fn exceeded(&self, prompt: u64) -> usize {
        self.above.partition_point(|(above, _)| prompt > *above)
    }
}

/// The lengths of prompts, in tokens, above which any model of the built-in table costs more. Messages that are summed up
/// before their price is known are kept apart by them, so that one price holds for each sum.
pub const PROMPT_LIMITS: [u64; 4] = [100_000, 200_000, 256_000, 272_000];

/// How many of the [`PROMPT_LIMITS`] a prompt is longer than.
#[must_use]
pub fn prompt_band(prompt: u64) -> usize {
    PROMPT_LIMITS.partition_point(|limit| prompt > *limit)
}

/// A table of prices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prices {
    /// The day on which the table was last looked through.
    date: String,
    /// The prices of each model, oldest first.
    models: BTreeMap<String, Vec<Price>>,
}

impl Prices {
    /// The table that comes with the program.
    #[must_use]
    pub fn built_in() -> &'static Self {
        static TABLE: OnceLock<Prices> = OnceLock::new();
        TABLE.get_or_init(|| Self::parse(BUILT_IN).expect("because a test reads this file"))
    }

    /// Reads a table.
    ///
    /// # Errors
    /// The text is not one; the error says where.
    pub fn parse(text: &str) -> Result<Self, PriceError> {
        file::parse(text)
    }

    /// This table, and of models that it does not have what another one says.
    #[must_use]
    pub fn before(mut self, other: &Self) -> Self {
        for (model, prices) in &other.models {
            let known = self.models.entry(model.clone());
            known.or_insert_with(|| prices.clone());
        }
        self
    }

    /// The day on which the table was last looked through.
    #[must_use]
    pub fn date(&self) -> &str {
        &self.date
    }

    /// The price of a model at a time.
    #[must_use]
    pub fn price(&self, model: &str, at: Timestamp) -> Option<&Price> {
        self.prices(model)?.iter().rev().find(|p| p.from <= at)
    }

    /// From when on the price of a model is known; nothing if it never is.
    #[must_use]
    pub fn known_from(&self, model: &str) -> Option<Timestamp> {
        Some(self.prices(model)?.first()?.from)
    }

    fn prices(&self, model: &str) -> Option<&Vec<Price>> {
        self.models.get(model).or_else(|| self.named(model))
    }

    /// The prices of a model that is called with its provider, its day or the size of its context.
    fn named(&self, model: &str) -> Option<&Vec<Price>> {
        let bare = model.split('[').next()?;
        let (provider, bare) = match bare.split_once('/') {
            Some((provider, bare)) => (Some(provider), bare),
            None => (None, bare),
        };
        let prices = self
            .models
            .get(bare)
            .or_else(|| self.models.get(undated(bare)?))?;
        let of = |p: &Price| provider.is_none_or(|provider| p.provider == provider);
        prices.iter().all(of).then_some(prices)
    }

    /// What the tokens of one message cost.
    #[must_use]
    pub fn cost(&self, model: Option<&str>, at: Timestamp, tokens: Tokens) -> Cost {
        match model.and_then(|model| self.price(model, at)) {
            Some(price) => Cost {
                known: price.cost(tokens),
                unpriced: Tokens::default(),
            },
            None => Cost {
                known: NanoUsd::default(),
                unpriced: tokens,
            },
        }
    }

    /// What the tokens of several messages cost together that were written on one day in UTC, and whose shortest and
    /// longest prompts are given, in tokens; nothing where not all of these prompts have one price.
    #[must_use]
    pub fn cost_of_several(
        &self,
        model: Option<&str>,
        at: Timestamp,
        tokens: Tokens,
        (shortest, longest): (u64, u64),
    ) -> Option<Cost> {
        let Some(price) = model.and_then(|model| self.price(model, at)) else {
            return Some(Cost {
                known: NanoUsd::default(),
                unpriced: tokens,
            });
        };
        let is_one = price.exceeded(shortest) == price.exceeded(longest);
        is_one.then(|| Cost {
            known: price.rates_for(longest).cost(tokens),
            unpriced: Tokens::default(),
        })
    }
}

/// `claude-haiku-4-5` of `claude-haiku-4-5-20251001`, `claude-haiku-4-5@20251001` or `…-2025-10-01`.
fn undated(model: &str) -> Option<&str> {
    let dated = |length: usize| {
        let (bare, date) = model.split_at_checked(model.len().checked_sub(length)?)?;
        let date = date.strip_prefix(['-', '@'])?;
        let form = |(n, b): (usize, u8)| match (length, n) {
            (11, 4 | 7) => b == b'-',
            _ => b.is_ascii_digit(),
        };
        (0..).zip(date.bytes()).all(form).then_some(bare)
    };
    dated(9).or_else(|| dated(11))
}

#[cfg(test)]
mod tests;
