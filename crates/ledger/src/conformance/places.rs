//! Repositories, checkouts and processes.

use super::check::{Check, Desk, Outcome, Shelf, same};
use super::sample::*;
use crate::record::RepositoryRecord;

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "a place is one repository, however often it is noted",
        noted,
    ),
    Check::new("repositories come by their directory", by_directory),
    Check::new("a checkout remembers up to where it was swept", swept),
    Check::new(
        "a session is bound to a process once, at its latest time",
        bound,
    ),
    Check::new(
        "a process hosts many sessions, and a session many processes",
        shared,
    ),
];

fn noted(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let linked = || siglum_domain::intake::Place {
        worktree: "/home/dev/linked".to_owned(),
        ..place(1)
    };
    let ids = desk.write(|tx| {
        Ok([
            tx.note_place(&place(1), repository_id(1), at(1))?,
            tx.note_place(&place(1), repository_id(2), at(2))?,
            tx.note_place(&linked(), repository_id(3), at(3))?,
            tx.note_place(&linked(), repository_id(4), at(3))?,
            tx.note_place(&place(2), repository_id(5), at(3))?,
        ])
    })?;
    let (one, other) = (repository_id(1), repository_id(5));
    same!(ids, [one, one, one, one, other], "ids of noted places");
    let wanted = RepositoryRecord {
        id: one,
        common_dir: place(1).common_dir,
        worktrees: vec![
            ("/home/dev/linked".to_owned(), None),
            (place(1).worktree, None),
        ],
    };
    let found = desk.read(|tx| tx.repository(&place(1).common_dir))?;
    same!(found, Some(wanted), "the repository");
    let unknown = desk.read(|tx| tx.repository("/nowhere"))?;
    same!(unknown, None, "a repository that was never noted");
    Ok(())
}

fn by_directory(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    desk.write(|tx| {
        for n in [3, 1, 2] {
            tx.note_place(&place(n), repository_id(n), at(0))?;
        }
        Ok(())
    })?;
    let found = desk.read(|tx| tx.repositories())?;
    let ids: Vec<_> = found.iter().map(|r| r.id).collect();
    same!(ids, [1, 2, 3].map(repository_id), "repositories");
    Ok(())
}

fn swept(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    for head in [oid(1), long_oid(2)] {
        desk.write(|tx| tx.set_swept(repository_id(1), &place(1).worktree, &head))?;
        let found = desk.read(|tx| tx.repositories())?;
        let heads: Vec<_> = found.into_iter().map(|r| r.worktrees).collect();
        let swept = vec![(place(1).worktree, Some(head.clone()))];
        let other = vec![(place(2).worktree, None)];
        same!(heads, [swept, other], "heads of checkouts");
    }
    Ok(())
}

fn bound(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.bind(session_id(1), &process(10), None, at(5))?;
        tx.bind(session_id(1), &process(10), Some(&[variable()]), at(9))?;
        tx.bind(session_id(1), &process(10), Some(&[]), at(7))?;
        tx.bind(session_id(1), &process(10), None, at(6))
    })?;
    let found = desk.read(|tx| tx.bound_to(&process(10).key()))?;
    same!(found.len(), 1, "bindings after the same one four times");
    same!(found[0].process, process(10), "the process");
    same!(found[0].bound_at, at(9), "the latest time");
    let carried = found[0].carried.clone();
    same!(carried, Some(vec![variable()]), "variables, as first seen");
    let none = desk.read(|tx| tx.bound_to(&process(11).key()))?;
    same!(none, [], "sessions of a process that nobody knows");
    Ok(())
}

fn shared(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.bind(session_id(2), &process(10), None, at(1))?;
        tx.bind(session_id(1), &process(10), None, at(2))?;
        tx.bind(session_id(1), &process(11), None, at(3))?;
        tx.bind(session_id(1), &process(12), None, at(1))
    })?;
    let sessions = desk.read(|tx| tx.bound_to(&process(10).key()))?;
    let ids: Vec<_> = sessions.iter().map(|b| b.session).collect();
    same!(ids, [1, 2].map(session_id), "sessions of one process");
    let processes = desk.read(|tx| tx.bindings(session_id(1)))?;
    let found: Vec<_> = processes
        .iter()
        .map(|b| (b.process.pid, b.bound_at, b.session))
        .collect();
    let wanted = [(11, 3), (10, 2), (12, 1)].map(|(pid, s)| (pid, at(s), session_id(1)));
    same!(found, wanted, "processes of one session, newest first");
    Ok(())
}
