//! What messages cost: replaced as a whole, listed in pages, and copies of other sessions known as such.

use siglum_domain::fold::{Records, Usage};
use siglum_domain::observation::{Source, Tokens};
use siglum_ledger::{UsageFilter, UsageRecord};

use super::check::{Check, Desk, Outcome, Shelf, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("what messages cost comes back whole", whole),
    Check::new("what a session costs is replaced as a whole", replaced),
    Check::new("usage is found by session and time, in pages", find_usages),
    Check::new("the same message of an older session is copied", copied),
    Check::new("what a session cost outlives it without words", forgotten),
];

pub(super) fn tokens(n: u64) -> Tokens {
    Tokens {
        input: n,
        output: n + 1,
        cache_read: n + 2,
        cache_write: n + 3,
    }
}

pub(super) fn usage(event: &str, seconds: i64) -> Usage {
    Usage {
        event: event.to_owned(),
        request: None,
        turn: None,
        at: at(seconds),
        model: None,
        subagent: None,
        branch: None,
        source: Source::Telemetry,
        tokens: tokens(0),
        repeated: Records::default(),
        retold: Records::default(),
    }
}

pub(super) fn full(event: &str, seconds: i64) -> Usage {
    Usage {
        request: Some("réq".to_owned()),
        turn: Some(turn_id(1)),
        model: Some("m/1".to_owned()),
        subagent: Some("s".to_owned()),
        branch: Some("b/ü".to_owned()),
        source: Source::Transcript,
        tokens: tokens(1 << 40),
        repeated: Records {
            count: 2,
            tokens: tokens(7),
        },
        retold: Records {
            count: 3,
            tokens: tokens(11),
        },
        ..usage(event, seconds)
    }
}

fn record(n: u128, usage: &Usage) -> UsageRecord {
    UsageRecord {
        session: session_id(n),
        usage: usage.clone(),
        copied: false,
    }
}

fn whole(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let (full, bare) = (full("msg:ä", 5), usage("msg:z", 1));
    desk.write(|tx| tx.put_usages(session_id(2), &[bare.clone(), full.clone()]))?;
    desk.write(|tx| tx.put_usages(session_id(1), std::slice::from_ref(&full)))?;
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        let all = desk.read(|tx| tx.usages(&UsageFilter::default()))?;
        let copy = UsageRecord {
            copied: true,
            ..record(2, &full)
        };
        same!(all, [record(1, &full), record(2, &bare), copy], "all usage");
    }
    Ok(())
}

fn replaced(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.put_usages(session_id(1), &[usage("a", 1), usage("b", 1)])?;
        tx.put_usages(session_id(2), &[usage("c", 1)])
    })?;
    let again = [usage("b", 3), usage("d", 1)];
    desk.write(|tx| tx.put_usages(session_id(1), &again))?;
    let all = desk.read(|tx| tx.usages(&UsageFilter::default()))?;
    let wanted = [
        record(1, &again[0]),
        record(1, &again[1]),
        record(2, &usage("c", 1)),
    ];
    same!(all, wanted, "usage after it was replaced");
    desk.write(|tx| tx.put_usages(session_id(1), &[]))?;
    let all = desk.read(|tx| tx.usages(&UsageFilter::default()))?;
    same!(all, wanted[2..], "usage after it was taken away");
    Ok(())
}

fn find_usages(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let of = [usage("a", 2), usage("b", 4), usage("c", 6)];
    desk.write(|tx| {
        tx.put_usages(session_id(2), &[usage("a", 3), usage("d", 5)])?;
        tx.put_usages(session_id(1), &of)
    })?;
    let mut events = |filter: UsageFilter| -> Outcome<Vec<String>> {
        let found = desk.read(|tx| tx.usages(&filter))?;
        Ok(found.into_iter().map(|u| u.usage.event).collect())
    };
    let session = UsageFilter {
        session: Some(session_id(2)),
        ..UsageFilter::default()
    };
    same!(events(session)?, ["a", "d"], "of a session");
    let since = UsageFilter {
        since: Some(at(4)),
        ..UsageFilter::default()
    };
    same!(events(since)?, ["b", "c", "d"], "since a time");
    let until = UsageFilter {
        until: Some(at(4)),
        ..UsageFilter::default()
    };
    same!(events(until)?, ["a", "a"], "until a time");
    let mut page = UsageFilter {
        limit: 2,
        ..UsageFilter::default()
    };
    same!(events(page.clone())?, ["a", "b"], "the first page");
    page.after = Some((session_id(1), "b".to_owned()));
    same!(events(page.clone())?, ["c", "a"], "the second page");
    page.after = Some((session_id(2), "a".to_owned()));
    same!(events(page)?, ["d"], "the last page");
    let none = UsageFilter {
        session: Some(session_id(3)),
        ..UsageFilter::default()
    };
    same!(events(none)?, Vec::<String>::new(), "of no session");
    Ok(())
}

fn copied(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.put_usages(
            session_id(3),
            &[usage("a", 1), usage("b", 2), usage("c", 3)],
        )?;
        tx.put_usages(session_id(1), &[usage("a", 1), usage("b", 9)])?;
        tx.put_usages(session_id(2), &[usage("a", 1)])
    })?;
    let copies = |desk: &mut Desk| -> Outcome<Vec<bool>> {
        let all = desk.read(|tx| tx.usages(&UsageFilter::default()))?;
        Ok(all.into_iter().map(|u| u.copied).collect())
    };
    let all = [false, false, true, true, false, false];
    same!(copies(&mut desk)?, all, "copies of older sessions");
    desk.write(|tx| tx.put_usages(session_id(1), &[]))?;
    let left = [false, true, false, false];
    same!(copies(&mut desk)?, left, "copies after the oldest one went");
    Ok(())
}

fn forgotten(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        for n in [1, 2, 3] {
            tx.put_usages(session_id(n), &[full(&format!("a{n}"), 1)])?;
        }
        Ok(())
    })?;
    desk.write(|tx| tx.forget_session(session_id(1), at(9)))?;
    desk.write(|tx| tx.forget_parts(session_id(1), at(9)))?;
    desk.write(|tx| tx.forget_parts(session_id(2), at(9)))?;
    let bare = Usage {
        request: None,
        subagent: None,
        branch: None,
        ..full("a1", 1)
    };
    let beside = record(3, &full("a3", 1));
    let all = desk.read(|tx| tx.usages(&UsageFilter::default()))?;
    same!(all, [record(1, &bare), beside.clone()], "what is left");
    // What is folded afterwards knows of nothing that was forgotten, and of a message that was told on both sides.
    let later = usage("b", 10);
    let both = [later.clone(), usage("a1", 11)];
    desk.write(|tx| tx.put_usages(session_id(1), &both))?;
    let all = desk.read(|tx| tx.usages(&UsageFilter::default()))?;
    let left = [record(1, &bare), record(1, &later), beside.clone()];
    same!(all, left, "what is left after it went on");
    desk.write(|tx| tx.put_usages(session_id(1), &[]))?;
    let all = desk.read(|tx| tx.usages(&UsageFilter::default()))?;
    same!(
        all,
        [record(1, &bare), beside.clone()],
        "what is left when that went"
    );
    desk.write(|tx| tx.drop_usages(session_id(1)))?;
    let all = desk.read(|tx| tx.usages(&UsageFilter::default()))?;
    same!(all, [beside], "what is left when it is erased, too");
    desk.write(|tx| tx.drop_usages(session_id(3)))?;
    let all = desk.read(|tx| tx.usages(&UsageFilter::default()))?;
    same!(all, [], "what is left when the one beside it is erased");
    Ok(())
}
