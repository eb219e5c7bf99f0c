//! Scopes: what may leave for a projection, and that the rest waits.

use siglum_domain::evidence::Verdict;
use siglum_domain::scope::Scope;
use siglum_ledger::{
    CheckpointKind, DESTINATION, Destination, DueDocument, LedgerError, Projection, Reach,
    Statement, Transaction,
};

use super::check::{Check, Desk, Outcome, Shelf, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("a scope says which sessions may leave", sessions),
    Check::new("what waits outside is due once it is inside", grown),
    Check::new("documents outside of a scope are not due", documents),
    Check::new(
        "what was stated is looked at again where a scope changes",
        stated,
    ),
];

fn scoped(name: &str, scope: Option<Scope>) -> Projection {
    Projection {
        scope,
        ..projection(name)
    }
}

fn destination(scope: Option<Scope>) -> Projection {
    Projection {
        kind: DESTINATION.to_owned(),
        ..scoped("team", scope)
    }
}

fn works_in(n: u128, repository: u128) -> Statement {
    Statement::WorksIn {
        session: session_id(n),
        repositories: vec![repository_id(repository)],
    }
}

/// Session 1 works in the first repository, 2 in both, and 3 in none. Each has a receipt.
fn stocked(desk: &mut Desk) -> Outcome {
    furnish(desk)?;
    desk.write(|tx| {
        tx.state(at(1), "Ann", "api", &works_in(2, 2))?;
        for n in 1..=3 {
            commit_entry(tx, n, 50)?;
        }
        Ok(())
    })
}

fn sessions(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    stocked(&mut desk)?;
    let works = [
        vec![repository_id(1)],
        vec![repository_id(1), repository_id(2)],
        vec![],
    ];
    let none = Scope {
        no_repository: true,
        ..Scope::default()
    };
    desk.write(|tx| tx.put_projection(&scoped("other", Some(none.clone()))))?;
    let one = Scope::new([repository_id(1)]);
    let both = Scope::new([repository_id(1), repository_id(2)]);
    let late = Scope {
        since: Some(at(20)),
        ..both.clone()
    };
    let or_none = Scope {
        no_repository: true,
        ..one.clone()
    };
    for scope in [
        None,
        Some(Scope::default()),
        Some(one),
        Some(both),
        Some(late),
        Some(or_none),
        Some(none),
        Some(Scope::in_process()),
    ] {
        desk.write(|tx| tx.put_projection(&scoped("a", scope.clone())))?;
        let has = |n: usize| {
            let began = at(i64::try_from(n).unwrap_or(0) * 10);
            let scope = scope.as_ref();
            scope.is_some_and(|s| s.has_session(&works[n - 1], began))
        };
        let wanted = [1, 2, 3].map(has);
        let found = desk.read(|tx| {
            let mut found = [false; 3];
            for (found, n) in found.iter_mut().zip(1..) {
                *found = tx.in_scope("a", session_id(n))?;
            }
            Ok(found)
        })?;
        same!(found, wanted, format!("sessions in {scope:?}"));
        let count = wanted.iter().filter(|is_in| **is_in).count() as u64;
        let reach = Reach {
            sessions: count,
            outside: 3 - count,
        };
        same!(desk.read(|tx| tx.reach("a"))?, reach, "its reach");
        let (lag, next) = desk.read(|tx| Ok((tx.lag("a")?, tx.next_try("a")?)))?;
        same!(
            (lag.sessions, lag.receipts),
            (count, count),
            "what it lacks"
        );
        same!(next.is_some(), count > 0, "whether there is a next try");
        let stored = desk.read(|tx| tx.projections())?.remove(0);
        same!(stored.scope, scope, "its scope");
    }
    // A commit somewhere else takes it out, too.
    let mut elsewhere = commit(5);
    elsewhere.repository = repository_id(2);
    desk.write(|tx| {
        tx.put_projection(&scoped("a", Some(Scope::new([repository_id(1)]))))?;
        tx.put_commit(&elsewhere)
    })?;
    same!(
        desk.read(|tx| tx.in_scope("a", session_id(1)))?,
        false,
        "one that commits outside"
    );
    let gone = desk.read(|tx| Ok((tx.in_scope("no", session_id(1))?, tx.reach("no")?)))?;
    same!(gone, (false, Reach::default()), "one that is not there");
    Ok(())
}

fn claimed(tx: &mut dyn Transaction) -> Result<Vec<u128>, LedgerError> {
    let claims = tx.claim("a", at(200), at(200), 9)?;
    let mut all: Vec<u128> = (1..=3)
        .filter(|n| claims.iter().any(|c| c.session == session_id(*n)))
        .collect();
    all.sort_unstable();
    Ok(all)
}

fn grown(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    stocked(&mut desk)?;
    let one = Scope::new([repository_id(1)]);
    desk.write(|tx| tx.put_projection(&scoped("a", Some(one.clone()))))?;
    same!(desk.write(claimed)?, [1], "what may be claimed");
    desk.write(|tx| {
        tx.taken("a", session_id(1), 1, at(200))?;
        tx.failed("a", session_id(2), "no", at(200), None)
    })?;
    same!(
        desk.read(|tx| tx.troubled(Some("a"), 9))?,
        [],
        "what fails outside"
    );
    let both = Scope::new([repository_id(1), repository_id(2)]);
    desk.write(|tx| tx.put_projection(&scoped("a", Some(both.clone()))))?;
    same!(desk.write(claimed)?, [2], "what may be claimed then");
    // A session that begins to work somewhere else.
    desk.write(|tx| {
        tx.state(at(2), "Ann", "api", &works_in(3, 1))?;
        tx.put_projection(&scoped("a", Some(one.clone())))
    })?;
    same!(
        desk.write(claimed)?,
        [3],
        "what may be claimed of one that works somewhere now"
    );
    Ok(())
}

/// What is due at the destination, by kind and the end of its name.
fn due(tx: &mut dyn Transaction) -> Result<Vec<String>, LedgerError> {
    let found = tx.due_documents("team", 99)?;
    if tx.documents_due("team")? != found.len() as u64 {
        return Err(LedgerError::Damaged("it counts others".to_owned()));
    }
    let short = |d: DueDocument| format!("{} {}", d.kind, d.document);
    Ok(found.into_iter().map(short).collect())
}

fn documents(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    stocked(&mut desk)?;
    desk.write(|tx| {
        tx.put_checkpoint(&checkpoint(5, CheckpointKind::Commit))?;
        tx.put_commit(&commit(5))?;
        let mut other = commit(6);
        other.judgement = judgement(by_session(2), Verdict::Certain);
        tx.put_commit(&other)?;
        tx.put_projection(&destination(Some(Scope::new([repository_id(1)]))))
    })?;
    let hex = |id: uuid::Uuid| id.simple().to_string();
    let repository = |n| format!("repository {}", hex(repository_id(n).uuid()));
    let session = |n| format!("session {}", hex(session_id(n).uuid()));
    let of = |n| format!("commit {}:{}", hex(repository_id(1).uuid()), oid(n));
    let pinned = format!("checkpoint {}", hex(checkpoint_id(5).uuid()));
    let wanted = [pinned.clone(), of(5), repository(1), session(1)];
    same!(desk.read(due)?, wanted, "documents of one repository");
    desk.write(|tx| {
        for document in tx.due_documents("team", 99)? {
            tx.document_sent("team", &document)?;
        }
        let both = Scope::new([repository_id(1), repository_id(2)]);
        tx.put_projection(&destination(Some(both)))
    })?;
    let wanted = [of(6), repository(2), session(2)];
    same!(desk.read(due)?, wanted, "documents of both that are new");
    for scope in [None, Some(Scope::default())] {
        desk.write(|tx| tx.put_projection(&destination(scope.clone())))?;
        same!(desk.read(due)?, Vec::<String>::new(), "of none");
    }
    // What it has is withdrawn there, too; what it does not have was never there.
    desk.write(|tx| {
        tx.put_checkpoint(&checkpoint(7, CheckpointKind::Commit))?;
        tx.withdraw_checkpoint(checkpoint_id(7))?;
        tx.withdraw_checkpoint(checkpoint_id(5))?;
        tx.put_projection(&destination(Some(Scope::default())))
    })?;
    same!(desk.read(due)?, [pinned], "what was withdrawn");
    Ok(())
}

fn stated(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let one = Scope::new([repository_id(1)]);
    let known = Destination {
        stated: 7,
        ..Destination::default()
    };
    let link = siglum_domain::link::Link::IssueNumber(1);
    desk.write(|tx| {
        for n in [1, 3] {
            let session = session_id(n);
            let link = link.clone();
            tx.state(
                at(1),
                "Ann",
                "cli",
                &Statement::LinkAttached { session, link },
            )?;
        }
        tx.put_projection(&destination(Some(one.clone())))?;
        tx.put_destination("team", &known)?;
        tx.put_projection(&destination(Some(one.clone())))
    })?;
    let place = |desk: &mut Desk| desk.read(|tx| Ok(tx.destination("team")?.map(|d| d.stated)));
    same!(place(&mut desk)?, Some(7), "the same scope");
    desk.write(|tx| tx.state(at(2), "Ann", "api", &works_in(1, 1)))?;
    same!(place(&mut desk)?, Some(7), "where it worked before");
    desk.write(|tx| tx.state(at(2), "Ann", "api", &works_in(3, 1)))?;
    same!(place(&mut desk)?, Some(1), "where it works now");
    let both = Scope::new([repository_id(1), repository_id(2)]);
    desk.write(|tx| {
        tx.put_destination("team", &known)?;
        tx.put_projection(&destination(Some(both.clone())))
    })?;
    same!(place(&mut desk)?, Some(0), "another scope");
    Ok(())
}
