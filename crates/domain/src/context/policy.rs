//! What contexts have of the ones before them, unless somebody says otherwise for some routes.

use std::str::FromStr;
use std::time::Duration;

use super::{Cause, Inherit, RouteKey};
use crate::GrammarError;

/// How many messages go over to the context that replaces an idle one.
const IDLE_TAIL: u32 = 20;

impl Cause {
    /// What a context of this cause has of the one before it, unless a rule says otherwise.
    #[must_use]
    pub const fn inherits(self) -> Inherit {
        match self {
            Self::First
            | Self::Tick
            | Self::CronRun
            | Self::Reset
            | Self::Subagent
            | Self::Import => Inherit::None,
            Self::Idle => Inherit::Tail(IDLE_TAIL),
            Self::Rewind | Self::Fork | Self::Compaction | Self::Recovery => Inherit::All,
        }
    }
}

/// A pattern of route keys: `*` stands for any run of characters, all else for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutePattern(String);

impl RoutePattern {
    /// Whether a route key is one of those that are meant.
    #[must_use]
    pub fn matches(&self, route: &RouteKey) -> bool {
        let mut parts = self.0.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = route.as_str().strip_prefix(first) else {
            return false;
        };
        let parts: Vec<&str> = parts.collect();
        let Some((last, between)) = parts.split_last() else {
            return rest.is_empty();
        };
        for part in between {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        rest.ends_with(last)
    }

    /// The pattern as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RoutePattern {
    type Err = GrammarError;

    fn from_str(text: &str) -> Result<Self, GrammarError> {
        // What is left without its stars must be what route keys are made of.
        let plain = text.replace('*', "x");
        match RouteKey::new(plain) {
            Ok(_) => Ok(Self(text.to_owned())),
            Err(_) => Err(GrammarError {
                what: "route pattern",
                rule: "1 to 512 of the characters A-Z a-z 0-9 . _ : / @ # + - and *",
            }),
        }
    }
}

/// What holds for the routes of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub routes: RoutePattern,
    /// What contexts of these causes have of the ones before them.
    pub inherit: Vec<(Cause, Inherit)>,
    /// After how long a silence another context replaces the current one.
    pub idle: Option<Duration>,
    /// How long contexts of single runs are kept.
    pub retention: Option<Duration>,
}

/// The rules of an operator, in their order: of several that speak of the same thing the first one counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    rules: Vec<Rule>,
}

impl Policy {
    /// A policy of these rules.
    #[must_use]
    pub const fn new(rules: Vec<Rule>) -> Self {
        Self { rules }
    }

    fn rules_for<'a>(&'a self, route: &'a RouteKey) -> impl Iterator<Item = &'a Rule> {
        self.rules.iter().filter(|rule| rule.routes.matches(route))
    }

    /// What a context of this route and cause has of the one before it.
    #[must_use]
    pub fn inherit(&self, route: &RouteKey, cause: Cause) -> Inherit {
        let mut inherited = self.rules_for(route).flat_map(|rule| &rule.inherit);
        inherited
            .find(|(of, _)| *of == cause)
            .map_or_else(|| cause.inherits(), |(_, inherit)| *inherit)
    }

    /// After how long a silence another context replaces the current one of this route; none: never.
    #[must_use]
    pub fn idle(&self, route: &RouteKey) -> Option<Duration> {
        self.rules_for(route).find_map(|rule| rule.idle)
    }

    /// How long contexts of single runs of this route are kept; none: as long as anything.
    #[must_use]
    pub fn retention(&self, route: &RouteKey) -> Option<Duration> {
        self.rules_for(route).find_map(|rule| rule.retention)
    }
}
