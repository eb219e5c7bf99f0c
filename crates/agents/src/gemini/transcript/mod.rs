//! Transcript lines → observations, one complete line at a time.
//!
//! A message is written again when its tool calls have returned, and the whole conversation when a
//! session goes on: what was told is known by the ids of messages and calls. Older versions wrote one
//! document and made it anew each time; its messages are put together from their lines.

mod calls;
mod document;
mod messages;
mod reader;

#[cfg(test)]
mod tests;

pub(super) use reader::Reader;
