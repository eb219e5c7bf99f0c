//! Listings of sessions: filters in all combinations, order, limits, tails.

use siglum_domain::evidence::{Committer, Verdict};
use siglum_domain::link::Link;
use siglum_ledger::{
    CommitRecord, EditRecord, Order, SessionFilter, SessionRecord, Statement, Summary,
};

use super::check::{Check, Desk, Outcome, Shelf, holds, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("sessions come newest first, then by id", newest_first),
    Check::new("every combination of filters lists what it says", filters),
    Check::new("a link lists the sessions that it is attached to", links),
    Check::new("a listing counts the commits of its session", counted),
    Check::new(
        "a name lists the sessions that the outside world calls so",
        conversations,
    ),
    Check::new("a time lists the sessions created before it", created),
    Check::new("sessions are paged in the order of their ids", paged),
    Check::new("a session is listed that has all links", all_links),
    Check::new(
        "a session is listed in each repository that it works in",
        works_there,
    ),
    Check::new(
        "sessions of repositories come in pages, wherever they lie",
        of_repositories,
    ),
    Check::new("a tail finds the sessions that end in it", tails),
];

fn newest_first(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.touch(session_id(2), at(90), None, None)?;
        tx.touch(session_id(1), at(90), None, None)
    })?;
    for limit in [0, 1, 2, 9] {
        let filter = SessionFilter {
            limit,
            ..SessionFilter::default()
        };
        let found = desk.read(|tx| tx.sessions(&filter))?;
        let ids: Vec<_> = found.iter().map(|l| l.record.id).collect();
        let mut wanted = [1, 2, 3].map(session_id).to_vec();
        wanted.truncate(if limit == 0 { 9 } else { limit });
        same!(ids, wanted, format!("sessions at most {limit}"));
    }
    Ok(())
}

/// Eight sessions that differ in every field that a filter looks at.
fn varied(desk: &mut Desk) -> Outcome<Vec<SessionRecord>> {
    let home = furnish(desk)?;
    let record = |n: u128| {
        let mut record = session(n, home);
        record.agent = Some(agent(if n & 1 == 0 { "codex" } else { "pi" }));
        record.repository = (n & 2 == 0).then(|| repository_id(2));
        record.ended_at = (n & 4 == 0).then(|| at(1000));
        record.last_at = at(100 + i64::try_from(n).unwrap_or(0) * 10);
        record
    };
    let records: Vec<_> = (16..24).map(record).collect();
    desk.write(|tx| {
        for record in &records {
            tx.create_session(record)?;
        }
        Ok(())
    })?;
    desk.read(|tx| {
        let mut all = Vec::new();
        for n in (1..4).chain(16..24) {
            all.extend(tx.session(session_id(n))?);
        }
        Ok(all)
    })
}

fn filters(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let mut all = varied(&mut desk)?;
    all.sort_by(|a, b| b.last_at.cmp(&a.last_at).then(a.id.cmp(&b.id)));
    let unseen = [session_id(2), session_id(18), session_id(21)];
    desk.write(|tx| unseen.iter().try_for_each(|id| tx.set_unseen(*id)))?;
    let link = Link::IssueNumber(42);
    let linked = [2, 16, 17, 19, 22].map(session_id);
    desk.write(|tx| {
        for session in linked {
            let link = link.clone();
            tx.state(
                at(1),
                "Ann",
                "cli",
                &Statement::LinkAttached { session, link },
            )?;
        }
        Ok(())
    })?;
    for mask in 0..1024u32 {
        let on = |bit: u32| mask & (1 << bit) != 0;
        let filter = SessionFilter {
            id: on(9).then(|| session_id(17)),
            repositories: match on(0) {
                true => vec![repository_id(2), repository_id(8)],
                false => Vec::new(),
            },
            agent: on(1).then(|| agent("codex")),
            conversation: None,
            since: on(2).then(|| at(280)),
            until: on(3).then(|| at(310)),
            created_before: None,
            open: on(4),
            seen: on(7),
            parent: on(6).then(|| session_id(1)),
            links: on(8).then(|| link.clone()).into_iter().collect(),
            order: Order::LastActive,
            limit: if on(5) { 2 } else { 0 },
        };
        let fits = |s: &&SessionRecord| {
            filter.id.is_none_or(|id| s.id == id)
                && (filter.repositories.is_empty()
                    || s.repository
                        .is_some_and(|r| filter.repositories.contains(&r)))
                && filter
                    .agent
                    .as_ref()
                    .is_none_or(|a| s.agent.as_ref() == Some(a))
                && filter.since.is_none_or(|t| s.last_at >= t)
                && filter.until.is_none_or(|t| s.last_at < t)
                && (!filter.open || s.ended_at.is_none())
                && !(filter.seen && unseen.contains(&s.id))
                && (filter.links.is_empty() || linked.contains(&s.id))
                && filter
                    .parent
                    .is_none_or(|p| s.parent.is_some_and(|(id, _)| id == p))
        };
        let most = if filter.limit == 0 { 99 } else { filter.limit };
        let wanted: Vec<_> = all.iter().filter(fits).take(most).cloned().collect();
        let found = desk.read(|tx| tx.sessions(&filter))?;
        let found: Vec<_> = found.into_iter().map(|l| l.record).collect();
        same!(found, wanted, format!("sessions by {filter:?}"));
    }
    Ok(())
}

fn conversations(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let home = furnish(&mut desk)?;
    let other = SessionRecord {
        agent: Some(agent("codex")),
        conversation: session(1, home).conversation,
        ..session(4, home)
    };
    desk.write(|tx| tx.create_session(&other))?;
    let called = |n: u128| SessionFilter {
        conversation: Some(session(n, home).conversation),
        ..SessionFilter::default()
    };
    let wanted: [(u128, &[u128]); 3] = [(1, &[4, 1]), (2, &[2]), (9, &[])];
    for (n, wanted) in wanted {
        let found = desk.read(|tx| tx.sessions(&called(n)))?;
        let found: Vec<_> = found.iter().map(|l| l.record.id).collect();
        let wanted: Vec<_> = wanted.iter().map(|n| session_id(*n)).collect();
        same!(found, wanted, format!("sessions called like session {n}"));
    }
    Ok(())
}

fn created(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    // Whatever was heard of it since.
    desk.write(|tx| tx.touch(session_id(1), at(9_000), None, None))?;
    let filter = SessionFilter {
        created_before: Some(at(20)),
        ..SessionFilter::default()
    };
    let found = desk.read(|tx| tx.sessions(&filter))?;
    let found: Vec<_> = found.iter().map(|l| l.record.id).collect();
    same!(found, [session_id(1)], "sessions created before the second");
    Ok(())
}

fn paged(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let all = varied(&mut desk)?;
    let mut wanted: Vec<_> = all.iter().map(|s| s.id).collect();
    wanted.sort_by(|a, b| b.cmp(a));
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let filter = SessionFilter {
            order: Order::Created { after },
            limit: 3,
            ..SessionFilter::default()
        };
        let page = desk.read(|tx| tx.sessions(&filter))?;
        // What is heard of moves nothing.
        desk.write(|tx| tx.touch(wanted[wanted.len() - 1], at(9_000), None, None))?;
        let Some(last) = page.last() else { break };
        after = Some(last.record.id);
        found.extend(page.iter().map(|l| l.record.id));
        holds!(found.len() <= wanted.len(), "the pages do not end");
    }
    same!(found, wanted, "sessions page by page");
    Ok(())
}

fn all_links(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let (issue, phase) = (Link::IssueNumber(7), Link::Phase("plan".to_owned()));
    desk.write(|tx| {
        for (n, link) in [(1, &issue), (1, &phase), (2, &issue), (3, &phase)] {
            let (session, link) = (session_id(n), link.clone());
            let statement = Statement::LinkAttached { session, link };
            tx.state(at(1), "Ann", "api", &statement)?;
        }
        Ok(())
    })?;
    let filter = SessionFilter {
        links: vec![issue, phase],
        ..SessionFilter::default()
    };
    let found = desk.read(|tx| tx.sessions(&filter))?;
    let found: Vec<_> = found.iter().map(|l| l.record.id).collect();
    same!(found, [session_id(1)], "sessions with both links");
    Ok(())
}

fn works_there(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let [edited, moved_to, stated, committed] = [11, 12, 13, 14].map(repository_id);
    let judged = |n| CommitRecord {
        repository: committed,
        judgement: judgement(by_session(n), Verdict::Likely),
        ..commit(1)
    };
    desk.write(|tx| {
        for n in 11..15 {
            tx.note_place(&place(n), repository_id(n), at(0))?;
        }
        tx.put_edit(&EditRecord {
            repository: edited,
            ..edit("e", "file", 1)
        })?;
        tx.touch(session_id(1), at(2), Some((moved_to, "/there")), None)?;
        let works = Statement::WorksIn {
            session: session_id(1),
            repositories: vec![stated],
        };
        tx.state(at(1), "Ann", "api", &works)?;
        tx.put_commit(&judged(2))?;
        // Judged again: it was another session.
        tx.put_commit(&judged(1))
    })?;
    for repository in [edited, moved_to, stated, committed] {
        let filter = SessionFilter {
            repositories: vec![repository],
            ..SessionFilter::default()
        };
        let found = desk.read(|tx| tx.sessions(&filter))?;
        let found: Vec<_> = found.iter().map(|l| l.record.id).collect();
        same!(found, [session_id(1)], format!("sessions of {repository}"));
    }
    Ok(())
}

fn of_repositories(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let home = furnish(&mut desk)?;
    let hour = |n: i64| at(n * 3_601);
    let judged = |n: u128| CommitRecord {
        repository: repository_id(2),
        judgement: judgement(by_session(n), Verdict::Likely),
        ..commit(1)
    };
    desk.write(|tx| {
        for (n, hours) in (16..24).zip((17..25).rev()) {
            let mut record = session(n, home);
            record.repository = Some(repository_id(2));
            record.agent = Some(agent(if n & 1 == 0 { "codex" } else { "pi" }));
            record.last_at = hour(hours);
            tx.create_session(&record)?;
        }
        // It only has a commit there.
        tx.put_commit(&judged(3))?;
        tx.touch(session_id(3), hour(50), None, None)
    })?;
    let page = |limit: usize, places: &[u128]| SessionFilter {
        repositories: places.iter().map(|n| repository_id(*n)).collect(),
        limit,
        ..SessionFilter::default()
    };
    let of_agent = SessionFilter {
        agent: Some(agent("codex")),
        ..page(2, &[2])
    };
    let until = SessionFilter {
        until: Some(hour(20)),
        ..page(2, &[2])
    };
    let since = SessionFilter {
        since: Some(hour(23)),
        ..page(9, &[2])
    };
    let created = SessionFilter {
        order: Order::Created {
            after: Some(session_id(20)),
        },
        ..page(2, &[1, 2])
    };
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        let checks: [(SessionFilter, &[u128]); 11] = [
            (page(1, &[2]), &[3]),
            (page(3, &[2]), &[3, 16, 17]),
            (page(9, &[2]), &[3, 16, 17, 18, 19, 20, 21, 22, 23]),
            (page(0, &[2]), &[3, 16, 17, 18, 19, 20, 21, 22, 23]),
            (page(2, &[1]), &[2, 1]),
            (page(10, &[1, 2]), &[3, 16, 17, 18, 19, 20, 21, 22, 23, 2]),
            (page(9, &[8]), &[]),
            (of_agent.clone(), &[16, 18]),
            (until.clone(), &[21, 22]),
            (since.clone(), &[3, 16, 17]),
            (created.clone(), &[19, 18]),
        ];
        for (filter, wanted) in checks {
            let found = desk.read(|tx| tx.sessions(&filter))?;
            let found: Vec<_> = found.iter().map(|l| l.record.id).collect();
            let wanted: Vec<_> = wanted.iter().map(|n| session_id(*n)).collect();
            same!(found, wanted, format!("sessions by {filter:?}"));
        }
    }
    // What goes on comes first, and whose the commit was no more is not listed.
    desk.write(|tx| {
        tx.touch(session_id(23), hour(60), None, None)?;
        tx.put_commit(&judged(16))
    })?;
    let found = desk.read(|tx| tx.sessions(&page(2, &[2])))?;
    let found: Vec<_> = found.iter().map(|l| l.record.id).collect();
    same!(found, [23, 16].map(session_id), "sessions after a change");
    Ok(())
}

fn links(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let label = |key: &str, value: &str| Link::Label {
        key: key.to_owned(),
        value: value.to_owned(),
    };
    let (issue, pr) = (Link::IssueNumber(7), Link::PrNumber(7));
    let (team, none) = (label("team", "a=ü"), label("team", ""));
    let stated = [
        (1, 1, true, &issue),
        (1, 2, true, &issue),
        (2, 1, true, &issue),
        (3, 1, false, &issue),
        (1, 1, true, &pr),
        (1, 3, true, &team),
        // Said first of what happened last, as one ledger hears of another.
        (9, 3, true, &none),
        (4, 3, false, &none),
        (9, 2, false, &pr),
        (4, 2, true, &pr),
        // Said at the same time: the later word stands.
        (5, 2, true, &team),
        (5, 2, false, &team),
    ];
    desk.write(|tx| {
        for (seconds, n, attaches, link) in stated {
            let (session, link) = (session_id(n), link.clone());
            let statement = if attaches {
                Statement::LinkAttached { session, link }
            } else {
                Statement::LinkDetached { session, link }
            };
            tx.state(at(seconds), "Ann", "api", &statement)?;
        }
        Ok(())
    })?;
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        for (link, wanted) in [
            (&issue, vec![2]),
            (&pr, vec![1]),
            (&team, vec![3]),
            (&none, vec![3]),
            (&Link::IssueNumber(8), vec![]),
            (&Link::Phase("7".to_owned()), vec![]),
        ] {
            let filter = SessionFilter {
                links: vec![link.clone()],
                ..SessionFilter::default()
            };
            let found = desk.read(|tx| tx.sessions(&filter))?;
            let found: Vec<_> = found.iter().map(|l| l.record.id).collect();
            let wanted: Vec<_> = wanted.into_iter().map(session_id).collect();
            same!(found, wanted, format!("sessions with {link}"));
        }
        let of_three = |value: &str| (value.to_owned(), session_id(3));
        for (field, start, wanted) in [
            (
                "label",
                "team=",
                vec![of_three("team="), of_three("team=a=ü")],
            ),
            ("label", "team=a", vec![of_three("team=a=ü")]),
            ("label", "team=%", vec![]),
            ("phase", "team=", vec![]),
        ] {
            let found = desk.read(|tx| tx.sessions_by_link_start(field, start))?;
            same!(found, wanted, format!("{field} beginning with {start}"));
        }
    }
    Ok(())
}

fn counted(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.put_commit(&commit(1))?;
        tx.put_commit(&commit(2))?;
        let mut human = commit(3);
        human.judgement = judgement(Committer::Human, Verdict::Certain);
        tx.put_commit(&human)
    })?;
    let found = desk.read(|tx| tx.sessions(&SessionFilter::default()))?;
    let counts: Vec<_> = found.iter().map(|l| (l.record.id, l.commits)).collect();
    let wanted = [(3, 0), (2, 0), (1, 2)].map(|(n, c)| (session_id(n), c));
    same!(counts, wanted, "commits by session");
    let blank = found.iter().all(|l| l.summary == Summary::default());
    holds!(blank, "a session without a fold has a summary");
    Ok(())
}

fn tails(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let home = furnish(&mut desk)?;
    desk.write(|tx| {
        for n in 1..=20u128 {
            tx.create_session(&session((n << 24) | 0xab_cdef, home))?;
        }
        tx.create_session(&session(0xab_cdee, home))
    })?;
    desk.write(|tx| {
        for (n, name) in [(1, "5d0c-one"), (2, "5d0c-two"), (3, "5d"), (4, "x5d0c")] {
            let id = session_id((n << 24) | 0xab_cdef);
            tx.add_alias(&agent("claude-code"), &native(name), id, at(1))?;
            tx.add_alias(&agent("codex"), &native(&format!("{name}-2")), id, at(1))?;
        }
        Ok(())
    })?;
    let called = |agent_name: &str, n: u128| (agent(agent_name), session_id((n << 24) | 0xab_cdef));
    let wanted = [
        called("claude-code", 1),
        called("claude-code", 2),
        called("codex", 1),
        called("codex", 2),
    ];
    same!(
        desk.read(|tx| tx.sessions_by_native_start("5d0c"))?,
        wanted,
        "sessions by how their native ids begin, by agent"
    );
    same!(
        desk.read(|tx| tx.sessions_by_native_start("5d0c-%"))?,
        [],
        "sessions by a start with a sign of patterns"
    );
    let find = |desk: &mut Desk, tail: &str| desk.read(|tx| tx.sessions_by_tail(tail));
    same!(
        find(&mut desk, "ffffff")?,
        [],
        "sessions that end in nothing"
    );
    let whole = session_id((7 << 24) | 0xab_cdef);
    let digits = whole.to_string()[4..].to_owned();
    same!(find(&mut desk, &digits)?, [whole], "sessions by all digits");
    same!(
        find(&mut desk, "07abcdef")?,
        [whole],
        "sessions by eight digits"
    );
    let many = find(&mut desk, "abcdef")?;
    let newest: Vec<_> = (5..=20u128)
        .rev()
        .map(|n| session_id((n << 24) | 0xab_cdef))
        .collect();
    same!(
        many,
        newest,
        "sessions by six digits, newest first, 16 at most"
    );
    Ok(())
}
