//! The state between the lines of one transcript.

use std::path::PathBuf;
use std::sync::Arc;

use siglum_domain::observation::{Body, Fact, Observation, Source};
use siglum_domain::redact::Redactor;
use siglum_domain::{NativeId, Timestamp};

use super::calls::Calls;
use super::contents::Contents;
use crate::codex::meta::{Meta, native};
use crate::codex::wire::{Git, Line, Payload};
use crate::json::Field;
use crate::transcript::{Committed, ReadLine, Sighting, TranscriptReader};

/// What marks lines, near their start, that say nothing and may be long.
const IRRELEVANT: &[&[u8]] = &[b"\"type\":\"world_state\"", b"\"type\":\"reasoning\""];
/// The kinds of lines by which a thread is resumed. What the model thought goes: it is encrypted, and only the one who did
/// so can tell whether it is whole.
const RESUMED_BY: &[&str] = &["session_meta", "turn_context", "response_item", "compacted"];
/// How far into a line its kind is looked for.
const HEAD: usize = 160;

/// Reads the lines of one transcript in order.
#[derive(Debug, Clone)]
pub(in crate::codex) struct Reader {
    pub(super) stream: String,
    pub(super) subagent: Option<String>,
    pub(super) session: NativeId,
    pub(super) worktree: Option<PathBuf>,
    pub(super) cwd: Option<String>,
    pub(super) model: Option<String>,
    pub(super) calls: Calls,
    pub(super) contents: Contents,
    pub(super) committed: Option<Arc<dyn Committed>>,
    /// The commit that the session began at.
    pub(super) began_at: Option<String>,
    /// The last prompt, by the kind of its line: some versions tell it in two.
    pub(super) prompted: Option<(String, blake3::Hash)>,
    pub(super) last_at: Timestamp,
    turn: Option<String>,
    /// Whether the line was read that says whose the transcript is.
    introduced: bool,
    skipped: u64,
}

/// One line on its way.
pub(super) struct Reading<'l, 'a> {
    pub(super) offset: u64,
    pub(super) payload: Payload<'a>,
    pub(super) redactor: &'l Redactor,
    pub(super) out: ReadLine<'a>,
    /// Whether what was seen points to the text of the line.
    pub(super) kept: bool,
}

impl Reader {
    /// Starts at the beginning of a transcript.
    #[must_use]
    pub(in crate::codex) fn new(
        stream: String,
        subagent: Option<String>,
        session: NativeId,
    ) -> Self {
        Self {
            stream,
            subagent,
            session,
            worktree: None,
            cwd: None,
            model: None,
            calls: Calls::default(),
            contents: Contents::default(),
            committed: None,
            began_at: None,
            prompted: None,
            last_at: Timestamp::default(),
            turn: None,
            introduced: false,
            skipped: 0,
        }
    }

    fn read(&mut self, kind: &str, line: &mut Reading<'_, '_>) {
        let payload = line.payload;
        let inner = payload.kind.text().unwrap_or_default();
        match (kind, &*inner) {
            ("session_meta", _) => self.introduce(line),
            ("turn_context", _) => {
                self.turn_begins(&payload);
                self.model = word(payload.model).or(self.model.take());
                line.out.cwd = payload.cwd.place();
                self.cwd = line
                    .out
                    .cwd
                    .as_deref()
                    .map(str::to_owned)
                    .or(self.cwd.take());
            }
            ("event_msg", "task_started") => self.turn_begins(&payload),
            ("event_msg", "user_message") => self.prompt(line, "user_message", payload.message),
            ("event_msg", "item_completed") => self.done(line),
            ("event_msg", "token_count") => self.counted(line),
            ("event_msg", "task_complete" | "turn_aborted") => self.stopped(line),
            ("token_usage_record", _) => self.used(line, payload.total, payload.usage),
            ("response_item", "message") => self.message(line),
            ("response_item", "function_call" | "custom_tool_call" | "local_shell_call") => {
                self.called(line);
            }
            ("response_item", "function_call_output" | "custom_tool_call_output") => {
                self.returned(line);
            }
            ("event_msg", "thread_name_updated") if self.subagent.is_none() => {
                line.out.name = payload.thread_name.place();
            }
            ("compacted", _) => self.compacted(line),
            _ => {}
        }
    }

    /// The first line says whose the transcript is. Another one is history that was copied into it.
    fn introduce(&mut self, line: &mut Reading<'_, '_>) {
        if std::mem::replace(&mut self.introduced, true) {
            return;
        }
        let payload = line.payload;
        let meta = Meta::of_payload(&payload);
        if let (None, Some(thread), Some(root)) = (&self.subagent, meta.thread, meta.root) {
            self.subagent = Some(thread.as_str().to_owned());
            self.session = root;
        }
        line.out.forked_from = native(payload.forked_from).filter(|from| *from != self.session);
        line.out.cwd = payload.cwd.place();
        let git: Git<'_> = payload.git.object();
        line.out.git_branch = git.branch.place();
        self.began_at = word(git.commit);
        line.out.version = payload.version.place();
        self.cwd = meta.cwd;
    }

    fn turn_begins(&mut self, payload: &Payload<'_>) {
        if let Some(turn) = self.named_turn(payload) {
            self.turn = Some(turn);
        }
    }

    /// A sub-agent works in the turn of the session that it was started in.
    fn named_turn(&self, payload: &Payload<'_>) -> Option<String> {
        let field = if self.subagent.is_some() {
            payload.root_turn_id
        } else {
            payload.turn_id
        };
        native(field).map(|id| id.as_str().to_owned())
    }

    pub(super) fn turn_of(&self, payload: &Payload<'_>) -> Option<String> {
        self.named_turn(payload).or_else(|| self.turn.clone())
    }

    /// Adds what was seen.
    pub(super) fn push(
        &self,
        line: &mut Reading<'_, '_>,
        at: Timestamp,
        names: (String, String),
        fact: Fact,
    ) {
        self.push_in(self.subagent.clone(), line, at, names, fact);
    }

    /// The same of what is about a sub-agent.
    pub(super) fn push_in(
        &self,
        subagent: Option<String>,
        line: &mut Reading<'_, '_>,
        at: Timestamp,
        (key, event): (String, String),
        fact: Fact,
    ) {
        line.out.sightings.push(Sighting {
            owner: self.session.clone(),
            copied: false,
            observation: Observation {
                source: Source::Transcript,
                key,
                event,
                at,
                turn: self.turn_of(&line.payload),
                subagent,
                fact,
            },
        });
    }

    /// The text of this line, which is kept for it.
    pub(super) fn passage(&self, line: &mut Reading<'_, '_>) -> Body {
        line.kept = true;
        Body::Passage {
            stream: self.stream.clone(),
            offset: line.offset,
        }
    }

    /// A short text itself, or this line in its place.
    pub(super) fn body(&self, line: &mut Reading<'_, '_>, text: &str, most: usize) -> Body {
        if text.is_empty() || text.len() > most {
            return self.passage(line);
        }
        Body::Text(line.redactor.redact(text))
    }

    /// The name of a line: its own, or where it stands.
    pub(super) fn key(&self, line: &Reading<'_, '_>, id: Field<'_>) -> String {
        word(id).unwrap_or_else(|| format!("{}@{}", self.stream, line.offset))
    }
}

impl TranscriptReader for Reader {
    fn set_worktree(&mut self, worktree: PathBuf) {
        self.worktree = Some(worktree);
    }

    fn set_committed(&mut self, committed: Arc<dyn Committed>) {
        self.committed = Some(committed);
    }

    fn resume(&mut self, turn: Option<String>, _own: bool) {
        self.introduced |= turn.is_some();
        self.turn = turn;
    }

    fn line<'a>(&mut self, offset: u64, raw: &'a str, redactor: &Redactor) -> ReadLine<'a> {
        let raw = raw.trim_ascii_end();
        let head = &raw.as_bytes()[..raw.len().min(HEAD)];
        let irrelevant = |mark: &&[u8]| memchr::memmem::find(head, mark).is_some();
        if raw.is_empty() || IRRELEVANT.iter().any(irrelevant) {
            return ReadLine::default();
        }
        let Ok(read) = serde_json::from_str::<Line<'a>>(raw) else {
            self.skipped += 1;
            return ReadLine::default();
        };
        let at: Option<Timestamp> = read.timestamp.text().and_then(|text| text.parse().ok());
        self.last_at = at.unwrap_or(self.last_at);
        let mut line = Reading {
            offset,
            payload: read.payload.object(),
            redactor,
            out: ReadLine::default(),
            kept: false,
        };
        let kind = read.kind.text().unwrap_or_default();
        self.read(&kind, &mut line);
        // Only lines with a time are kept, and of these only those that something points to, and those that the thread
        // is resumed by.
        line.out.at = at.filter(|_| line.kept);
        line.out.archived = at.filter(|_| RESUMED_BY.contains(&&*kind));
        line.out
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

/// A word from outside: short, and without control characters.
pub(super) fn word(field: Field<'_>) -> Option<String> {
    let text = field.text()?;
    let word: String = text.chars().filter(|c| !c.is_control()).take(200).collect();
    (!word.is_empty()).then_some(word)
}
