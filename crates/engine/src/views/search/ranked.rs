//! Searching by the index: it names parts of turns that may fit, and their texts say how well they do.

use std::collections::{BTreeMap, BTreeSet};

use siglum_domain::search::{Facet, IndexTerm, Piece, PieceKind, TurnText, fit};
use siglum_domain::{SessionId, Timestamp};
use siglum_ledger::{IndexMatch, IndexQuery, Ledger, LedgerError, Transaction, read};

use super::findings::{Findings, Hit, IndexUse, Query, SearchResult, shown};
use super::session_filter::{Sessions, linked};
use crate::Here;
use crate::damage::undamaged;
use crate::views::overview::stand;

/// How many parts are named at most in whose prompts all words stand, and how many others: the newest.
const IN_PROMPTS: usize = 200;
const ANYWHERE: usize = 600;
/// The same where all that fits is wanted.
const ALL: usize = 20_000;
/// How many texts are in memory at once.
const TEXTS: usize = 50;
/// How often the index is asked for older parts: the newest ones may all be of a few long sessions.
const PAGES: usize = 5;
/// Of each session, so many parts that fit are enough.
const PARTS_EACH: usize = 8;
/// Parts that fit and are ranked, if there are so many.
const PARTS_LEAST: usize = 100;
/// How many texts of a session, and of one of its parts, are given.
const HITS: usize = 6;
const HITS_OF_PART: usize = 3;
/// More repositories than that are not told apart by the index, but by the ledger alone.
const REPOSITORIES_MOST: usize = 100;

/// A part of a turn that fits.
struct Fitting {
    session: SessionId,
    score: f64,
    hits: Vec<Hit>,
}

/// What a look at the index gave.
#[derive(Default)]
struct Looked {
    fitting: Vec<Fitting>,
    /// The sessions that were looked at, each with how many of its parts fit.
    sessions: BTreeMap<SessionId, usize>,
    /// The parts that were looked at.
    parts: BTreeSet<i64>,
    /// Whether there are parts that were not looked at, of other sessions, too.
    is_cut: bool,
}

impl Looked {
    /// Whether there is enough to choose from.
    fn is_enough(&self, query: &Query) -> bool {
        let least = query.most.saturating_mul(PARTS_EACH).max(PARTS_LEAST);
        // Whoever asks for a page behind a session needs all that may stand before it.
        query.after.is_none()
            && self.fitting.len() >= least
            && self.sessions.values().filter(|fit| **fit > 0).count() > query.most
    }
}

/// Searches by the index; nothing where it turns out to be damaged.
///
/// # Errors
/// Those of the ledger.
pub(super) fn search(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    query: &Query,
    waiting: u64,
) -> Result<Option<Findings>, LedgerError> {
    let linked = read(ledger, |tx| linked(tx, query))?;
    let looked = match &linked {
        Some(none) if none.is_empty() => Some(Looked::default()),
        _ => undamaged(fitting_parts(here, ledger, query, linked.as_deref()))?,
    };
    let Some(looked) = looked else {
        return Ok(None);
    };
    let is_cut = looked.is_cut;
    let looked_at = looked.sessions.len();
    let (ordered, is_more) = ordered(looked.fitting, query);
    let last = ordered.last().map(|(session, _)| *session);
    let mut sessions = Sessions::new(query);
    let mut found = Vec::with_capacity(ordered.len());
    for (session, hits) in ordered {
        let result = read(ledger, |tx| {
            result(here, tx, &mut sessions, query, session, &hits)
        })?;
        found.extend(result);
    }
    Ok(Some(Findings {
        found,
        looked_at,
        last: last.filter(|_| is_more),
        more: is_more || is_cut,
        index: IndexUse {
            is_used: true,
            waiting,
        },
    }))
}

/// A session with what was found in it, if it may be found still.
fn result(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    sessions: &mut Sessions,
    query: &Query,
    session: SessionId,
    hits: &[Hit],
) -> Result<Option<SearchResult>, LedgerError> {
    let Some(listing) = sessions.listing(tx, session)?.cloned() else {
        return Ok(None);
    };
    let session = stand(here, tx, listing)?;
    let Some(links) = query.query.links_in(&session.links) else {
        return Ok(None);
    };
    let mut all: Vec<Hit> = links.into_iter().map(Hit::of_link).collect();
    let new = hits.iter().filter(|hit| !all.contains(hit));
    let new: Vec<Hit> = new.cloned().collect();
    all.extend(new);
    Ok(Some(SearchResult { session, hits: all }))
}

/// Looks at the parts that the index names, the newest first.
fn fitting_parts(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    query: &Query,
    linked: Option<&[SessionId]>,
) -> Result<Looked, LedgerError> {
    let mut looked = Looked::default();
    let mut sessions = Sessions::new(query);
    let mut until = None;
    for _ in 0..PAGES {
        let (parts, older) = named(ledger, query, linked, until)?;
        for chunk in parts.chunks(TEXTS) {
            if looked.is_enough(query) {
                looked.is_cut = true;
                return Ok(looked);
            }
            look_at(
                here.now(),
                ledger,
                query,
                &mut sessions,
                (chunk, &mut looked),
            )?;
        }
        looked.is_cut = older.is_some();
        if older.is_none() || looked.is_enough(query) {
            break;
        }
        until = older;
    }
    Ok(looked)
}

/// Looks at some parts, unless so many of their session fit that it is enough.
fn look_at(
    now: Timestamp,
    ledger: &mut dyn Ledger,
    query: &Query,
    sessions: &mut Sessions,
    (parts, looked): (&[IndexMatch], &mut Looked),
) -> Result<(), LedgerError> {
    let mut new: Vec<&IndexMatch> = Vec::with_capacity(parts.len());
    for part in parts {
        let fit = looked.sessions.get(&part.session).copied();
        if fit.unwrap_or(0) < PARTS_EACH && looked.parts.insert(part.id) {
            new.push(part);
        }
    }
    let ids: Vec<i64> = new.iter().map(|part| part.id).collect();
    let texts = ledger.index()?.indexed_texts(&ids)?;
    let texts: BTreeMap<i64, TurnText> = texts.into_iter().collect();
    let within: Vec<bool> = read(ledger, |tx| {
        let is_within = |part: &&IndexMatch| Ok(sessions.listing(tx, part.session)?.is_some());
        new.iter().map(is_within).collect()
    })?;
    for (part, is_within) in new.into_iter().zip(within) {
        let Some(text) = texts.get(&part.id).filter(|_| is_within) else {
            continue;
        };
        let fits = looked.sessions.entry(part.session).or_default();
        if let Some(found) = fitting(query, part, text, now) {
            *fits += 1;
            looked.fitting.push(found);
        }
    }
    Ok(())
}

/// The parts that the index names of turns that began before a time, if one is given: first those in whose prompts all words
/// stand. And before which time the others began, if there are more.
fn named(
    ledger: &mut dyn Ledger,
    query: &Query,
    linked: Option<&[SessionId]>,
    before: Option<Timestamp>,
) -> Result<(Vec<IndexMatch>, Option<Timestamp>), LedgerError> {
    let sought = &query.query;
    let mut common: Vec<Vec<IndexTerm>> = Vec::new();
    let repositories = &query.sessions.repositories;
    if (1..=REPOSITORIES_MOST).contains(&repositories.len()) {
        let words = repositories.iter().map(|id| {
            let id = IndexTerm::Whole(id.uuid().simple().to_string());
            Facet::Repository.term(id)
        });
        common.push(words.collect());
    }
    if let Some(agent) = &query.sessions.agent {
        let agent = IndexTerm::Whole(agent.as_str().to_owned());
        common.push(vec![Facet::Agent.term(agent)]);
    }
    let of = |terms: Vec<IndexTerm>, limit: usize| IndexQuery {
        all_of: terms
            .into_iter()
            .map(|term| vec![term])
            .chain(common.iter().cloned())
            .collect(),
        since: query.sessions.since.max(sought.since),
        until: earliest(earliest(query.sessions.until, sought.until), before),
        sessions: linked.map(<[SessionId]>::to_vec),
        limit,
    };
    let is_all = query.most == usize::MAX;
    let limit = |usual: usize| if is_all { ALL } else { usual };
    let mut parts = Vec::new();
    if !sought.terms.is_empty() && !is_all && before.is_none() {
        parts = ledger
            .index()?
            .search_index(&of(sought.prompt_terms(), IN_PROMPTS))?;
    }
    let most = limit(ANYWHERE);
    let others = ledger
        .index()?
        .search_index(&of(sought.index_terms(), most))?;
    // Of a long turn, all parts began at the same time: those that are not named are left out.
    let oldest = others.iter().map(|part| part.began).min();
    let older = oldest.filter(|_| others.len() == most);
    parts.extend(others);
    Ok((parts, older))
}

fn earliest(one: Option<Timestamp>, other: Option<Timestamp>) -> Option<Timestamp> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// How a part of a turn fits, if it does.
fn fitting(query: &Query, part: &IndexMatch, text: &TurnText, now: Timestamp) -> Option<Fitting> {
    // A session that works elsewhere, too, is found by no commit that it made there.
    let is_seen = |piece: &Piece| {
        let within = |id| query.commits_in.is_empty() || query.commits_in.contains(&id);
        piece.repository.is_none_or(within)
    };
    let fit = fit(&query.query, text, part.began, now, is_seen)?;
    let mut hits: Vec<Hit> = Vec::new();
    let mut add = |at: usize, places: &[std::ops::Range<usize>]| {
        let piece = &text.pieces[at];
        let hit = Hit {
            place: piece.kind,
            excerpt: shown(piece.kind, &piece.text, places),
            turn: (part.number > 0).then_some(part.number),
            at: is_timed(piece.kind).then_some(piece.at),
        };
        let is_known = |known: &Hit| known.place == hit.place && known.excerpt == hit.excerpt;
        if hits.len() < HITS_OF_PART && !hits.iter().any(is_known) {
            hits.push(hit);
        }
    };
    for (at, places) in &fit.places {
        add(*at, places);
    }
    // Where only the kind of turn is searched for, what it was about is shown.
    if fit.places.is_empty() && query.query.links.is_empty() {
        let is_shown = |piece: &&(usize, &Piece)| match query.query.is_error {
            true => piece.1.failed,
            false => is_seen(piece.1) && is_timed(piece.1.kind),
        };
        let pieces: Vec<(usize, &Piece)> = text.pieces.iter().enumerate().collect();
        if let Some((at, _)) = pieces.iter().find(is_shown) {
            add(*at, &[]);
        }
    }
    Some(Fitting {
        session: part.session,
        score: fit.score,
        hits,
    })
}

/// Whether a text was said or made at some time, and is not known of the session for all of it.
const fn is_timed(kind: PieceKind) -> bool {
    !matches!(
        kind,
        PieceKind::Name | PieceKind::Link | PieceKind::Directory
    )
}

/// The sessions with their hits, the best first: as many as are wanted, and whether there are more.
fn ordered(mut fitting: Vec<Fitting>, query: &Query) -> (Vec<(SessionId, Vec<Hit>)>, bool) {
    // Of equal ones, the session that was created last comes first.
    fitting.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.session.cmp(&a.session)));
    let mut ordered: Vec<(SessionId, Vec<Hit>)> = Vec::new();
    let mut places: BTreeMap<SessionId, usize> = BTreeMap::new();
    for part in fitting {
        let place = *places.entry(part.session).or_insert_with(|| {
            ordered.push((part.session, Vec::new()));
            ordered.len() - 1
        });
        let hits = &mut ordered[place].1;
        for hit in part.hits {
            if hits.len() < HITS && !hits.contains(&hit) {
                hits.push(hit);
            }
        }
    }
    if let Some(after) = query.after {
        let behind = places.get(&after).map_or(ordered.len(), |place| place + 1);
        ordered.drain(..behind);
    }
    let is_more = ordered.len() > query.most;
    ordered.truncate(query.most);
    (ordered, is_more)
}
