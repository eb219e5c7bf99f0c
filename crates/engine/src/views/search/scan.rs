//! Searching without an index: the newest sessions are looked through, so many and no more, and an answer says how many
//! that were. What agents said and what tools returned is not looked at.

use siglum_domain::link::Link;
use siglum_domain::observation::{Body, Fact};
use siglum_domain::search::{PieceKind, SearchQuery, Term};
use siglum_domain::{RepositoryId, SessionId, Timestamp};
use siglum_ledger::{
    CommitRecord, Ledger, LedgerError, Order, SessionFilter, SessionListing, Transaction, read,
};

use super::findings::{Findings, Hit, IndexUse, Query, SearchResult, shown};
use crate::identity::statements::links;
use crate::record::passages::Passages;
use crate::views::overview::stand;
use crate::{Here, damage::undamaged};

/// How many of a session's newest commits are looked at.
const COMMITS: usize = 100;

/// What is looked for: each of these words, as a part of others, too.
struct Words(Vec<String>);

impl Words {
    fn new(query: &SearchQuery) -> Self {
        let terms = query.terms.iter().chain(&query.paths);
        let mut words: Vec<String> = terms.map(Term::text).map(str::to_lowercase).collect();
        words.sort();
        words.dedup();
        Self(words)
    }
}

/// Looks through the newest sessions for words. What was done with tools is not known here, so nothing is found where that
/// is searched for.
///
/// # Errors
/// Those of the ledger.
pub(super) fn search(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    query: &Query,
    waiting: u64,
) -> Result<Findings, LedgerError> {
    let words = Words::new(&query.query);
    let is_of_tools = query.query.tool.is_some() || query.query.is_error;
    let filter = filter(query);
    let limit = query.sessions.limit;
    let mut listings = match is_of_tools {
        true => Vec::new(),
        false => read(ledger, |tx| tx.sessions(&filter))?,
    };
    let beyond = limit > 0 && listings.len() > limit;
    listings.truncate(if beyond { limit } else { listings.len() });
    let mut findings = Findings {
        found: Vec::new(),
        looked_at: 0,
        last: None,
        more: beyond,
        index: IndexUse {
            is_used: false,
            waiting,
        },
    };
    for listing in &listings {
        if findings.found.len() == query.most {
            findings.more = true;
            break;
        }
        findings.looked_at += 1;
        findings.last = Some(listing.record.id);
        if let Some(hits) = hits_in(ledger, listing, query, &words)? {
            let session = read(ledger, |tx| stand(here, tx, listing.clone()))?;
            findings.found.push(SearchResult { session, hits });
        }
    }
    Ok(findings)
}

/// Which sessions are looked through.
fn filter(query: &Query) -> SessionFilter {
    let limit = query.sessions.limit;
    let mut filter = SessionFilter {
        limit: if limit == 0 { 0 } else { limit + 1 },
        ..query.sessions.clone()
    };
    filter.links.extend(query.query.needed_links().cloned());
    filter.since = filter.since.max(query.query.since);
    if let Some(until) = query.query.until {
        filter.until = Some(filter.until.map_or(until, |own| own.min(until)));
    }
    if let Some(agent) = &query.query.agent {
        filter.agent.get_or_insert_with(|| agent.clone());
    }
    if let Order::Created { after } = &mut filter.order {
        *after = query.after;
    }
    filter
}

/// Where the words stand in one session, if all of them do.
fn hits_in(
    ledger: &mut dyn Ledger,
    listing: &SessionListing,
    query: &Query,
    words: &Words,
) -> Result<Option<Vec<Hit>>, LedgerError> {
    let known = read(ledger, |tx| known(tx, listing.record.id, &query.commits_in))?;
    let Some(facts) = query.query.links_in(&known.links) else {
        return Ok(None);
    };
    let mut attached: Vec<Hit> = facts.into_iter().map(Hit::of_link).collect();
    let mut texts = named(listing);
    texts.extend(known.texts);
    let mut passages = Passages::new(ledger, listing.record.agent_word());
    for (body, at) in &known.prompts {
        let text = passages.text(body)?;
        texts.extend(text.map(|text| (PieceKind::Prompt, text, Some(*at))));
    }
    Ok(hits(words, &texts).map(|hits| {
        attached.extend(hits);
        attached
    }))
}

/// A text, what it is, and when it was said.
type SearchableText = (PieceKind, String, Option<Timestamp>);

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
        (PieceKind::Name, record.id.to_string(), None),
        (PieceKind::Name, record.conversation.to_string(), None),
        (PieceKind::Name, record.agent_word().to_owned(), None),
    ];
    texts.extend(places.map(|path| (PieceKind::Directory, path, None)));
    texts
}

fn known(
    tx: &mut dyn Transaction,
    session: SessionId,
    commits_in: &[RepositoryId],
) -> Result<Known, LedgerError> {
    let mut texts: Vec<SearchableText> = Vec::new();
    for native in tx.aliases(session)? {
        texts.push((PieceKind::Name, native.to_string(), None));
    }
    let links = links(&tx.statements_of_session(session)?);
    for link in &links {
        texts.push((PieceKind::Link, link.to_string(), None));
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
    (
        PieceKind::Commit,
        text.trim_end().to_owned(),
        Some(record.at),
    )
}

/// The texts in which a word stands, if every word stands in one of them.
fn hits(words: &Words, texts: &[SearchableText]) -> Option<Vec<Hit>> {
    let mut missing: Vec<&str> = words.0.iter().map(String::as_str).collect();
    let mut hits: Vec<Hit> = Vec::new();
    for (place, text, at) in texts {
        let lower = text.to_lowercase();
        let here = words.0.iter().filter_map(|word| {
            let at = lower.find(word.as_str())?;
            Some((at, word))
        });
        let Some((first, word)) = here.min() else {
            continue;
        };
        missing.retain(|word| !lower.contains(word));
        // What is lower may be longer: a place is one of characters.
        let start = nth_byte(text, lower[..first].chars().count());
        let end = nth_byte(text, lower[..first + word.len()].chars().count());
        let here = start..end.max(start);
        let hit = Hit {
            place: *place,
            excerpt: shown(*place, text, std::slice::from_ref(&here)),
            turn: None,
            at: *at,
        };
        // A prompt that two sources told of is one prompt.
        let same = |known: &Hit| known.place == hit.place && known.excerpt == hit.excerpt;
        if !hits.iter().any(same) {
            hits.push(hit);
        }
    }
    missing.is_empty().then_some(hits)
}

/// Where the character of a number begins, in bytes.
fn nth_byte(text: &str, nth: usize) -> usize {
    text.char_indices()
        .nth(nth)
        .map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Words {
        let query = SearchQuery::parse(text, Timestamp::default());
        Words::new(&query.expect("because it is a query"))
    }

    #[track_caller]
    fn check(query: &str, texts: &[&str], expected: Option<&[&str]>) {
        let searchable: Vec<SearchableText> = texts
            .iter()
            .map(|text| (PieceKind::Prompt, (*text).to_owned(), None))
            .collect();
        let found = hits(&words(query), &searchable);
        let found: Option<Vec<String>> =
            found.map(|hits| hits.into_iter().map(|h| h.excerpt.text).collect());
        let found: Option<Vec<&str>> = found
            .as_ref()
            .map(|texts| texts.iter().map(String::as_str).collect());
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn every_word_stands_somewhere_in_any_case_and_order() {
        let texts = ["Mend the PARSER", "issue 42", "Mend the PARSER", "other"];
        check("parser 42", &texts, Some(&["Mend the PARSER", "issue 42"]));
        check("42 PAR", &texts, Some(&["Mend the PARSER", "issue 42"]));
        check("pars*", &texts, Some(&["Mend the PARSER"]));
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
        let hits = hits(&words("needle"), &[(PieceKind::Prompt, text, None)]);
        let hits = hits.expect("because it is there");
        let shown = &hits[0].excerpt.text;
        assert!(shown.starts_with('…') && shown.ends_with('…'));
        assert!(shown.contains(" needle "));
    }
}
