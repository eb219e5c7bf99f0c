//! Threads that have a ledger each, and what they are given to do.
//!
//! The engine blocks, so it runs here and nowhere else in the gateway. A SQLite file has one thread that writes, which
//! stores what waits for it in one transaction with one sync (group commit), and some that read. A PostgreSQL store
//! has threads that do both, each with a connection for each tenant it has met lately.
//! Each has one thread more, which only tells how the store is.

mod file;
mod job;
#[cfg(feature = "postgres")]
mod server;
mod store;
mod unavailable;

pub(crate) use job::seeing;
pub(crate) use store::Ledgers;
pub(crate) use unavailable::Unavailable;
