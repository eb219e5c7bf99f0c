//! Spans of agents over loopback, 4 connections, batches of 512 in protobuf, not packed, to the gateway and to Phoenix:
//! how many a second are acknowledged, how many a second can be seen, what they take of processor and memory.
//!
//! What an acknowledgement is worth differs: the gateway's means that it is stored, Phoenix's that it is in its memory.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Fallible;
use crate::clock::cpu_ms_of;
use crate::contest::Times;
use crate::gateway::connection::Connection;
use crate::gateway::served::{Client, Place, Served, rss_mb};
use crate::ingest::client::BATCH;
use crate::ingest::phoenix::Phoenix;
use crate::ingest::{rows, spans};
use crate::report::Line;
use crate::run::Run;

const CONNECTIONS: usize = 4;
/// The parts in which spans are sent; of rates the median of the parts counts.
const PARTS: usize = 5;
/// What the design asks for, in spans a second.
const BOUND: f64 = 20_000.0;
/// How often it is looked whether all can be seen.
const LOOK: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_secs(600);

pub(super) fn measure(run: &Run) -> Fallible<Vec<Line>> {
    let ours = gateway(run, run.much(60, 10))?;
    // It needs minutes for what the gateway takes in seconds: the same spans, and fewer of them.
    let theirs = phoenix(run, 2)?;
    let mut lines = ours.lines("Siglum");
    for line in &mut lines {
        if line.what == ACKNOWLEDGED {
            let kept = line.value >= BOUND;
            line.bounds.push(("Siglum ≥ 20,000/s".to_owned(), kept));
        }
    }
    if let Some(theirs) = theirs {
        let beside = theirs.lines("Phoenix");
        for (line, other) in lines.iter_mut().zip(&beside) {
            line.against = Some(("Phoenix".to_owned(), other.value));
        }
        lines.extend(beside);
    }
    Ok(lines)
}

const ACKNOWLEDGED: &str = "spans acknowledged";

/// What one server did with so many requests in each part.
fn gateway(run: &Run, requests: usize) -> Fallible<Measured> {
    let place = Place::file(run, "ingest")?;
    let token = place.token()?;
    let served = Served::start(run, &place)?;
    // A program that nobody knows opens no sessions: whoever started it has.
    let mut connection = Connection::new(served.address.clone());
    for name in spans::sessions((requests * PARTS + 1) * BATCH) {
        let wanted = json!({"agent": "bench-agent", "mode": "observed", "native_id": name});
        let created = connection.ask("POST", "/v1/sessions", &token, &wanted.to_string())?;
        if created.status != 201 {
            return Err(format!("no session: {}", created.body).into());
        }
    }
    let file = place.home().join("ledger.db");
    let seen = |_: usize| Ok(rows(&file, "SELECT count(*) FROM telemetry_inbox")? == 0);
    let measured = parts(&served.address, &token, served.pid(), requests, &seen)?;
    let lost = rows(&file, "SELECT coalesce(sum(records), 0) FROM unassigned")?;
    match lost {
        0 => Ok(measured),
        _ => Err(format!("{lost} records have no session").into()),
    }
}

fn phoenix(run: &Run, requests: usize) -> Fallible<Option<Measured>> {
    let Some(phoenix) = Phoenix::start(run)? else {
        return Ok(None);
    };
    let seen = |sent: usize| Ok(rows(&phoenix.database, "SELECT count(*) FROM spans")? >= sent);
    parts(&phoenix.address, "", phoenix.pid(), requests, &seen).map(Some)
}

/// What was measured of a server.
struct Measured {
    acknowledged: Vec<f64>,
    visible: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
    server_us: Vec<f64>,
    client_us: Vec<f64>,
    before_mb: f64,
    most_mb: f64,
    after_mb: f64,
    spans: usize,
}

fn parts(
    address: &str,
    token: &str,
    pid: u32,
    requests: usize,
    seen: &dyn Fn(usize) -> Fallible<bool>,
) -> Fallible<Measured> {
    let plan = json!({"address": address, "token": token, "connections": CONNECTIONS});
    let mut client = Client::by("--spans-here", &plan)?;
    // What is there once, such as the first table that is read, is no part of it.
    let mut sent = part(&mut client, 1)?.spans;
    wait(sent, pid, seen)?;
    let mut all = Measured {
        acknowledged: Vec::new(),
        visible: Vec::new(),
        p50: Vec::new(),
        p99: Vec::new(),
        server_us: Vec::new(),
        client_us: Vec::new(),
        before_mb: rss_mb(pid)?,
        most_mb: 0.0,
        after_mb: 0.0,
        spans: 0,
    };
    for _ in 0..PARTS {
        let cpu = cpu_ms_of(pid)?;
        let report = part(&mut client, requests)?;
        sent += report.spans;
        let begun = Instant::now();
        let most = wait(sent, pid, seen)?;
        let whole = report.seconds + begun.elapsed().as_secs_f64();
        let count = report.count();
        all.acknowledged.push(count / report.seconds);
        all.visible.push(count / whole);
        all.p50.push(report.p50);
        all.p99.push(report.p99);
        all.server_us.push((cpu_ms_of(pid)? - cpu) * 1e3 / count);
        all.client_us.push(report.cpu_ms * 1e3 / count);
        all.most_mb = all.most_mb.max(most);
        all.spans += report.spans;
    }
    all.after_mb = rss_mb(pid)?;
    Ok(all)
}

/// Waits until all that was sent can be seen; gives the most memory that the server held meanwhile.
fn wait(sent: usize, pid: u32, seen: &dyn Fn(usize) -> Fallible<bool>) -> Fallible<f64> {
    let begun = Instant::now();
    let mut most = rss_mb(pid)?;
    while !seen(sent)? {
        if begun.elapsed() > PATIENCE {
            return Err("what was sent did not become visible".into());
        }
        std::thread::sleep(LOOK);
        most = most.max(rss_mb(pid)?);
    }
    Ok(most)
}

/// What the client told of one part.
struct Part {
    spans: usize,
    seconds: f64,
    p50: f64,
    p99: f64,
    cpu_ms: f64,
}

impl Part {
    #[expect(clippy::cast_precision_loss, reason = "some ten thousand spans")]
    const fn count(&self) -> f64 {
        self.spans as f64
    }
}

/// Lets the client send so many requests.
fn part(client: &mut Client, requests: usize) -> Fallible<Part> {
    let report: Value = client.does(&requests.to_string())?;
    let number = |name: &str| report[name].as_f64().ok_or(format!("no {name}: {report}"));
    Ok(Part {
        spans: requests * BATCH,
        seconds: number("seconds")?,
        p50: number("p50_ms")?,
        p99: number("p99_ms")?,
        cpu_ms: number("cpu_ms")?,
    })
}

impl Measured {
    fn lines(&self, column: &str) -> Vec<Line> {
        let line =
            |what: &str, value, unit| Line::new(what, value, unit, self.spans).column(column);
        let median = |of: &Vec<f64>| Times::from(of.clone()).median();
        vec![
            line(ACKNOWLEDGED, median(&self.acknowledged), "/s"),
            line("spans until all can be seen", median(&self.visible), "/s"),
            line("a request of 512 spans, median", median(&self.p50), "ms"),
            line(
                "a request of 512 spans, 99th percentile",
                median(&self.p99),
                "ms",
            ),
            line(
                "processor of the server for a span",
                median(&self.server_us),
                "µs",
            ),
            line(
                "processor of the client for a span",
                median(&self.client_us),
                "µs",
            ),
            line("memory before", self.before_mb, "MB"),
            line("memory at most", self.most_mb, "MB"),
            line("memory after", self.after_mb, "MB"),
        ]
    }
}
