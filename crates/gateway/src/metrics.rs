//! What the gateway counts, in Prometheus' text form.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use siglum_engine::share::project;
use tokio::sync::Mutex;

/// Which requests are counted together. No id is among the labels.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    method: &'static str,
    route: String,
    status: u16,
}

/// Which telemetry is counted together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfSignal {
    signal: &'static str,
}

/// How telemetry stands in the stores that anybody was let in to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Standing {
    /// Records that were taken and not joined yet.
    pub(crate) waiting: u64,
    /// Records that have no session.
    pub(crate) unassigned: u64,
    /// Records that named two sessions, ever.
    pub(crate) conflicts: u64,
}

/// How far behind the work is that nobody waits for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Behind {
    /// By the kind of what is delivered to.
    pub(crate) deliveries: BTreeMap<&'static str, BehindDeliveries>,
    /// Sessions that the search index lacks.
    pub(crate) unindexed: u64,
    /// Sessions whose newest entries are in no sum yet.
    pub(crate) unfolded: u64,
}

impl Behind {
    /// The kind of all that is of no known one.
    pub(crate) const OTHER_KIND: &'static str = "other";

    /// Adds what another store lacks.
    pub(crate) fn add(&mut self, other: &Self) {
        for (kind, more) in &other.deliveries {
            self.deliveries.entry(kind).or_default().add(more);
        }
        self.unindexed += other.unindexed;
        self.unfolded += other.unfolded;
    }
}

/// How far behind deliveries of one kind are.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BehindDeliveries {
    /// Receipts that are due.
    pub(crate) receipts: u64,
    /// For how long the oldest of them has been.
    pub(crate) seconds: u64,
    /// Sessions that are set aside.
    pub(crate) parked: u64,
}

impl BehindDeliveries {
    /// Adds what others of the kind lack.
    pub(crate) fn add(&mut self, other: &Self) {
        self.receipts += other.receipts;
        self.parked += other.parked;
        self.seconds = self.seconds.max(other.seconds);
    }
}

/// Which runs are counted together: how they ended, and with which code; none where nothing went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfRun {
    status: &'static str,
    code: &'static str,
}

/// Which ticks of heartbeats are counted together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfTick {
    outcome: &'static str,
}

/// Which work of the store is counted together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfJob {
    kind: &'static str,
    outcome: &'static str,
}

/// Which times of the store, or which deliveries, are counted together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfKind {
    kind: &'static str,
}

/// The upper ends of the buckets of times, in seconds.
const BUCKETS: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];
/// The same of how late a tick begins.
const LATE_BUCKETS: [f64; 8] = [1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0];

/// The counts.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Kind, Counter>,
    times: Histogram,
    telemetry: Telemetry,
    runs: Runs,
    ticks: Ticks,
    lags: Lags,
    /// When it was last counted what is behind.
    pub(crate) counted: Mutex<Option<Instant>>,
    pub(crate) connections: Gauge,
    /// Open streams of sealed turns.
    pub(crate) streams: Gauge,
    /// Turns that were committed, without those that had been before.
    pub(crate) turns: Counter,
    /// Sessions that were created.
    pub(crate) sessions: Counter,
}

impl Metrics {
    /// Nothing is counted yet. `add` adds what others count.
    pub(crate) fn new(add: impl FnOnce(&mut Registry)) -> Self {
        let mut registry = Registry::with_prefix("siglum");
        let requests = Family::<Kind, Counter>::default();
        let times = Histogram::new(BUCKETS);
        let (connections, streams) = (Gauge::default(), Gauge::default());
        let (turns, sessions) = (Counter::default(), Counter::default());
        registry.register(
            "http_requests",
            "Requests, by route and status",
            requests.clone(),
        );
        let help = "Duration of requests";
        registry.register_with_unit("http_request", help, Unit::Seconds, times.clone());
        registry.register("http_connections", "Open connections", connections.clone());
        registry.register("streams", "Open streams of sealed turns", streams.clone());
        registry.register("turns_committed", "Committed turns", turns.clone());
        registry.register("sessions_created", "Created sessions", sessions.clone());
        let telemetry = Telemetry::register(&mut registry);
        let runs = Runs::register(&mut registry);
        let ticks = Ticks::register(&mut registry);
        let lags = Lags::register(&mut registry);
        add(&mut registry);
        Self {
            registry,
            requests,
            times,
            telemetry,
            runs,
            ticks,
            lags,
            counted: Mutex::default(),
            connections,
            streams,
            turns,
            sessions,
        }
    }
}

/// The counts of runs of agents.
struct Runs {
    started: Counter,
    running: Gauge,
    waiting: Gauge,
    ended: Family<OfRun, Counter>,
}

impl Runs {
    fn register(registry: &mut Registry) -> Self {
        let registry = registry.sub_registry_with_prefix("runs");
        let (started, running) = (Counter::default(), Gauge::default());
        let waiting = Gauge::default();
        let ended = Family::<OfRun, Counter>::default();
        registry.register("started", "Runs whose turn was opened", started.clone());
        registry.register("active", "Runs in progress", running.clone());
        let help = "Messages that wait for the runs of their sessions";
        registry.register("waiting", help, waiting.clone());
        registry.register("ended", "Ended runs, by status and code", ended.clone());
        Self {
            started,
            running,
            waiting,
            ended,
        }
    }
}

/// The counts of ticks of heartbeats.
struct Ticks {
    running: Gauge,
    ended: Family<OfTick, Counter>,
    late: Histogram,
}

impl Ticks {
    fn register(registry: &mut Registry) -> Self {
        let registry = registry.sub_registry_with_prefix("heartbeat_ticks");
        let (running, late) = (Gauge::default(), Histogram::new(LATE_BUCKETS));
        let ended = Family::<OfTick, Counter>::default();
        registry.register("active", "Ticks in progress", running.clone());
        registry.register("ended", "Ended ticks, by outcome", ended.clone());
        let help = "Time from when a tick was due until it began";
        registry.register_with_unit("late", help, Unit::Seconds, late.clone());
        Self {
            running,
            ended,
            late,
        }
    }
}

/// The gauges of what is behind.
struct Lags {
    receipts: Family<OfKind, Gauge>,
    seconds: Family<OfKind, Gauge>,
    parked: Family<OfKind, Gauge>,
    unindexed: Gauge,
    unfolded: Gauge,
}

impl Lags {
    fn register(registry: &mut Registry) -> Self {
        let lags = Self {
            receipts: Family::default(),
            seconds: Family::default(),
            parked: Family::default(),
            unindexed: Gauge::default(),
            unfolded: Gauge::default(),
        };
        let help = "Sealed turns that are not delivered, by the kind of projection or endpoint";
        registry.register("delivery_waiting", help, lags.receipts.clone());
        let help = "For how long the oldest of them has not been delivered";
        let seconds = lags.seconds.clone();
        registry.register_with_unit("delivery_behind", help, Unit::Seconds, seconds);
        let help = "Sessions whose deliveries were refused and are not tried again";
        registry.register("delivery_parked", help, lags.parked.clone());
        let help = "Sessions that wait for the search index";
        registry.register("search_waiting", help, lags.unindexed.clone());
        let help = "Sessions whose newest entries are not summed up";
        registry.register("sessions_unfolded", help, lags.unfolded.clone());
        lags.set(&Behind::default());
        lags
    }

    /// Sets all of them: a kind of which there is nothing any more is not behind.
    fn set(&self, behind: &Behind) {
        let kinds = project::KINDS.iter().chain([&Behind::OTHER_KIND]);
        for kind in kinds.copied() {
            let of = OfKind { kind };
            let now = behind.deliveries.get(kind).copied().unwrap_or_default();
            self.receipts.get_or_create(&of).set(gauge(now.receipts));
            self.seconds.get_or_create(&of).set(gauge(now.seconds));
            self.parked.get_or_create(&of).set(gauge(now.parked));
        }
        self.unindexed.set(gauge(behind.unindexed));
        self.unfolded.set(gauge(behind.unfolded));
    }
}

/// A number as a gauge has it.
fn gauge(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// The counts of what is handed to the threads of the store. Cheap to clone.
#[derive(Clone)]
pub(crate) struct StoreMetrics {
    active: Gauge,
    ended: Family<OfJob, Counter>,
    times: Family<OfKind, Histogram>,
}

impl Default for StoreMetrics {
    fn default() -> Self {
        let times: fn() -> Histogram = || Histogram::new(BUCKETS);
        Self {
            active: Gauge::default(),
            ended: Family::default(),
            times: Family::new_with_constructor(times),
        }
    }
}

impl StoreMetrics {
    pub(crate) fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("store");
        let help = "Work that waits for the store or is done there";
        registry.register("jobs_active", help, self.active.clone());
        let help = "Work done by the store, by kind and outcome";
        registry.register("jobs", help, self.ended.clone());
        let help = "Time until the store has done its work, waiting included";
        registry.register_with_unit("job", help, Unit::Seconds, self.times.clone());
    }

    /// Work of a kind is handed over.
    pub(crate) fn begin(&self, kind: &'static str) -> ActiveJob {
        self.active.inc();
        ActiveJob {
            of: self.clone(),
            kind,
            begun: Instant::now(),
            outcome: "left",
        }
    }
}

/// Work that the store has not done yet. Whoever waits for it may leave.
pub(crate) struct ActiveJob {
    of: StoreMetrics,
    kind: &'static str,
    begun: Instant,
    outcome: &'static str,
}

impl ActiveJob {
    /// The work is done, or refused.
    pub(crate) fn end(mut self, outcome: &'static str) {
        self.outcome = outcome;
    }
}

impl Drop for ActiveJob {
    fn drop(&mut self) {
        let (kind, outcome) = (self.kind, self.outcome);
        self.of.active.dec();
        self.of.ended.get_or_create(&OfJob { kind, outcome }).inc();
        let took = self.begun.elapsed().as_secs_f64();
        self.of.times.get_or_create(&OfKind { kind }).observe(took);
    }
}

/// The counts of telemetry.
struct Telemetry {
    batches: Family<OfSignal, Counter>,
    records: Family<OfSignal, Counter>,
    rejected: Family<OfSignal, Counter>,
    waiting: Gauge,
    unassigned: Gauge,
    conflicts: Gauge,
}

impl Telemetry {
    fn register(registry: &mut Registry) -> Self {
        let registry = registry.sub_registry_with_prefix("telemetry");
        let mut family = |name: &str, help: &str| {
            let counts = Family::<OfSignal, Counter>::default();
            registry.register(name, help, counts.clone());
            counts
        };
        let batches = family("batches", "Accepted batches of telemetry");
        let records = family("records", "Accepted spans, log records and data points");
        let rejected = family("rejected", "Rejected spans, log records and data points");
        let mut gauge = |name: &str, help: &str| {
            let gauge = Gauge::default();
            registry.register(name, help, gauge.clone());
            gauge
        };
        Self {
            batches,
            records,
            rejected,
            waiting: gauge("waiting", "Records not joined to sessions yet"),
            unassigned: gauge("unassigned", "Records that belong to no known session"),
            conflicts: gauge("conflicts", "Records that name two sessions"),
        }
    }
}

impl Metrics {
    /// A batch of telemetry was taken.
    pub(crate) fn telemetry(&self, signal: &'static str, records: u64, rejected: u64) {
        let of = OfSignal { signal };
        self.telemetry.batches.get_or_create(&of).inc();
        self.telemetry.records.get_or_create(&of).inc_by(records);
        self.telemetry.rejected.get_or_create(&of).inc_by(rejected);
    }

    /// A run began.
    pub(crate) fn run_started(&self) {
        self.runs.started.inc();
        self.runs.running.inc();
    }

    /// A run ended, with a code unless it came to its stop.
    pub(crate) fn run_ended(&self, status: &'static str, code: Option<&'static str>) {
        let code = code.unwrap_or("none");
        self.runs.running.dec();
        self.runs.ended.get_or_create(&OfRun { status, code }).inc();
    }

    /// A tick began, so long after it was due.
    pub(crate) fn tick_started(&self, late: Duration) {
        self.ticks.running.inc();
        self.ticks.late.observe(late.as_secs_f64());
    }

    /// A tick ended.
    pub(crate) fn tick_ended(&self, outcome: &'static str) {
        self.ticks.running.dec();
        self.ticks.ended.get_or_create(&OfTick { outcome }).inc();
    }

    /// So many messages wait for the runs of their sessions.
    pub(crate) fn runs_waiting(&self, messages: usize) {
        self.runs.waiting.set(gauge(messages as u64));
    }

    /// Notes how far behind the work is that nobody waits for.
    pub(crate) fn note_behind(&self, behind: &Behind) {
        self.lags.set(behind);
    }

    /// Notes how telemetry stands.
    pub(crate) fn standing(&self, standing: Standing) {
        self.telemetry.waiting.set(gauge(standing.waiting));
        self.telemetry.unassigned.set(gauge(standing.unassigned));
        self.telemetry.conflicts.set(gauge(standing.conflicts));
    }

    /// A request was answered.
    pub(crate) fn request(&self, method: &'static str, route: &str, status: u16, took: Duration) {
        let kind = Kind {
            method,
            route: route.to_owned(),
            status,
        };
        self.requests.get_or_create(&kind).inc();
        self.times.observe(took.as_secs_f64());
    }

    /// All of it as text.
    pub(crate) fn text(&self) -> String {
        let mut output = String::new();
        // Writing to a text does not fail.
        let _ = text::encode(&mut output, &self.registry);
        output
    }
}
