//! Transcript lines → observations, one complete line at a time.
//!
//! A fork points to the transcript it came from and copies nothing, so every line is the session's
//! own. The same thing often stands in two lines: as the model's call, and as what came of it
//! (`item_completed`), which alone has the ids that hooks have where the model writes programs.

mod calls;
mod contents;
mod facts;
mod items;
mod reader;
mod results;

#[cfg(test)]
mod tests;

pub(super) use reader::Reader;
