//! What messages cost together: summed up by quarters of an hour, anew whenever a message changes or becomes a copy.

use siglum_domain::Timestamp;
use siglum_domain::evidence::Verdict;
use siglum_domain::fold::{Records, Usage};
use siglum_domain::observation::Tokens;
use siglum_ledger::{
    CommitRecord, LedgerError, QUARTER, QuarterFilter, QuarterRecord, Summary, Transaction,
    UsageQuarter, UsageSession, quarter_start,
};

use super::check::{Check, Desk, Outcome, Shelf, same};
use super::sample::*;
use super::usage::{full, tokens, usage};

pub(super) const CHECKS: &[Check] = &[
    Check::new("usage is summed up in quarters of an hour", summed_up),
    Check::new("sums of usage are found by what is known", find_quarters),
    Check::new("sums know a copy as soon as it is one", sums_of_copies),
    Check::new(
        "sums follow what is forgotten and dropped",
        sums_that_shrink,
    ),
    Check::new("sums are split where a commit was made", split),
    Check::new("titles of sessions are known", titled),
];

fn records(count: u64, tokens: Tokens) -> Records {
    Records { count, tokens }
}

/// The sum of messages of a sample session that all count.
fn sum(n: u128, start: Timestamp, messages: &[Usage]) -> QuarterRecord {
    let mut counted = Records::default();
    for message in messages {
        counted += records(1, message.tokens);
    }
    let prompts = || messages.iter().map(|u| u.tokens.prompt());
    let first = messages.first();
    QuarterRecord {
        session: UsageSession {
            id: session_id(n),
            agent: Some(agent("claude-code")),
            repository: (n < 3).then(|| repository_id(1)),
        },
        quarter: UsageQuarter {
            start,
            past: Timestamp::from_nanos(start.nanos() + QUARTER),
            model: first.and_then(|u| u.model.clone()),
            branch: first.and_then(|u| u.branch.clone()),
            counted,
            repeated: Records::default(),
            retold: Records::default(),
            copied: Records::default(),
            prompts: (prompts().min().unwrap_or(0), prompts().max().unwrap_or(0)),
            last_at: messages.iter().map(|u| u.at).max().unwrap_or(start),
        },
    }
}

/// The sums that a filter picks, by session and time, then the rest.
fn sums(
    tx: &mut dyn Transaction,
    filter: &QuarterFilter,
) -> Result<Vec<QuarterRecord>, LedgerError> {
    let mut sums = Vec::new();
    tx.usage_quarters(filter, &mut |sum| sums.push(sum))?;
    sums.sort_by_key(|record: &QuarterRecord| {
        let q = &record.quarter;
        let (model, branch) = (q.model.clone(), q.branch.clone());
        (record.session.id, q.start, model, branch, q.prompts)
    });
    Ok(sums)
}

fn all_sums(desk: &mut Desk) -> Outcome<Vec<QuarterRecord>> {
    desk.read(|tx| sums(tx, &QuarterFilter::default()))
}

/// A message at the start of a quarter of an hour, counted from that of the samples, and so many seconds.
fn in_quarter(event: &str, number: i64, seconds: i64) -> Usage {
    let start = quarter_start(at(0)).nanos() + number * QUARTER;
    Usage {
        at: Timestamp::from_nanos(start + seconds * 1_000_000_000),
        ..usage(event, 0)
    }
}

fn summed_up(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let (first, last) = (in_quarter("a", 0, 0), in_quarter("b", 0, 899));
    let next = in_quarter("c", 1, 0);
    let of_model = |event: &str, seconds: i64| Usage {
        model: Some("m/1".to_owned()),
        branch: Some("b/ü".to_owned()),
        repeated: records(2, tokens(7)),
        retold: records(3, tokens(11)),
        ..in_quarter(event, 1, seconds)
    };
    let short = of_model("d", 1);
    let long = Usage {
        tokens: tokens(200_000),
        ..of_model("e", 2)
    };
    let nothing = Usage {
        tokens: Tokens::default(),
        ..of_model("f", 3)
    };
    let all = [&first, &last, &next, &short, &long, &nothing].map(Usage::clone);
    desk.write(|tx| tx.put_usages(session_id(3), &all))?;
    let (zero, one) = (first.at, next.at);
    let with_left_out = |messages: &[Usage], times: usize| {
        let mut sum = sum(3, one, messages);
        for _ in 0..times {
            sum.quarter.repeated += records(2, tokens(7));
            sum.quarter.retold += records(3, tokens(11));
        }
        sum
    };
    let wanted = [
        sum(3, zero, &[first, last]),
        sum(3, one, &[next]),
        with_left_out(&[short], 2),
        with_left_out(&[long], 1),
    ];
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        same!(all_sums(desk)?, wanted, "sums of a session");
    }
    desk.write(|tx| tx.put_usages(session_id(3), &all[2..3]))?;
    same!(
        all_sums(&mut desk)?,
        wanted[1..2],
        "sums after usage was replaced"
    );
    Ok(())
}

/// What is asked for, the sessions and quarters that are found, and what that is.
type Expected = (QuarterFilter, &'static [(u128, i64)], &'static str);

fn find_quarters(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let home = furnish(&mut desk)?;
    let of_model = Usage {
        model: Some("m".to_owned()),
        ..in_quarter("b", 2, 0)
    };
    desk.write(|tx| {
        let mut other = session(4, home);
        other.agent = Some(agent("codex"));
        other.repository = Some(repository_id(2));
        tx.create_session(&other)?;
        tx.put_usages(session_id(1), &[in_quarter("a", 0, 9), of_model.clone()])?;
        tx.put_usages(session_id(3), &[in_quarter("c", 1, 0)])?;
        tx.put_usages(session_id(4), &[in_quarter("d", 3, 0)])
    })?;
    let start = |number: i64, seconds: i64| in_quarter("", number, seconds).at;
    let with = |set: &dyn Fn(&mut QuarterFilter)| {
        let mut filter = QuarterFilter::default();
        set(&mut filter);
        filter
    };
    let of_places = |places: &[u128]| QuarterFilter {
        repositories: places.iter().map(|n| repository_id(*n)).collect(),
        ..QuarterFilter::default()
    };
    let of_session = with(&|f| f.sessions = vec![session_id(1)]);
    let of_sessions = with(&|f| f.sessions = [4, 3].map(session_id).to_vec());
    let of_agent = with(&|f| f.agent = Some(agent("codex")));
    let of_model = with(&|f| f.model = Some("m".to_owned()));
    // The quarter that the time is in is meant, too.
    let since = with(&|f| f.since = Some(start(2, 500)));
    let until = with(&|f| f.until = Some(start(2, 0)));
    let within = with(&|f| f.until = Some(start(2, 1)));
    let checks: [Expected; 10] = [
        (with(&|_| {}), &[(1, 0), (1, 2), (3, 1), (4, 3)], "all sums"),
        (of_session, &[(1, 0), (1, 2)], "sums of a session"),
        (of_sessions, &[(3, 1), (4, 3)], "sums of two sessions"),
        (of_places(&[1]), &[(1, 0), (1, 2)], "sums of a repository"),
        (of_places(&[1, 2]), &[(1, 0), (1, 2), (4, 3)], "sums of two"),
        (of_agent, &[(4, 3)], "sums of an agent"),
        (of_model, &[(1, 2)], "sums of a model"),
        (since, &[(1, 2), (4, 3)], "sums since a time"),
        (until, &[(1, 0), (3, 1)], "sums until a time"),
        (
            within,
            &[(1, 0), (1, 2), (3, 1)],
            "sums until one in a quarter",
        ),
    ];
    for (filter, wanted, what) in checks {
        let found = desk.read(|tx| sums(tx, &filter))?;
        let found: Vec<_> = found
            .iter()
            .map(|r| (r.session.id, r.quarter.start))
            .collect();
        let wanted: Vec<_> = wanted
            .iter()
            .map(|(n, number)| (session_id(*n), start(*number, 0)))
            .collect();
        same!(found, wanted, what);
    }
    let found = desk.read(|tx| sums(tx, &of_places(&[2])))?;
    let session = found.into_iter().next().map(|r| r.session);
    let wanted = UsageSession {
        id: session_id(4),
        agent: Some(agent("codex")),
        repository: Some(repository_id(2)),
    };
    same!(session, Some(wanted), "the session of a sum");
    Ok(())
}

/// The sums of a session: how many messages count, and how many records are of copies.
fn counted_and_copied(desk: &mut Desk, n: u128) -> Outcome<(u64, u64)> {
    let filter = QuarterFilter {
        sessions: vec![session_id(n)],
        ..QuarterFilter::default()
    };
    let found = desk.read(|tx| sums(tx, &filter))?;
    let mut both = (0, 0);
    for QuarterRecord { quarter, .. } in found {
        both.0 += quarter.counted.count;
        both.1 += quarter.copied.count;
    }
    Ok(both)
}

fn sums_of_copies(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let shared = [full("a", 1), full("b", 2)];
    let put = |desk: &mut Desk, n: u128, usages: &[Usage]| -> Outcome {
        desk.write(|tx| tx.put_usages(session_id(n), usages))
    };
    put(&mut desk, 3, &shared)?;
    same!(
        counted_and_copied(&mut desk, 3)?,
        (2, 0),
        "before it is a copy"
    );
    // Six records: each message, and twice and three times what was told of it besides.
    put(&mut desk, 2, &shared[..1])?;
    same!(
        counted_and_copied(&mut desk, 3)?,
        (1, 6),
        "a copy of a session that came later"
    );
    put(&mut desk, 1, &shared)?;
    same!(
        counted_and_copied(&mut desk, 3)?,
        (0, 12),
        "a copy of two sessions"
    );
    same!(
        counted_and_copied(&mut desk, 2)?,
        (0, 6),
        "a copy of the oldest"
    );
    same!(counted_and_copied(&mut desk, 1)?, (2, 0), "the original");
    let moved = [shared[0].clone(), full("b", 3)];
    put(&mut desk, 1, &moved)?;
    same!(
        counted_and_copied(&mut desk, 3)?,
        (1, 6),
        "a copy of another moment is none"
    );
    desk.write(|tx| tx.drop_usages(session_id(1)))?;
    same!(
        counted_and_copied(&mut desk, 2)?,
        (1, 0),
        "a copy whose original is gone"
    );
    same!(
        counted_and_copied(&mut desk, 3)?,
        (1, 6),
        "a copy with another original"
    );
    Ok(())
}

fn sums_that_shrink(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let home = furnish(&mut desk)?;
    let again = [full("a", 1)];
    desk.write(|tx| {
        for n in [1, 2, 3] {
            tx.put_usages(session_id(n), &again)?;
        }
        tx.forget_session(session_id(1), at(9))
    })?;
    let of_first = QuarterFilter {
        sessions: vec![session_id(1)],
        ..QuarterFilter::default()
    };
    let found = desk.read(|tx| sums(tx, &of_first))?;
    let branches: Vec<_> = found.into_iter().map(|r| r.quarter.branch).collect();
    same!(
        branches,
        [None::<String>],
        "the branch of what is forgotten"
    );
    same!(
        counted_and_copied(&mut desk, 1)?,
        (1, 0),
        "what is forgotten counts"
    );
    same!(
        counted_and_copied(&mut desk, 2)?,
        (0, 6),
        "its copy does not"
    );
    desk.write(|tx| tx.drop_usages(session_id(1)))?;
    same!(
        counted_and_copied(&mut desk, 2)?,
        (1, 0),
        "its copy after it was erased"
    );
    desk.write(|tx| tx.forget_parts(session_id(2), at(9)))?;
    same!(
        counted_and_copied(&mut desk, 2)?,
        (0, 0),
        "what is forgotten in parts"
    );
    same!(counted_and_copied(&mut desk, 3)?, (1, 0), "its copy");
    desk.write(|tx| tx.create_session(&session(9, home)))?;
    desk.write(|tx| tx.put_usages(session_id(9), &again))?;
    same!(
        counted_and_copied(&mut desk, 9)?,
        (0, 6),
        "a copy of what is dropped next"
    );
    let pinned = desk.write(|tx| tx.drop_session(session_id(3), "me"))?;
    same!(pinned, None, "why a session cannot be dropped");
    same!(counted_and_copied(&mut desk, 3)?, (0, 0), "what is dropped");
    same!(
        counted_and_copied(&mut desk, 9)?,
        (1, 0),
        "a copy of what was dropped"
    );
    Ok(())
}

fn split(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let messages = [
        in_quarter("a", 0, 5),
        in_quarter("b", 0, 9),
        in_quarter("c", 0, 20),
        in_quarter("d", 1, 0),
    ];
    let [first, second, third, next] = &messages;
    let whole = [
        sum(3, in_quarter("", 0, 0).at, &messages[..3]),
        sum(3, next.at, &messages[3..]),
    ];
    desk.write(|tx| tx.put_usages(session_id(3), &messages))?;
    same!(all_sums(&mut desk)?, whole, "sums before a commit");
    let made = |n: u8, at: Timestamp, session: u128| CommitRecord {
        at,
        judgement: judgement(by_session(session), Verdict::Likely),
        ..commit(n)
    };
    desk.write(|tx| tx.put_commit(&made(1, second.at, 3)))?;
    let behind = Timestamp::from_nanos(second.at.nanos() + 1);
    let mut before = sum(3, whole[0].quarter.start, &[first.clone(), second.clone()]);
    before.quarter.past = behind;
    let mut after = sum(3, behind, std::slice::from_ref(third));
    after.quarter.past = next.at;
    let wanted = [before, after, whole[1].clone()];
    same!(all_sums(&mut desk)?, wanted, "sums around a commit");
    desk.write(|tx| tx.put_usages(session_id(3), &messages))?;
    let mut later = Desk::open(shelf)?;
    same!(all_sums(&mut later)?, wanted, "sums that are made again");
    Ok(())
}

fn titled(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        for n in [3, 2, 1] {
            let summary = Summary {
                title: (n != 2).then(|| format!("tïtle {n}")),
                ..Summary::default()
            };
            tx.put_summary(session_id(n), &summary, 0)?;
        }
        Ok(())
    })?;
    let title = |n: u128| (session_id(n), format!("tïtle {n}"));
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        let all = [3, 1, 2, 9].map(session_id);
        let titles = desk.read(|tx| tx.titles(&all))?;
        same!(titles, [title(1), title(3)], "titles");
        let titles = desk.read(|tx| tx.titles(&all[..1]))?;
        same!(titles, [title(3)], "the title of one session");
    }
    Ok(())
}
