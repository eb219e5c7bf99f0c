//! The gateway: sessions, turns, checkpoints and audit over HTTP.
//!
//! It keeps no state of its own beside what may be lost (who was let in a moment ago, how much of a limit is left), so
//! that several can serve one store. Handlers are async and do nothing but read requests and write answers; what they
//! ask of the engine runs on threads that have a ledger each.

mod addressed;
mod admission;
mod app;
mod audit_note;
mod behind;
#[cfg(feature = "postgres")]
mod blobs;
mod body;
mod caller;
mod connection;
mod cors;
#[cfg(test)]
mod field_names;
mod heartbeats;
mod identities;
mod issuer_keys;
mod ledgers;
mod limits;
mod listen;
mod mcp;
mod messages;
mod metrics;
mod naming;
mod openapi;
mod operations;
mod problem;
mod problem_codes;
#[cfg(test)]
mod problem_responses;
mod proxies;
mod query;
mod quota;
mod reach;
mod request_id;
mod request_log;
mod retention;
mod rights;
mod router;
mod routes;
mod run_answer;
mod runner;
mod runs;
mod serve_error;
mod settings;
#[cfg(test)]
mod shared_schemas;
mod shares;
mod stop_signals;
mod stream;
mod telemetry;
mod tls;
mod undecided;
mod unknown_name;
mod wire;

pub use cors::{NotAnOrigin, Origin};
pub use listen::serve;
pub use mcp::{Desk, Effect, McpError, McpTool, serve_mcp};
pub use proxies::{Network, NotANetwork};
pub use runs::{AcpHistory, AcpHistoryError};
pub use serve_error::ServeError;
pub use settings::{
    Configured, Handed, Handing, HeartbeatSettings, Limits, Over, Projecting, RunAgent,
    RunSettings, Settings, Store, Written,
};
pub use tls::{TlsError, TlsFiles};
