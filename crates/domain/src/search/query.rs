//! The language of queries: words, phrases, prefixes, and what narrows a search.

use super::term::{IndexTerm, Term};
use super::text::{Facet, tool_word};
use crate::grammar::AgentName;
use crate::legible;
use crate::link::Link;
use crate::time::Timestamp;

/// How long a query is at most, in bytes.
const QUERY_MOST: usize = 4 << 10;
/// How many terms it has at most.
const TERMS_MOST: usize = 32;
/// How much of a term is repeated in an error, in characters.
const TERM_SHOWN: usize = 80;
/// A shorter prefix, in bytes, would be one of most words.
const PREFIX_LEAST: usize = 2;

/// What is searched for. All of it must be in one turn of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchQuery {
    pub terms: Vec<Term>,
    /// In the path of a file that a call named or changed.
    pub paths: Vec<Term>,
    /// The tool of a call, as it is compared.
    pub tool: Option<String>,
    /// Whether a call failed; one of the tool, where that is named.
    pub is_error: bool,
    pub agent: Option<AgentName>,
    /// A name, an id or a remote.
    pub repository: Option<String>,
    /// Turns that began at or after this.
    pub since: Option<Timestamp>,
    /// Turns that began before this.
    pub until: Option<Timestamp>,
    /// Of each of these at least one is attached to the session.
    pub links: Vec<Vec<Link>>,
}

/// Why a query is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchQueryError {
    /// It has no term.
    #[error("no search terms given")]
    Empty,
    /// One of its terms is wrong.
    #[error("`{term}`: {rule}")]
    Term {
        /// The term, so that it can be shown.
        term: String,
        /// What it must be.
        rule: String,
    },
}

impl SearchQuery {
    /// Reads a query. `now` is what times such as `7d` are counted from; a date is a day in UTC.
    ///
    /// # Errors
    /// [`SearchQueryError`], which names the term that is wrong.
    pub fn parse(text: &str, now: Timestamp) -> Result<Self, SearchQueryError> {
        if text.len() > QUERY_MOST {
            return Err(refused(text, "a query has at most 4096 bytes"));
        }
        let mut query = Self::default();
        for (nth, word) in words(text)?.iter().enumerate() {
            if nth == TERMS_MOST {
                return Err(refused(word.typed, "a query has at most 32 terms"));
            }
            query.add(word, now)?;
        }
        match query == Self::default() {
            true => Err(SearchQueryError::Empty),
            false => Ok(query),
        }
    }

    /// What an index must hold of a turn in which all of it stands: each of these.
    #[must_use]
    pub fn index_terms(&self) -> Vec<IndexTerm> {
        let mut terms: Vec<IndexTerm> = self.terms.iter().flat_map(Term::index_terms).collect();
        terms.extend(self.narrowing());
        terms
    }

    /// The same of a turn in whose prompt all words stand.
    #[must_use]
    pub fn prompt_terms(&self) -> Vec<IndexTerm> {
        let words = self.terms.iter().flat_map(Term::index_terms);
        let mut terms: Vec<IndexTerm> = words.map(|term| Facet::Prompt.term(term)).collect();
        terms.extend(self.narrowing());
        terms
    }

    fn narrowing(&self) -> Vec<IndexTerm> {
        let paths = self.paths.iter().flat_map(Term::index_terms);
        let mut terms: Vec<IndexTerm> = paths.map(|term| Facet::Path.term(term)).collect();
        let whole = |facet: Facet, word: &str| facet.term(IndexTerm::Whole(word.to_owned()));
        if let Some(tool) = &self.tool {
            terms.push(whole(Facet::Tool, tool));
        }
        if self.is_error {
            let tool = self.tool.as_deref().unwrap_or_default();
            terms.push(whole(Facet::Failed, tool));
        }
        if let Some(agent) = &self.agent {
            terms.push(whole(Facet::Agent, agent.as_str()));
        }
        terms
    }

    /// The links that a session must have, of which there is no choice.
    pub fn needed_links(&self) -> impl Iterator<Item = &Link> {
        self.links.iter().filter(|one| one.len() == 1).flatten()
    }

    /// The links of `attached` that are searched for; none where one that is needed is not attached.
    #[must_use]
    pub fn links_in<'a>(&self, attached: &'a [Link]) -> Option<Vec<&'a Link>> {
        let has = |wanted: &Vec<Link>| wanted.iter().any(|link| attached.contains(link));
        let wanted = |link: &&Link| self.links.iter().flatten().any(|one| one == *link);
        let has_all = self.links.iter().all(has);
        has_all.then(|| attached.iter().filter(wanted).collect())
    }

    fn add(&mut self, word: &Word<'_>, now: Timestamp) -> Result<(), SearchQueryError> {
        let typed = word.typed;
        let links = links(typed);
        if !word.is_quoted && !links.is_empty() {
            self.links.push(links);
            return Ok(());
        }
        let Some(key) = word.key else {
            self.terms.push(term(word)?);
            return Ok(());
        };
        if word.value.is_empty() {
            return Err(refused(typed, "a value must follow the colon"));
        }
        let value = word.value;
        match key {
            "path" => self.paths.push(term(word)?),
            "agent" => {
                let agent = AgentName::new(value).map_err(|e| refused(typed, &e.to_string()))?;
                once(&mut self.agent, agent, typed)?;
            }
            "repo" => once(&mut self.repository, value.to_owned(), typed)?,
            "tool" => {
                let tool = tool_word(value);
                if tool.is_empty() {
                    return Err(refused(typed, "the name of a tool has letters or digits"));
                }
                once(&mut self.tool, tool, typed)?;
            }
            "since" => once(&mut self.since, time(typed, value, now)?, typed)?,
            "until" => once(&mut self.until, time(typed, value, now)?, typed)?,
            "is" if value == "error" => self.is_error = true,
            "is" => return Err(refused(typed, "`is:error` is the only one of its kind")),
            field => {
                let link = format!("{field}={value}").parse::<Link>();
                let link = link.map_err(|error| refused(typed, error.rule))?;
                self.links.push(vec![link]);
            }
        }
        Ok(())
    }
}

/// What narrows a search, by the word before a colon. Any other word with a colon is a word of a text, such as `std::fs`.
const KEYS: &[&str] = &[
    "path", "agent", "repo", "tool", "since", "until", "is", "issue", "pr", "pipeline", "role",
    "phase",
];

/// A word of a query as it was typed.
struct Word<'a> {
    typed: &'a str,
    key: Option<&'a str>,
    /// Without key and quotes.
    value: &'a str,
    is_quoted: bool,
}

/// The words of a query: between blanks, or between quotes that stand at the start of a word or behind the colon of a key.
fn words(text: &str) -> Result<Vec<Word<'_>>, SearchQueryError> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let key = KEYS
            .iter()
            .find(|key| rest.strip_prefix(**key).is_some_and(|r| r.starts_with(':')));
        let start = key.map_or(0, |key| key.len() + 1);
        let (value, end, is_quoted) = match rest[start..].strip_prefix('"') {
            Some(quoted) => {
                let Some(length) = quoted.find('"') else {
                    return Err(refused(rest.trim_end(), "the quote has no end"));
                };
                (&quoted[..length], start + length + 2, true)
            }
            None => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                (&rest[start..end], end, false)
            }
        };
        words.push(Word {
            typed: &rest[..end],
            key: key.copied(),
            value,
            is_quoted,
        });
        rest = rest[end..].trim_start();
    }
    Ok(words)
}

fn term(word: &Word<'_>) -> Result<Term, SearchQueryError> {
    let (text, is_prefix) = match word.value.strip_suffix('*') {
        Some(start) if !word.is_quoted => (start, true),
        _ => (word.value, false),
    };
    let term = Term::new(text, is_prefix)
        .ok_or_else(|| refused(word.typed, "it has neither a letter nor a digit"))?;
    // The last word of `a/b*` is what is continued, not all of it.
    let is_short =
        |term: &IndexTerm| matches!(term, IndexTerm::Prefix(start) if start.len() < PREFIX_LEAST);
    if is_prefix && term.index_terms().iter().any(is_short) {
        return Err(refused(word.typed, "a prefix has at least two characters"));
    }
    Ok(term)
}

/// Puts a value where none may be yet.
fn once<T>(place: &mut Option<T>, value: T, typed: &str) -> Result<(), SearchQueryError> {
    match place.replace(value) {
        Some(_) => Err(refused(typed, "there may be one of its kind only")),
        None => Ok(()),
    }
}

/// The links that a word may stand for; none where it is just a word.
fn links(word: &str) -> Vec<Link> {
    if let Some(number) = word.strip_prefix('#') {
        let fields = ["issue_number", "pr_number"];
        let links = fields.iter().map(|field| Link::parse(field, number));
        return links.filter_map(Result::ok).collect();
    }
    word.parse().into_iter().collect()
}

/// How long ago, a day, or a moment.
fn time(typed: &str, value: &str, now: Timestamp) -> Result<Timestamp, SearchQueryError> {
    let found = ago(value)
        .map(|millis| now.plus_millis(-millis))
        .or_else(|| value.parse().ok())
        .or_else(|| format!("{value}T00:00:00Z").parse().ok());
    let rule = "expected a duration such as `2h`, `3d` or `1w`, a date such as `2026-01-31`, or an RFC 3339 time";
    found.ok_or_else(|| refused(typed, rule))
}

/// `30m`, `2h`, `3d`, `1w` or `1y` (365 days) in milliseconds.
fn ago(value: &str) -> Option<i64> {
    let seconds = match value.as_bytes().last()? {
        b'm' => 60,
        b'h' => 3_600,
        b'd' => 86_400,
        b'w' => 604_800,
        b'y' => 31_536_000,
        _ => return None,
    };
    let digits = &value[..value.len() - 1];
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let number: i64 = digits.parse().ok()?;
    number.checked_mul(seconds * 1_000)
}

fn refused(term: &str, rule: &str) -> SearchQueryError {
    let mut shown: String = term.chars().take(TERM_SHOWN).collect();
    if shown.len() < term.len() {
        shown.push('…');
    }
    SearchQueryError::Term {
        term: legible::line(&shown).into_owned(),
        rule: rule.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn now() -> Timestamp {
        "2026-06-15T12:00:00Z"
            .parse()
            .expect("because it is a time")
    }

    fn query(text: &str) -> SearchQuery {
        SearchQuery::parse(text, now()).expect("because it is a query")
    }

    #[track_caller]
    fn refuses(text: &str, expected: &str) {
        let error = SearchQuery::parse(text, now()).expect_err("because it is none");
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn words_phrases_and_prefixes() {
        let found = query("mend \"cart rounding\" pars* std::fs");
        let texts: Vec<&str> = found.terms.iter().map(Term::text).collect();
        assert_eq!(texts, ["mend", "cart rounding", "pars", "std::fs"]);
        assert_eq!(
            query("pars*").index_terms(),
            [IndexTerm::Prefix("pars".to_owned())]
        );
    }

    #[test]
    fn what_narrows_a_search() {
        let found = query(
            "path:src/a.rs path:\"b c\" agent:codex repo:api tool:Bash since:7d until:2026-06-01 issue:42 pr:7 is:error",
        );
        assert_eq!(found.paths.len(), 2);
        assert_eq!(found.agent.as_ref().map(AgentName::as_str), Some("codex"));
        assert_eq!(found.repository.as_deref(), Some("api"));
        assert_eq!(found.tool.as_deref(), Some("bash"));
        assert_eq!(found.since, Some(now().plus_millis(-7 * 86_400_000)));
        assert_eq!(
            found.until.map(|at| at.to_string()).as_deref(),
            Some("2026-06-01T00:00:00Z")
        );
        assert_eq!(found.links, [[Link::IssueNumber(42)], [Link::PrNumber(7)]]);
        assert!(found.is_error && found.terms.is_empty());
        assert_eq!(query("#42").links[0].len(), 2);
        assert_eq!(query("issue=42").links, [[Link::IssueNumber(42)]]);
        assert_eq!(query("issue_number=42").links, [[Link::IssueNumber(42)]]);
        for word in ["#a", "42", "issue=x", "a=b", "error:"] {
            assert!(query(word).links.is_empty(), "{word}");
        }
    }

    #[test]
    fn links_are_attached_or_not() {
        let attached = [Link::IssueNumber(42), Link::Phase("plan".to_owned())];
        assert_eq!(query("#42").links_in(&attached), Some(vec![&attached[0]]));
        assert_eq!(query("#42 pr:42").links_in(&attached), None);
        assert_eq!(query("mend").links_in(&attached), Some(Vec::new()));
        assert_eq!(query("#42 pr:7").needed_links().count(), 1);
    }

    #[test]
    fn what_is_wrong_is_named() {
        refuses("", "no search terms given");
        refuses(" \t", "no search terms given");
        refuses("a \"b c", "`\"b c`: the quote has no end");
        refuses("a --", "`--`: it has neither a letter nor a digit");
        refuses("*", "`*`: it has neither a letter nor a digit");
        refuses("a*", "`a*`: a prefix has at least two characters");
        refuses("ab/c*", "`ab/c*`: a prefix has at least two characters");
        refuses(
            "is:open",
            "`is:open`: `is:error` is the only one of its kind",
        );
        refuses("path:", "`path:`: a value must follow the colon");
        refuses(
            "tool:a tool:b",
            "`tool:b`: there may be one of its kind only",
        );
        let rule = "expected a duration such as `2h`, `3d` or `1w`, a date such as `2026-01-31`, or an RFC 3339 time";
        refuses("since:soon", &format!("`since:soon`: {rule}"));
        for text in ["issue:x", "agent:A!", "issue:0"] {
            let error = SearchQuery::parse(text, now()).expect_err("because it is none");
            assert!(error.to_string().starts_with(&format!("`{text}`: ")));
        }
        assert!(SearchQuery::parse(&"a ".repeat(33), now()).is_err());
        assert!(SearchQuery::parse(&"a".repeat(5_000), now()).is_err());
    }

    proptest! {
        /// Whatever is typed, no word of it reaches an index that is more than letters, digits and `_`.
        #[test]
        fn no_syntax_of_an_index_comes_through(text in ".{0,60}") {
            if let Ok(query) = SearchQuery::parse(&text, now()) {
                for term in query.index_terms() {
                    let (IndexTerm::Whole(word) | IndexTerm::Prefix(word)) = term;
                    let mut signs = word.chars();
                    let is_word = |c: char| c == '_' || c == '-' || c.is_alphanumeric();
                    let first = signs.next().expect("because no word is empty");
                    let is_prefix = ('\u{e000}'..='\u{e006}').contains(&first);
                    prop_assert!(is_word(first) || is_prefix);
                    prop_assert!(signs.all(is_word));
                }
            }
        }
    }
}
