//! The state between the lines of one transcript.

use std::path::PathBuf;

use siglum_domain::observation::{Body, Observation, Source, event};
use siglum_domain::redact::Redactor;
use siglum_domain::{NativeId, Timestamp};

use super::facts;
use super::results::{OpenCall, Owner, Seen};
use crate::open_calls::OpenCalls;
use crate::qwen::wire::{Forked, Line};
use crate::transcript::{ReadLine, Sighting, TranscriptReader};

/// Reads the lines of one transcript in order.
#[derive(Debug, Clone)]
pub(in crate::qwen) struct Reader {
    pub(super) stream: String,
    pub(super) subagent: Option<String>,
    pub(super) worktree: Option<PathBuf>,
    pub(super) calls: OpenCalls<OpenCall>,
    pub(super) last_at: Timestamp,
    /// The prompt of the turn.
    pub(super) turn: Option<String>,
    /// The provider's id of the answer that the next message is.
    pub(super) request: Option<String>,
    session: NativeId,
    own: bool,
    skipped: u64,
}

impl Reader {
    /// Starts at the beginning of a transcript.
    #[must_use]
    pub(in crate::qwen) fn new(
        stream: String,
        subagent: Option<String>,
        session: NativeId,
    ) -> Self {
        Self {
            stream,
            own: subagent.is_some(),
            subagent,
            session,
            worktree: None,
            calls: OpenCalls::default(),
            last_at: Timestamp::default(),
            turn: None,
            request: None,
            skipped: 0,
        }
    }

    /// The text of the line that starts at `offset`.
    pub(super) fn passage(&self, offset: u64) -> Body {
        Body::Passage {
            stream: self.stream.clone(),
            offset,
        }
    }

    /// The name of the turn, as far as a transcript knows it: hooks have another one.
    pub(super) fn turn_name(&self) -> Option<String> {
        match (&self.turn, &self.subagent) {
            (Some(prompt), _) => Some(event::unnamed_turn(Some(prompt))),
            (None, Some(_)) => Some(event::unnamed_turn(None)),
            (None, None) => None,
        }
    }

    fn owner(&self, line: &Line<'_>) -> Owner {
        let forked: Forked<'_> = line.forked.object();
        let from = forked.session.text().and_then(|id| NativeId::new(id).ok());
        match from.filter(|id| *id != self.session) {
            Some(id) => Owner { id, copied: true },
            None => Owner {
                id: self.session.clone(),
                copied: false,
            },
        }
    }

    fn sign(&self, owner: &Owner, seen: Seen) -> Sighting {
        Sighting {
            owner: owner.id.clone(),
            copied: owner.copied,
            observation: Observation {
                source: Source::Transcript,
                key: seen.key,
                event: seen.event,
                at: self.last_at,
                turn: self.turn_name(),
                subagent: seen.subagent.or_else(|| self.subagent.clone()),
                fact: seen.fact,
            },
        }
    }
}

impl TranscriptReader for Reader {
    fn set_worktree(&mut self, worktree: PathBuf) {
        self.worktree = Some(worktree);
    }

    fn resume(&mut self, turn: Option<String>, own: bool) {
        self.turn = turn;
        self.own |= own;
    }

    fn line<'a>(&mut self, offset: u64, raw: &'a str, redactor: &Redactor) -> ReadLine<'a> {
        let raw = raw.trim_ascii_end();
        if raw.is_empty() {
            return ReadLine::default();
        }
        let Ok(line) = serde_json::from_str::<Line<'a>>(raw) else {
            self.skipped += 1;
            return ReadLine::default();
        };
        let at = line.timestamp.text().and_then(|text| text.parse().ok());
        self.last_at = at.unwrap_or(self.last_at);
        let owner = self.owner(&line);
        let mut out = ReadLine::default();
        let seen = facts::read(self, offset, &owner, &line, redactor, &mut out);
        self.own |= !owner.copied && !seen.is_empty();
        out.sightings = seen
            .into_iter()
            .map(|seen| self.sign(&owner, seen))
            .collect();
        // A line that says nothing is not stored.
        if !out.sightings.is_empty() {
            out.at = Some(self.last_at);
        }
        ReadLine {
            cwd: line.cwd.place(),
            git_branch: line.git_branch.place(),
            version: line.version.place(),
            ..out
        }
    }

    fn finish(&mut self) -> Vec<Sighting> {
        Vec::new()
    }

    fn turn(&self) -> Option<&str> {
        self.turn.as_deref()
    }

    fn is_own(&self) -> bool {
        self.own
    }

    fn held_from(&self) -> Option<u64> {
        None
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }

    fn copy(&self) -> Box<dyn TranscriptReader> {
        Box::new(self.clone())
    }
}
