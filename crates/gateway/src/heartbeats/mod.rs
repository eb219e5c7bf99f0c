//! Heartbeats: what is due is claimed, run, and delivered, for as long as the gateway runs.
//!
//! What a tick is and what becomes of it is the engine's; here are the clock and the runner. Several gateways can look
//! after one store: the ledger says whose a tick is.

mod deliver;
mod tick;
mod watch;

pub(crate) use tick::ask;
pub(crate) use watch::watch;
