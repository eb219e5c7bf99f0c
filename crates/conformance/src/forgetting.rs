//! What is erased is gone for good, and its receipts still verify.

use siglum_domain::intake::Decline;
use siglum_domain::observation::{CallWrite, DiskState, Fact, Observation, Side, Source};
use siglum_domain::receipt::{GENESIS, seal, verifies};
use siglum_ledger::{
    EditDetail, EditRecord, Forgotten, Holdings, LedgerError, Payload, Segment, Summary,
    TelemetryBatch, TelemetryStore, TextColumn, TextForm, Transaction, TranscriptRecord,
};

use super::check::{Check, Desk, Outcome, Shelf, Wrong, holds, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new(
        "a forgotten session keeps its log without payloads",
        session,
    ),
    Check::new("what was forgotten does not come back", returns),
    Check::new("receipts over forgotten payloads verify", receipts),
    Check::new("payloads are listed in order, all of them", payloads),
    Check::new("a payload can be replaced or erased", replace_payload),
    Check::new("runs of lines are listed and replaced", lines),
    Check::new("file versions are told by session", objects),
    Check::new("a file version is dropped from all edits", drop_objects),
    Check::new("texts beside the logs are replaced", notes),
    Check::new("every column that holds text is known", columns),
    Check::new(
        "telemetry that is kept can be looked through",
        pages_of_telemetry,
    ),
];

fn sighting(event: &str, side: Side, version: u8) -> Observation {
    Observation {
        source: Source::Hook,
        key: format!("{event}-{side:?}"),
        event: event.to_owned(),
        at: at(3),
        turn: None,
        subagent: None,
        fact: Fact::FileSeen {
            path: "a".to_owned(),
            side,
            version: Some(self::version(version)),
            disk: DiskState::default(),
            write: None,
            place: None,
        },
    }
}

/// Two sessions, each with two prompts and lines of a transcript.
fn stock(desk: &mut Desk) -> Outcome {
    furnish(desk)?;
    desk.write(|tx| {
        for n in [1, 2] {
            for k in [1, 2] {
                let text = format!("said {k} in {n}");
                append(
                    tx,
                    session_id(n),
                    n * 10 + k,
                    None,
                    &prompt(&format!("k{k}"), &text),
                )?;
            }
            tx.put_summary(
                session_id(n),
                &Summary {
                    turns: 2,
                    ..Summary::default()
                },
                2,
            )?;
            let stream = format!("stream-{n}");
            tx.want_transcript(&TranscriptRecord {
                session: session_id(n),
                ..transcript(&stream)
            })?;
            tx.put_segment(&segment(&stream, 0, 50, "first"))?;
            tx.put_segment(&segment(&stream, 50, 90, "second"))?;
        }
        Ok(())
    })
}

fn texts(tx: &mut dyn Transaction, n: u128) -> Result<Vec<String>, LedgerError> {
    let prompt_text = |fact: Fact| match fact {
        Fact::Prompt { text, .. } => text.text().map(str::to_owned),
        _ => None,
    };
    let entries = tx.entries(session_id(n), 0, 0)?;
    Ok(entries
        .into_iter()
        .filter_map(|e| prompt_text(e.observation.fact))
        .collect())
}

fn session(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    stock(&mut desk)?;
    let held = desk.read(|tx| tx.holdings(session_id(1)))?;
    same!(held.map(|h| h.payloads), Some(2), "payloads that are held");
    holds!(
        held.is_some_and(|h| h.transcript_bytes > 10),
        "bytes of lines are counted"
    );
    same!(
        desk.read(|tx| tx.holdings(session_id(9)))?,
        None,
        "what nobody holds"
    );
    desk.write(|tx| {
        tx.forget_session(session_id(3), at(5))?;
        tx.forget_session(session_id(1), at(6))
    })?;
    let mut other = Desk::open(shelf)?;
    let held = other.read(|tx| tx.holdings(session_id(1)))?;
    same!(
        held,
        Some(Holdings::default()),
        "what is held of a forgotten session"
    );
    same!(
        other.read(|tx| texts(tx, 1))?,
        Vec::<String>::new(),
        "texts of the forgotten session"
    );
    same!(
        other.read(|tx| texts(tx, 2))?.len(),
        2,
        "texts of the session beside it"
    );
    let record = other.read(|tx| tx.session(session_id(1)))?;
    let state = record.map(|r| (r.forgotten, r.head));
    same!(
        state,
        Some((Some(Forgotten::Whole { at: at(6) }), 2)),
        "what the record says"
    );
    let record = other.read(|tx| tx.session(session_id(3)))?;
    let marked_at = record.and_then(|r| r.forgotten).map(Forgotten::at);
    same!(marked_at, Some(at(5)), "when the other one was forgotten");
    let streams = other.read(|tx| tx.segments("", 0, 9))?;
    let streams: Vec<_> = streams.into_iter().map(|s| s.stream).collect();
    same!(
        streams,
        ["stream-2", "stream-2"],
        "runs of lines that are left"
    );
    let unfolded = other.read(|tx| tx.unfolded(9))?;
    same!(
        unfolded.first(),
        Some(&session_id(1)),
        "what is to be folded"
    );
    let rows = other.read(|tx| receipt_entries(tx, session_id(1), 1, 2))?;
    same!(rows.len(), 2, "entries that are left to seal");
    Ok(())
}

fn returns(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    stock(&mut desk)?;
    desk.write(|tx| {
        tx.forget_parts(session_id(2), at(1))?;
        tx.forget_parts(session_id(1), at(4))?;
        let seen = |seconds, key: &str| Observation {
            at: at(seconds),
            ..prompt(key, key)
        };
        for n in [1, 2] {
            append(tx, session_id(n), n * 100 + 1, None, &seen(3, "k1"))?;
            append(tx, session_id(n), n * 100 + 2, None, &seen(4, "old"))?;
            append(tx, session_id(n), n * 100 + 3, None, &seen(5, "new"))?;
        }
        Ok(())
    })?;
    let found = desk.read(|tx| Ok((texts(tx, 1)?, texts(tx, 2)?, tx.session(session_id(1))?)))?;
    same!(
        found.0,
        ["said 1 in 1", "said 2 in 1", "new"],
        "texts where old ones were forgotten"
    );
    same!(
        found.1,
        ["said 1 in 2", "said 2 in 2", "old", "new"],
        "texts where older ones were"
    );
    let state = found.2.map(|r| (r.forgotten, r.head));
    same!(
        state,
        Some((Some(Forgotten::Parts { at: at(4) }), 4)),
        "what the record says"
    );
    desk.write(|tx| tx.forget_parts(session_id(1), at(2)))?;
    let record = desk.read(|tx| tx.session(session_id(1)))?;
    let mark = record.and_then(|r| r.forgotten);
    same!(
        mark,
        Some(Forgotten::Parts { at: at(4) }),
        "a mark that does not go back"
    );
    Ok(())
}

fn receipts(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    stock(&mut desk)?;
    for n in [1, 2] {
        let rows = desk.read(|tx| receipt_entries(tx, session_id(n), 1, 2))?;
        let receipt = seal(session_id(n), None, &rows, vec![], at(8))
            .ok_or_else(|| Wrong("there is nothing to seal".to_owned()))?;
        desk.write(|tx| tx.put_receipt(&receipt))?;
    }
    let positions = desk.read(|tx| tx.payloads(0, 9))?;
    desk.write(|tx| {
        tx.forget_session(session_id(1), at(9))?;
        let replacement = serde_json::to_string(&prompt("k1", "x").fact)
            .map_err(|e| LedgerError::Damaged(e.to_string()))?;
        for row in positions.iter().filter(|p| p.session == session_id(2)) {
            tx.put_payload(row.position, Some(&replacement))?;
        }
        Ok(())
    })?;
    for n in [1, 2] {
        let found = desk.read(|tx| {
            Ok((
                tx.receipts(session_id(n))?,
                receipt_entries(tx, session_id(n), 1, 2)?,
            ))
        })?;
        let receipt = found
            .0
            .first()
            .ok_or_else(|| Wrong("a receipt is gone".to_owned()))?;
        holds!(
            verifies(receipt, GENESIS, &found.1),
            format!("the receipt of {n} is broken")
        );
    }
    Ok(())
}

/// All payloads, of which there must be four.
fn four(desk: &mut Desk) -> Outcome<Vec<Payload>> {
    let all = desk.read(|tx| tx.payloads(0, 9))?;
    same!(all.len(), 4, "how many payloads there are");
    Ok(all)
}

fn payloads(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    stock(&mut desk)?;
    let all = four(&mut desk)?;
    let rows: Vec<_> = all
        .iter()
        .map(|p| (p.session, p.sequence, p.kind.as_str()))
        .collect();
    let wanted = [(1, 1), (1, 2), (2, 1), (2, 2)].map(|(n, k)| (session_id(n), k, "prompt"));
    same!(rows, wanted, "payloads");
    holds!(
        all[0].fact.contains("said 1 in 1"),
        "a payload is the stored fact"
    );
    holds!(
        all.windows(2).all(|w| w[0].position < w[1].position),
        "positions grow"
    );
    let rest = desk.read(|tx| tx.payloads(all[1].position, 1))?;
    same!(rest, all[2..3], "one payload behind the second");
    Ok(())
}

fn replace_payload(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    stock(&mut desk)?;
    let all = four(&mut desk)?;
    let changed = all[0].fact.replace("said 1", "said nothing");
    desk.write(|tx| {
        tx.put_payload(all[0].position, Some(&changed))?;
        tx.put_payload(all[1].position, None)?;
        tx.put_payload(all[2].position, None)
    })?;
    same!(
        desk.read(|tx| texts(tx, 1))?,
        ["said nothing in 1"],
        "texts of the first session"
    );
    same!(
        desk.read(|tx| texts(tx, 2))?,
        ["said 2 in 2"],
        "texts of the second session"
    );
    Ok(())
}

fn lines(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    stock(&mut desk)?;
    let all = desk.read(|tx| tx.segments("", 0, 9))?;
    same!(all.len(), 4, "how many runs of lines there are");
    let starts: Vec<_> = all.iter().map(|s| (s.stream.as_str(), s.first)).collect();
    same!(
        starts[1..],
        [("stream-1", 50), ("stream-2", 0), ("stream-2", 50)],
        "runs of lines"
    );
    let rest = desk.read(|tx| tx.segments("stream-1", 50, 1))?;
    same!(rest, all[2..3], "one run behind the second");
    let changed = Segment {
        lines: vec![(0, "other".to_owned())],
        ..all[0].clone()
    };
    let empty = |at: usize| Segment {
        lines: Vec::new(),
        ..all[at].clone()
    };
    desk.write(|tx| {
        tx.put_lines(&changed)?;
        tx.put_lines(&empty(1))?;
        tx.put_lines(&empty(2))
    })?;
    let left = desk.read(|tx| tx.segments("", 0, 9))?;
    same!(
        left,
        [changed, all[3].clone()],
        "runs of lines after two went"
    );
    Ok(())
}

fn objects(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    desk.write(|tx| {
        append(tx, session_id(1), 1, None, &sighting("t", Side::Before, 1))?;
        append(tx, session_id(1), 2, None, &sighting("t", Side::After, 3))?;
        append(tx, session_id(2), 3, None, &sighting("t", Side::Before, 4))?;
        append(tx, session_id(2), 4, None, &sighting("t", Side::After, 5))?;
        tx.put_edit(&edit("t", "a", 3))?;
        tx.put_edit(&EditRecord {
            session: session_id(2),
            before: None,
            detail: EditDetail {
                write: Some(CallWrite {
                    base: Some(version(6)),
                    written: Some(version(7)),
                    added: Some(version(8)),
                }),
                ..EditDetail::default()
            },
            ..edit("t", "a", 3)
        })
    })?;
    let own = desk.read(|tx| tx.objects_of(session_id(1)))?;
    same!(
        own,
        ["object-1", "object-2", "object-3"],
        "versions of the first session"
    );
    let mut later = Desk::open(shelf)?;
    let others = later.read(|tx| tx.objects_of_others(&[session_id(1)]))?;
    same!(
        others,
        [
            "object-2", "object-4", "object-5", "object-6", "object-7", "object-8"
        ],
        "versions of the others"
    );
    let both = [session_id(1), session_id(2)];
    let beside = later.read(|tx| tx.objects_of_others(&both))?;
    same!(beside, Vec::<String>::new(), "versions of all but both");
    desk.write(|tx| tx.forget_session(session_id(1), at(9)))?;
    let own = desk.read(|tx| tx.objects_of(session_id(1)))?;
    same!(own, Vec::<String>::new(), "versions of a forgotten session");
    Ok(())
}

fn drop_objects(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let whole = EditRecord {
        lines: Some(vec![7]),
        ..edit("t1", "a", 3)
    };
    let other = EditRecord {
        after: Some(version(3)),
        event: "t2".to_owned(),
        ..whole.clone()
    };
    let written = EditRecord {
        event: "t3".to_owned(),
        after: None,
        detail: EditDetail {
            write: Some(CallWrite {
                base: None,
                written: Some(version(3)),
                added: None,
            }),
            ..EditDetail::default()
        },
        ..whole.clone()
    };
    desk.write(|tx| {
        tx.put_edit(&whole)?;
        tx.put_edit(&other)?;
        tx.put_edit(&written)?;
        tx.drop_object("object-2")?;
        tx.drop_object("object-3")
    })?;
    let edits = desk.read(|tx| tx.edits(repository_id(1), "a", at(9)))?;
    let object = |v: &Option<siglum_domain::observation::FileVersion>| {
        v.as_ref().and_then(|v| v.object.clone())
    };
    for edit in edits {
        same!(
            object(&edit.before),
            Some("object-1".to_owned()),
            "a version that stays"
        );
        same!(object(&edit.after), None, "a version that went");
        same!(edit.detail.objects().count(), 0, "what the tool wrote");
        same!(edit.lines, Some(Vec::new()), "hashes of lines that went");
    }
    Ok(())
}

pub(super) const DETAIL: TextColumn = TextColumn {
    table: "declines",
    column: "detail",
};

fn notes(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let decline = |detail: &str| Decline {
        edge: "hook".to_owned(),
        reason: "r".to_owned(),
        detail: detail.to_owned(),
        place: None,
    };
    desk.write(|tx| {
        tx.decline("1", at(1), &decline("b"))?;
        tx.decline("2", at(1), &decline("b"))?;
        tx.decline("3", at(1), &decline("c"))?;
        tx.decline("4", at(1), &decline("a"))
    })?;
    let texts =
        |desk: &mut Desk, after: &str, limit| desk.read(|tx| tx.texts(DETAIL, after, limit));
    same!(
        texts(&mut desk, "", 9)?,
        ["a", "b", "c"],
        "texts of a column"
    );
    same!(
        texts(&mut desk, "a", 1)?,
        ["b"],
        "the next text of a column"
    );
    desk.write(|tx| {
        tx.replace_text(DETAIL, "a", Some("y"))?;
        tx.replace_text(DETAIL, "b", Some("z"))
    })?;
    same!(
        texts(&mut Desk::open(shelf)?, "", 9)?,
        ["c", "y", "z"],
        "texts that were replaced"
    );
    Ok(())
}

/// Every column of the schema is in the list, and in one form only; those to be looked through can be.
fn columns(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let listed = TextColumn::all();
    let stored = desk.read(|tx| tx.text_columns())?;
    let known = |(table, column): &&(String, String)| {
        let of = |(c, _): &&(TextColumn, TextForm)| c.table == table && c.column == column;
        listed.iter().filter(of).count() == 1
    };
    let unknown: Vec<_> = stored.iter().filter(|stored| !known(stored)).collect();
    same!(
        unknown,
        Vec::<&(String, String)>::new(),
        "columns that no list has"
    );
    for (column, form) in listed {
        if form != TextForm::Own {
            desk.read(|tx| tx.texts(column, "", 1))?;
        }
    }
    holds!(
        stored.is_sorted_by(|a, b| a < b),
        "columns are in order, each once"
    );
    let last = stored.last().map(|(t, c)| (t.as_str(), c.as_str()));
    same!(last, Some(("worktrees", "swept_head")), "the last column");
    Ok(())
}

fn pages_of_telemetry(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let batch = |payload: &[u8]| TelemetryBatch {
        sequence: 0,
        at: at(1),
        signal: "logs".to_owned(),
        session: None,
        records: 1,
        forwarded: false,
        payload: payload.to_vec(),
    };
    desk.write(|tx| {
        tx.put_batch(&batch(b"one"))?;
        tx.put_batch(&batch(b"two"))
    })?;
    let inbox = TelemetryStore::Inbox;
    let kept =
        |desk: &mut Desk, after, limit| desk.read(|tx| tx.kept_telemetry(inbox, after, limit));
    let all = kept(&mut desk, 0, 9)?;
    let payloads: Vec<&[u8]> = all.iter().map(|k| k.payload.as_slice()).collect();
    same!(payloads, [b"one", b"two"], "telemetry that is kept");
    same!(kept(&mut desk, 0, 1)?.len(), 1, "as much as was asked for");
    same!(
        kept(&mut desk, all[0].sequence, 9)?,
        all[1..],
        "what comes behind"
    );
    desk.write(|tx| tx.drop_telemetry(inbox, all[0].sequence))?;
    same!(
        kept(&mut Desk::open(shelf)?, 0, 9)?,
        all[1..],
        "what is left"
    );
    desk.write(|tx| tx.drop_telemetry(inbox, all[1].sequence))?;
    same!(kept(&mut desk, 0, 9)?.len(), 0, "nothing is left");
    Ok(())
}
