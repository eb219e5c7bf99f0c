//! Statements: numbered by ledger, kept word by word.

use siglum_domain::PlatformName;
use siglum_domain::link::Link;
use siglum_ledger::{
    AttestedFacts, Claim, Launch, LaunchEnd, LedgerError, OwnWorktree, Snapshot, Statement,
    StatementRecord,
};

use super::check::{Check, Desk, Outcome, Shelf, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("statements are numbered from 1 without holes", numbered),
    Check::new(
        "several statements at once are as one after the other",
        at_once,
    ),
    Check::new("every kind of statement comes back whole", kinds),
    Check::new(
        "statements are found by session and by commit, in order",
        find_statements,
    ),
];

fn attached(n: u128, issue: u64) -> Statement {
    Statement::LinkAttached {
        session: session_id(n),
        link: Link::IssueNumber(issue),
    }
}

fn adopted(n: u128, commit: u8) -> Statement {
    Statement::Adopted {
        repository: repository_id(1),
        commit: oid(commit),
        session: session_id(n),
    }
}

fn attested(repository: u128, commit: u8) -> Statement {
    Statement::Attested {
        repository: repository_id(repository),
        commit: oid(commit),
        session: session_id(1),
        token: token_id(5),
        attested: AttestedFacts {
            platform: PlatformName::new("github.com").ok(),
            tree: Some(oid(5)),
            parents: Some(vec![oid(6), oid(7)]),
            committed_at: Some(at(7)),
        },
    }
}

fn numbered(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let state =
        |desk: &mut Desk, n: u128| desk.write(|tx| tx.state(at(1), "Ann", "cli", &attached(n, 1)));
    same!(state(&mut desk, 1)?, 1, "the first number");
    same!(
        state(&mut desk, 1)?,
        2,
        "the number of the same words again"
    );
    let refused = desk.write(|tx| {
        tx.state(at(1), "Ann", "cli", &attached(1, 7))?;
        Err::<(), _>(LedgerError::Busy)
    });
    super::check::holds!(refused.is_err(), "a failed transaction succeeded");
    let mut second = Desk::open(shelf)?;
    same!(
        state(&mut second, 2)?,
        3,
        "the next number, by another handle"
    );
    let found = desk.read(|tx| tx.statements_of_session(session_id(1)))?;
    let numbers: Vec<_> = found.iter().map(|s| (s.ledger, s.sequence)).collect();
    let home = desk.0.id();
    same!(numbers, [(home, 1), (home, 2)], "ledger and number");
    Ok(())
}

fn at_once(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let detached = Statement::LinkDetached {
        session: session_id(1),
        link: Link::IssueNumber(7),
    };
    let stated = [
        ("cli", attached(1, 7)),
        ("cli", attached(2, 7)),
        ("api", attached(1, 8)),
        ("api", detached),
    ];
    let [first, second] = [&stated[..3], &stated[3..]].map(|some| {
        let each = some.iter().map(|(source, statement)| (*source, statement));
        each.collect::<Vec<_>>()
    });
    desk.write(|tx| tx.state_all(at(1), "Ann", &[]))?;
    desk.write(|tx| tx.state_all(at(1), "Ann", &first))?;
    desk.write(|tx| tx.state_all(at(2), "Ann", &second))?;
    same!(
        desk.write(|tx| tx.state(at(3), "Ann", "cli", &attached(2, 9)))?,
        5,
        "the number behind them"
    );
    let found = desk.read(|tx| tx.statements_of_session(session_id(1)))?;
    let found: Vec<_> = found
        .iter()
        .map(|s| (s.sequence, s.source.as_str(), &s.statement))
        .collect();
    let wanted = [(1_u64, 0), (3, 2), (4, 3)].map(|(n, of)| (n, stated[of].0, &stated[of].1));
    same!(found, wanted, "statements of a session");
    let linked = desk.read(|tx| tx.sessions_by_link_start("issue_number", ""))?;
    let wanted = [("7", 2), ("8", 1), ("9", 2)].map(|(issue, n)| (issue.to_owned(), session_id(n)));
    same!(linked, wanted, "links that are attached");
    let label = |key: &str, value: &str| Statement::LinkAttached {
        session: session_id(2),
        link: Link::Label {
            key: key.to_owned(),
            value: value.to_owned(),
        },
    };
    let (one, other) = (label("a=b", "c"), label("a", "b=c"));
    desk.write(|tx| tx.state_all(at(4), "Ann", &[("cli", &one), ("cli", &other)]))?;
    let labelled = desk.read(|tx| tx.sessions_by_link_start("label", ""))?;
    let wanted = [("a=b=c".to_owned(), session_id(2))];
    same!(labelled, wanted, "labels that have the same text");
    Ok(())
}

/// A statement of each kind that speaks of the first session.
fn of_session() -> Vec<Statement> {
    let link = |key: &str| Link::Label {
        key: key.to_owned(),
        value: String::new(),
    };
    vec![
        Statement::LinkAttached {
            session: session_id(1),
            link: link("a"),
        },
        Statement::LinkDetached {
            session: session_id(1),
            link: link("a"),
        },
        adopted(1, 3),
        attested(1, 2),
        Statement::AttestationWithdrawn {
            repository: repository_id(1),
            commit: oid(2),
            session: session_id(1),
        },
        Statement::Ended {
            session: session_id(1),
            end: None,
        },
        Statement::Ended {
            session: session_id(1),
            end: Some(LaunchEnd::Failed { code: 3 }),
        },
        Statement::WorksIn {
            session: session_id(1),
            repositories: vec![repository_id(1), repository_id(2)],
        },
        Statement::Launched {
            session: session_id(1),
            launch: Launch {
                digest: "ab".to_owned(),
                launcher: Some(process(9)),
                agent: Some(agent("codex")),
                program: "ä b".to_owned(),
                worktree: None,
            },
        },
        Statement::Claimed {
            session: session_id(1),
            claim: Claim {
                to: session_id(2),
                agent: agent("codex"),
                native: native("n"),
                process: process(9),
            },
        },
        Statement::LaunchEnded {
            session: session_id(1),
            end: LaunchEnd::Failed { code: 3 },
            worktree: Some(OwnWorktree::Kept {
                reason: "it holds work".to_owned(),
                snapshot: Some(Snapshot {
                    reference: "refs/siglum/snapshots/x".to_owned(),
                    commit: oid(4),
                }),
            }),
        },
    ]
}

fn kinds(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let home = furnish(&mut desk)?;
    let of_session = of_session();
    let disowned = Statement::Disowned {
        repository: repository_id(1),
        commit: oid(3),
    };
    desk.write(|tx| {
        for statement in of_session.iter().chain([&disowned]) {
            tx.state(at(8), "Änn", "environment", statement)?;
        }
        Ok(())
    })?;
    let record = |(sequence, statement): (u64, &Statement)| StatementRecord {
        ledger: home,
        sequence,
        at: at(8),
        by: "Änn".to_owned(),
        source: "environment".to_owned(),
        statement: statement.clone(),
    };
    let wanted: Vec<_> = (1..).zip(&of_session).map(record).collect();
    let found = desk.read(|tx| tx.statements_of_session(session_id(1)))?;
    same!(found, wanted, "statements of the session");
    let last = of_session.len() as u64 + 1;
    let wanted = [record((3, &of_session[2])), record((last, &disowned))];
    let found = desk.read(|tx| tx.statements_of_commit(repository_id(1), &oid(3)))?;
    same!(found, wanted, "statements of the commit");
    Ok(())
}

fn find_statements(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        for (seconds, statement) in [
            (9, attached(1, 1)),
            (3, attached(1, 2)),
            (3, adopted(1, 1)),
            (4, adopted(2, 1)),
            (5, adopted(2, 2)),
            (2, attested(2, 1)),
        ] {
            tx.state(at(seconds), "Ann", "api", &statement)?;
        }
        Ok(())
    })?;
    let (of_session, of_commit, anywhere, of_nobody) = desk.read(|tx| {
        Ok((
            tx.statements_of_session(session_id(1))?,
            tx.statements_of_commit(repository_id(1), &oid(1))?,
            tx.statements_of_commit_anywhere(&oid(1))?,
            tx.statements_of_commit(repository_id(3), &oid(1))?,
        ))
    })?;
    let numbers = |found: &[StatementRecord]| found.iter().map(|s| s.sequence).collect::<Vec<_>>();
    same!(
        numbers(&of_session),
        [6, 2, 3, 1],
        "statements of a session by time"
    );
    same!(
        numbers(&of_commit),
        [3, 4],
        "statements of a commit by time"
    );
    same!(
        numbers(&anywhere),
        [6, 3, 4],
        "statements of a commit in all repositories by time"
    );
    same!(
        of_nobody,
        [],
        "statements of a commit of another repository"
    );
    Ok(())
}
