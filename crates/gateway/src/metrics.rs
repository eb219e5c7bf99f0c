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

/// The upper ends of the buckets of times, in seconds.
const BUCKETS: [f64; 10] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];

/// The counts.
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Kind, Counter>,
    times: Histogram,
    /// Open connections.
    pub(crate) connections: Gauge,
    /// Open streams of sealed turns.
    pub(crate) streams: Gauge,
    /// Turns that were committed, without those that had been before.
    pub(crate) turns: Counter,
    /// Sessions that were created.
    pub(crate) sessions: Counter,
}

impl Default for Metrics {
    fn default() -> Self {
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
        let help = "How long requests took";
        registry.register_with_unit("http_request", help, Unit::Seconds, times.clone());
        registry.register("http_connections", "Open connections", connections.clone());
        registry.register("streams", "Open streams of sealed turns", streams.clone());
        registry.register(
            "turns_committed",
            "Turns that were committed",
            turns.clone(),
        );
        registry.register(
            "sessions_created",
            "Sessions that were created",
            sessions.clone(),
        );
        Self {
            registry,
            requests,
            times,
            connections,
            streams,
            turns,
            sessions,
        }
    }
}

impl Metrics {
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
        let mut told = String::new();
        // Writing to a text does not fail.
        let _ = text::encode(&mut told, &self.registry);
        told
    }
}
