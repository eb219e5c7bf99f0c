//! A session is let go as a whole, unless something pins it.

use siglum_domain::link::Link;
use siglum_domain::{LedgerId, SessionId};
use siglum_ledger::{
    CheckpointKind, CommitRecord, LedgerError, Relation, SessionFilter, SessionRecord, Statement,
    TokenRecord, Transaction, TranscriptRecord,
};

use super::check::{Check, Desk, Outcome, Shelf, holds, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("a session goes with all that is stored of it", whole),
    Check::new("what pins a session keeps it as it is", pinned),
    Check::new("a session that is not there is told", unknown),
];

const BY: &str = "heartbeat";

/// Two sealed sessions with everything that may go, and a statement that came later than theirs.
fn stock(desk: &mut Desk) -> Outcome<LedgerId> {
    let home = furnish(desk)?;
    desk.write(|tx| {
        for n in [1, 2] {
            let session = session_id(n);
            tx.put_projection(&projection("p"))?;
            commit_entry(tx, n, 5)?;
            tx.turn(session, "t", turn_id(n), at(1))?;
            tx.take_lease(session, "driver", at(1), at(2))?;
            tx.add_alias(
                &agent("claude-code"),
                &native(&format!("native-{n}")),
                session,
                at(1),
            )?;
            tx.put_transcript(n)?;
            tx.put_token(&TokenRecord {
                scope: siglum_domain::access::Scope::Session(session),
                ..token(n)
            })?;
            tx.state(at(1), BY, "heartbeat", &attached(session, 7))?;
            tx.note_trace(&trace(n), session, at(1))?;
            tx.taken("p", session, 1, at(9))?;
        }
        tx.state(at(1), "Ann", "cli", &attached(session_id(3), 7))
            .map(drop)
    })?;
    Ok(home)
}

trait Stocked {
    fn put_transcript(&mut self, n: u128) -> Result<(), LedgerError>;
}

impl Stocked for dyn Transaction + '_ {
    fn put_transcript(&mut self, n: u128) -> Result<(), LedgerError> {
        let stream = format!("stream {n}");
        let record = TranscriptRecord {
            session: session_id(n),
            ..transcript(&stream)
        };
        self.want_transcript(&record)?;
        self.transcript_read(&record, false)?;
        self.put_segment(&segment(&stream, 0, 10, "a line"))
    }
}

fn trace(n: u128) -> siglum_domain::trace::TraceId {
    let byte = u8::try_from(n).unwrap_or(1);
    siglum_domain::trace::TraceId::from_bytes(&[byte; 16]).expect("because no sample is zero")
}

fn attached(session: SessionId, issue: u64) -> Statement {
    Statement::LinkAttached {
        session,
        link: Link::IssueNumber(issue),
    }
}

fn whole(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    stock(&mut desk)?;
    let reason = desk.write(|tx| tx.drop_session(session_id(1), BY))?;
    same!(reason, None, "what pins it");
    let mut later = Desk::open(shelf)?;
    for (n, there) in [(1, false), (2, true)] {
        let session = session_id(n);
        let left = later.read(|tx| {
            let alias =
                tx.session_by_alias(&agent("claude-code"), &native(&format!("native-{n}")))?;
            Ok([
                alias.is_some(),
                tx.session(session)?.is_some(),
                !tx.entries(session, 0, 9)?.is_empty(),
                !tx.receipts(session)?.is_empty(),
                tx.lease(session)?.is_some(),
                tx.token(token_id(n))?.is_some(),
                !tx.statements_of_session(session)?.is_empty(),
                !tx.sessions_of_trace(&trace(n), 9)?.is_empty(),
                tx.delivery("p", session)?.is_some(),
                tx.transcript(&format!("stream {n}"))?.is_some(),
                tx.segment(&format!("stream {n}"), 0)?.is_some(),
                tx.session_of_turn(turn_id(n))?.is_some(),
                tx.stored_session(session)?.is_some(),
            ])
        })?;
        same!(left, [there; 13], "what is left of session {n}");
    }
    same!(
        later.read(|tx| tx.strays())?,
        [],
        "rows that belong to nothing"
    );
    let wrong = later.0.check()?;
    holds!(wrong.is_empty(), "the store itself is not sound: {wrong:?}");
    let found = later.read(|tx| {
        let filter = SessionFilter {
            links: vec![Link::IssueNumber(7)],
            limit: 9,
            ..SessionFilter::default()
        };
        Ok(tx.sessions(&filter)?.len())
    })?;
    same!(found, 2, "the sessions that are linked");
    // What comes later has a number of its own.
    let next = desk.write(|tx| tx.state(at(2), "Ann", "cli", &attached(session_id(3), 8)))?;
    same!(next, 4, "the number of the next statement");
    Ok(())
}

/// Something that pins the first session.
type Pin = fn(&mut dyn Transaction) -> Result<(), LedgerError>;

fn pinned(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let home = stock(&mut desk)?;
    let pins: [(&str, Pin); 8] = [
        ("checkpoint", |tx| {
            tx.put_checkpoint(&checkpoint(1, CheckpointKind::Manual))
        }),
        ("commit", |tx| {
            tx.put_commit(&CommitRecord {
                judgement: judgement(by_session(1), siglum_domain::evidence::Verdict::Likely),
                ..commit(1)
            })
            .map(drop)
        }),
        ("statement", |tx| {
            tx.state(at(3), "Ann", "cli", &attached(session_id(1), 9))
                .map(drop)
        }),
        ("edit", |tx| tx.put_edit(&edit("e", "a", 3))),
        ("archived", |tx| tx.archive(session_id(1), at(3))),
        ("open", |tx| tx.put_open_turn(&open_turn(1))),
        ("transcript", |tx| {
            let record = TranscriptRecord {
                session: session_id(1),
                ..transcript("unread")
            };
            tx.want_transcript(&record)
        }),
        ("projection", |tx| commit_entry(tx, 1, 6).map(drop)),
    ];
    for (word, pin) in pins {
        let reason = desk.write(|tx| {
            let mut reason = None;
            let undone = tx.nested(&mut |tx| {
                pin(tx)?;
                reason = tx.drop_session(session_id(1), BY)?;
                let kept =
                    tx.session(session_id(1))?.is_some() && !tx.receipts(session_id(1))?.is_empty();
                if !kept {
                    reason = Some("a session that is gone all the same".to_owned());
                }
                Err(LedgerError::Damaged("undone".to_owned()))
            });
            drop(undone);
            Ok(reason)
        })?;
        same!(reason.as_deref(), Some(word), "what pins it");
    }
    let child = SessionRecord {
        parent: Some((session_id(1), Relation::Fork)),
        ..session(4, home)
    };
    desk.write(|tx| tx.create_session(&child))?;
    let reason = desk.write(|tx| tx.drop_session(session_id(1), BY))?;
    same!(reason.as_deref(), Some("fork"), "what pins it");
    let reason = desk.write(|tx| tx.drop_session(session_id(2), "another"))?;
    same!(reason.as_deref(), Some("statement"), "what pins it");
    let elsewhere = SessionRecord {
        home: LedgerId::from_uuid(uuid::Uuid::from_u128(77)),
        ..session(5, home)
    };
    desk.write(|tx| tx.create_session(&elsewhere))?;
    let reason = desk.write(|tx| tx.drop_session(session_id(5), BY))?;
    same!(reason.as_deref(), Some("replica"), "what pins it");
    Ok(())
}

fn unknown(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let reason = desk.write(|tx| tx.drop_session(session_id(9), BY))?;
    same!(reason.as_deref(), Some("unknown"), "what is told");
    Ok(())
}
