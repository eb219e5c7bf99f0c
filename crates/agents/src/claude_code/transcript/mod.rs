//! Transcript lines → observations, one complete line at a time.
//!
//! A fork copies the lines of its origin: same `uuid`, new `sessionId`, new `promptId`. Only the
//! assistant's lines keep the origin (`requestSessionId`). What stands between them is therefore
//! held back until the next line of the assistant tells whose it is.

mod facts;
mod filter;
mod reader;

#[cfg(test)]
mod tests;

pub use reader::Reader;
