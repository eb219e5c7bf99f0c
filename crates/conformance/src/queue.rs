//! Declines, transcripts, the outbox, cursors and what was set aside.

use siglum_domain::intake::Decline;
use siglum_ledger::{DeclineRecord, Segment, Transaction, TranscriptRecord};

use super::check::{Check, Desk, Outcome, Shelf, holds, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("the same decline twice is one row", declines),
    Check::new(
        "declines come newest first, since a time, at most so many",
        declines_since,
    ),
    Check::new(
        "a transcript is wanted until it was read to its end",
        transcripts,
    ),
    Check::new(
        "wanting a transcript again keeps how far it was read",
        wanted_again,
    ),
    Check::new(
        "a segment is found by every offset in it, and by no other",
        segments,
    ),
    Check::new(
        "a segment replaces what was there at its place",
        segments_replaced,
    ),
    Check::new("the outbox grows, a cursor follows", outbox),
    Check::new("items are set aside once and taken back", parked),
];

fn decline(reason: &str) -> Decline {
    Decline {
        edge: "hook".to_owned(),
        reason: reason.to_owned(),
        detail: "d".to_owned(),
        place: Some(place(1)),
    }
}

fn declines(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    desk.write(|tx| {
        tx.decline("k", at(1), &decline("first"))?;
        tx.decline("k", at(2), &decline("second"))
    })?;
    let found = desk.read(|tx| tx.declines(at(0), 9))?;
    let wanted = DeclineRecord {
        at: at(1),
        edge: "hook".to_owned(),
        reason: "first".to_owned(),
        detail: "d".to_owned(),
    };
    same!(found, [wanted], "the declines");
    Ok(())
}

fn declines_since(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    desk.write(|tx| {
        for n in 1..=4 {
            tx.decline(&format!("k{n}"), at(n), &decline(&n.to_string()))?;
        }
        Ok(())
    })?;
    for (since, limit, wanted) in [(0, 9, "4321"), (3, 9, "43"), (0, 2, "43"), (5, 9, "")] {
        let found = desk.read(|tx| tx.declines(at(since), limit))?;
        let found: String = found.into_iter().map(|d| d.reason).collect();
        same!(
            found,
            wanted,
            format!("declines since {since}, at most {limit}")
        );
    }
    Ok(())
}

fn transcripts(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let sub = TranscriptRecord {
        subagent: Some("sub".to_owned()),
        ..transcript("b")
    };
    desk.write(|tx| {
        tx.add_alias(
            &agent("claude-code"),
            &native("native-1"),
            session_id(1),
            at(1),
        )?;
        tx.want_transcript(&transcript("c"))?;
        tx.want_transcript(&sub)?;
        tx.want_transcript(&transcript("a"))
    })?;
    let wanted = desk.read(|tx| Ok((tx.wanted_transcripts(9)?, tx.wanted_transcripts(2)?)))?;
    same!(
        wanted.0,
        [transcript("a"), sub.clone(), transcript("c")],
        "wanted transcripts"
    );
    same!(
        wanted.1,
        [transcript("a"), sub.clone()],
        "two wanted transcripts"
    );
    let part = TranscriptRecord {
        file: "1:2".to_owned(),
        read_to: 1 << 33,
        tail: "t".to_owned(),
        turn: Some("p".to_owned()),
        own: true,
        ..transcript("a")
    };
    let all = TranscriptRecord {
        read_to: 1 << 34,
        ..part.clone()
    };
    for (record, more) in [(&part, true), (&all, false)] {
        desk.write(|tx| tx.transcript_read(record, more))?;
        let found = desk.read(|tx| tx.transcript("a"))?;
        same!(found.as_ref(), Some(record), "how far it was read");
        let wanted = desk.read(|tx| tx.wanted_transcripts(9))?;
        let wanted = wanted.iter().any(|t| t.stream == "a");
        same!(wanted, more, "whether it is wanted");
    }
    let none = desk.read(|tx| tx.transcript("z"))?;
    same!(none, None, "a transcript that nobody wants");
    Ok(())
}

fn wanted_again(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let read = TranscriptRecord {
        file: "1:2".to_owned(),
        read_to: 77,
        tail: "t".to_owned(),
        turn: Some("p".to_owned()),
        own: true,
        ..transcript("a")
    };
    let moved = TranscriptRecord {
        path: "/elsewhere/a.jsonl".to_owned(),
        ..transcript("a")
    };
    desk.write(|tx| {
        tx.add_alias(
            &agent("claude-code"),
            &native("native-1"),
            session_id(1),
            at(1),
        )?;
        tx.want_transcript(&transcript("a"))?;
        tx.transcript_read(&read, false)?;
        tx.want_transcript(&moved)
    })?;
    let found = desk.read(|tx| tx.wanted_transcripts(9))?;
    let wanted = TranscriptRecord {
        path: moved.path,
        ..read
    };
    same!(found, [wanted], "the wanted transcript");
    Ok(())
}

fn segments(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let large = "x\"ü".repeat(5_000);
    let (one, two) = (segment("a", 0, 50, "one"), segment("a", 80, 100, &large));
    desk.write(|tx| {
        tx.put_segment(&two)?;
        tx.put_segment(&one)?;
        tx.put_segment(&segment("b", 50, 80, "other"))
    })?;
    for (offset, wanted) in [
        (0, Some(&one)),
        (1, Some(&one)),
        (49, Some(&one)),
        (50, None),
        (79, None),
        (80, Some(&two)),
        (99, Some(&two)),
        (100, None),
        (u64::MAX >> 1, None),
    ] {
        let found = desk.read(|tx| tx.segment("a", offset))?;
        let right = found.as_ref() == wanted;
        holds!(
            right,
            format!("the segment at {offset} is not the right one")
        );
    }
    Ok(())
}

fn segments_replaced(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let put = |desk: &mut Desk, segment: Segment| desk.write(|tx| tx.put_segment(&segment));
    put(&mut desk, segment("a", 0, 50, "old"))?;
    put(&mut desk, segment("a", 50, 100, "old"))?;
    put(&mut desk, segment("a", 100, 150, "kept"))?;
    // The file was written anew: its lines lie elsewhere now.
    let new = segment("a", 0, 80, "new");
    put(&mut desk, segment("a", 0, 80, "newer"))?;
    put(&mut desk, new)?;
    for (offset, wanted) in [
        (0, Some("new")),
        (60, Some("new")),
        (90, None),
        (100, Some("kept")),
    ] {
        let found = desk.read(|tx| tx.segment("a", offset))?;
        let first = found.map(|s| s.lines[0].1.clone());
        same!(first.as_deref(), wanted, format!("the text at {offset}"));
    }
    Ok(())
}

fn outbox(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let empty = desk.read(|tx| Ok((tx.outbox_end()?, tx.cursor("spans")?)))?;
    same!(empty, (0, 0), "the end and the cursor of an empty outbox");
    let mut last = 0;
    for n in 1..=3 {
        desk.write(|tx| tx.push(at(n), "commit", "body"))?;
        let end = desk.read(|tx| tx.outbox_end())?;
        holds!(end > last, "the outbox did not grow");
        last = end;
    }
    for position in [1, last, 2] {
        desk.write(|tx| tx.set_cursor("spans", position))?;
        let found = desk.read(|tx| Ok((tx.cursor("spans")?, tx.cursor("index")?)))?;
        same!(found, (position, 0), "two cursors");
    }
    Ok(())
}

fn parked(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    desk.write(|tx| {
        tx.park("export", "b", at(2), "late")?;
        tx.park("export", "a", at(1), "early")?;
        tx.park("index", "a", at(4), "first")?;
        tx.park("index", "a", at(3), "again")
    })?;
    let row = |(queue, item, seconds, reason): (&str, &str, i64, &str)| {
        (
            queue.to_owned(),
            item.to_owned(),
            at(seconds),
            reason.to_owned(),
        )
    };
    let all = [
        ("export", "a", 1, "early"),
        ("export", "b", 2, "late"),
        ("index", "a", 3, "again"),
    ];
    same!(
        desk.read(|tx| tx.parked())?,
        all.map(row),
        "what was set aside"
    );
    desk.write(|tx| {
        tx.unpark("export", "a")?;
        tx.unpark("export", "never")
    })?;
    let left = [all[1], all[2]].map(row);
    same!(desk.read(|tx| tx.parked())?, left, "what is left");
    desk.write(|tx| {
        tx.tried("export", "c", at(5))?;
        tx.tried("export", "c", at(6))
    })?;
    let tries = |tx: &mut dyn Transaction| Ok((tx.tries("export", "c")?, tx.tries("index", "c")?));
    let mut other = Desk::open(shelf)?;
    for desk in [&mut desk, &mut other] {
        same!(desk.read(tries)?, (Some(2), None), "how often it was tried");
    }
    same!(
        desk.read(|tx| tx.parked())?,
        left,
        "what is tried is not set aside"
    );
    desk.write(|tx| tx.unpark("export", "c"))?;
    same!(
        desk.read(tries)?,
        (None, None),
        "what came to its end was never tried"
    );
    Ok(())
}
