//! What the agent really wrote, with generic paths and without long instructions.

use siglum_domain::NativeId;
use siglum_domain::redact::Redactor;

use super::transcript::Reader;
use crate::transcript::{CommitMention, Sighting, TranscriptEdit, TranscriptReader};

pub(super) fn native(id: &str) -> NativeId {
    NativeId::new(id).expect("a native id")
}

/// The changes and the commits that a transcript tells of.
pub(super) fn outcomes(
    text: &str,
    reader: &mut Reader,
) -> (Vec<TranscriptEdit>, Vec<CommitMention>) {
    let (mut edits, mut commits) = (Vec::new(), Vec::new());
    for line in text.split_inclusive('\n') {
        let line = reader.line(0, line, Redactor::shared());
        edits.extend(line.edits);
        commits.extend(line.commits);
    }
    (edits, commits)
}

/// All that a reader sees in a transcript.
pub(super) fn read(text: &str, reader: &mut Reader) -> Vec<Sighting> {
    let mut offset = 0;
    let mut seen = Vec::new();
    for line in text.split_inclusive('\n') {
        seen.extend(reader.line(offset, line, Redactor::shared()).sightings);
        offset += line.len() as u64;
    }
    seen
}
