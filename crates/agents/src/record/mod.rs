//! The record protocol: what programs that no folder here knows say of their sessions, a JSON object on each line.
//!
//! Our own plug-ins for agents without command hooks speak it, too. A line is checked as a whole before anything is made
//! of it. What a line without a time says happens now: files and HEAD are looked at, as with hooks. A line that names a time
//! speaks of the past, of which nothing can be seen any more.

mod form;
mod line;
mod reduce;
mod schema;

#[cfg(test)]
mod tests;

pub use form::LINE_MOST;
pub use line::{LineError, RecordLine};
pub(crate) use reduce::reduce;
pub use schema::record_schema;
