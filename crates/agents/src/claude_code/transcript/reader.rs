//! The state between the lines of one transcript.

use std::borrow::Cow;
use std::path::PathBuf;

use siglum_domain::observation::{Observation, Source, Tokens};
use siglum_domain::redact::Redactor;
use siglum_domain::{NativeId, Timestamp};

use super::calls::{Call, Calls, Owner};
use super::facts::{self, Seen};
use super::filter::is_irrelevant;
use super::results::Held;
use crate::claude_code::wire::{CustomTitle, Line};
use crate::json::Field;
use crate::transcript::{ReadLine, Sighting, TranscriptReader};

/// Most sightings that are held back.
const HELD_LIMIT: usize = 4096;

/// Reads the lines of one transcript in order.
#[derive(Debug, Clone)]
pub(in crate::claude_code) struct Reader {
    pub(super) stream: String,
    pub(super) worktree: Option<PathBuf>,
    pub(super) compacted_by: Option<String>,
    pub(super) counted: Option<(String, Tokens)>,
    pub(super) calls: Calls,
    pub(super) held_edits: Held,
    pub(super) last_at: Timestamp,
    pub(super) own: bool,
    subagent: Option<String>,
    session: NativeId,
    turn: Option<String>,
    held: Vec<Sighting>,
    held_from: Option<u64>,
    skipped: u64,
}

impl Reader {
    /// Starts at the beginning of a transcript. Lines that name no session belong to `session`.
    #[must_use]
    pub(in crate::claude_code) fn new(
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
            compacted_by: None,
            counted: None,
            calls: Calls::default(),
            held_edits: Held::default(),
            last_at: Timestamp::default(),
            turn: None,
            held: Vec::new(),
            held_from: None,
            skipped: 0,
        }
    }

    fn read(&mut self, offset: u64, line: &Line<'_>, redactor: &Redactor, out: &mut ReadLine<'_>) {
        match line.kind.text().as_deref() {
            Some("assistant") => {
                let owner = self.owner(line);
                out.edits = self.release_edits(&owner);
                out.sightings = self.release(&owner);
                self.own = !owner.copied;
                let mut seen = facts::assistant(self, offset, line, redactor);
                seen.extend(facts::stopped(self, &owner, offset, line));
                self.remember(&owner, out.at, &seen);
                out.sightings.extend(self.sign(&owner, line, seen));
            }
            Some("user") => {
                if let Some(turn) = id(line.prompt_id) {
                    self.turn = Some(turn);
                }
                let owner = Owner {
                    id: self.named(line.session),
                    copied: false,
                };
                let seen = facts::user(self, offset, line, redactor);
                self.outcome(&owner, line, &seen, out);
                let signed = self.sign(&owner, line, seen);
                out.sightings = self.hold(offset, signed);
            }
            Some("system") => facts::system(self, line),
            _ => {}
        }
    }

    fn remember(&mut self, owner: &Owner, at: Option<Timestamp>, seen: &[Seen]) {
        for seen in seen {
            let Some(purpose) = seen.purpose else {
                continue;
            };
            self.calls.begin(Call {
                event: seen.event.clone(),
                purpose,
                owner: owner.clone(),
                at,
            });
        }
    }

    fn named(&mut self, field: Field<'_>) -> NativeId {
        let Some(text) = field.text().filter(|text| *text != self.session.as_str()) else {
            return self.session.clone();
        };
        NativeId::new(text).unwrap_or_else(|_| self.session.clone())
    }

    fn owner(&mut self, line: &Line<'_>) -> Owner {
        let session = self.named(line.session);
        if line.request_session.raw().is_none() {
            return Owner {
                id: session,
                copied: false,
            };
        }
        let id = self.named(line.request_session);
        Owner {
            copied: id != session,
            id,
        }
    }

    fn sign(&self, owner: &Owner, line: &Line<'_>, seen: Vec<Seen>) -> Vec<Sighting> {
        let turn = self.turn_of(owner);
        let subagent = self.subagent_of(line);
        let sign = |seen: Seen| Sighting {
            owner: owner.id.clone(),
            copied: owner.copied,
            observation: Observation {
                source: Source::Transcript,
                key: seen.key,
                event: seen.event,
                at: self.last_at,
                turn: turn.clone(),
                subagent: seen.subagent.or_else(|| subagent.clone()),
                fact: seen.fact,
            },
        };
        seen.into_iter().map(sign).collect()
    }

    pub(super) fn turn_of(&self, owner: &Owner) -> Option<String> {
        self.turn.clone().filter(|_| !owner.copied)
    }

    /// The name that a line gives to this session. A fork has those of the other one, too.
    fn name_in<'a>(&self, raw: &'a str) -> Option<Cow<'a, str>> {
        if !raw.starts_with("{\"type\":\"custom-title\"") || self.subagent.is_some() {
            return None;
        }
        let named: CustomTitle<'a> = serde_json::from_str(raw).ok()?;
        let is_own = named.session.text()? == self.session.as_str();
        named.title.text().filter(|_| is_own)
    }

    pub(super) fn subagent_of(&self, line: &Line<'_>) -> Option<String> {
        self.subagent.clone().or_else(|| id(line.agent_id))
    }

    /// Keeps sightings until it is known whose they are.
    fn hold(&mut self, offset: u64, sightings: Vec<Sighting>) -> Vec<Sighting> {
        if self.own || sightings.is_empty() {
            return sightings;
        }
        self.held_from.get_or_insert(offset);
        self.held.extend(sightings);
        if self.held.len() > HELD_LIMIT {
            self.finish()
        } else {
            Vec::new()
        }
    }

    /// Gives what was held back to the session that the next line of the assistant belongs to. A
    /// copied prompt carries the name of the wrong turn and is dropped.
    fn release(&mut self, owner: &Owner) -> Vec<Sighting> {
        let held = self.finish();
        if !owner.copied {
            return held;
        }
        let give = |mut sighting: Sighting| {
            sighting.owner = owner.id.clone();
            sighting.copied = true;
            sighting.observation.turn = None;
            facts::survives_copying(&sighting.observation.fact).then_some(sighting)
        };
        held.into_iter().filter_map(give).collect()
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
        if raw.is_empty() || is_irrelevant(raw) {
            return ReadLine {
                archived: archived(raw),
                name: self.name_in(raw),
                ..ReadLine::default()
            };
        }
        let Ok(line) = serde_json::from_str::<Line<'a>>(raw) else {
            self.skipped += 1;
            return ReadLine::default();
        };
        let at = line.timestamp.text().and_then(|text| text.parse().ok());
        self.last_at = at.unwrap_or(self.last_at);
        let mut out = ReadLine {
            at,
            ..ReadLine::default()
        };
        self.read(offset, &line, redactor, &mut out);
        ReadLine {
            cwd: line.cwd.place(),
            git_branch: line.git_branch.place(),
            version: line.version.place(),
            ..out
        }
    }

    /// An edit whose call was not read is dropped: it is not known whose it is.
    fn finish(&mut self) -> Vec<Sighting> {
        self.held_from = None;
        self.held_edits = Held::default();
        std::mem::take(&mut self.held)
    }

    fn turn(&self) -> Option<&str> {
        self.turn.as_deref()
    }

    fn is_own(&self) -> bool {
        self.own
    }

    fn held_from(&self) -> Option<u64> {
        self.held_from
    }

    fn skipped(&self) -> u64 {
        self.skipped
    }

    fn copy(&self) -> Box<dyn TranscriptReader> {
        Box::new(self.clone())
    }
}

/// When a line was written that says nothing, and stands in the chain of messages: what comes before it is lost to the
/// agent without it.
fn archived(raw: &str) -> Option<Timestamp> {
    let line: Line<'_> = raw
        .starts_with("{\"parentUuid\"")
        .then(|| serde_json::from_str(raw).ok())??;
    line.uuid.text()?;
    line.timestamp.text()?.parse().ok()
}

fn id(field: Field<'_>) -> Option<String> {
    NativeId::new(field.text()?)
        .ok()
        .map(|id| id.as_str().to_owned())
}
