//! Query strings, read strictly: what is not known, or comes twice, is refused.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use siglum_domain::Timestamp;
use siglum_domain::link::NUMBER_MAX;

use crate::app::App;
use crate::problem::Problem;

/// What the id of a session is.
pub(crate) const SESSION_RULE: &str = "`ses_` and 32 hexadecimal digits";
/// What a time is.
pub(crate) const TIME_RULE: &str = "a time such as 2026-01-31T23:59:59Z";
/// What a cursor is.
pub(crate) const CURSOR_RULE: &str = "the `next` of a page";

/// The parameters of a request, in their order.
pub(crate) struct Query(Vec<(String, String)>);

impl FromRequestParts<App> for Query {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Problem> {
        let text = parts.uri.query().unwrap_or_default();
        let read: Result<Vec<(String, String)>, _> = serde_urlencoded::from_str(text);
        let pairs =
            read.map_err(|_| Problem::invalid("query", "must be URL-encoded parameters"))?;
        Ok(Self(pairs))
    }
}

impl Query {
    /// Takes a parameter that is there once at most. One that is empty is there.
    pub(crate) fn take(&mut self, name: &str) -> Result<Option<String>, Problem> {
        let mut values = self.all(name).into_iter();
        match (values.next(), values.next()) {
            (_, Some(_)) => Err(Problem::invalid(name, "must be given only once")),
            (value, None) => Ok(value),
        }
    }

    /// Takes a parameter that may be there several times.
    pub(crate) fn all(&mut self, name: &str) -> Vec<String> {
        let (taken, left) = std::mem::take(&mut self.0)
            .into_iter()
            .partition(|(key, _)| key == name);
        self.0 = left;
        taken.into_iter().map(|(_, value)| value).collect()
    }

    /// Takes a parameter that is plain text of 1 to `most` characters.
    pub(crate) fn text(&mut self, name: &str, most: usize) -> Result<Option<String>, Problem> {
        let text = self.take(name)?;
        let fits = |t: &String| {
            (1..=most).contains(&t.chars().count()) && !t.chars().any(char::is_control)
        };
        match text {
            Some(text) if !fits(&text) => Err(Problem::invalid(
                name,
                format!("1 to {most} characters, no control characters"),
            )),
            text => Ok(text),
        }
    }

    /// Takes a parameter that has a form of its own.
    pub(crate) fn parsed<T: std::str::FromStr>(
        &mut self,
        name: &str,
        rule: &str,
    ) -> Result<Option<T>, Problem> {
        let text = self.take(name)?;
        text.map(|t| t.parse().map_err(|_| Problem::invalid(name, rule)))
            .transpose()
    }

    /// Takes a parameter that is a name of some kind.
    pub(crate) fn named<T>(
        &mut self,
        name: &str,
        new: impl FnOnce(&str) -> Option<T>,
        rule: &str,
    ) -> Result<Option<T>, Problem> {
        let text = self.take(name)?;
        text.map(|t| new(&t).ok_or_else(|| Problem::invalid(name, rule)))
            .transpose()
    }

    /// Takes the period that is asked about: from `since` on, and before `until`.
    pub(crate) fn period(&mut self) -> Result<(Option<Timestamp>, Option<Timestamp>), Problem> {
        let since = self.parsed("since", TIME_RULE)?;
        Ok((since, self.parsed("until", TIME_RULE)?))
    }

    /// Takes where a page begins: the `next` of the one before.
    pub(crate) fn cursor<T: std::str::FromStr>(&mut self) -> Result<Option<T>, Problem> {
        self.parsed("cursor", CURSOR_RULE)
    }

    /// The same of lists whose positions are numbers, from `least` on.
    pub(crate) fn numeric_cursor(&mut self, least: u64) -> Result<Option<u64>, Problem> {
        match self.cursor()? {
            Some(number) if !(least..=NUMBER_MAX).contains(&number) => {
                Err(Problem::invalid("cursor", CURSOR_RULE))
            }
            cursor => Ok(cursor),
        }
    }

    /// Takes the number of rows that are wanted: 1 to `most`, `usual` where nothing is said.
    pub(crate) fn limit(&mut self, usual: usize, most: usize) -> Result<usize, Problem> {
        let rule = format!("a whole number from 1 to {most}");
        let limit = self.parsed("limit", &rule)?.unwrap_or(usual);
        match (1..=most).contains(&limit) {
            true => Ok(limit),
            false => Err(Problem::invalid("limit", rule)),
        }
    }

    /// Refuses what was not taken.
    pub(crate) fn end(self) -> Result<(), Problem> {
        match self.0.into_iter().next() {
            Some((name, _)) => {
                let name: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
                Err(Problem::invalid(name, "unknown parameter"))
            }
            None => Ok(()),
        }
    }
}
