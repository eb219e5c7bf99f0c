//! What leaves this ledger, within the scope that somebody chose, and what comes from other ledgers and programs.

pub mod ingest;
pub mod otel;
pub mod project;
pub mod replica;
pub(crate) mod scope;
