//! What the gateway counts, in Prometheus' text form.

use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// Which requests are counted together. No id is among the labels.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    method: String,
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

/// The upper ends of the buckets of times, in seconds.
const BUCKETS: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];

/// The counts.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Kind, Counter>,
    times: Histogram,
    telemetry: Telemetry,
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
        add(&mut registry);
        Self {
            registry,
            requests,
            times,
            telemetry,
            connections,
            streams,
            turns,
            sessions,
        }
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

    /// Notes how telemetry stands.
    pub(crate) fn standing(&self, standing: Standing) {
        let gauge = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        self.telemetry.waiting.set(gauge(standing.waiting));
        self.telemetry.unassigned.set(gauge(standing.unassigned));
        self.telemetry.conflicts.set(gauge(standing.conflicts));
    }

    /// A request was answered.
    pub(crate) fn request(&self, method: &str, route: &str, status: u16, took: Duration) {
        let kind = Kind {
            method: method.to_owned(),
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
