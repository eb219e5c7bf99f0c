//! A long session whose driver is killed in the middle of a turn: how long until the next process has opened the ledger,
//! settled the turn and answered what was said last.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use serde_json::{Value, json};
use siglum_domain::SessionId;
use siglum_domain::observation::Observation;
use siglum_engine::driven::turn::{self, Recovered};
use siglum_ledger::{Ledger, SessionFilter, read};

use crate::Fallible;
use crate::clock::Chance;
use crate::contest::{Times, millis};
use crate::driven::{self, Unsynced};
use crate::filler::Filler;
use crate::report::Line;
use crate::run::Run;

/// The most events of a turn of the session.
const TURN: usize = 100;
/// How many events there are from one compaction of the context to the next.
const COMPACTED_EVERY: usize = 5_000;
/// How much of what was said last a person is shown.
const TAIL: u64 = 100;
/// What a driver says when its turn is open.
const READY: &str = "the turn is open";

/// What is told of each opening.
const PARTS: [(&str, &str); 7] = [
    ("a process that does nothing", "nothing_ms"),
    ("start until the last 100 events are there", "answered_ms"),
    ("of that, opening", "open_ms"),
    ("of that, lease and recovery", "take_ms"),
    ("of that, the last 100 events", "tail_ms"),
    ("then, the context of up to 5,000 events", "context_ms"),
    ("then, a turn", "turn_ms"),
];

/// The events of a session, where its ledger is, and what was told of each opening.
type Store = (usize, PathBuf, Vec<Value>);

pub(super) fn measure(run: &Run) -> Fallible<Vec<Line>> {
    let sizes = [1_000, run.much(1_000_000, 20_000)];
    let mut stores: Vec<Store> = Vec::new();
    for events in sizes {
        let dir = run.dir(&format!("reopen/{events}"))?;
        fill(&dir, events)?;
        stores.push((events, dir, Vec::new()));
    }
    for round in 0..run.much(21, 3) {
        for (_, dir, answers) in &mut stores {
            killed_in_mid_turn(dir, round)?;
            answers.push(reopened(run, dir)?);
        }
    }
    let line = |(name, key): (&str, &str), (events, _, answers): &Store| {
        let times = |answers: &[Value]| {
            let times: Vec<f64> = answers.iter().filter_map(|a| a[key].as_f64()).collect();
            Times::from(times)
        };
        let (these, short) = (times(answers), times(&stores[0].2).median());
        Line::new(name, these.median(), "ms", these.n())
            .p95(these.p95())
            .against("the short one", short)
            .column(format!("{events} events"))
    };
    let of_part = |part| stores.iter().map(move |store| line(part, store));
    Ok(PARTS.into_iter().flat_map(of_part).collect())
}

/// A ledger with one session of so many events.
fn fill(dir: &Path, events: usize) -> Fallible<()> {
    let (filler, chance) = (Filler::gather(4 << 20), Chance::new(13));
    let mut ledger = driven::open(&file(dir))?;
    let mut quick = Unsynced(&mut ledger);
    let (_, mut driver) = driven::begin(&mut quick, "long")?;
    for first in (0..events).step_by(TURN) {
        let key = format!("old-{first}");
        let one = |n: usize| match n % COMPACTED_EVERY {
            0 => driven::compacted(&key, filler.text(&chance, 2_000)),
            _ => driven::message(&key, &n.to_string(), filler.text(&chance, 400)),
        };
        let all: Vec<Observation> = (first..(first + TURN).min(events)).map(one).collect();
        driver.commit(&driven::here(), &mut quick, &key, &all)?;
        quick.maintain()?;
    }
    Ok(driver.release(&driven::here(), &mut quick)?)
}

fn file(dir: &Path) -> PathBuf {
    dir.join("ledger.db")
}

/// A process of this program with one of its hidden words.
fn own(word: &str, dir: &Path, more: &str) -> Fallible<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    let command = command.arg(word).arg(dir).arg(more);
    Ok(command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?)
}

/// Starts a driver, and kills it when it has said half a turn.
fn killed_in_mid_turn(dir: &Path, round: usize) -> Fallible<()> {
    let mut driver = own("--drive-here", dir, &round.to_string())?;
    let out = driver.stdout.take().ok_or("a process without output")?;
    let mut line = String::new();
    BufReader::new(out).read_line(&mut line)?;
    driver.kill()?;
    driver.wait()?;
    if line.trim() == READY {
        Ok(())
    } else {
        Err(format!("the driver said `{line}`").into())
    }
}

/// The work of the driver: half a turn, and then it waits to be killed.
pub(crate) fn drive(dir: &Path, round: &str) -> Fallible<()> {
    let mut ledger = driven::open(&file(dir))?;
    let session = the_session(&mut ledger)?;
    let mut driver = driven::take(&mut ledger, session)?;
    let (here, key) = (driven::here(), format!("broken-{round}"));
    let prompt = [driven::prompt(&key, "Build it.")];
    driver.open(&here, &mut ledger, &key, &prompt)?;
    driver.append(&here, &mut ledger, &driven::call(&key))?;
    let answer = driven::message(&key, "m", "The build is");
    driver.append(&here, &mut ledger, &[answer])?;
    println!("{READY}");
    std::io::stdin().read_line(&mut String::new())?;
    Err("the driver was not killed".into())
}

/// A new process goes on, and tells how long it took.
fn reopened(run: &Run, dir: &Path) -> Fallible<Value> {
    let nothing = run.empty_process()?;
    let start = Instant::now();
    let mut next = own("--reopen-here", dir, "")?;
    let out = next.stdout.take().ok_or("a process without output")?;
    let mut lines = BufReader::new(out).lines();
    let answered = lines.next().ok_or("no answer")??;
    let answered_ms = millis(start);
    let more = lines.next().ok_or("no second answer")??;
    if !next.wait()?.success() {
        return Err("the process that reopens failed".into());
    }
    let mut report: Value = serde_json::from_str(&answered)?;
    let more: Value = serde_json::from_str(&more)?;
    for (key, value) in more.as_object().into_iter().flatten() {
        report[key] = value.clone();
    }
    report["nothing_ms"] = json!(nothing);
    report["answered_ms"] = json!(answered_ms);
    Ok(report)
}

/// The work of that process: what a person waits for first, and then the rest.
pub(crate) fn reopen(dir: &Path) -> Fallible<()> {
    let start = Instant::now();
    let mut ledger = driven::open(&file(dir))?;
    let session = the_session(&mut ledger)?;
    let open_ms = millis(start);
    let start = Instant::now();
    let mut driver = driven::take(&mut ledger, session)?;
    let take_ms = millis(start);
    if !matches!(driver.recovered, Recovered::Interrupted(_)) {
        return Err(format!("half a turn was settled as {:?}", driver.recovered).into());
    }
    let start = Instant::now();
    let after = driver.committed().saturating_sub(TAIL);
    let page = turn::committed(&mut ledger, session, after, 0)?;
    let tail_ms = millis(start);
    if page.entries.len() as u64 != TAIL {
        return Err(format!("{} events are the last", page.entries.len()).into());
    }
    println!(
        "{}",
        json!({"open_ms": open_ms, "take_ms": take_ms, "tail_ms": tail_ms})
    );
    let start = Instant::now();
    let context = turn::context(&mut ledger, session, None)?;
    let context_ms = millis(start);
    if context.len() > COMPACTED_EVERY + 100 * TURN {
        return Err(format!("the context has {} events", context.len()).into());
    }
    let (here, key) = (driven::here(), format!("after-{}", driver.committed()));
    let start = Instant::now();
    driver.commit(&here, &mut ledger, &key, &[driven::prompt(&key, "Go on.")])?;
    println!(
        "{}",
        json!({"context_ms": context_ms, "turn_ms": millis(start)})
    );
    driver.release(&here, &mut ledger)?;
    Ok(ledger.maintain()?)
}

fn the_session(ledger: &mut dyn Ledger) -> Fallible<SessionId> {
    let all = read(ledger, |tx| tx.sessions(&SessionFilter::default()))?;
    Ok(all.first().ok_or("no session")?.record.id)
}
