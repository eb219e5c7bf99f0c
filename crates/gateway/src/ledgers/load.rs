//! How busy the connections to a server are, for the metrics.

use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

/// The upper ends of the buckets of waits, in seconds.
const BUCKETS: [f64; 8] = [0.001, 0.01, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0];

/// How busy the connections to a server are. Clones count together.
#[derive(Debug, Clone)]
pub(super) struct Load {
    limit: Gauge,
    pub(super) in_use: Gauge,
    waiting: Gauge,
    waits: Histogram,
    pub(super) refused: Counter,
}

impl Load {
    /// Nothing is in use yet, of so many connections.
    pub(super) fn new(connections: u16) -> Self {
        let limit = Gauge::default();
        limit.set(i64::from(connections));
        Self {
            limit,
            in_use: Gauge::default(),
            waiting: Gauge::default(),
            waits: Histogram::new(BUCKETS),
            refused: Counter::default(),
        }
    }

    /// So many requests wait for a connection.
    pub(super) fn waiting(&self, requests: usize) {
        self.waiting
            .set(i64::try_from(requests).unwrap_or(i64::MAX));
    }

    /// A request got a connection after this time.
    pub(super) fn waited(&self, time: Duration) {
        self.waits.observe(time.as_secs_f64());
    }

    /// Adds it to what the gateway counts.
    pub(super) fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("store");
        let limit = "Connections to the PostgreSQL store, at most";
        registry.register("connections_limit", limit, self.limit.clone());
        let in_use = "Connections to the PostgreSQL store that are in use";
        registry.register("connections_in_use", in_use, self.in_use.clone());
        let waiting = "Requests that wait for a connection to the PostgreSQL store";
        registry.register("waiting", waiting, self.waiting.clone());
        let waits = "Time that requests waited for a connection to the PostgreSQL store";
        registry.register_with_unit("wait", waits, Unit::Seconds, self.waits.clone());
        let refused = "Requests that got no connection to the PostgreSQL store";
        registry.register("refused", refused, self.refused.clone());
    }
}
