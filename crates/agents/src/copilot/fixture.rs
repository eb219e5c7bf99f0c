//! The fixtures, for tests. The hook calls were recorded, in the form that names no event; the transcripts have the form that
//! the schema of 1.0.102 gives events, with the ids of the recorded calls.

use super::transcript::Reader;
pub(super) use crate::recorded::native;
use crate::recorded::{self, TranscriptContent};

pub(super) const HOOKS: &str = include_str!("fixtures/1.0.102/hooks.jsonl");
pub(super) const WRITE_COMMIT: &str = include_str!("fixtures/1.0.102/write_commit.jsonl");
pub(super) const SUBAGENT: &str = include_str!("fixtures/1.0.102/subagent.jsonl");

/// All that a reader tells of a transcript.
pub(super) fn read(text: &str, reader: &mut Reader) -> TranscriptContent {
    recorded::read(text, reader)
}
