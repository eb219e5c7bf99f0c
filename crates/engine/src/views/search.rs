//! Finding sessions by words: in what was asked of them and in what is known about them.
//!
//! There is no index. The newest sessions are looked through, so many and no more, and an answer says how many that
//! were. What agents said and what tools returned is not looked at.

use siglum_domain::link::Link;
use siglum_domain::observation::{Body, Fact};
use siglum_domain::{RepositoryId, SessionId, Timestamp};
use siglum_ledger::{
    CommitRecord, Ledger, LedgerError, SessionFilter, SessionListing, Transaction, read,
};

use crate::identity::statements::links;
use crate::record::passages::Passages;
use crate::views::overview::{Listed, stand};
use crate::{Here, damage::undamaged};

/// How many of a session's newest commits are looked at.
const COMMITS: usize = 100;
/// How many digits of a commit's id are shown.
const SHORT: usize = 10;
/// How much of a text is shown around a word, in characters.
const AROUND: usize = 60;

/// What is looked for, and where.
#[derive(Debug, Clone)]
pub struct Query {
    /// All of these, in any order and in any case, each as a part of a word, too.
    pub words: Words,
    /// Which sessions are looked through; `limit` says how many at most.
    pub sessions: SessionFilter,
    /// In which repositories commits are looked at; in all, if there are none.
    pub commits_in: Vec<RepositoryId>,
    /// How many that fit are told at most.
    pub most: usize,
}

/// What to look for: at least one word or fact.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Words {
    words: Vec<String>,
    /// Of each of these at least one is attached to the session.
    facts: Vec<Vec<Link>>,
}

impl Words {
    /// The words of some texts, none of them twice; none where there is no word. A word that is a fact (`issue=42`,
    /// `issue_number=42`, or `#42` for an issue or a pull request) is not looked for in texts: it is attached, or not.
    #[must_use]
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut all = Self::default();
        for word in texts.into_iter().flat_map(str::split_whitespace) {
            match facts(word) {
                facts if facts.is_empty() => all.words.push(word.to_lowercase()),
                facts => all.facts.push(facts),
            }
        }
        all.words.sort();
        all.words.dedup();
        (!all.words.is_empty() || !all.facts.is_empty()).then_some(all)
    }

    /// The facts that a session must have attached, of which there is no choice.
    fn needed(&self) -> impl Iterator<Item = &Link> {
        let single = |facts: &Vec<Link>| facts.len() == 1;
        self.facts.iter().filter(move |f| single(f)).flatten()
    }

    /// The facts of `attached` that are looked for; none where one that is looked for is not attached.
    fn attached<'a>(&self, attached: &'a [Link]) -> Option<Vec<&'a Link>> {
        let has = |wanted: &Vec<Link>| wanted.iter().any(|link| attached.contains(link));
        let wanted = |link: &&Link| self.facts.iter().flatten().any(|fact| fact == *link);
        let all = self.facts.iter().all(has);
        all.then(|| attached.iter().filter(wanted).collect())
    }
}

/// The facts that a word may stand for; none where it is just a word.
fn facts(word: &str) -> Vec<Link> {
    if let Some(number) = word.strip_prefix('#') {
        let fields = ["issue_number", "pr_number"];
        let links = fields.iter().map(|field| Link::parse(field, number));
        return links.filter_map(Result::ok).collect();
    }
    word.parse().into_iter().collect()
}

/// Where a word stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Prompt,
    Link,
    /// In the id or the first line of the message of a commit.
    Commit,
    /// In an id or name of the session.
    Name,
    /// In the path of the directory or checkout that it works in.
    Directory,
}

impl Place {
    /// Its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Link => "link",
            Self::Commit => "commit",
            Self::Name => "name",
            Self::Directory => "directory",
        }
    }
}

/// A text in which at least one of the words stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    pub place: Place,
    /// The part of it around the first word.
    pub text: String,
    /// When it was said, or made.
    pub at: Option<Timestamp>,
}

impl Hit {
    fn of_link(link: &Link) -> Self {
        Self {
            place: Place::Link,
            text: link.to_string(),
            at: None,
        }
    }
}

/// A session in which all words stand.
#[derive(Debug, Clone)]
pub struct SearchResult {
    pub session: Listed,
    pub hits: Vec<Hit>,
}

/// What was found, newest first.
#[derive(Debug, Clone)]
pub struct Findings {
    pub found: Vec<SearchResult>,
    /// How many sessions were looked through.
    pub looked_at: usize,
    /// The last session that was looked through.
    pub last: Option<SessionId>,
    /// Whether there are sessions that were not looked through.
    pub more: bool,
}

/// Looks through the newest sessions for words.
///
/// # Errors
/// Those of the ledger.
pub fn search(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    query: &Query,
) -> Result<Findings, LedgerError> {
    let limit = query.sessions.limit;
    let mut filter = SessionFilter {
        limit: if limit == 0 { 0 } else { limit + 1 },
        ..query.sessions.clone()
    };
    filter.links.extend(query.words.needed().cloned());
    let mut listings = read(ledger, |tx| tx.sessions(&filter))?;
    let beyond = limit > 0 && listings.len() > limit;
    listings.truncate(if beyond { limit } else { listings.len() });
    let mut findings = Findings {
        found: Vec::new(),
        looked_at: 0,
        last: None,
        more: beyond,
    };
    for listing in &listings {
        if findings.found.len() == query.most {
            findings.more = true;
            break;
        }
        findings.looked_at += 1;
        findings.last = Some(listing.record.id);
        if let Some(hits) = hits_in(ledger, listing, query)? {
            let session = read(ledger, |tx| stand(here, tx, listing.clone()))?;
            findings.found.push(SearchResult { session, hits });
        }
    }
    Ok(findings)
}

/// Where the words stand in one session, if all of them do.
fn hits_in(
    ledger: &mut dyn Ledger,
    listing: &SessionListing,
    query: &Query,
) -> Result<Option<Vec<Hit>>, LedgerError> {
    let words = &query.words;
    let known = read(ledger, |tx| known(tx, listing.record.id, &query.commits_in))?;
    let Some(facts) = words.attached(&known.links) else {
        return Ok(None);
    };
    let mut attached: Vec<Hit> = facts.into_iter().map(Hit::of_link).collect();
    let mut texts = named(listing);
    texts.extend(known.texts);
    let mut passages = Passages::new(ledger, listing.record.agent.as_str());
    for (body, at) in &known.prompts {
        let text = passages.text(body)?;
        texts.extend(text.map(|text| (Place::Prompt, text, Some(*at))));
    }
    Ok(hits(words, &texts).map(|hits| {
        attached.extend(hits);
        attached
    }))
}

/// A text, what it is, and when it was said.
type SearchableText = (Place, String, Option<Timestamp>);

/// What is known of a session beside its row.
struct Known {
    texts: Vec<SearchableText>,
    links: Vec<Link>,
    prompts: Vec<(Body, Timestamp)>,
}

fn named(listing: &SessionListing) -> Vec<SearchableText> {
    let record = &listing.record;
    let places = [record.worktree.clone(), record.cwd.clone()];
    let places = places.into_iter().flatten();
    let mut texts: Vec<SearchableText> = vec![
        (Place::Name, record.id.to_string(), None),
        (Place::Name, record.conversation.to_string(), None),
        (Place::Name, record.agent.to_string(), None),
    ];
    texts.extend(places.map(|path| (Place::Directory, path, None)));
    texts
}

fn known(
    tx: &mut dyn Transaction,
    session: SessionId,
    commits_in: &[RepositoryId],
) -> Result<Known, LedgerError> {
    let mut texts: Vec<SearchableText> = Vec::new();
    for native in tx.aliases(session)? {
        texts.push((Place::Name, native.to_string(), None));
    }
    let links = links(&tx.statements_of_session(session)?);
    for link in &links {
        texts.push((Place::Link, link.to_string(), None));
    }
    let mut commits = undamaged(tx.commits_of_session(session, COMMITS))?.unwrap_or_default();
    commits.retain(|c| commits_in.is_empty() || commits_in.contains(&c.repository));
    texts.extend(commits.iter().map(commit));
    let entries = undamaged(tx.entries_of_kind(session, "prompt", u64::MAX >> 1))?;
    let prompts = entries.unwrap_or_default().into_iter().filter_map(|entry| {
        let at = entry.observation.at;
        match entry.observation.fact {
            Fact::Prompt { text, synthetic } if !synthetic => Some((text, at)),
            _ => None,
        }
    });
    let prompts = prompts.collect();
    Ok(Known {
        texts,
        links,
        prompts,
    })
}

fn commit(record: &CommitRecord) -> SearchableText {
    let subject = record.facts.as_ref().map_or("", |f| f.subject.as_str());
    let text = format!("{} {subject}", record.commit);
    (Place::Commit, text.trim_end().to_owned(), Some(record.at))
}

/// The texts in which a word stands, if every word stands in one of them.
fn hits(words: &Words, texts: &[SearchableText]) -> Option<Vec<Hit>> {
    let mut missing: Vec<&str> = words.words.iter().map(String::as_str).collect();
    let mut hits: Vec<Hit> = Vec::new();
    for (place, text, at) in texts {
        let lower = text.to_lowercase();
        let here = words
            .words
            .iter()
            .filter_map(|word| lower.find(word.as_str()));
        let Some(first) = here.min() else { continue };
        missing.retain(|word| !lower.contains(word));
        let first = lower[..first].chars().count();
        let hit = Hit {
            place: *place,
            text: match place {
                Place::Commit => commit_line(text, first),
                _ => around(text, first),
            },
            at: *at,
        };
        // A prompt that two sources told of is one prompt.
        let same = |known: &Hit| known.place == hit.place && known.text == hit.text;
        if !hits.iter().any(same) {
            hits.push(hit);
        }
    }
    missing.is_empty().then_some(hits)
}

/// The first digits of a commit's id and its subject around a place in both, as people read commits.
fn commit_line(text: &str, first: usize) -> String {
    let (id, subject) = text.split_once(' ').unwrap_or((text, ""));
    let digits: String = id.chars().take(SHORT).collect();
    let line = around(subject, first.saturating_sub(id.len() + 1));
    format!("{digits} {line}").trim_end().to_owned()
}

/// One line of a text around a place in it.
fn around(text: &str, first: usize) -> String {
    let from = first.saturating_sub(AROUND);
    let part: String = text.chars().skip(from).take(3 * AROUND).collect();
    let more = text.chars().nth(from + 3 * AROUND).is_some();
    let words: Vec<&str> = part.split_whitespace().collect();
    let (before, after) = (if from > 0 { "…" } else { "" }, if more { "…" } else { "" });
    format!("{before}{}{after}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(words: &str, texts: &[&str], expected: Option<&[&str]>) {
        let searchable: Vec<SearchableText> = texts
            .iter()
            .map(|text| (Place::Prompt, (*text).to_owned(), None))
            .collect();
        let words = Words::parse([words]).expect("because there is a word");
        let found = hits(&words, &searchable);
        let found = found.map(|hits| hits.into_iter().map(|h| h.text).collect::<Vec<_>>());
        let found = found
            .as_ref()
            .map(|texts| texts.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn every_word_stands_somewhere_in_any_case_and_order() {
        let texts = ["Mend the PARSER", "issue=42", "Mend the PARSER", "other"];
        check("parser 42", &texts, Some(&["Mend the PARSER", "issue=42"]));
        check("42 PAR", &texts, Some(&["Mend the PARSER", "issue=42"]));
        check("parser 43", &texts, None);
        check(
            "İstanbul",
            &["in İSTANBUL today"],
            Some(&["in İSTANBUL today"]),
        );
        check(
            "istanbul",
            &["in ISTANBUL today"],
            Some(&["in ISTANBUL today"]),
        );
    }

    #[test]
    fn a_long_text_is_cut_around_the_word() {
        let text = format!("{} needle {}", "a ".repeat(200), "b ".repeat(200));
        let words = Words::parse(["needle"]).expect("because there is a word");
        let hits = hits(&words, &[(Place::Prompt, text, None)]).expect("because it is there");
        assert!(hits[0].text.starts_with('…') && hits[0].text.ends_with('…'));
        assert!(hits[0].text.contains(" needle "));
    }

    #[test]
    fn a_commit_is_shown_by_its_first_digits_and_its_subject() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        let shown = |word: &str, text: &str| {
            let words = Words::parse([word]).expect("because there is a word");
            let hits = hits(&words, &[(Place::Commit, text.to_owned(), None)]);
            hits.expect("because it is there")[0].text.clone()
        };
        let text = format!("{id} Mend the parser");
        assert_eq!(shown("parser", &text), "0123456789 Mend the parser");
        assert_eq!(shown("abcdef", &text), "0123456789 Mend the parser");
        assert_eq!(shown("abcdef", id), "0123456789");
    }

    #[test]
    fn no_word_is_no_query() {
        assert_eq!(Words::parse([" ", ""]), None);
        assert_eq!(facts("#42").len(), 2);
        assert_eq!(facts("issue=42"), [Link::IssueNumber(42)]);
        assert_eq!(facts("issue_number=42"), [Link::IssueNumber(42)]);
        for word in ["#", "#a", "42", "issue=x", "a=b", "=", "a"] {
            assert_eq!(facts(word), [], "{word}");
        }
        assert_eq!(Words::parse(["a  B", "b"]), Words::parse(["b a"]));
    }
}
