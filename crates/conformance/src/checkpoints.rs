//! Checkpoints and their pins.

use siglum_domain::SessionId;
use siglum_domain::link::Link;
use siglum_ledger::{CheckpointFilter, CheckpointKind, CheckpointRecord, Statement};

use super::check::{Check, Desk, Outcome, Shelf, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("checkpoints join their pins", checkpoints),
    Check::new("a checkpoint that is taken back is gone alone", withdrawn),
    Check::new("checkpoints are found newest first", checkpoints_found),
    Check::new("checkpoints come in pages", pages),
    Check::new(
        "every combination of filters lists the checkpoints that it says",
        checkpoints_by_filter,
    ),
    Check::new("a commit has its checkpoints, oldest first", of_commit),
    Check::new("a tail finds the checkpoints that end in it", tails),
];

fn checkpoints(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let first = CheckpointRecord {
        commit: Some(oid(3)),
        pins: vec![(session_id(1), 4), (session_id(3), 2)],
        ..checkpoint(1, CheckpointKind::Commit)
    };
    let more = CheckpointRecord {
        kind: CheckpointKind::Manual,
        pins: vec![(session_id(2), 7), (session_id(1), 9)],
        ..checkpoint(1, CheckpointKind::Manual)
    };
    let bare = CheckpointRecord {
        repository: None,
        pins: Vec::new(),
        ..checkpoint(2, CheckpointKind::End)
    };
    desk.write(|tx| {
        for record in [&first, &more, &first, &bare] {
            tx.put_checkpoint(record)?;
        }
        Ok(())
    })?;
    let joined = CheckpointRecord {
        pins: vec![(session_id(1), 4), (session_id(2), 7), (session_id(3), 2)],
        ..first
    };
    for wanted in [joined, bare] {
        let found = desk.read(|tx| tx.checkpoint(wanted.id))?;
        same!(found, Some(wanted), "the checkpoint");
    }
    let none = desk.read(|tx| tx.checkpoint(checkpoint_id(9)))?;
    same!(none, None, "a checkpoint that nobody made");
    Ok(())
}

fn withdrawn(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let record = |n| CheckpointRecord {
        pins: vec![(session_id(1), 4)],
        ..checkpoint(n, CheckpointKind::Commit)
    };
    desk.write(|tx| {
        for n in [1, 2, 3] {
            tx.put_checkpoint(&record(n))?;
        }
        Ok(())
    })?;
    desk.write(|tx| tx.withdraw_checkpoint(checkpoint_id(1)))?;
    desk.write(|tx| tx.withdraw_checkpoint(checkpoint_id(3)))?;
    let left = desk.read(|tx| tx.checkpoints(&CheckpointFilter::of_session(session_id(1), 9)))?;
    same!(left, [record(2)], "the checkpoints of the session");
    for gone in [1, 3] {
        let found = desk.read(|tx| tx.checkpoint(checkpoint_id(gone)))?;
        same!(found, None, "the checkpoint");
    }
    Ok(())
}

fn of_commit(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let record = |n: u8, repository: u128, of: u8| CheckpointRecord {
        id: checkpoint_id(u128::from(n)),
        kind: CheckpointKind::Commit,
        repository: Some(repository_id(repository)),
        commit: Some(oid(of)),
        at: at(i64::from(n)),
        pins: vec![(session_id(1), 0), (session_id(2), 0)],
    };
    let (first, second) = (record(3, 1, 7), record(4, 1, 7));
    desk.write(|tx| {
        for record in [&second, &first, &record(1, 2, 7), &record(2, 1, 8)] {
            tx.put_checkpoint(record)?;
        }
        Ok(())
    })?;
    let wanted = [first, second];
    for desk in [&mut desk, &mut Desk::open(shelf)?] {
        let found = desk.read(|tx| tx.checkpoints_of_commit(repository_id(1), &oid(7)))?;
        same!(found, wanted, "the checkpoints of a commit");
    }
    Ok(())
}

fn checkpoints_found(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let elsewhere = CheckpointRecord {
        repository: Some(repository_id(2)),
        pins: vec![(session_id(2), 1), (session_id(1), 1)],
        ..checkpoint(4, CheckpointKind::Manual)
    };
    desk.write(|tx| {
        for n in [2, 1, 3] {
            tx.put_checkpoint(&checkpoint(n, CheckpointKind::End))?;
        }
        tx.put_checkpoint(&elsewhere)
    })?;
    let newest_two = CheckpointFilter {
        limit: 2,
        ..CheckpointFilter::default()
    };
    let of_repository = |limit| CheckpointFilter {
        repositories: vec![repository_id(1)],
        limit,
        ..CheckpointFilter::default()
    };
    let found = desk.read(|tx| {
        Ok([
            tx.checkpoints(&CheckpointFilter::default())?,
            tx.checkpoints(&newest_two)?,
            tx.checkpoints(&CheckpointFilter::of_session(session_id(1), 9))?,
            tx.checkpoints(&CheckpointFilter::of_session(session_id(1), 1))?,
            tx.checkpoints(&CheckpointFilter::of_session(session_id(2), 9))?,
            tx.checkpoints(&of_repository(0))?,
            tx.checkpoints(&of_repository(1))?,
        ])
    })?;
    let wanted: [&[u128]; 7] = [
        &[4, 3, 2, 1],
        &[4, 3],
        &[4, 3, 2, 1],
        &[4],
        &[4],
        &[3, 2, 1],
        &[3],
    ];
    for (n, (found, wanted)) in found.into_iter().zip(wanted).enumerate() {
        let found: Vec<_> = found.into_iter().map(|c| c.id).collect();
        let wanted: Vec<_> = wanted.iter().map(|n| checkpoint_id(*n)).collect();
        same!(found, wanted, format!("query {n} for checkpoints"));
    }
    Ok(())
}

fn pages(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    // Three of them at one time.
    let times = [(1, 1), (2, 2), (3, 2), (4, 2), (5, 3)];
    desk.write(|tx| {
        for (n, time) in times {
            let mut record = checkpoint(n, CheckpointKind::End);
            record.at = at(time);
            tx.put_checkpoint(&record)?;
        }
        Ok(())
    })?;
    let of_repository = CheckpointFilter {
        repositories: vec![repository_id(1)],
        ..CheckpointFilter::default()
    };
    let of_session = CheckpointFilter::of_session(session_id(1), 0);
    for mut filter in [CheckpointFilter::default(), of_session, of_repository] {
        let mut found = Vec::new();
        filter.limit = 2;
        for _ in times {
            let page = desk.read(|tx| tx.checkpoints(&filter))?;
            filter.after = page.last().map(|c| (c.at, c.id));
            found.extend(page.into_iter().map(|c| c.id));
            if filter.after.is_none() {
                break;
            }
        }
        let wanted: Vec<_> = [5, 4, 3, 2, 1].map(checkpoint_id).to_vec();
        same!(found, wanted, "the checkpoints of all pages");
    }
    Ok(())
}

/// What is attached to the first session, to the second, and to both.
const fn attached() -> [Link; 3] {
    [
        Link::IssueNumber(1),
        Link::IssueNumber(2),
        Link::PrNumber(3),
    ]
}

/// Eight checkpoints that differ in all that a filter looks at, newest first.
fn varied(desk: &mut Desk) -> Outcome<Vec<CheckpointRecord>> {
    furnish(desk)?;
    let record = |n: u128| {
        let is_pinned = |session: &u128| match n & 3 {
            0 => *session < 3,
            only => *session == only,
        };
        let pinned = [1, 2, 3].into_iter().filter(is_pinned);
        CheckpointRecord {
            repository: (n & 4 == 0).then(|| repository_id(1 + (n & 1))),
            pins: pinned.map(|session| (session_id(session), 4)).collect(),
            ..checkpoint(n, CheckpointKind::Manual)
        }
    };
    let records: Vec<_> = (16..24).rev().map(record).collect();
    let [first, second, both] = attached();
    desk.write(|tx| {
        for (n, link) in [(1, &first), (2, &second), (1, &both), (2, &both)] {
            let (session, link) = (session_id(n), link.clone());
            let statement = Statement::LinkAttached { session, link };
            tx.state(at(1), "Ann", "api", &statement)?;
        }
        records.iter().try_for_each(|r| tx.put_checkpoint(r))
    })?;
    Ok(records)
}

fn checkpoints_by_filter(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let all = varied(&mut desk)?;
    let links = attached();
    let has = |session: SessionId, link: &Link| {
        (session == session_id(1) && *link != links[1])
            || (session == session_id(2) && *link != links[0])
    };
    for mask in 0..512u32 {
        let on = |bit: u32| mask & (1 << bit) != 0;
        let wanted = links.iter().zip(1..).filter(|(_, bit)| on(*bit));
        let filter = CheckpointFilter {
            session: on(0).then(|| session_id(2)),
            links: wanted.map(|(link, _)| link.clone()).collect(),
            repositories: match on(4) {
                true => vec![repository_id(2), repository_id(8)],
                false => Vec::new(),
            },
            since: on(5).then(|| at(18)),
            until: on(6).then(|| at(23)),
            after: on(7).then(|| (at(22), checkpoint_id(22))),
            limit: if on(8) { 1 } else { 0 },
        };
        let fits = |c: &&CheckpointRecord| {
            let pins = |(session, _): &(SessionId, u64)| {
                filter.session.is_none_or(|wanted| wanted == *session)
                    && filter.links.iter().all(|link| has(*session, link))
            };
            c.pins.iter().any(pins)
                && (filter.repositories.is_empty()
                    || c.repository
                        .is_some_and(|r| filter.repositories.contains(&r)))
                && filter.since.is_none_or(|since| c.at >= since)
                && filter.until.is_none_or(|until| c.at < until)
                && filter.after.is_none_or(|after| (c.at, c.id) < after)
        };
        let most = if filter.limit == 0 { 99 } else { filter.limit };
        let wanted: Vec<_> = all.iter().filter(fits).take(most).cloned().collect();
        let found = desk.read(|tx| tx.checkpoints(&filter))?;
        same!(found, wanted, format!("checkpoints by {filter:?}"));
    }
    Ok(())
}

fn tails(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let id = |n: u128| (n << 24) | 0xab_cdef;
    desk.write(|tx| {
        for n in 1..=18 {
            let mut record = checkpoint(id(n), CheckpointKind::End);
            record.at = at(i64::try_from(n).unwrap_or(0));
            tx.put_checkpoint(&record)?;
        }
        Ok(())
    })?;
    let found = desk.read(|tx| {
        Ok((
            tx.checkpoints_by_tail("02abcdef")?,
            tx.checkpoints_by_tail("abcdef")?,
            tx.checkpoints_by_tail("abcdee")?,
        ))
    })?;
    let newest = (3..=18).rev().map(|n| checkpoint_id(id(n))).collect();
    let wanted = (vec![checkpoint_id(id(2))], newest, vec![]);
    same!(found, wanted, "checkpoints by their tail");
    Ok(())
}
