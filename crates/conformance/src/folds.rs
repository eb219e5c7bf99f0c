//! What hooks must find fast: running calls, moves of HEAD, edits.

use super::check::{Check, Desk, Outcome, Shelf, same};
use super::sample::*;
use siglum_domain::observation::{CallWrite, DiskState};
use siglum_ledger::{EditDetail, EditRecord, HeadMove, OutputMention, RunningCall};

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "a call runs in its checkout from its begin to its end",
        calls,
    ),
    Check::new("all calls of a session end at once", calls_end),
    Check::new("the same move of HEAD twice is one row", moves),
    Check::new("an edit comes back whole", edit_whole),
    Check::new("a later fold of an edit replaces it", edit_replaced),
    Check::new(
        "edits are found by path and time, oldest first",
        edits_by_path,
    ),
    Check::new("edits are found by the content they left", edits_leaving),
    Check::new("edits wait until their lines are hashed", unhashed),
];

fn running(desk: &mut Desk, worktree: &str, since: i64) -> Outcome<Vec<(u128, String, i64)>> {
    let found = desk.read(|tx| tx.running_calls(worktree, at(since)))?;
    let number = |call: &RunningCall| (1..4).find(|n| session_id(*n) == call.session).unwrap_or(0);
    Ok(found
        .into_iter()
        .map(|call| {
            (
                number(&call),
                call.event,
                call.started.millis_since(at(0)) / 1000,
            )
        })
        .collect())
}

fn named(rows: &[(u128, &str, i64)]) -> Vec<(u128, String, i64)> {
    rows.iter()
        .map(|(n, e, s)| (*n, (*e).to_owned(), *s))
        .collect()
}

fn calls(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        tx.begin_call(session_id(2), "t1", "/w", at(5))?;
        tx.begin_call(session_id(1), "t2", "/w", at(3))?;
        tx.begin_call(session_id(1), "t1", "/w", at(1))?;
        tx.begin_call(session_id(1), "t1", "/w", at(4))?;
        tx.begin_call(session_id(1), "t9", "/other", at(4))
    })?;
    let all = named(&[(1, "t1", 4), (1, "t2", 3), (2, "t1", 5)]);
    same!(running(&mut desk, "/w", 0)?, all, "calls that run");
    let late = named(&[(1, "t1", 4), (2, "t1", 5)]);
    same!(running(&mut desk, "/w", 4)?, late, "calls since a time");
    desk.write(|tx| {
        tx.end_call(session_id(1), "t1")?;
        tx.end_call(session_id(1), "never begun")
    })?;
    let left = named(&[(1, "t2", 3), (2, "t1", 5)]);
    same!(running(&mut desk, "/w", 0)?, left, "calls after one ended");
    same!(
        running(&mut desk, "/other", 0)?,
        named(&[(1, "t9", 4)]),
        "calls elsewhere"
    );
    Ok(())
}

fn calls_end(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        for (n, event) in [(1, "a"), (1, "b"), (2, "a")] {
            tx.begin_call(session_id(n), event, "/w", at(5))?;
        }
        tx.end_calls(session_id(1))
    })?;
    same!(
        running(&mut desk, "/w", 0)?,
        named(&[(2, "a", 5)]),
        "calls that run"
    );
    Ok(())
}

fn moves(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let moved = |n: u128, event: &str, mention: OutputMention| HeadMove {
        repository: repository_id(1),
        commit: oid(7),
        session: session_id(n),
        event: event.to_owned(),
        mention,
        at: at(6),
    };
    desk.write(|tx| {
        tx.put_move(&moved(2, "t", OutputMention::Nothing))?;
        tx.put_move(&moved(1, "u", OutputMention::Named))?;
        tx.put_move(&moved(1, "t", OutputMention::Nothing))?;
        tx.put_move(&moved(1, "t", OutputMention::Made))
    })?;
    let found = desk.read(|tx| tx.moves_to(repository_id(1), &oid(7)))?;
    let wanted = [
        moved(1, "t", OutputMention::Made),
        moved(1, "u", OutputMention::Named),
        moved(2, "t", OutputMention::Nothing),
    ];
    same!(found, wanted, "moves to the commit");
    let (commit, repository) = desk.read(|tx| {
        Ok((
            tx.moves_to(repository_id(1), &oid(8))?,
            tx.moves_to(repository_id(2), &oid(7))?,
        ))
    })?;
    same!((commit.len(), repository.len()), (0, 0), "moves elsewhere");
    Ok(())
}

/// All that can surround an edit.
fn detail() -> EditDetail {
    let file = siglum_domain::observation::FileIdentity {
        device: 1,
        inode: u64::MAX >> 1,
        born: at(1),
    };
    EditDetail {
        before: DiskState {
            file: Some(file),
            head_log: None,
        },
        after: DiskState {
            file: None,
            head_log: Some(7),
        },
        write: Some(CallWrite {
            base: None,
            written: Some(version(6)),
            added: Some(version(7)),
        }),
    }
}

fn edit_whole(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let full = EditRecord {
        began: at(0),
        lines: Some(vec![0, u64::MAX, 1 << 63]),
        detail: detail(),
        ..edit("full", "a/ü b.rs", 1)
    };
    let bare = EditRecord {
        turn: None,
        before: None,
        after: None,
        lines: Some(Vec::new()),
        ..edit("bare", "a/ü b.rs", 2)
    };
    let mut unkept = edit("unkept", "a/ü b.rs", 3);
    unkept.after = unkept
        .after
        .map(|v| siglum_domain::observation::FileVersion { object: None, ..v });
    let all = [full, bare, unkept];
    desk.write(|tx| all.iter().try_for_each(|e| tx.put_edit(e)))?;
    let found = desk.read(|tx| tx.edits(repository_id(1), "a/ü b.rs", at(9)))?;
    same!(found, all, "the edits");
    Ok(())
}

fn edit_replaced(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let later = EditRecord {
        after: Some(version(5)),
        ..edit("t", "a", 3)
    };
    let beside = edit("t", "b", 3);
    desk.write(|tx| {
        tx.put_edit(&edit("t", "a", 1))?;
        tx.put_edit(&later)?;
        tx.put_edit(&beside)?;
        tx.put_edit(&later)
    })?;
    let (one, other) = desk.read(|tx| {
        Ok((
            tx.edits(repository_id(1), "a", at(9))?,
            tx.edits(repository_id(1), "b", at(9))?,
        ))
    })?;
    same!(one, [later], "edits of the one file");
    same!(other, [beside], "edits of another file by the same call");
    Ok(())
}

fn edits_by_path(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let elsewhere = EditRecord {
        repository: repository_id(2),
        ..edit("r", "a", 1)
    };
    let other = EditRecord {
        session: session_id(2),
        ..edit("t2", "a", 2)
    };
    desk.write(|tx| {
        tx.put_edit(&EditRecord {
            began: at(2),
            ..edit("t3", "a", 3)
        })?;
        tx.put_edit(&other)?;
        tx.put_edit(&edit("t1", "a", 1))?;
        tx.put_edit(&edit("t5", "b", 1))?;
        tx.put_edit(&elsewhere)
    })?;
    for (until, wanted) in [
        (0, vec![]),
        (1, vec!["t1"]),
        (2, vec!["t1", "t2", "t3"]),
        (9, vec!["t1", "t2", "t3"]),
    ] {
        let found = desk.read(|tx| tx.edits(repository_id(1), "a", at(until)))?;
        let found: Vec<_> = found.iter().map(|e| e.event.as_str()).collect();
        same!(found, wanted, format!("edits that had begun by {until}"));
    }
    let (last, none) = desk.read(|tx| {
        Ok((
            tx.last_edit(repository_id(1), "a")?,
            tx.last_edit(repository_id(1), "c")?,
        ))
    })?;
    same!(
        last.map(|e| e.event),
        Some("t3".to_owned()),
        "the newest edit"
    );
    same!(none, None, "the newest edit of a path without one");
    Ok(())
}

fn edits_leaving(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let other = EditRecord {
        after: Some(version(9)),
        ..edit("t3", "c", 1)
    };
    desk.write(|tx| {
        tx.put_edit(&edit("t2", "b", 2))?;
        tx.put_edit(&edit("t1", "a", 1))?;
        tx.put_edit(&other)
    })?;
    let found = desk.read(|tx| tx.edits_leaving(&oid(2)))?;
    let found: Vec<_> = found.iter().map(|e| e.event.as_str()).collect();
    same!(found, ["t1", "t2"], "edits that left this content");
    let before = desk.read(|tx| tx.edits_leaving(&oid(1)))?;
    same!(before, [], "edits that only started from this content");
    Ok(())
}

fn unhashed(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let hashed = EditRecord {
        lines: Some(vec![1]),
        ..edit("t1", "a", 1)
    };
    desk.write(|tx| {
        tx.put_edit(&edit("t1", "a", 1))?;
        tx.put_edit(&edit("t2", "a", 2))?;
        tx.put_edit(&edit("t3", "a", 3))
    })?;
    let count = |desk: &mut Desk, most| {
        Ok::<_, super::check::Wrong>(desk.read(|tx| tx.unhashed_edits(most))?.len())
    };
    same!(
        (count(&mut desk, 2)?, count(&mut desk, 9)?),
        (2, 3),
        "edits to hash"
    );
    desk.write(|tx| tx.put_edit(&hashed))?;
    let found = desk.read(|tx| tx.unhashed_edits(9))?;
    let mut found: Vec<_> = found.iter().map(|e| e.event.as_str()).collect();
    found.sort_unstable();
    same!(found, ["t2", "t3"], "edits to hash after one was");
    Ok(())
}
