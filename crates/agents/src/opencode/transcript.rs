//! What stands in for a transcript: OpenCode writes none.

use std::path::PathBuf;

use siglum_domain::redact::Redactor;

use crate::transcript::{ReadLine, Sighting, TranscriptReader};

/// Reads nothing.
#[derive(Debug, Clone, Copy)]
pub(super) struct NoTranscript;

impl TranscriptReader for NoTranscript {
    fn set_worktree(&mut self, _: PathBuf) {}

    fn resume(&mut self, _: Option<String>, _: bool) {}

    fn line<'a>(&mut self, _: u64, _: &'a str, _: &Redactor) -> ReadLine<'a> {
        ReadLine::default()
    }

    fn finish(&mut self) -> Vec<Sighting> {
        Vec::new()
    }

    fn turn(&self) -> Option<&str> {
        None
    }

    fn is_own(&self) -> bool {
        true
    }

    fn held_from(&self) -> Option<u64> {
        None
    }

    fn skipped(&self) -> u64 {
        0
    }

    fn copy(&self) -> Box<dyn TranscriptReader> {
        Box::new(*self)
    }
}
