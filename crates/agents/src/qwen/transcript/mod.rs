//! Transcript lines → observations, one complete line at a time.
//!
//! A fork copies the lines of its origin under the same ids, and each copy names the session it was copied from.

mod facts;
mod reader;
mod results;

#[cfg(test)]
mod tests;

pub(super) use reader::Reader;
