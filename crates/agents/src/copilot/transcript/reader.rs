//! The state between the lines of one transcript.

use std::path::PathBuf;

use siglum_domain::observation::{Body, Observation, Source, event};
use siglum_domain::redact::Redactor;
use siglum_domain::{NativeId, Timestamp};

use super::facts::{self, OpenCall, Seen};
use crate::copilot::wire::{Context, Data, Line};
use crate::open_calls::OpenCalls;
use crate::transcript::{ReadLine, Sighting, TranscriptReader};

/// Reads the lines of one transcript in order.
#[derive(Debug, Clone)]
pub(in crate::copilot) struct Reader {
    pub(super) stream: String,
    pub(super) session: NativeId,
    pub(super) worktree: Option<PathBuf>,
    /// By the ids that the model gave them.
    pub(super) calls: OpenCalls<OpenCall>,
    pub(super) last_at: Timestamp,
    /// The prompt of the turn.
    pub(super) turn: Option<String>,
    subagent: Option<String>,
    skipped: u64,
}

impl Reader {
    /// Starts at the beginning of a transcript.
    #[must_use]
    pub(in crate::copilot) fn new(
        stream: String,
        subagent: Option<String>,
        session: NativeId,
    ) -> Self {
        Self {
            stream,
            subagent,
            session,
            worktree: None,
            calls: OpenCalls::default(),
            last_at: Timestamp::default(),
            turn: None,
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

    /// The name of the turn, as far as a transcript knows it.
    pub(super) fn turn_name(&self) -> Option<String> {
        self.turn
            .as_deref()
            .map(|prompt| event::unnamed_turn(Some(prompt)))
    }

    /// The sub-agent that a line is of.
    pub(super) fn subagent_of(&self, line: &Line<'_>) -> Option<String> {
        let named = line.agent.text().and_then(|id| NativeId::new(id).ok());
        let named = named.map(|id| id.as_str().to_owned());
        named.or_else(|| self.subagent.clone())
    }

    fn sign(&self, subagent: Option<&str>, seen: Seen) -> Sighting {
        Sighting {
            owner: self.session.clone(),
            copied: false,
            observation: Observation {
                source: Source::Transcript,
                key: seen.key,
                event: seen.event,
                at: self.last_at,
                turn: self.turn_name(),
                subagent: seen.subagent.or_else(|| subagent.map(str::to_owned)),
                fact: seen.fact,
            },
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
        if raw.is_empty() {
            return ReadLine::default();
        }
        let Ok(line) = serde_json::from_str::<Line<'a>>(raw) else {
            self.skipped += 1;
            return ReadLine::default();
        };
        let at = line.timestamp.text().and_then(|text| text.parse().ok());
        self.last_at = at.unwrap_or(self.last_at);
        let data: Data<'a> = line.data.object();
        let subagent = self.subagent_of(&line);
        let mut out = ReadLine::default();
        let seen = facts::read(self, offset, &line, &data, redactor, &mut out);
        out.sightings = seen
            .into_iter()
            .map(|seen| self.sign(subagent.as_deref(), seen))
            .collect();
        // A line that says nothing is not stored, but for where it was written.
        let context = written_in(&line, &data);
        if !out.sightings.is_empty() || context.is_some() {
            out.at = Some(self.last_at);
        }
        let context = context.unwrap_or_default();
        ReadLine {
            cwd: context.cwd.place(),
            git_branch: context.branch.place(),
            version: data.version.place(),
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
        true
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

/// Where the session works, in the lines that tell it.
fn written_in<'a>(line: &Line<'a>, data: &Data<'a>) -> Option<Context<'a>> {
    match line.kind.text().as_deref() {
        Some("session.start" | "session.resume") => Some(data.context.object()),
        Some("session.context_changed") => Some(Context {
            cwd: data.cwd,
            branch: data.branch,
        }),
        _ => None,
    }
}
