//! What the gateway is told when it starts.

mod heartbeats;
mod runs;
mod store;

use std::net::SocketAddr;
use std::time::Duration;

use siglum_domain::context::Policy;
use siglum_engine::driven::turn::Decision;
use siglum_engine::identity::issuers::Issuer;
use siglum_engine::retention::RetentionPolicy;

use crate::cors::Origin;
use crate::proxies::Network;
use crate::tls::TlsFiles;

pub use heartbeats::{Configured, HeartbeatSettings};
pub use runs::{Handed, Handing, Over, RunAgent, RunSettings};
pub use store::{Projecting, Store, Written};

/// How to serve.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where to listen. An address that others can reach needs `tls` or `plain`.
    pub listen: SocketAddr,
    /// Listen on an address that others can reach, though what is sent there is not encrypted: something before this
    /// program does that.
    pub plain: bool,
    /// Encrypt what is sent there, with this certificate.
    pub tls: Option<TlsFiles>,
    pub store: Store,
    /// Who feeds the projections of a PostgreSQL store.
    pub projecting: Option<Projecting>,
    pub limits: Limits,
    /// What contexts have of the ones before them.
    pub policy: Policy,
    pub heartbeats: HeartbeatSettings,
    pub runs: RunSettings,
    /// What is decided of a turn whose driver died in the middle of a call; without it, somebody is asked.
    pub held: Option<Decision>,
    /// How long what a PostgreSQL store has is kept; a file has a worker for that.
    pub retention: RetentionPolicy,
    /// Pages of these origins may ask, and no others.
    pub origins: Vec<Origin>,
    /// Proxies that are believed for whom they ask.
    pub proxies: Vec<Network>,
    /// Issuers whose tokens are taken beside those of the store.
    pub issuers: Vec<Issuer>,
}

impl Settings {
    /// How URLs of the gateway begin: `https`, or `http` without a certificate.
    #[must_use]
    pub const fn scheme(&self) -> &'static str {
        match self.tls {
            Some(_) => "https",
            None => "http",
        }
    }
}

/// How much the gateway takes and does at once. What is above is refused with a word about it.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Bytes of a body.
    pub body: usize,
    /// Bytes of the head of a request.
    pub head: usize,
    /// Connections at once.
    pub connections: usize,
    /// Connections from one address at once. A proxy before the gateway is one address.
    pub peer_connections: usize,
    /// Connections of one credential at once.
    pub token_connections: usize,
    /// Requests of one credential at once.
    pub requests: usize,
    /// Streams of one credential at once.
    pub streams: usize,
    /// Bytes that one credential sends, or asked for and did not read yet, at once.
    pub waiting: usize,
    /// How long a client may take nothing of an answer that waits for it; one that takes little has less time.
    pub write_wait: Duration,
    /// How long a head may take, and how long a connection may be silent between two requests.
    pub head_wait: Duration,
    /// How long a body may take, and an answer.
    pub request_wait: Duration,
    /// How long runs that go on may take to come to their own end when the gateway is told to stop.
    pub drain: Duration,
    /// How long, behind that, requests and connections may take to end, and runs to be ended and committed.
    pub grace: Duration,
    /// Requests of one credential in a second, in bursts of so many.
    pub rate: u32,
    /// Sessions that one credential may create in a minute.
    pub creations: u32,
    /// Keep-alives of one session in an hour.
    pub keep_alives: u32,
    /// Wrong credentials from one address in a minute.
    pub strangers: u32,
    /// Requests with telemetry of one credential in a second, in bursts of so many: each has many records.
    pub telemetry_rate: u32,
    /// Bytes of a body with telemetry, as it is sent.
    pub telemetry_body: usize,
    /// Bytes of the same, without its compression.
    pub telemetry_plain: usize,
    /// Bodies with telemetry that are unpacked at once.
    pub unpackers: usize,
    /// How long a body with telemetry waits until it is unpacked.
    pub queue_wait: Duration,
    /// Threads that read.
    pub readers: usize,
    /// Requests that wait for a ledger.
    pub queue: usize,
    /// Connections to a PostgreSQL store at once: those of all tenants, and of what is done for nobody's request.
    pub store_connections: u16,
    /// How long a request waits for one of them.
    pub store_wait: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 8 << 20,
            head: 64 << 10,
            connections: 16_384,
            peer_connections: 12_288,
            token_connections: 1_024,
            requests: 256,
            streams: 256,
            waiting: 64 << 20,
            write_wait: Duration::from_secs(30),
            head_wait: Duration::from_secs(15),
            request_wait: Duration::from_secs(30),
            drain: Duration::from_secs(10),
            grace: Duration::from_secs(20),
            rate: 5_000,
            creations: 600,
            keep_alives: 100,
            strangers: 60,
            telemetry_rate: 5_000,
            telemetry_body: 16 << 20,
            telemetry_plain: 64 << 20,
            unpackers: 4,
            queue_wait: Duration::from_secs(10),
            readers: 4,
            queue: 4_096,
            store_connections: 16,
            store_wait: Duration::from_secs(10),
        }
    }
}
