//! What all requests share.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use siglum_domain::context::Policy;
use tokio::sync::{Semaphore, SemaphorePermit, watch};

use crate::caller::Remembered;
use crate::cors::Origin;
use crate::issuer_keys::IssuerKeys;
use crate::ledgers::Ledgers;
use crate::limits::Rates;
use crate::metrics::Metrics;
use crate::proxies::Proxies;
use crate::quota::Quota;
use crate::runs::Runs;
use crate::settings::{HeartbeatSettings, Limits, Settings};
use crate::shares::Shares;

/// What all requests share. Cheap to clone.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

struct Inner {
    ledgers: Ledgers,
    limits: Limits,
    rates: Rates,
    shares: Shares,
    token_connections: Quota<String>,
    peer_connections: Quota<IpAddr>,
    metrics: Metrics,
    remembered: Remembered,
    issuer_keys: IssuerKeys,
    policy: Policy,
    runs: Runs,
    heartbeats: HeartbeatSettings,
    origins: Vec<Origin>,
    proxies: Proxies,
    /// Room for bodies that are being unpacked.
    unpacking: Semaphore,
    /// Set when the gateway is told to stop: no run is begun any more, and those that go on may end.
    draining: AtomicBool,
    /// Turned to true behind that: whatever still goes on is brought to its end.
    stopping: watch::Sender<bool>,
    /// Grows with each turn that is sealed here.
    sealed: watch::Sender<u64>,
}

impl App {
    pub(crate) fn new(ledgers: Ledgers, settings: &Settings) -> Self {
        let limits = settings.limits;
        let metrics = Metrics::new(|registry| ledgers.register_metrics(registry));
        Self(Arc::new(Inner {
            rates: Rates::new(&limits),
            shares: Shares::new(&limits),
            token_connections: Quota::new(limits.token_connections),
            peer_connections: Quota::new(limits.peer_connections),
            unpacking: Semaphore::new(limits.unpackers.max(1)),
            ledgers,
            limits,
            metrics,
            remembered: Remembered::default(),
            issuer_keys: IssuerKeys::new(&settings.issuers),
            policy: settings.policy.clone(),
            runs: Runs::new(settings.runs.clone()),
            heartbeats: settings.heartbeats.clone(),
            origins: settings.origins.clone(),
            proxies: Proxies::new(settings.proxies.clone()),
            draining: AtomicBool::new(false),
            stopping: watch::Sender::new(false),
            sealed: watch::Sender::new(0),
        }))
    }

    pub(crate) fn ledgers(&self) -> &Ledgers {
        &self.0.ledgers
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }

    pub(crate) fn rates(&self) -> &Rates {
        &self.0.rates
    }

    pub(crate) fn shares(&self) -> &Shares {
        &self.0.shares
    }

    /// Connections of each token.
    pub(crate) fn token_connections(&self) -> &Quota<String> {
        &self.0.token_connections
    }

    /// Connections from each address.
    pub(crate) fn peer_connections(&self) -> &Quota<IpAddr> {
        &self.0.peer_connections
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub(crate) fn remembered(&self) -> &Remembered {
        &self.0.remembered
    }

    /// The issuers whose tokens are taken, with their keys.
    pub(crate) fn issuer_keys(&self) -> &IssuerKeys {
        &self.0.issuer_keys
    }

    /// What is run on a schedule.
    pub(crate) fn heartbeats(&self) -> &HeartbeatSettings {
        &self.0.heartbeats
    }

    /// What contexts have of the ones before them.
    pub(crate) fn policy(&self) -> &Policy {
        &self.0.policy
    }

    /// The runs of agents that go on here.
    pub(crate) fn runs(&self) -> &Runs {
        &self.0.runs
    }

    /// Waits for room to unpack a body in.
    pub(crate) async fn unpacking(&self) -> SemaphorePermit<'_> {
        let room = self.0.unpacking.acquire().await;
        room.expect("because nobody closes it")
    }

    /// From now on no run is begun, and no message waits for one.
    pub(crate) fn drain(&self) {
        self.0.draining.store(true, Ordering::Release);
        self.0.runs.refuse_waiting();
    }

    /// Whether the gateway was told to stop.
    pub(crate) fn is_draining(&self) -> bool {
        self.0.draining.load(Ordering::Acquire)
    }

    /// From now on nothing goes on.
    pub(crate) fn stop(&self) {
        self.0.stopping.send_replace(true);
    }

    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.0.stopping.subscribe()
    }

    /// Tells those who watch that something was sealed.
    pub(crate) fn sealed(&self) {
        self.0.sealed.send_modify(|count| *count += 1);
    }

    pub(crate) fn news(&self) -> watch::Receiver<u64> {
        self.0.sealed.subscribe()
    }

    /// The proxies that say for whom they ask.
    pub(crate) fn proxies(&self) -> &Proxies {
        &self.0.proxies
    }

    /// Pages of these origins may ask.
    pub(crate) fn origins(&self) -> &[Origin] {
        &self.0.origins
    }
}
