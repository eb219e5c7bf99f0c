//! The gateway over loopback, 32 connections, turns of 1.7 kB in 2 events: how many a second are stored for good, what
//! they take of the processor, and whether the gateway grows. Then two of them on one store, one of which is killed.

use serde_json::Value;

use crate::Fallible;
use crate::clock::Chance;
use crate::contest::{Times, sync_once};
use crate::driven;
use crate::filler::Filler;
use crate::gateway::served::{Client, Place, Served};
use crate::gateway::wrk;
use crate::report::Line;
use crate::rows::turns;
use crate::run::Run;

const CONNECTIONS: usize = 32;
/// The parts in which turns are committed: the first and the last tell whether it stays as it was.
const PARTS: usize = 10;
/// What the design asks for.
const BOUND: f64 = 2_000.0;

pub(super) fn measure(run: &Run) -> Fallible<Vec<Line>> {
    let (turns, hand) = by_hand(run)?;
    let mut lines = vec![
        sync(run)?,
        Line::new(
            "turns by hand into SQLite, one sync each",
            hand,
            "/s",
            turns,
        ),
    ];
    let file = Place::file(run, "gateway-file")?;
    lines.extend(one(run, &file, "SQLite", hand, run.much(100_000, 5_000))?);
    if let Some(server) = Place::database(run, "gateway")? {
        lines.extend(one(
            run,
            &server,
            "PostgreSQL",
            hand,
            run.much(20_000, 2_000),
        )?);
    }
    if let Some(server) = Place::database(run, "replicas")? {
        lines.extend(replicas(run, &server)?);
    }
    Ok(lines)
}

fn sync(run: &Run) -> Fallible<Line> {
    let file = run.dir("gateway")?.join("sync");
    let times = (0..run.much(300, 100)).map(|_| sync_once(&file));
    let times = Times::from(times.collect::<Fallible<Vec<f64>>>()?);
    let line = Line::new("a sync of this disk", times.median(), "ms", times.n());
    Ok(line.p95(times.p95()))
}

/// Turns in a second with rows of the same form, inserted by hand with one sync each.
fn by_hand(run: &Run) -> Fallible<(usize, f64)> {
    let (filler, chance) = (Filler::gather(2 << 20), Chance::new(7));
    let path = run.dir("gateway-by-hand")?.join("ledger.db");
    let mut ledger = driven::open(&path)?;
    let (session, mut driver) = driven::begin(&mut ledger, "hand")?;
    let events = |key: &str| {
        let answer = filler.text(&chance, 1_400);
        vec![
            driven::prompt(key, filler.text(&chance, 300)),
            driven::message(key, "m", answer),
        ]
    };
    driver.commit(&driven::here(), &mut ledger, "first", &events("first"))?;
    let turn = |n: usize| (format!("t{n}"), events(&format!("t{n}")));
    let all: Vec<_> = (0..run.much(3_000, 300)).map(turn).collect();
    Ok((all.len(), turns::by_hand(&path, session, &all)?))
}

/// One gateway: creations, turns, memory.
fn one(run: &Run, place: &Place, column: &str, hand: f64, turns: usize) -> Fallible<Vec<Line>> {
    let token = place.token()?;
    let served = Served::start(run, place)?;
    let mut client = Client::start(&[&served], &token, CONNECTIONS)?;
    client.does("turns 640")?;
    let mut watch = Watch::new(&served)?;
    let created = watch.sees(&client.does(&format!("create {}", run.much(5_000, 500)))?)?;
    let before = served.rss_mb()?;
    let mut parts = Vec::new();
    for _ in 0..PARTS {
        let part = turns / PARTS;
        parts.push(watch.sees(&client.does(&format!("turns {part}"))?)?);
    }
    let after = served.rss_mb()?;
    client.does("check")?;
    let by_wrk = wrk::turns(run, &served, &mut client, run.much(15, 3))?;
    let by_wrk = by_wrk.map(|answer| watch.sees(&answer)).transpose()?;
    drop(client);
    let all = Part::all(&parts);
    let line = |what: &str, value, unit, n| Line::new(what, value, unit, n).column(column);
    let mut rate = line("durable turns", all.rate(), "/s", all.n).against("by hand", hand);
    if matches!(place, Place::File(_)) {
        rate = rate.bound("SQLite ≥ 2,000/s", all.rate() >= BOUND);
    }
    let mut lines = vec![
        line("sessions created", created.rate(), "/s", created.n),
        rate,
        line("a turn, median", all.p50, "ms", all.n),
        line("a turn, 99th percentile", all.p99, "ms", all.n),
        line(
            "processor of the gateway for a turn",
            all.server(),
            "ms",
            all.n,
        ),
        line(
            "processor of the client for a turn",
            all.client(),
            "ms",
            all.n,
        ),
        line(
            "the last tenth of the turns",
            parts[PARTS - 1].rate(),
            "/s",
            parts[0].n,
        )
        .against("the first tenth", parts[0].rate()),
        line("memory before", before, "MB", 1),
        line("memory after all turns", after, "MB", 1).against("before", before),
    ];
    if let Some(part) = by_wrk {
        lines.push(line("durable turns by wrk", part.rate(), "/s", part.n));
        lines.push(line(
            "a turn by wrk, 99th percentile",
            part.p99,
            "ms",
            part.n,
        ));
        lines.push(line(
            "processor of the gateway for a turn by wrk",
            part.server(),
            "ms",
            part.n,
        ));
        lines.push(line(
            "processor of wrk for a turn",
            part.client(),
            "ms",
            part.n,
        ));
    }
    Ok(lines)
}

/// Two gateways on one store; one is killed when a third of the turns may be done. The client checks that all that was
/// acknowledged is there once.
fn replicas(run: &Run, place: &Place) -> Fallible<Vec<Line>> {
    let token = place.token()?;
    #[expect(clippy::cast_precision_loss, reason = "some thousand turns")]
    let count = |n: usize| n as f64;
    let (mut first, second) = (Served::start(run, place)?, Served::start(run, place)?);
    let mut client = Client::start(&[&first, &second], &token, CONNECTIONS)?;
    let warm = client.does("turns 1000")?;
    let turns = run.much(30_000, 3_000);
    let third = warm["seconds"].as_f64().unwrap_or(1.0) / 1_000.0 * count(turns) / 3.0;
    client.begin(&format!("turns {turns}"))?;
    std::thread::sleep(std::time::Duration::from_secs_f64(third));
    first.kill()?;
    let answer = client.done()?;
    let part = Part::from_answer(&answer, 0.0)?;
    let checked = client.does("check")?;
    let again = answer["again"].as_f64().unwrap_or_default();
    let line = |what: &str, value, unit| Line::new(what, value, unit, part.n);
    let all = checked["turns"].as_f64().unwrap_or_default();
    Ok(vec![
        line(
            "turns by two on one PostgreSQL store, one killed",
            part.rate(),
            "/s",
        ),
        line("of that, the slowest in a hundred", part.p99, "ms"),
        line("of that, requests that were made again", again, ""),
        line(
            "of that and those before it, found once and in one chain",
            all,
            "turns",
        )
        .bound("all", again > 0.0 && all == count(turns + 1_000)),
    ])
}

/// What the client told of one part, and what the gateway took meanwhile.
struct Part {
    n: usize,
    seconds: f64,
    p50: f64,
    p99: f64,
    client_ms: f64,
    server_ms: f64,
}

impl Part {
    fn from_answer(answer: &Value, server_ms: f64) -> Fallible<Self> {
        let number = |name: &str| answer[name].as_f64().ok_or(format!("no {name}: {answer}"));
        Ok(Self {
            n: usize::try_from(answer["n"].as_u64().unwrap_or(0))?,
            seconds: number("seconds")?,
            p50: number("p50_ms")?,
            p99: number("p99_ms")?,
            client_ms: number("cpu_ms")?,
            server_ms,
        })
    }

    /// All parts as one; of times the median of the parts.
    fn all(parts: &[Self]) -> Self {
        let sum = |of: fn(&Self) -> f64| -> f64 { parts.iter().map(of).sum() };
        let median = |of: fn(&Self) -> f64| Times::from(parts.iter().map(of).collect::<Vec<_>>());
        Self {
            n: parts.iter().map(|p| p.n).sum(),
            seconds: sum(|p| p.seconds),
            p50: median(|p| p.p50).median(),
            p99: median(|p| p.p99).median(),
            client_ms: sum(|p| p.client_ms),
            server_ms: sum(|p| p.server_ms),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "some hundred thousand turns")]
    const fn count(&self) -> f64 {
        self.n as f64
    }

    fn rate(&self) -> f64 {
        self.count() / self.seconds
    }

    fn server(&self) -> f64 {
        self.server_ms / self.count()
    }

    fn client(&self) -> f64 {
        self.client_ms / self.count()
    }
}

/// The processor time of a gateway, from part to part.
struct Watch<'a> {
    served: &'a Served,
    cpu_ms: f64,
}

impl<'a> Watch<'a> {
    fn new(served: &'a Served) -> Fallible<Self> {
        let cpu_ms = served.cpu_ms()?;
        Ok(Self { served, cpu_ms })
    }

    fn sees(&mut self, answer: &Value) -> Fallible<Part> {
        let now = self.served.cpu_ms()?;
        let before = std::mem::replace(&mut self.cpu_ms, now);
        Part::from_answer(answer, now - before)
    }
}
