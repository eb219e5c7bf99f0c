//! Transcript lines → observations, one complete line at a time. Sub-agents stand in their session's transcript.

mod facts;
mod reader;

#[cfg(test)]
mod tests;

pub(super) use reader::Reader;
