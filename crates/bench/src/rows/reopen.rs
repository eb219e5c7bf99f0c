//! A long session whose driver is killed in the middle of a turn: how long until the next process has opened the ledger,
//! settled the turn and answered what was said last.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};
use siglum_domain::SessionId;
use siglum_domain::observation::Observation;
use siglum_engine::turn::{self, Driver, Recovered};
use siglum_ledger::{Ledger, SessionFilter, read};

use crate::Fallible;
use crate::clock::Chance;
use crate::contest::{Times, millis};
use crate::driven;
use crate::filler::Filler;
use crate::report::Line;
use crate::run::Run;

/// The most events of a turn of the session.
const TURN: usize = 100;
/// How many turns there are from one compaction of the context to the next.
const COMPACTED_EVERY: usize = 50;
/// How much of what was said last a person is shown.
const TAIL: u64 = 100;
/// What a driver that was started says when its turn is open.
const READY: &str = "the turn is open";

pub(super) fn measure(run: &Run) -> Fallible<Vec<Line>> {
    let sizes = [1_000, run.much(1_000_000, 20_000)];
    let mut lines = Vec::new();
    for events in sizes {
        let place = Place::File(run.dir(&format!("reopen/{events}"))?.join("ledger.db"));
        lines.extend(measure_at(run, &place, events, "SQLite")?);
    }
    Ok(lines)
}

fn measure_at(run: &Run, place: &Place, events: usize, store: &str) -> Fallible<Vec<Line>> {
    fill(place, events)?;
    let mut answers = Vec::new();
    for round in 0..run.much(15, 3) {
        killed_in_mid_turn(place, round)?;
        answers.push(reopen(run, place)?);
    }
    let line = |(name, key): (&str, &str)| {
        let times: Vec<f64> = answers.iter().filter_map(|a| a[key].as_f64()).collect();
        let times = Times::from(times);
        Line::new(format!("{store}: {name}"), times.median(), "ms", times.n())
            .p95(times.p95())
            .column(format!("{events} events"))
    };
    Ok([
        ("a process that does nothing", "nothing_ms"),
        ("start to the last 100 events", "answered_ms"),
        ("of that, opening", "open_ms"),
        ("of that, lease and recovery", "take_ms"),
        ("of that, the last 100 events", "tail_ms"),
        ("then the context", "context_ms"),
        ("then a turn", "turn_ms"),
    ]
    .map(line)
    .into())
}
