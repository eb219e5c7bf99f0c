//! What all requests over HTTP have in common: whom to trust, how long to wait, and that nobody else is asked.

use std::sync::Arc;
use std::time::Duration;

use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::transport::DefaultConnector;

use crate::address::Address;
use crate::reach::{Reach, Within};

/// The largest answer that is read, in bytes.
pub(crate) const ANSWER_MOST: u64 = 4 << 20;

/// How long anything may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until there is a connection.
    pub connect: Duration,
    /// For a request and its answer as a whole.
    pub whole: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            whole: Duration::from_secs(60),
        }
    }
}

/// By which name servers know this program.
pub(crate) const NAME: &str = concat!("siglum/", env!("CARGO_PKG_VERSION"));

/// A way to one address. No other host is ever asked: a redirect is an answer like any other.
pub(crate) fn agent(address: &Address, timeouts: Timeouts) -> Agent {
    agent_within(address, timeouts, Reach::Anywhere)
}

/// The same, as far as it may reach.
pub(crate) fn agent_within(address: &Address, timeouts: Timeouts, reach: Reach) -> Agent {
    agent_of(address, timeouts, reach, 1)
}

/// A way to one address for so many requests at once: each connection is used again.
#[cfg(feature = "s3")]
pub(crate) fn agent_for_many(address: &Address, timeouts: Timeouts, at_once: usize) -> Agent {
    agent_of(address, timeouts, Reach::Anywhere, at_once)
}

fn agent_of(address: &Address, timeouts: Timeouts, reach: Reach, at_once: usize) -> Agent {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None)
        .timeout_connect(Some(timeouts.connect))
        .timeout_global(Some(timeouts.whole))
        .user_agent(NAME)
        .max_idle_connections(at_once)
        .max_idle_connections_per_host(at_once)
        .tls_config(tls(address))
        .build();
    Agent::with_parts(config, DefaultConnector::default(), Within(reach))
}

/// Whom a server may be signed by: those whom the system trusts, where it has any.
fn tls(address: &Address) -> TlsConfig {
    let config = TlsConfig::builder();
    if !address.is_encrypted() {
        return config.build();
    }
    let known = rustls_native_certs::load_native_certs().certs;
    let known: Vec<Certificate<'static>> = known
        .iter()
        .map(|c| Certificate::from_der(c.as_ref()).to_owned())
        .collect();
    match known.is_empty() {
        true => config.build(),
        false => config
            .root_certs(RootCerts::Specific(Arc::new(known)))
            .build(),
    }
}
