//! Searches for the finder, in a thread of their own: the newest question alone is answered.

use std::path::Path;
use std::sync::mpsc;

use siglum_domain::search::{SearchQuery, SearchQueryError};
use siglum_domain::{RepositoryId, Timestamp};
use siglum_engine::views::overview::{self, Listed};
use siglum_engine::views::search::{self, Hit, IndexUse, Query};
use siglum_engine::{World, worker};
use siglum_ledger::{Ledger, RepositoryRecord, SessionFilter};

use super::messages::{Answer, Item, List, Message, Post, Purpose, Question, Wanted, newest};
use crate::clock;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;

/// Without an index, how many of the newest sessions are searched.
const SCANNED: usize = 300;
/// A word that is typed now stands for all that begin so, from so many characters on.
const PREFIX_LEAST: usize = 3;

/// Answers questions until nobody asks any more.
pub(super) fn answer_all(
    cx: &Cx,
    wanted: &Wanted,
    questions: &mpsc::Receiver<Question>,
    post: &Post,
) {
    let mut searches = match Searches::open(cx, wanted) {
        Ok(searches) => searches,
        Err(error) => return post.send(Message::Failed(error)),
    };
    let mut is_caught_up = false;
    while let Some(question) = newest(questions) {
        post.send(Message::Answer(searches.answer(&question)));
        if !is_caught_up {
            is_caught_up = true;
            searches.catch_up();
            post.send(Message::Answer(searches.answer(&question)));
        }
    }
}

/// What searches need.
struct Searches<'a> {
    cx: &'a Cx,
    wanted: &'a Wanted,
    world: World<'static>,
    ledger: Box<dyn Ledger>,
    /// The repository that we stand in.
    here: Option<RepositoryRecord>,
    /// Those that sessions are listed of.
    repositories: Vec<RepositoryId>,
}

impl<'a> Searches<'a> {
    fn open(cx: &'a Cx, wanted: &'a Wanted) -> Result<Self, CommandError> {
        let (mut ledger, here) = store::settled(cx)?;
        let repositories = wanted.place.listed(cx, &mut ledger, here.clone())?;
        Ok(Self {
            cx,
            wanted,
            world: cx.world()?,
            ledger,
            here,
            repositories,
        })
    }

    /// Puts into the index what can be put into it in a moment; the worker does the rest.
    fn catch_up(&mut self) {
        worker::catch_up(&self.world, &mut self.ledger);
        let index = self.index();
        if index.waiting > 0 || !index.is_used {
            store::start_worker(self.cx);
        }
    }

    fn answer(&mut self, question: &Question) -> Answer {
        let text = question.text.trim_start();
        let result = match text.is_empty() {
            true => self.newest(),
            false => self.matching(text),
        };
        Answer {
            number: question.number,
            result: result.map_err(|error| format!("{:#}", error.source)),
        }
    }

    /// Which sessions are listed.
    fn filter(&self, repositories: Vec<RepositoryId>, limit: usize) -> SessionFilter {
        SessionFilter {
            repositories,
            agent: self.wanted.agent.clone(),
            since: self.wanted.period.since,
            until: self.wanted.period.until,
            limit,
            ..SessionFilter::default()
        }
    }

    /// The newest sessions.
    fn newest(&mut self) -> Result<List, CommandError> {
        let most = self.wanted.most;
        let filter = self.filter(self.repositories.clone(), most.saturating_add(1));
        let mut listed = overview::sessions(&self.world, &mut self.ledger, &filter)?;
        let more = listed.len() > most;
        listed.truncate(most);
        listed.retain(|session| self.is_wanted(session));
        let items = listed.iter().map(|session| item(session, Vec::new()));
        Ok(List {
            items: items.collect(),
            more,
            index: self.index(),
        })
    }

    /// The sessions that fit a query best.
    fn matching(&mut self, text: &str) -> Result<List, CommandError> {
        let query = query(text, clock::now()).map_err(CommandError::usage)?;
        let repositories = match &query.repository {
            None => self.repositories.clone(),
            name => {
                let place = self.wanted.place.narrowed(name.as_deref())?;
                place.listed(self.cx, &mut self.ledger, self.here.clone())?
            }
        };
        let query = Query {
            query,
            sessions: self.filter(repositories, SCANNED),
            commits_in: Vec::new(),
            most: self.wanted.most,
            after: None,
        };
        let mut findings = search::search(&self.world, &mut self.ledger, &query)?;
        findings
            .found
            .retain(|found| self.is_wanted(&found.session));
        let found = findings.found.into_iter();
        let items = found.map(|found| item(&found.session, found.hits));
        Ok(List {
            items: items.collect(),
            more: findings.more,
            index: findings.index,
        })
    }

    /// Whether a session can be chosen for what the finder is opened for.
    fn is_wanted(&self, session: &Listed) -> bool {
        let record = &session.listing.record;
        match self.wanted.purpose {
            Purpose::Search => true,
            Purpose::Resume => {
                record.home == self.ledger.id()
                    && siglum_agents::find(record.agent_word()).is_some()
            }
        }
    }

    fn index(&mut self) -> IndexUse {
        let index = self.ledger.index();
        match index.and_then(|index| index.index_standing()) {
            Ok(standing) => IndexUse {
                is_used: standing.is_ready,
                waiting: standing.waiting,
            },
            Err(_) => IndexUse {
                is_used: false,
                waiting: 0,
            },
        }
    }
}

fn item(session: &Listed, hits: Vec<Hit>) -> Item {
    let listing = &session.listing;
    let record = &listing.record;
    let directory = record.cwd.as_ref().or(record.worktree.as_ref());
    Item {
        session: record.id,
        agent: record.agent_word().to_owned(),
        last_at: record.last_at,
        title: session.title().map(str::to_owned),
        directory: directory.map_or_else(String::new, |dir| Cx::tilde(Path::new(dir))),
        turns: listing.summary.turns,
        commits: listing.commits,
        hits,
    }
}

/// What is typed, as a query. A word at the end may be the beginning of one: it stands for all that begin so.
fn query(text: &str, now: Timestamp) -> Result<SearchQuery, SearchQueryError> {
    let last = text.rsplit(char::is_whitespace).next().unwrap_or_default();
    let word = last.strip_prefix("path:").unwrap_or(last);
    let is_of_word = |sign: char| sign.is_alphanumeric() || sign == '_';
    let is_begun = text.matches('"').count().is_multiple_of(2)
        && word.chars().count() >= PREFIX_LEAST
        && word.ends_with(is_of_word)
        && word.chars().all(|c| is_of_word(c) || "-./".contains(c));
    let begun = is_begun.then(|| SearchQuery::parse(&format!("{text}*"), now));
    match begun {
        Some(Ok(query)) => Ok(query),
        _ => SearchQuery::parse(text, now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(typed: &str, same_as: &str) {
        let now = Timestamp::from_seconds(1_000_000);
        let expected = SearchQuery::parse(same_as, now);
        assert!(expected.is_ok(), "{expected:?}");
        assert_eq!(query(typed, now), expected);
    }

    #[test]
    fn the_word_that_is_typed_now_may_go_on() {
        check("mend roun", "mend roun*");
        check("mend roun ", "mend roun");
        check("path:src/ca", "path:src/ca*");
        check("round_zeb", "round_zeb*");
        check("ro", "ro");
        for whole in [
            "\"cart roun\"",
            "agent:codex",
            "issue:42",
            "issue=42",
            "std::fs",
            "since:7d",
            "pars*",
            "foo/",
        ] {
            check(whole, whole);
        }
        let open = query("\"cart roun", Timestamp::default());
        assert!(open.is_err(), "{open:?}");
    }
}
