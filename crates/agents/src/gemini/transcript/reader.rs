//! The state between the lines of one transcript.

use std::path::PathBuf;

use siglum_domain::observation::{Body, Observation, Source, Tokens, event};
use siglum_domain::redact::Redactor;
use siglum_domain::{NativeId, Timestamp};

use super::calls::Seen;
use super::document::{self, Partial, Piece, inline};
use super::messages;
use crate::gemini::wire::Line;
use crate::transcript::{ReadLine, Sighting, TranscriptReader};

/// Reads the lines of one transcript in order.
#[derive(Debug, Clone)]
pub(in crate::gemini) struct Reader {
    pub(super) stream: String,
    pub(super) subagent: Option<String>,
    pub(super) session: NativeId,
    pub(super) worktree: Option<PathBuf>,
    /// The message whose text was told last, and what it cost.
    pub(super) last_message: Option<(String, Option<Tokens>)>,
    /// Whether what is read is a message of a document, whose lines are not stored.
    pub(super) in_document: bool,
    pub(super) last_at: Timestamp,
    pub(super) turn: Option<String>,
    partial: Option<Partial>,
    skipped: u64,
}

impl Reader {
    /// Starts at the beginning of a transcript.
    #[must_use]
    pub(in crate::gemini) fn new(
        stream: String,
        subagent: Option<String>,
        session: NativeId,
    ) -> Self {
        Self {
            stream,
            subagent,
            session,
            worktree: None,
            last_message: None,
            in_document: false,
            last_at: Timestamp::default(),
            turn: None,
            partial: None,
            skipped: 0,
        }
    }

    /// The text of what starts at `offset`: where it stands in the transcript, or itself.
    pub(super) fn body(&self, offset: u64, text: &str, redactor: &Redactor) -> Body {
        if self.in_document {
            return inline(text, redactor);
        }
        Body::Passage {
            stream: self.stream.clone(),
            offset,
        }
    }

    /// The name of the turn, as far as a transcript knows it.
    pub(super) fn turn_name(&self) -> Option<String> {
        match (&self.turn, &self.subagent) {
            (Some(prompt), _) => Some(event::unnamed_turn(Some(prompt))),
            (None, Some(_)) => Some(event::unnamed_turn(None)),
            (None, None) => None,
        }
    }

    fn sign(&self, seen: Seen) -> Sighting {
        Sighting {
            owner: self.session.clone(),
            copied: false,
            observation: Observation {
                source: Source::Transcript,
                key: seen.key,
                event: seen.event,
                at: seen.at,
                turn: self.turn_name(),
                subagent: seen.subagent.or_else(|| self.subagent.clone()),
                fact: seen.fact,
            },
        }
    }

    fn read(&mut self, offset: u64, raw: &str, redactor: &Redactor) -> ReadLine<'static> {
        let Ok(line) = serde_json::from_str::<Line<'_>>(raw) else {
            self.skipped += 1;
            return ReadLine::default();
        };
        let at = line.timestamp.text().and_then(|text| text.parse().ok());
        self.last_at = at.unwrap_or(self.last_at);
        let out = messages::read(self, offset, &line, redactor);
        let sightings: Vec<Sighting> = out.seen.into_iter().map(|seen| self.sign(seen)).collect();
        let stored = !sightings.is_empty() && !self.in_document;
        ReadLine {
            at: stored.then_some(self.last_at),
            sightings,
            edits: out.edits,
            commits: out.commits,
            ..ReadLine::default()
        }
    }
}

impl TranscriptReader for Reader {
    fn set_worktree(&mut self, worktree: PathBuf) {
        self.worktree = Some(worktree);
    }

    fn resume(&mut self, turn: Option<String>, _own: bool) {
        self.turn = turn;
    }

    fn line<'a>(&mut self, offset: u64, raw: &'a str, redactor: &Redactor) -> ReadLine<'a> {
        let raw = raw.trim_ascii_end();
        match document::take(&mut self.partial, offset, raw) {
            Piece::Whole(message) => {
                self.in_document = true;
                let out = self.read(message.offset, message.text(), redactor);
                self.in_document = false;
                out
            }
            Piece::Outside if raw.starts_with('{') && raw.len() > 1 => {
                self.read(offset, raw, redactor)
            }
            Piece::TooLong => {
                self.skipped += 1;
                ReadLine::default()
            }
            Piece::Outside | Piece::Within => ReadLine::default(),
        }
    }

    fn finish(&mut self) -> Vec<Sighting> {
        self.partial = None;
        Vec::new()
    }

    fn turn(&self) -> Option<&str> {
        self.turn.as_deref()
    }

    fn is_own(&self) -> bool {
        true
    }

    fn held_from(&self) -> Option<u64> {
        self.partial.as_ref().map(|partial| partial.offset)
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }

    fn copy(&self) -> Box<dyn TranscriptReader> {
        Box::new(self.clone())
    }
}
