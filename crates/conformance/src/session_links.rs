//! What tells what sessions cost for what: the links that they ever had, and their commits.

use siglum_domain::evidence::{Committer, Verdict};
use siglum_domain::fold::Usage;
use siglum_domain::link::Link;
use siglum_domain::{SessionId, Timestamp};
use siglum_ledger::{
    CommitRecord, QUARTER, SeenBy, SessionCommit, SessionLink, Statement, UsingSessions,
    quarter_start,
};

use super::check::{Check, Desk, Outcome, Shelf, same};
use super::sample::*;
use super::usage::usage;

pub(super) const CHECKS: &[Check] = &[
    Check::new("the links that sessions ever had are known", ever_linked),
    Check::new("links of sessions are found by what is known", find_links),
    Check::new("the commits of sessions are known in short", committed),
];

/// The kind of links that is asked for.
const ISSUE: &str = "issue_number";

fn link(n: u128, value: &str, is_whole: bool) -> SessionLink {
    SessionLink {
        session: session_id(n),
        value: value.to_owned(),
        is_whole,
    }
}

fn stated(n: u128, is_attached: bool, link: Link) -> Statement {
    let session = session_id(n);
    match is_attached {
        true => Statement::LinkAttached { session, link },
        false => Statement::LinkDetached { session, link },
    }
}

fn ever_linked(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let issue = Link::IssueNumber;
    desk.write(|tx| {
        for (seconds, statement) in [
            (5, stated(1, true, issue(7))),
            (6, stated(1, true, Link::PrNumber(7))),
            (5, stated(3, true, issue(7))),
            (5, stated(3, true, issue(8))),
            (6, stated(3, true, issue(9))),
            (8, stated(3, false, issue(8))),
            // It never had what it loses.
            (1, stated(2, false, issue(7))),
        ] {
            tx.state(at(seconds), "me", "cli", &statement)?;
        }
        Ok(())
    })?;
    let wanted = [
        link(1, "7", true),
        link(3, "7", true),
        link(3, "8", false),
        link(3, "9", false),
    ];
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        let found = desk.read(|tx| tx.session_links(ISSUE, None, UsingSessions::default(), 0))?;
        same!(found, wanted, "links that sessions ever had");
    }
    // What is stated later of an earlier time counts from then on.
    desk.write(|tx| tx.state(at(4), "me", "cli", &stated(3, true, issue(9))))?;
    let found = desk.read(|tx| tx.session_links(ISSUE, None, UsingSessions::default(), 0))?;
    let wanted = [
        link(1, "7", true),
        link(3, "7", false),
        link(3, "8", false),
        link(3, "9", true),
    ];
    same!(found, wanted, "links after an earlier one");
    Ok(())
}

/// The start of a quarter of an hour, counted from that of the samples.
fn quarter_at(number: i64) -> Timestamp {
    Timestamp::from_nanos(quarter_start(at(0)).nanos() + number * QUARTER)
}

fn used_in(number: i64) -> Usage {
    Usage {
        at: quarter_at(number),
        ..usage(&format!("e{number}"), 0)
    }
}

/// The value, sessions and limit that are asked for, the sessions that have such links, and what that is.
type Expected<'a> = (
    Option<&'a str>,
    UsingSessions<'a>,
    usize,
    &'a [u128],
    &'a str,
);

fn find_links(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        for (n, value) in [(1, 7), (2, 8), (3, 7)] {
            let statement = stated(n, true, Link::IssueNumber(value));
            tx.state(at(1), "me", "cli", &statement)?;
            let statement = stated(n, true, Link::PrNumber(9));
            tx.state(at(1), "me", "cli", &statement)?;
        }
        tx.put_usages(session_id(1), &[used_in(0), used_in(1)])?;
        tx.put_usages(session_id(2), &[used_in(2)])?;
        tx.put_usages(session_id(3), &[used_in(5)])
    })?;
    let within = |quarter: i64| Some(quarter_at(quarter).plus_millis(1_000));
    let two = [3, 1].map(session_id);
    let all = UsingSessions::default();
    let of_two = UsingSessions {
        sessions: &two,
        ..all
    };
    let since = UsingSessions {
        since: within(2),
        ..all
    };
    let until = UsingSessions {
        until: Some(quarter_at(2)),
        ..all
    };
    let between = UsingSessions {
        since: within(1),
        until: within(5),
        ..all
    };
    let checks: [Expected<'_>; 8] = [
        (None, all, 0, &[1, 2, 3], "links of a kind"),
        (Some("7"), all, 0, &[1, 3], "links with a value"),
        (None, of_two, 0, &[1, 3], "links of two sessions"),
        (None, since, 0, &[2, 3], "links of later use"),
        (None, until, 0, &[1], "links of earlier use"),
        (Some("7"), between, 0, &[1, 3], "links of use in between"),
        (None, all, 2, &[1, 2], "some links"),
        (Some("9"), all, 0, &[], "links with a value of another kind"),
    ];
    for (value, of, limit, wanted, what) in checks {
        let found = desk.read(|tx| tx.session_links(ISSUE, value, of, limit))?;
        let found: Vec<SessionId> = found.into_iter().map(|l| l.session).collect();
        let wanted: Vec<SessionId> = wanted.iter().map(|n| session_id(*n)).collect();
        same!(found, wanted, what);
    }
    Ok(())
}

fn committed(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let of = |n: u8, session: u128| CommitRecord {
        judgement: judgement(by_session(session), Verdict::Likely),
        ..commit(n)
    };
    let known = facts(&oid(1));
    desk.write(|tx| {
        tx.put_commit(&CommitRecord {
            facts: Some(known.clone()),
            seen_by: SeenBy::Sweep,
            judgement: judgement(by_session(3), Verdict::Certain),
            ..commit(1)
        })?;
        tx.put_commit(&of(2, 2))?;
        tx.put_commit(&of(3, 2))?;
        tx.put_commit(&of(4, 2))?;
        tx.put_commit(&CommitRecord {
            checkpoint: Some(checkpoint_id(4)),
            judgement: judgement(Committer::Human, Verdict::Likely),
            ..commit(5)
        })?;
        tx.put_rewrite(repository_id(1), &oid(9), &oid(2), "amend", at(1))?;
        tx.put_rewrite(repository_id(1), &oid(3), &oid(8), "amend", at(1))?;
        tx.put_usages(session_id(2), &[used_in(1)])?;
        tx.put_usages(session_id(3), &[used_in(3)])
    })?;
    let short = |n: u8, session: u128, is_rewritten: bool| SessionCommit {
        session: session_id(session),
        repository: repository_id(1),
        commit: oid(n),
        at: at(i64::from(n)),
        seen_by: SeenBy::Hook,
        verdict: Verdict::Likely,
        facts: None,
        is_rewritten,
    };
    let first = SessionCommit {
        seen_by: SeenBy::Sweep,
        verdict: Verdict::Certain,
        facts: Some((known.committed, known.subject)),
        ..short(1, 3, false)
    };
    let others = [2, 3, 4].map(|n| short(n, 2, true));
    let mut all = others.to_vec();
    all.push(first.clone());
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        let found = desk.read(|tx| tx.session_commits(UsingSessions::default()))?;
        same!(found, all, "commits of sessions");
    }
    let second = [session_id(2)];
    let of_one = UsingSessions {
        sessions: &second,
        ..UsingSessions::default()
    };
    let since = UsingSessions {
        since: Some(quarter_at(2)),
        ..UsingSessions::default()
    };
    let until = UsingSessions {
        until: Some(quarter_at(2)),
        ..UsingSessions::default()
    };
    for (of, wanted, what) in [
        (of_one, &others[..], "commits of a session"),
        (since, &[first][..], "commits of later use"),
        (until, &others[..], "commits of earlier use"),
    ] {
        let found = desk.read(|tx| tx.session_commits(of))?;
        same!(found, wanted, what);
    }
    Ok(())
}
