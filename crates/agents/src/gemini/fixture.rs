//! The recordings, for tests.

use super::transcript::Reader;
use crate::recorded;
pub(super) use crate::recorded::native;
use crate::transcript::{CommitMention, Sighting, TranscriptEdit};

pub(super) const HOOKS: &str = include_str!("fixtures/0.61.0/hooks.jsonl");
pub(super) const RESUME: &str = include_str!("fixtures/0.61.0/resume.jsonl");
pub(super) const TWO_TOOLS: &str = include_str!("fixtures/0.61.0/two_tools.jsonl");
pub(super) const EDIT: &str = include_str!("fixtures/0.61.0/edit.jsonl");
pub(super) const COMPRESS: &str = include_str!("fixtures/0.61.0/compress.jsonl");
pub(super) const SUBAGENT_PARENT: &str = include_str!("fixtures/0.61.0/subagent_parent.jsonl");
pub(super) const SUBAGENT: &str =
    include_str!("fixtures/0.61.0/subagent/46fbee0d-5bad-484a-962b-1b630dbe06a0.jsonl");

/// All that a reader tells of a transcript.
pub(super) fn read(
    text: &str,
    reader: &mut Reader,
) -> (Vec<Sighting>, Vec<TranscriptEdit>, Vec<CommitMention>) {
    let content = recorded::read(text, reader);
    (content.seen, content.edits, content.commits)
}
