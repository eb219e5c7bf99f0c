//! Transcript lines → observations, one complete line at a time.
//!
//! A fork copies the lines of its origin: same `uuid`, new `sessionId`, new `promptId`. Only the
//! assistant's lines keep the origin (`requestSessionId`). What stands between them is therefore
//! held back until the next line of the assistant tells whose it is.

mod calls;
pub(in crate::claude_code) mod edits;
mod facts;
mod filter;
mod patch;
mod reader;
mod results;

#[cfg(test)]
mod result_tests;
#[cfg(test)]
mod tests;

pub(super) use reader::Reader;
