//! Repositories, checkouts and processes.

use siglum_ledger::{RepositoryIdentity, RepositoryRecord};

use super::check::{Check, Desk, Outcome, Shelf, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "a place is one repository, however often it is noted",
        noted,
    ),
    Check::new("repositories come by their directory", by_directory),
    Check::new("what tells clones from others is stored", identities),
    Check::new("a repository that moved is the same", moved),
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
        identity: RepositoryIdentity::default(),
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

fn identities(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let (one, two) = (repository_id(1), repository_id(2));
    let all = RepositoryIdentity {
        roots: vec![oid(1), long_oid(2)],
        remote: Some("host/o/r".to_owned()),
        clone_of: None,
    };
    let clone = RepositoryIdentity {
        clone_of: Some(one),
        ..RepositoryIdentity::default()
    };
    desk.write(|tx| {
        tx.set_identity(one, &all)?;
        tx.set_identity(two, &clone)
    })?;
    let found = desk.read(|tx| tx.repositories())?;
    let found: Vec<_> = found.into_iter().map(|r| r.identity).collect();
    same!(found, [all, clone], "identities");
    Ok(())
}

fn moved(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let (one, new) = (repository_id(1), place(7));
    let linked = |path: &str| siglum_domain::intake::Place {
        worktree: path.to_owned(),
        ..place(1)
    };
    let renamed = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    desk.write(|tx| {
        tx.set_swept(one, &place(1).worktree, &oid(1))?;
        tx.note_place(&linked("/linked"), repository_id(8), at(2))?;
        tx.note_place(&linked("/known"), repository_id(8), at(2))?;
        let all = [
            renamed(&place(1).worktree, &new.worktree),
            renamed("/linked", "/known"),
            renamed("/nowhere", "/there"),
        ];
        tx.move_repository(one, "/on/the/way/.git", &[])?;
        tx.move_repository(one, &new.common_dir, &all)
    })?;
    let old = desk.read(|tx| tx.repository(&place(1).common_dir))?;
    same!(old, None, "the place that was left");
    let found = desk.read(|tx| tx.repository(&new.common_dir))?;
    let found = found.map(|r| (r.id, r.worktrees));
    let wanted = vec![
        (new.worktree.clone(), Some(oid(1))),
        ("/known".to_owned(), None),
        ("/linked".to_owned(), None),
    ];
    same!(found, Some((one, wanted)), "the repository that moved");
    let noted = desk.write(|tx| tx.note_place(&new, repository_id(8), at(9)))?;
    same!(noted, one, "the place that is new");
    let other = desk.read(|tx| tx.repository(&place(2).common_dir))?;
    same!(other.map(|r| r.id), Some(repository_id(2)), "another one");
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
