//! The recordings, for tests.

use siglum_domain::NativeId;
use siglum_domain::redact::Redactor;

use super::transcript::Reader;
use crate::transcript::{CommitMention, Sighting, TranscriptEdit, TranscriptReader as _};

pub(super) const HOOKS: &str = include_str!("fixtures/0.61.0/hooks.jsonl");
pub(super) const RESUME: &str = include_str!("fixtures/0.61.0/resume.jsonl");
pub(super) const TWO_TOOLS: &str = include_str!("fixtures/0.61.0/two_tools.jsonl");
pub(super) const EDIT: &str = include_str!("fixtures/0.61.0/edit.jsonl");
pub(super) const COMPRESS: &str = include_str!("fixtures/0.61.0/compress.jsonl");
pub(super) const SUBAGENT_PARENT: &str = include_str!("fixtures/0.61.0/subagent_parent.jsonl");
pub(super) const SUBAGENT: &str =
    include_str!("fixtures/0.61.0/subagent/46fbee0d-5bad-484a-962b-1b630dbe06a0.jsonl");

pub(super) fn native(id: &str) -> NativeId {
    NativeId::new(id).expect("a native id")
}

/// All that a reader tells of a transcript.
pub(super) fn read(
    text: &str,
    reader: &mut Reader,
) -> (Vec<Sighting>, Vec<TranscriptEdit>, Vec<CommitMention>) {
    let mut offset = 0;
    let (mut seen, mut edits, mut commits) = (Vec::new(), Vec::new(), Vec::new());
    for line in text.split_inclusive('\n') {
        let read = reader.line(offset, line, Redactor::shared());
        seen.extend(read.sightings);
        edits.extend(read.edits);
        commits.extend(read.commits);
        offset += line.len() as u64;
    }
    seen.extend(reader.finish());
    (seen, edits, commits)
}
