//! Replicas: what this ledger holds of another one.

use siglum_domain::{LedgerId, SessionId, Timestamp};
use siglum_ledger::{
    CommitRecord, Relation, ReplicaRepository, ReplicaRow, ReplicaTurn, RepositoryIdentity,
    SessionFilter, SessionRecord, Statement, StatementRecord,
};
use uuid::Uuid;

use super::check::{Check, Desk, Outcome, Shelf, holds, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "repositories of other ledgers are apart from those of this machine",
        repositories,
    ),
    Check::new("a replica is stored and answers as its home does", replica),
    Check::new("no name of a replica finds a session for a hook", names),
    Check::new("a statement of another ledger is stored once", others),
    Check::new("stamps are kept by ledger, kind and document", stamps),
    Check::new("a commit is found in every repository", anywhere),
];

pub(super) fn elsewhere() -> LedgerId {
    LedgerId::from_uuid(Uuid::from_u128(0xe15e))
}

pub(super) fn attached(n: u128, issue: u64) -> Statement {
    Statement::LinkAttached {
        session: session_id(n),
        link: siglum_domain::link::Link::IssueNumber(issue),
    }
}

fn repository() -> ReplicaRepository {
    ReplicaRepository {
        id: repository_id(9),
        home: elsewhere(),
        host: "laptop".to_owned(),
        common_dir: place(1).common_dir,
        identity: identity(),
    }
}

pub(super) fn identity() -> RepositoryIdentity {
    RepositoryIdentity {
        roots: vec![oid(1), long_oid(2)],
        remote: Some("host/o/r".to_owned()),
        clone_of: None,
    }
}

pub(super) fn replicated(n: u128) -> SessionRecord {
    SessionRecord {
        repository: Some(repository_id(9)),
        worktree: Some(place(1).worktree),
        parent: Some((session_id(1), Relation::Nested)),
        ended_at: Some(at(99)),
        cwd: Some("/w".to_owned()),
        ..session(n, elsewhere())
    }
}

fn rows_of(desk: &mut Desk) -> Outcome<Vec<ReplicaRow>> {
    desk.write(|tx| {
        for n in 1..=2 {
            append(
                tx,
                session_id(1),
                n,
                None,
                &prompt(&format!("k{n}"), "said"),
            )?;
        }
        Ok(())
    })?;
    let rows = desk.read(|tx| tx.log_rows(session_id(1), 0, 9))?;
    let other = |(n, row): (u128, ReplicaRow)| ReplicaRow {
        id: entry_id(n),
        turn: Some(turn_id(9)),
        ..row
    };
    Ok((50..).zip(rows).map(other).collect())
}

fn repositories(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let older = ReplicaRepository {
        identity: RepositoryIdentity::default(),
        ..repository()
    };
    let other = ReplicaRepository {
        id: repository_id(8),
        ..older.clone()
    };
    desk.write(|tx| {
        tx.put_replica_repository(&older, at(1))?;
        tx.put_replica_repository(&repository(), at(2))?;
        tx.put_replica_repository(&other, at(2))
    })?;
    let mut later = Desk::open(shelf)?;
    same!(
        later.read(|tx| tx.replica_repository(repository_id(9)))?,
        Some(repository()),
        "the repository"
    );
    same!(
        later.read(|tx| tx.replica_repository(repository_id(1)))?,
        None,
        "a repository of this machine"
    );
    same!(
        later.read(|tx| tx.replica_repositories())?,
        [other, repository()],
        "all repositories of others"
    );
    let here: Vec<_> = later
        .read(|tx| tx.repositories())?
        .iter()
        .map(|r| r.id)
        .collect();
    same!(
        here,
        [repository_id(1), repository_id(2)],
        "the repositories of this machine"
    );
    Ok(())
}

fn replica(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let rows = rows_of(&mut desk)?;
    let turn = ReplicaTurn {
        id: turn_id(9),
        native: "t".to_owned(),
        opened_at: at(3),
        prompt: Some(1),
    };
    let natives = [native("b"), native("a")];
    desk.write(|tx| {
        tx.put_replica_repository(&repository(), at(1))?;
        tx.put_replica_session(&replicated(9), &[native("old")])?;
        tx.put_replica_rows(session_id(9), std::slice::from_ref(&turn), &rows[..1])?;
        tx.put_replica_rows(session_id(9), std::slice::from_ref(&turn), &rows[1..])?;
        tx.put_replica_session(&replicated(9), &natives)
    })?;
    let mut later = Desk::open(shelf)?;
    let wanted = SessionRecord {
        head: 2,
        ..replicated(9)
    };
    same!(
        later.read(|tx| tx.session(session_id(9)))?,
        Some(wanted),
        "the session"
    );
    same!(
        later.read(|tx| tx.aliases(session_id(9)))?,
        natives,
        "its names"
    );
    same!(
        later.read(|tx| tx.log_rows(session_id(9), 0, 9))?,
        rows,
        "its log"
    );
    same!(
        later.read(|tx| tx.first_prompt(session_id(9)))?,
        Some((turn_id(9), 1)),
        "its prompt"
    );
    holds!(
        later.read(|tx| tx.unfolded(9))?.contains(&session_id(9)),
        "a replica is folded, too"
    );
    desk.write(|tx| {
        tx.replace_fact(session_id(9), 1, Some("{}"))?;
        tx.replace_fact(session_id(9), 2, None)?;
        tx.replace_fact(session_id(9), 2, Some("{}"))
    })?;
    let left = desk.read(|tx| tx.log_rows(session_id(9), 0, 9))?;
    let left: Vec<_> = left.iter().map(|r| (r.salt, r.fact.as_deref())).collect();
    same!(
        left,
        [(None, Some("{}")), (None, None)],
        "what is left of erased payloads"
    );
    Ok(())
}

fn names(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let name = native("shared");
    desk.write(|tx| {
        tx.put_replica_repository(&repository(), at(1))?;
        tx.put_replica_session(&replicated(9), std::slice::from_ref(&name))?;
        tx.put_replica_session(&replicated(8), std::slice::from_ref(&name))
    })?;
    let by_hook = desk.read(|tx| tx.session_by_alias(&agent("claude-code"), &name))?;
    same!(by_hook, None, "the session of a hook");
    desk.write(|tx| tx.add_alias(&agent("claude-code"), &name, session_id(1), at(1)))?;
    let by_hook = desk.read(|tx| tx.session_by_alias(&agent("claude-code"), &name))?;
    same!(by_hook, Some(session_id(1)), "the session of a hook");
    let found = desk.read(|tx| tx.sessions_by_native(&name))?;
    let mut found: Vec<SessionId> = found.into_iter().map(|(_, s)| s).collect();
    found.sort();
    same!(
        found,
        [session_id(1), session_id(8), session_id(9)],
        "what a person may mean"
    );
    Ok(())
}

fn others(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let home = furnish(&mut desk)?;
    let record = |sequence, seconds, statement| StatementRecord {
        ledger: elsewhere(),
        sequence,
        at: at(seconds),
        by: "Ben".to_owned(),
        source: "cli".to_owned(),
        statement,
    };
    let first = record(4, 5, attached(1, 42));
    let put = |desk: &mut Desk, s: &StatementRecord| desk.write(|tx| tx.put_statement(s));
    same!(put(&mut desk, &first)?, true, "a new statement");
    same!(put(&mut desk, &first)?, false, "the same one again");
    let filter = SessionFilter {
        links: vec![siglum_domain::link::Link::IssueNumber(42)],
        ..SessionFilter::default()
    };
    let listed = |desk: &mut Desk| desk.read(|tx| Ok(tx.sessions(&filter)?.len()));
    same!(listed(&mut desk)?, 1, "sessions with the link");
    let taken_back = Statement::LinkDetached {
        session: session_id(1),
        link: siglum_domain::link::Link::IssueNumber(42),
    };
    put(&mut desk, &record(5, 6, taken_back))?;
    same!(
        listed(&mut desk)?,
        0,
        "sessions with the link that was taken back"
    );
    let own = desk.write(|tx| tx.state(at(7), "Ann", "cli", &attached(2, 1)))?;
    same!(own, 1, "the next number of this ledger");
    let found = desk.read(|tx| tx.statements_of_session(session_id(1)))?;
    same!(found[0], first, "the statement");
    same!(
        desk.read(|tx| tx.last_stated(home))?,
        1,
        "the last number of this ledger"
    );
    Ok(())
}

fn stamps(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let home = furnish(&mut desk)?;
    let stamp = |desk: &mut Desk, home, kind: &str| desk.read(|tx| tx.stamp(home, kind, "d"));
    same!(stamp(&mut desk, elsewhere(), "commit")?, None, "no stamp");
    desk.write(|tx| {
        tx.put_stamp(elsewhere(), "commit", "d", at(5))?;
        tx.put_stamp(elsewhere(), "commit", "e", at(6))?;
        tx.put_stamp(elsewhere(), "session", "d", at(7))?;
        tx.put_stamp(home, "commit", "d", at(8))?;
        tx.put_stamp(elsewhere(), "commit", "d", at(9))
    })?;
    let mut later = Desk::open(shelf)?;
    same!(
        stamp(&mut later, elsewhere(), "commit")?,
        Some(Timestamp::from_nanos(at(9).nanos())),
        "a stamp"
    );
    same!(
        stamp(&mut later, elsewhere(), "session")?,
        Some(at(7)),
        "of another kind"
    );
    same!(
        stamp(&mut later, home, "commit")?,
        Some(at(8)),
        "of another ledger"
    );
    Ok(())
}

fn anywhere(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let elsewhere = CommitRecord {
        repository: repository_id(2),
        at: commit(7).at.plus_millis(-1),
        ..commit(7)
    };
    desk.write(|tx| {
        tx.put_commit(&commit(7))?;
        tx.put_commit(&commit(8))?;
        tx.put_commit(&elsewhere)
    })?;
    let mut later = Desk::open(shelf)?;
    same!(
        later.read(|tx| tx.commits_named(&oid(7)))?,
        [elsewhere, commit(7)],
        "the commit"
    );
    Ok(())
}
