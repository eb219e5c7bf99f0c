//! The fixtures, for tests. The hook calls were recorded; the transcripts have the form in which the recorder of 0.24.4
//! writes, with the ids of the recorded calls.

use super::transcript::Reader;
pub(super) use crate::recorded::native;
use crate::recorded::{self, TranscriptContent};

pub(super) const HOOKS: &str = include_str!("fixtures/0.24.4/hooks.jsonl");
pub(super) const RESUME: &str = include_str!("fixtures/0.24.4/resume.jsonl");
pub(super) const FORK: &str = include_str!("fixtures/0.24.4/fork.jsonl");
pub(super) const TWO_TOOLS: &str = include_str!("fixtures/0.24.4/two_tools.jsonl");
pub(super) const COMPRESS: &str = include_str!("fixtures/0.24.4/compress.jsonl");
pub(super) const SUBAGENT_PARENT: &str = include_str!("fixtures/0.24.4/subagent_parent.jsonl");
pub(super) const SUBAGENT: &str = include_str!(
    "fixtures/0.24.4/subagents/agent-general-purpose-call_3d962a2427984ff7af27c24c.jsonl"
);

/// All that a reader tells of a transcript.
pub(super) fn read(text: &str, reader: &mut Reader) -> TranscriptContent {
    recorded::read(text, reader)
}
