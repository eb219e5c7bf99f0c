//! Pipelines: their events by number and key, and the sessions that were ever linked to them.

use siglum_domain::link::Link;
use siglum_domain::pipeline::{Draft, Event, NewEvent, take};
use siglum_domain::redact::Redactor;
use siglum_ledger::{
    LedgerError, NewPipelineEvent, PipelineRecord, Statement, Summary, TextColumn, Transaction,
};

use super::check::{Check, Desk, Outcome, Shelf, holds, same};
use super::sample::*;

pub(super) const CHECKS: &[Check] = &[
    Check::new("events of pipelines come back whole, by number", whole),
    Check::new("a key names one event of one pipeline", keyed),
    Check::new("pipelines are listed in pages, newest first", pages),
    Check::new(
        "a pipeline keeps the sessions that ever were linked to it",
        linked,
    ),
    Check::new(
        "texts of pipelines are forgotten, and nothing else of them",
        forgotten,
    ),
];

fn draft(name: &str, text: Option<&str>, key: Option<&str>) -> Draft {
    let new = NewEvent {
        kind: "check".to_owned(),
        name: Some(name.to_owned()),
        result: Some("skipped".to_owned()),
        text: text.map(str::to_owned),
        key: key.map(str::to_owned),
        session: text.map(|_| session_id(1)),
        ..NewEvent::default()
    };
    take(&new, Redactor::shared()).expect("because samples keep to the rules")
}

fn put(
    tx: &mut dyn Transaction,
    pipeline: &str,
    seconds: i64,
    draft: &Draft,
) -> Result<u64, LedgerError> {
    let event = NewPipelineEvent {
        at: at(seconds),
        by: "Änn",
        source: "cli",
        draft,
        content: draft.what().kind(),
    };
    tx.put_pipeline_event(pipeline, &event)
}

fn wanted(number: u64, seconds: i64, draft: &Draft) -> Event {
    Event {
        number,
        at: at(seconds),
        by: "Änn".to_owned(),
        source: "cli".to_owned(),
        session: draft.session(),
        key: draft.key().map(ToString::to_string),
        what: draft.what().clone(),
        text: draft.text().cloned(),
    }
}

fn whole(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let of = [
        draft("ü", Some("said — ✓\n"), Some("k")),
        draft("b", None, None),
        draft("c", Some(&"x y ".repeat(2000)[..4000]), None),
    ];
    // The clock goes back: numbers tell the order.
    let times = [9, 3, 5];
    for (n, (draft, seconds)) in (1..).zip(of.iter().zip(times)) {
        let number = desk.write(|tx| put(tx, "p", seconds, draft))?;
        same!(number, n, "the number of an event");
        same!(
            desk.write(|tx| put(tx, "other p", 1, draft))?,
            n,
            "of another pipeline"
        );
    }
    let refused = desk.write(|tx| {
        put(tx, "p", 1, &of[1])?;
        Err::<(), _>(LedgerError::Busy)
    });
    holds!(refused.is_err(), "a failed transaction succeeded");
    let wanted: Vec<Event> = (1..)
        .zip(of.iter().zip(times))
        .map(|(n, (draft, seconds))| wanted(n, seconds, draft))
        .collect();
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        same!(
            desk.read(|tx| tx.pipeline_events("p", 0, 0))?,
            wanted,
            "the events"
        );
        let part = desk.read(|tx| tx.pipeline_events("p", 1, 1))?;
        same!(part, wanted[1..2], "one event behind a number");
        same!(
            desk.read(|tx| tx.pipeline_events("P", 0, 0))?,
            [],
            "of no pipeline"
        );
        let record = PipelineRecord {
            id: "p".to_owned(),
            first_at: at(3),
            last_at: at(9),
            events: 3,
        };
        same!(
            desk.read(|tx| tx.pipeline("p"))?,
            Some(record),
            "the pipeline"
        );
        same!(desk.read(|tx| tx.pipeline("P"))?, None, "no pipeline");
    }
    Ok(())
}

fn keyed(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    let of = draft("a", None, Some("k"));
    desk.write(|tx| {
        put(tx, "q", 1, &draft("a", None, None))?;
        put(tx, "p", 1, &draft("a", None, None))?;
        put(tx, "p", 2, &of)
    })?;
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        let mut found =
            |pipeline: &str, key: &str| desk.read(|tx| tx.keyed_pipeline_event(pipeline, key));
        same!(
            found("p", "k")?,
            Some((2, "check".to_owned())),
            "the event of a key"
        );
        same!(found("q", "k")?, None, "the same key of another pipeline");
        same!(found("p", "K")?, None, "another key");
    }
    holds!(
        desk.write(|tx| put(tx, "p", 3, &of)).is_err(),
        "a key was taken twice"
    );
    let events = desk.read(|tx| tx.pipeline("p"))?.map(|p| p.events);
    same!(events, Some(2), "how many events there are");
    same!(
        desk.write(|tx| put(tx, "q", 3, &of))?,
        2,
        "the key in another pipeline"
    );
    Ok(())
}

fn pages(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    same!(desk.read(|tx| tx.pipelines(None, 0))?, [], "no pipelines");
    let of = draft("a", None, None);
    desk.write(|tx| {
        for (id, seconds) in [("b", 5), ("a", 5), ("ü", 7), ("old", 1), ("old", 9)] {
            put(tx, id, seconds, &of)?;
        }
        Ok(())
    })?;
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        let all = desk.read(|tx| tx.pipelines(None, 0))?;
        let ids = |found: &[PipelineRecord]| found.iter().map(|p| p.id.clone()).collect::<Vec<_>>();
        same!(ids(&all), ["ü", "a", "b", "old"], "all pipelines");
        let mut paged = Vec::new();
        for _ in 0..4 {
            let page = desk.read(|tx| tx.pipelines(paged.last(), 1))?;
            same!(page.len(), 1, "the length of a page");
            paged.extend(page);
        }
        same!(paged, all, "pipelines page by page");
        same!(
            desk.read(|tx| tx.pipelines(paged.last(), 0))?,
            [],
            "behind the last one"
        );
    }
    Ok(())
}

fn linked(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let link = || Link::PipelineId("p".to_owned());
    let attached = |n| Statement::LinkAttached {
        session: session_id(n),
        link: link(),
    };
    desk.write(|tx| {
        tx.state(at(8), "Ann", "cli", &attached(2))?;
        tx.state(at(5), "Ann", "cli", &attached(1))?;
        tx.state(at(6), "Ann", "cli", &attached(1))?;
        let detached = Statement::LinkDetached {
            session: session_id(1),
            link: link(),
        };
        tx.state(at(9), "Ann", "cli", &detached)?;
        let other = Statement::LinkAttached {
            session: session_id(3),
            link: Link::Phase("p".to_owned()),
        };
        tx.state(at(9), "Ann", "cli", &other)?;
        let summary = Summary {
            state: "waiting".to_owned(),
            turns: 7,
            ..Summary::default()
        };
        tx.put_summary(session_id(2), &summary, 0)
    })?;
    let mut later = Desk::open(shelf)?;
    for desk in [&mut desk, &mut later] {
        let found = desk.read(|tx| tx.sessions_of_pipeline("p"))?;
        let rows: Vec<_> = found
            .iter()
            .map(|s| (s.record.id, s.summary.turns))
            .collect();
        same!(
            rows,
            [(session_id(1), 0), (session_id(2), 7)],
            "its sessions"
        );
        let record = desk.read(|tx| tx.pipeline("p"))?;
        let times = record.map(|p| (p.first_at, p.last_at, p.events));
        same!(
            times,
            Some((at(5), at(8), 0)),
            "a pipeline that was only linked"
        );
        same!(
            desk.read(|tx| tx.sessions_of_pipeline("P"))?,
            [],
            "of no pipeline"
        );
    }
    Ok(())
}

fn forgotten(shelf: &dyn Shelf) -> Outcome {
    let mut desk = Desk::open(shelf)?;
    furnish(&mut desk)?;
    let of = [draft("a", Some("to forget"), None), draft("b", None, None)];
    desk.write(|tx| {
        put(tx, "p", 1, &of[0])?;
        put(tx, "p", 2, &of[1])
    })?;
    let column = TextColumn {
        table: "pipeline_events",
        column: "text",
    };
    same!(
        desk.read(|tx| tx.texts(column, "", 9))?,
        ["to forget"],
        "texts of pipelines"
    );
    desk.write(|tx| tx.replace_text(column, "to forget", Some("gone")))?;
    same!(
        desk.read(|tx| tx.unlike(9))?,
        [],
        "sums after a replaced text"
    );
    let texts = |desk: &mut Desk| -> Outcome<Vec<Option<String>>> {
        let events = desk.read(|tx| tx.pipeline_events("p", 0, 0))?;
        let text = |e: Event| e.text.map(siglum_domain::Redacted::into_string);
        Ok(events.into_iter().map(text).collect())
    };
    same!(
        texts(&mut desk)?,
        [Some("gone".to_owned()), None],
        "a replaced text"
    );
    desk.write(|tx| tx.forget_session(session_id(2), at(9)))?;
    same!(
        texts(&mut desk)?,
        [Some("gone".to_owned()), None],
        "after another session went"
    );
    desk.write(|tx| tx.forget_session(session_id(1), at(9)))?;
    same!(
        texts(&mut desk)?,
        [None, None],
        "what a session said that was forgotten"
    );
    Ok(())
}
