//! What leaves this ledger, within the scope that somebody chose, and what comes from other ledgers and programs.

#[cfg(feature = "network")]
pub mod ingest;
#[cfg(feature = "network")]
pub mod otel;
pub mod project;
pub mod replica;
pub(crate) mod scope;
