//! The lines of a session file → observations.
//!
//! A fork begins with the lines of the session that it came from, under their own ids and times. What is older than the
//! session itself is passed over: it is in the file of the other one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use siglum_domain::observation::{
    Body, Fact, Observation, Outcome, Role, Source, Tokens, ToolClass, event,
};
use siglum_domain::redact::{Redacted, Redactor};
use siglum_domain::{NativeId, Timestamp};

use super::discover::{begun, session_in};
use super::passage::content_text;
use super::wire::{Arguments, Line, Message, Part, Usage};
use crate::draft::word;
use crate::json::Field;
use crate::mentions::{CommitOutput, mentioned};
use crate::transcript::{CommitMention, ReadLine, Sighting, TranscriptReader};
use crate::{paths, summary};

/// Longest prompt that is kept in the observation, in bytes.
const PROMPT_INLINE: usize = 4 * 1024;
/// Longest command that is kept, in bytes.
const COMMAND_MOST: usize = 64 << 10;
/// How many calls that speak of commits are waited for at once.
const OPEN_MOST: usize = 256;
/// Fields of edit tools that are no content.
const PLAIN: &[&str] = &["path"];

/// Reads the lines of one session file in order.
#[derive(Debug, Clone)]
pub(super) struct Reader {
    stream: String,
    session: NativeId,
    /// When the session began: what is older was copied.
    begun: Option<Timestamp>,
    worktree: Option<PathBuf>,
    turn: Option<String>,
    /// Calls that speak of commits and have not returned.
    committing: BTreeMap<String, (Timestamp, CommitOutput)>,
    skipped: u64,
}

/// What a tool of this name does.
fn class(tool: &str) -> ToolClass {
    match tool {
        "write" | "edit" => ToolClass::Edit,
        "bash" | "powershell" => ToolClass::Shell,
        _ => ToolClass::Other,
    }
}

/// The id of a call, as our extension tells it: without what OpenAI's Responses API adds to it.
fn call_id(id: &str) -> String {
    word(id.split('|').next().unwrap_or_default())
}

impl Reader {
    /// Starts at the beginning of a session file.
    pub(super) fn new(stream: String, session: NativeId) -> Self {
        Self {
            begun: begun(&stream),
            stream,
            session,
            worktree: None,
            turn: None,
            committing: BTreeMap::new(),
            skipped: 0,
        }
    }

    fn sighting(&self, key: String, event: String, at: Timestamp, fact: Fact) -> Sighting {
        let turn = self.turn.as_deref();
        Sighting {
            owner: self.session.clone(),
            copied: false,
            observation: Observation {
                source: Source::Transcript,
                key,
                event,
                at,
                turn: turn.map(|prompt| event::unnamed_turn(Some(prompt))),
                subagent: None,
                fact,
            },
        }
    }

    fn passage(&self, offset: u64) -> Body {
        Body::Passage {
            stream: self.stream.clone(),
            offset,
        }
    }

    fn entry(
        &mut self,
        (offset, at): (u64, Timestamp),
        line: &Line<'_>,
        redactor: &Redactor,
    ) -> ReadLine<'static> {
        let mut out = ReadLine::default();
        let Some(id) = line
            .id
            .text()
            .map(|id| word(&id))
            .filter(|id| !id.is_empty())
        else {
            return out;
        };
        let message: Message<'_> = line.message.object();
        match (line.kind.text().as_deref(), message.role.text().as_deref()) {
            (Some("message"), Some("user")) => {
                out.sightings = self.prompt((offset, at), &id, message, redactor);
            }
            (Some("message"), Some("assistant")) => {
                out.sightings = self.answer((offset, at), &id, message, redactor);
            }
            (Some("message"), Some("toolResult")) => self.result((offset, at), message, &mut out),
            (Some("compaction"), _) => out.sightings.push(self.compaction((offset, at), &id)),
            _ => {}
        }
        // What else cost something: a summary, a cache that was kept warm.
        if let Some(tokens) = tokens(line.usage) {
            let model = line.model.text().map(|model| word(&model));
            let fact = assistant(Body::Text(Redacted::empty()), model, Some(tokens));
            let event = event::message(&id);
            out.sightings.push(self.sighting(id, event, at, fact));
        }
        out.at = (!out.sightings.is_empty()).then_some(at);
        out
    }

    fn prompt(
        &mut self,
        (offset, at): (u64, Timestamp),
        id: &str,
        message: Message<'_>,
        redactor: &Redactor,
    ) -> Vec<Sighting> {
        let Some(text) = content_text(message.content) else {
            return Vec::new();
        };
        self.turn = Some(id.to_owned());
        let text = match text.len() <= PROMPT_INLINE {
            true => Body::Text(redactor.redact(&text)),
            false => self.passage(offset),
        };
        let synthetic = false;
        let fact = Fact::Prompt { text, synthetic };
        vec![self.sighting(event::prompt(id), event::prompt(id), at, fact)]
    }

    fn answer(
        &mut self,
        (offset, at): (u64, Timestamp),
        id: &str,
        message: Message<'_>,
        redactor: &Redactor,
    ) -> Vec<Sighting> {
        let mut seen = Vec::new();
        let tokens = tokens(message.usage);
        let text = content_text(message.content).map(|_| self.passage(offset));
        if text.is_some() || tokens.is_some() {
            let text = text.unwrap_or_else(|| Body::Text(Redacted::empty()));
            let model = message.model.text().map(|model| word(&model));
            let fact = assistant(text, model, tokens);
            seen.push(self.sighting(id.to_owned(), event::message(id), at, fact));
        }
        for part in message.content.items() {
            let part: Part<'_> = part.object();
            if part.kind.text().as_deref() == Some("toolCall") {
                seen.extend(self.call(at, part, redactor));
            }
        }
        seen
    }

    fn call(&mut self, at: Timestamp, part: Part<'_>, redactor: &Redactor) -> Option<Sighting> {
        let id = call_id(&part.id.text()?);
        let tool = part.name.text().map(|name| word(&name)).unwrap_or_default();
        let class = class(&tool);
        let arguments: Arguments<'_> = part.arguments.object();
        let command = arguments
            .command
            .text()
            .filter(|_| class == ToolClass::Shell);
        let input = match &command {
            Some(command) => {
                if let Some(kind) = CommitOutput::from_command(command)
                    && self.committing.len() < OPEN_MOST
                {
                    self.committing.insert(id.clone(), (at, kind));
                }
                let end = command.floor_char_boundary(COMMAND_MOST);
                redactor.redact(&command[..end])
            }
            None => redactor.redact(&summary::summarize(class, part.arguments, PLAIN)),
        };
        let path = arguments.path.text().filter(|_| class == ToolClass::Edit);
        let path = path.and_then(|path| self.relative(&path, redactor));
        let fact = Fact::ToolStarted {
            tool,
            class,
            input: Body::Text(input),
            path,
        };
        Some(self.sighting(format!("call:{id}"), event::tool(&id), at, fact))
    }

    /// The file that an edit names, where the worktree is known.
    fn relative(&self, path: &str, redactor: &Redactor) -> Option<String> {
        let root = self.worktree.as_deref()?;
        let usable = !path.is_empty() && path.len() <= 4096 && !path.contains('\0');
        let path = usable.then(|| paths::normal(&root.join(Path::new(path))))?;
        let path = paths::relative(&path, Some(root));
        Some(redactor.redact_cow(&path.to_string_lossy()).into_owned())
    }

    fn result(
        &mut self,
        (offset, at): (u64, Timestamp),
        message: Message<'_>,
        out: &mut ReadLine<'static>,
    ) {
        let Some(id) = message.call.text().map(|id| call_id(&id)) else {
            return;
        };
        let tool = message.tool.text().map(|name| word(&name));
        let tool = tool.unwrap_or_default();
        let text = content_text(message.content);
        if let Some((started, kind)) = self.committing.remove(&id) {
            let text = text.as_deref().unwrap_or_default();
            let mention = |commit: &str| CommitMention {
                owner: self.session.clone(),
                copied: false,
                event: event::tool(&id),
                abbreviated: commit.to_owned(),
                started: Some(started),
                ended: at,
            };
            out.commits = mentioned(text, kind).into_iter().map(mention).collect();
        }
        let fact = Fact::ToolEnded {
            class: class(&tool),
            tool,
            outcome: match message.is_error.is_true() {
                true => Outcome::Failed,
                false => Outcome::Ok,
            },
            output: text.map(|_| self.passage(offset)),
            duration_ms: None,
        };
        out.sightings
            .push(self.sighting(format!("back:{id}"), event::tool(&id), at, fact));
    }

    fn compaction(&self, (offset, at): (u64, Timestamp), id: &str) -> Sighting {
        let key = format!("compact:{id}");
        let fact = Fact::Compacted {
            trigger: String::new(),
            summary: Some(self.passage(offset)),
        };
        self.sighting(key.clone(), key, at, fact)
    }
}

const fn assistant(text: Body, model: Option<String>, tokens: Option<Tokens>) -> Fact {
    Fact::Message {
        role: Role::Assistant,
        text,
        model,
        tokens,
        request: None,
    }
}

/// What an answer cost; nothing where nothing is told or nothing was used.
fn tokens(usage: Field<'_>) -> Option<Tokens> {
    let usage: Usage<'_> = usage.object();
    let number = |field: Field<'_>| field.number().unwrap_or(0);
    let tokens = Tokens {
        input: number(usage.input),
        output: number(usage.output),
        cache_read: number(usage.cache_read),
        cache_write: number(usage.cache_write),
    };
    (tokens != Tokens::default()).then_some(tokens)
}

impl TranscriptReader for Reader {
    fn set_worktree(&mut self, worktree: PathBuf) {
        self.worktree = Some(worktree);
    }

    fn resume(&mut self, turn: Option<String>, _own: bool) {
        self.turn = turn;
    }

    fn line<'a>(&mut self, offset: u64, raw: &'a str, redactor: &Redactor) -> ReadLine<'a> {
        let Ok(line) = serde_json::from_str::<Line<'_>>(raw) else {
            self.skipped += 1;
            return ReadLine::default();
        };
        if line.kind.text().as_deref() == Some("session") {
            let parent = line.parent.text();
            let stem = parent
                .as_deref()
                .and_then(|file| Path::new(file).file_stem());
            return ReadLine {
                forked_from: stem.and_then(|stem| session_in(stem.to_str()?)),
                ..ReadLine::default()
            };
        }
        let at: Option<Timestamp> = line.timestamp.text().and_then(|text| text.parse().ok());
        match at {
            Some(at) if self.begun.is_none_or(|begun| begun <= at) => {
                self.entry((offset, at), &line, redactor)
            }
            _ => ReadLine::default(),
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
