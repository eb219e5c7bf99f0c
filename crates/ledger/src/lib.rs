//! The store of record.
//!
//! [`Ledger`] is blocking and object-safe; it is opened for one tenant and hands out
//! [`Transaction`]s, whose verbs are grouped by what they speak of: [`Sessions`], [`Log`],
//! [`Commits`], [`Queue`]. The engine composes them; nothing here judges or decides. SQL lives in
//! this crate alone.
#![warn(missing_docs)]

#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod error;
mod forgetting;
mod record;
mod spool;
pub mod sqlite;
mod transaction;

pub use error::LedgerError;
pub use forgetting::Forgetting;
pub use record::*;
pub use spool::{Spool, SpoolError, Spooled};
pub use sqlite::SqliteLedger;
pub use transaction::{
    Appended, Commits, Durability, Ledger, Log, NewEntry, Queue, Sessions, Transaction, read, write,
};
