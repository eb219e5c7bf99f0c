//! Reading transcripts into the ledger, from the byte after the last one read, and putting them back where they are gone.
//!
//! Whether a file is still the one that was read is told by its identity, its size and the bytes
//! before the last offset, never by reading it again.

mod branch;
mod committed;
mod file;
mod proof;
mod put_back;
mod skipped_lines;
mod store;

pub(crate) use file::QUEUE;
pub use file::{Progress, read_on};
pub use proof::link_mentioned;
pub use put_back::{PutBack, StoredTranscript, copy_transcript, put_back, transcript_of};
pub(crate) use skipped_lines::REASON as LINES_SKIPPED;
pub use skipped_lines::SkippedLines;
