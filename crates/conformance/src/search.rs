//! The index of texts: what waits for it, what is in it, and what is found by it.

use siglum_domain::link::Link;
use siglum_domain::search::{IndexTerm, Piece, PieceKind, TurnText};
use siglum_domain::{SessionId, Timestamp};
use siglum_ledger::{
    IndexMatch, IndexQuery, IndexUpdate, IndexedPart, Statement, Summary, WaitingSession,
};

use super::check::{Check, Desk, Outcome, Shelf, holds, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "a session waits for the index after each change, and until it is in it",
        waits,
    ),
    Check::new(
        "a part is found by all of its words, newest first",
        by_words,
    ),
    Check::new(
        "parts are found of a time, of some sessions and up to a limit",
        narrowed,
    ),
    Check::new("a session is replaced in the index as a whole", replaced),
    Check::new(
        "what changed meanwhile is not put into the index",
        meanwhile,
    ),
    Check::new("what is forgotten is not in the index", forgotten),
    Check::new("an index that begins anew lacks everything", anew),
];

/// A part of a session whose prompt has these words.
fn part(nth: u64, words: Option<&str>, seconds: i64) -> IndexedPart {
    IndexedPart {
        key: (Some(turn_id(1)), nth),
        mark: [u8::try_from(nth).unwrap_or(0); 32],
        number: nth,
        began: at(seconds),
        text: words.map(|words| TurnText {
            agent: "codex".to_owned(),
            repositories: vec![repository_id(1)],
            pieces: vec![Piece::new(PieceKind::Prompt, words, at(seconds))],
        }),
    }
}

/// Three sessions that wait for the index, and no other.
fn stock(desk: &mut Desk) -> Outcome {
    furnish(desk)?;
    desk.0.index()?.begin_index()?;
    fold(desk, 1, 1)?;
    fold(desk, 2, 1)?;
    fold(desk, 3, 1)
}

/// A session is folded up to there, as if its log had so many entries.
fn fold(desk: &mut Desk, n: u128, folded: u64) -> Outcome {
    let summary = Summary {
        state: "waiting".to_owned(),
        ..Summary::default()
    };
    desk.write(|tx| tx.put_summary(session_id(n), &summary, folded))
}

fn waiting(desk: &mut Desk, limit: usize) -> Outcome<Vec<SessionId>> {
    let waiting = desk.0.index()?.waiting_sessions(limit)?;
    Ok(waiting.into_iter().map(|one| one.session).collect())
}

fn change(desk: &mut Desk, n: u128) -> Outcome<WaitingSession> {
    let all = desk.0.index()?.waiting_sessions(99)?;
    let one = all.into_iter().find(|one| one.session == session_id(n));
    Ok(one.unwrap_or(WaitingSession {
        session: session_id(n),
        change: 0,
    }))
}

/// Puts all of a session into the index.
fn put(desk: &mut Desk, n: u128, parts: &[IndexedPart]) -> Outcome<usize> {
    let waiting = change(desk, n)?;
    let update = IndexUpdate {
        waiting,
        parts,
        is_whole: true,
        erased: None,
    };
    Ok(desk.0.index()?.update_index(&[update])?)
}

fn word(word: &str) -> Vec<IndexTerm> {
    vec![IndexTerm::Whole(word.to_owned())]
}

fn ask(desk: &mut Desk, query: &IndexQuery) -> Outcome<Vec<(u128, u64)>> {
    let found: Vec<IndexMatch> = desk.0.index()?.search_index(query)?;
    let number = |m: &IndexMatch| (1..4).find(|n| session_id(*n) == m.session).unwrap_or(0);
    Ok(found.iter().map(|m| (number(m), m.number)).collect())
}

fn query_of(all_of: Vec<Vec<IndexTerm>>) -> IndexQuery {
    IndexQuery {
        all_of,
        limit: 9,
        ..IndexQuery::default()
    }
}

fn waits(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    stock(&mut desk)?;
    let [one, two, three] = [1, 2, 3].map(session_id);
    same!(
        waiting(&mut desk, 9)?,
        [three, two, one],
        "sessions that wait"
    );
    same!(waiting(&mut desk, 2)?, [three, two], "the first that wait");
    for n in [1, 2, 3] {
        same!(put(&mut desk, n, &[])?, 1, "sessions that were put");
    }
    same!(waiting(&mut desk, 9)?, [], "sessions that wait after that");
    let standing = desk.0.index()?.index_standing()?;
    same!(
        (standing.is_ready, standing.waiting),
        (true, 0),
        "the standing"
    );
    let attached = Statement::LinkAttached {
        session: one,
        link: Link::IssueNumber(7),
    };
    desk.write(|tx| tx.state(at(3), "Ann", "cli", &attached).map(drop))?;
    same!(waiting(&mut desk, 9)?, [one], "a session with a new link");
    fold(&mut desk, 2, 2)?;
    same!(
        waiting(&mut desk, 9)?,
        [two, one],
        "a session that was folded"
    );
    let standing = desk.0.index()?.index_standing()?;
    same!(standing.waiting, 2, "how many wait");
    put(&mut desk, 1, &[])?;
    put(&mut desk, 2, &[])?;
    let made = commit(1);
    desk.write(|tx| {
        tx.put_commit(&made)?;
        tx.put_facts(made.repository, &facts(&made.commit))
    })?;
    same!(waiting(&mut desk, 9)?, [one], "a session with a commit");
    let repositories = desk.0.index()?.session_repositories(one)?;
    same!(repositories, [repository_id(1)], "where a session works");
    Ok(())
}

fn by_words(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    stock(&mut desk)?;
    let one = [
        part(1, Some("mend the parser_x"), 10),
        part(2, Some("parser größe"), 30),
    ];
    put(&mut desk, 1, &one)?;
    put(
        &mut desk,
        2,
        &[part(1, Some("parser of O'Hara \\ dates"), 20)],
    )?;
    let all = [(1, 2), (2, 1), (1, 1)];
    same!(
        ask(&mut desk, &query_of(vec![word("parser")]))?,
        all,
        "one word"
    );
    let both = query_of(vec![word("parser"), word("mend")]);
    same!(ask(&mut desk, &both)?, [(1, 1)], "two words");
    let either = query_of(vec![[word("mend"), word("größe")].concat()]);
    same!(
        ask(&mut desk, &either)?,
        [(1, 2), (1, 1)],
        "one of two words"
    );
    let prefix = query_of(vec![vec![IndexTerm::Prefix("parser_".to_owned())]]);
    same!(ask(&mut desk, &prefix)?, [(1, 1)], "a prefix");
    same!(
        ask(&mut desk, &query_of(vec![word("pars")]))?,
        [],
        "a part of a word"
    );
    same!(
        ask(&mut desk, &query_of(Vec::new()))?,
        all,
        "no word at all"
    );
    for hostile in ["", "' | 'x", "x\" OR \"mend", "mend:*", "\\", "NEAR(a b)"] {
        same!(ask(&mut desk, &query_of(vec![word(hostile)]))?, [], hostile);
    }
    let newest = desk
        .0
        .index()?
        .search_index(&query_of(vec![word("größe")]))?;
    let ids: Vec<i64> = newest.iter().map(|m| m.id).collect();
    let texts = desk.0.index()?.indexed_texts(&ids)?;
    let wanted = part(2, Some("parser größe"), 30).text;
    same!(
        texts.into_iter().next().map(|(_, text)| text),
        wanted,
        "a text"
    );
    same!(newest[0].began, at(30), "when it began");
    same!(newest[0].turn, Some(turn_id(1)), "its turn");
    Ok(())
}

fn narrowed(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    stock(&mut desk)?;
    let one = [part(1, Some("parser"), 10), part(2, Some("parser"), 30)];
    put(&mut desk, 1, &one)?;
    put(&mut desk, 2, &[part(1, Some("parser"), 20)])?;
    for (what, query, expected) in [
        (
            "since",
            IndexQuery {
                since: Some(at(20)),
                ..query_of(Vec::new())
            },
            vec![(1, 2), (2, 1)],
        ),
        (
            "until",
            IndexQuery {
                until: Some(at(20)),
                ..query_of(Vec::new())
            },
            vec![(1, 1)],
        ),
        (
            "limit",
            IndexQuery {
                limit: 1,
                ..query_of(vec![word("parser")])
            },
            vec![(1, 2)],
        ),
        (
            "of a session",
            IndexQuery {
                sessions: Some(vec![session_id(1)]),
                ..query_of(vec![word("parser")])
            },
            vec![(1, 2), (1, 1)],
        ),
        (
            "of none",
            IndexQuery {
                sessions: Some(vec![session_id(3)]),
                ..query_of(Vec::new())
            },
            vec![],
        ),
    ] {
        same!(ask(&mut desk, &query)?, expected, what);
    }
    Ok(())
}

fn replaced(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    stock(&mut desk)?;
    let first = [part(1, Some("alpha"), 10), part(2, Some("beta"), 20)];
    put(&mut desk, 1, &first)?;
    let marks = desk.0.index()?.indexed_parts(session_id(1))?;
    same!(marks.len(), 2, "parts of the session");
    holds!(
        marks.iter().any(|m| m.mark == first[1].mark),
        "the mark of a part"
    );
    fold(&mut desk, 1, 2)?;
    // The first stays and has another number, the second goes, and another one comes.
    let kept = IndexedPart {
        number: 7,
        ..part(1, None, 10)
    };
    let next = [kept, part(3, Some("gamma"), 30)];
    same!(put(&mut desk, 1, &next)?, 1, "sessions that were put");
    same!(
        ask(&mut desk, &query_of(vec![word("alpha")]))?,
        [(1, 7)],
        "what stays"
    );
    same!(
        ask(&mut desk, &query_of(vec![word("beta")]))?,
        [],
        "what goes"
    );
    same!(
        ask(&mut desk, &query_of(vec![word("gamma")]))?,
        [(1, 3)],
        "what comes"
    );
    fold(&mut desk, 1, 3)?;
    let anew = [part(1, Some("delta"), 10)];
    put(&mut desk, 1, &anew)?;
    same!(
        ask(&mut desk, &query_of(vec![word("alpha")]))?,
        [],
        "what was replaced"
    );
    same!(
        ask(&mut desk, &query_of(Vec::new()))?,
        [(1, 1)],
        "all that is left"
    );
    Ok(())
}

fn meanwhile(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    stock(&mut desk)?;
    let before = change(&mut desk, 1)?;
    fold(&mut desk, 1, 2)?;
    let parts = [part(1, Some("stale"), 10)];
    let update = IndexUpdate {
        waiting: before,
        parts: &parts,
        is_whole: true,
        erased: None,
    };
    same!(
        desk.0.index()?.update_index(&[update])?,
        0,
        "a session that changed"
    );
    // A text that is to be kept is not there.
    same!(
        put(&mut desk, 1, &[part(1, None, 10)])?,
        0,
        "a lacking text"
    );
    same!(
        ask(&mut desk, &query_of(Vec::new()))?,
        [],
        "what is in the index"
    );
    let now = change(&mut desk, 1)?;
    let half = IndexUpdate {
        waiting: now,
        parts: &parts,
        is_whole: false,
        erased: None,
    };
    same!(
        desk.0.index()?.update_index(&[half])?,
        1,
        "a part of a session"
    );
    same!(waiting(&mut desk, 9)?.len(), 3, "sessions that wait still");
    Ok(())
}

fn forgotten(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    stock(&mut desk)?;
    for (n, nth) in [(1, 1), (2, 2), (3, 3)] {
        put(&mut desk, n, &[part(nth, Some("needle"), 10)])?;
    }
    desk.write(|tx| tx.forget_session(session_id(1), at(50)))?;
    desk.write(|tx| tx.forget_parts(session_id(2), at(50)))?;
    desk.0.scrub()?;
    same!(
        ask(&mut desk, &query_of(vec![word("needle")]))?,
        [(3, 3)],
        "what is left"
    );
    let [one, two] = [1, 2].map(session_id);
    same!(waiting(&mut desk, 9)?, [two, one], "sessions that wait");
    Ok(())
}

fn anew(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    stock(&mut desk)?;
    put(&mut desk, 1, &[part(1, Some("needle"), 10)])?;
    let before: Timestamp = at(10);
    same!(desk.0.index()?.restart_index()?, 3, "sessions that wait");
    same!(
        ask(&mut desk, &query_of(Vec::new()))?,
        [],
        "what is in the index"
    );
    same!(waiting(&mut desk, 9)?.len(), 3, "sessions that wait");
    put(&mut desk, 1, &[part(1, Some("needle"), 10)])?;
    let found = desk
        .0
        .index()?
        .search_index(&query_of(vec![word("needle")]))?;
    same!(
        found.first().map(|m| m.began),
        Some(before),
        "what is put again"
    );
    same!(
        desk.0.index()?.check_index()?.wrong,
        [""; 0],
        "what is wrong"
    );
    Ok(())
}
