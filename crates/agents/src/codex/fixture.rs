//! What the agent really wrote, with generic paths and without long instructions.

use super::transcript::Reader;
use crate::recorded;
pub(super) use crate::recorded::native;
use crate::transcript::{CommitMention, Sighting, TranscriptEdit};

/// The changes and the commits that a transcript tells of.
pub(super) fn outcomes(
    text: &str,
    reader: &mut Reader,
) -> (Vec<TranscriptEdit>, Vec<CommitMention>) {
    let content = recorded::read(text, reader);
    (content.edits, content.commits)
}

/// All that a reader sees in a transcript, what is held back at its end included.
pub(super) fn read(text: &str, reader: &mut Reader) -> Vec<Sighting> {
    recorded::read(text, reader).seen
}
