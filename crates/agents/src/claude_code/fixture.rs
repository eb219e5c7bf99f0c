//! The recordings, for tests.

use std::path::PathBuf;

use super::transcript::Reader;
use crate::recorded;
pub(super) use crate::recorded::native;
use crate::transcript::{CommitMention, Sighting, TranscriptEdit, TranscriptReader as _};

pub(super) const HOOKS: &str = include_str!("fixtures/2.1.329/hooks.jsonl");
pub(super) const WRITE_COMMIT: &str = include_str!("fixtures/2.1.329/write_commit.jsonl");
pub(super) const FORK_PARENT: &str = include_str!("fixtures/2.1.329/fork_parent.jsonl");
pub(super) const FORK_CHILD: &str = include_str!("fixtures/2.1.329/fork_child.jsonl");
pub(super) const COMPACT: &str = include_str!("fixtures/2.1.329/compact.jsonl");
pub(super) const EDIT: &str = include_str!("fixtures/2.1.329/edit.jsonl");
pub(super) const RESUME: &str = include_str!("fixtures/2.1.329/resume.jsonl");
pub(super) const SUBAGENT_PARENT: &str = include_str!("fixtures/2.1.329/subagent_parent.jsonl");
pub(super) const SUBAGENT: &str =
    include_str!("fixtures/2.1.329/subagents/agent-a41656a253b697f93.jsonl");

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

impl Reader {
    pub(super) fn in_worktree(mut self, worktree: PathBuf) -> Self {
        self.set_worktree(worktree);
        self
    }

    pub(super) fn resumed(mut self, turn: Option<String>, own: bool) -> Self {
        self.resume(turn, own);
        self
    }
}
