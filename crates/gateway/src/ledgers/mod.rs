//! Threads that have a ledger or a connection each, and what they are given to do.
//!
//! The engine blocks, so it runs here and nowhere else in the gateway. A SQLite file has one thread that writes, which
//! stores what waits for it in one transaction with one sync (group commit), and some that read. A PostgreSQL store
//! has threads that do both, each with one connection that serves any tenant, and takes no more connections than these.
//! Each has one thread more, which only tells how the store is.

mod file;
mod job;
#[cfg(feature = "postgres")]
mod load;
#[cfg(feature = "postgres")]
mod queue;
#[cfg(feature = "postgres")]
mod server;
mod store;
mod unavailable;

pub(crate) use job::seeing;
pub(crate) use store::Ledgers;
pub(crate) use unavailable::Unavailable;
