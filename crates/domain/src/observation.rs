//! Observations: one thing seen by one source, immutable.
//!
//! The same thing is often seen several times: by a hook, in the transcript, in telemetry. Each
//! sighting is one observation under its own key, so that the same one twice is one row; the
//! event key (`Observation::event`) says which observations speak of the same event, and
//! [`crate::fold`] joins them. The types here are the stored form; [`VERSION`] goes with them.

use std::borrow::Cow;
use std::iter;

use serde::{Deserialize, Serialize};

use crate::grammar::Oid;
use crate::place::Place;
use crate::redact::{Redacted, Redactor};
use crate::time::Timestamp;
use crate::trace::TraceParent;

/// The version of the stored form. New readers read old versions.
pub const VERSION: u32 = 1;

/// Who saw it. The order is the order of trust for fields that have no rule of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A hook of the agent, while it happened.
    Hook,
    /// The transcript that the agent writes.
    Transcript,
    /// Telemetry of the agent.
    Telemetry,
    /// A driver, through the API.
    Api,
    /// Siglum itself: the worker, a command.
    Siglum,
}

impl Source {
    /// The stored name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Transcript => "transcript",
            Self::Telemetry => "telemetry",
            Self::Api => "api",
            Self::Siglum => "siglum",
        }
    }
}

/// A text that is kept here, or that was too large to be looked at in a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// The text, redacted.
    Text(Redacted),
    /// The text was larger than a hook may look at; the transcript has it.
    Withheld {
        /// Its size in bytes.
        bytes: u64,
        /// A keyed digest, to recognise it by.
        digest: String,
    },
    /// The text stands in a stored transcript.
    Passage {
        /// The transcript, by the name of its stream.
        stream: String,
        /// Where its line starts, in bytes from the start of the agent's own file.
        offset: u64,
    },
}

impl Body {
    /// The text, if it is here.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text.as_str()),
            Self::Withheld { .. } | Self::Passage { .. } => None,
        }
    }
}

/// How a session came to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartKind {
    /// A new conversation.
    Startup,
    /// An old one goes on.
    Resume,
    /// A copy of another one goes its own way.
    Fork,
    /// After the context was compacted; the conversation is the same.
    Compact,
    /// After the person cleared the screen: a new conversation in the same process.
    Clear,
    /// Anything else, by the agent's own word.
    Other(String),
}

/// What a tool does, as far as identity cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolClass {
    /// Changes one file that its input names.
    Edit,
    /// Runs a command.
    Shell,
    /// Starts a sub-agent.
    Agent,
    /// All others.
    Other,
}

/// How a tool call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It returned.
    Ok,
    Failed,
    /// It was refused before it ran.
    Denied,
}

/// Which side of an edit a file version was seen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Before the tool ran.
    Before,
    /// After it returned.
    After,
}

/// How HEAD came to a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrival {
    /// The commit was made here: a commit, merge, cherry-pick, revert or rebase.
    Made,
    /// The commit was there: a pull, fast-forward, reset, checkout or clone.
    Moved,
}

/// One move of HEAD, as git's own list has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadStep {
    /// Where in the list it stands, in bytes from its start.
    pub position: u64,
    /// Where HEAD went.
    pub to: Oid,
    /// How, where the list says.
    pub arrival: Option<Arrival>,
    /// Whether git made the commit of another one and took its message from there: a rebase, cherry-pick, revert or patch.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copied: bool,
}

/// The content of one file at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileVersion {
    /// The id that git gives this content.
    pub blob: Oid,
    /// The address in the object store; absent if the file was too large to keep.
    pub object: Option<String>,
    /// The size in bytes.
    pub bytes: u64,
}

/// A file of a file system, whatever its path: a file that is moved keeps it, a file that is written
/// in place keeps it, one that is put in place of another has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileIdentity {
    /// The device that it is on.
    pub device: u64,
    /// Its number there, which is given to another file once it is gone.
    pub inode: u64,
    /// When it was created, which tells two files with one number apart.
    pub born: Timestamp,
}

/// What surrounded the content of a file when it was seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskState {
    /// Which file it was; absent where there was none, or where the file system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<FileIdentity>,
    /// How long git's list of the moves of HEAD was in that checkout, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_log: Option<u64>,
}

impl DiskState {
    /// Tells whether nothing is known.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.file.is_none() && self.head_log.is_none()
    }
}

/// What an edit tool says it read and wrote: its own work, whoever else saved meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallWrite {
    /// The content that it started from; absent if there was no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<FileVersion>,
    /// The content that it wrote; absent if it removed the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<FileVersion>,
    /// Text that holds all the lines that it added, where that is all that is known of its work: the content before it was
    /// not to be had when its hook ran. What it started from follows from this once that content is there; until then
    /// `base` and `written` are both the content after, and nothing of it is anybody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub added: Option<FileVersion>,
}

impl CallWrite {
    /// All contents that are named.
    pub fn versions(&self) -> impl Iterator<Item = &FileVersion> {
        let versions = [&self.base, &self.written, &self.added];
        versions.into_iter().flatten()
    }
}

/// Tokens of one message of the provider.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    /// Read by the model and not from a cache.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Written to the cache.
    pub cache_write: u64,
}

impl Tokens {
    /// How long the prompt was: all that the model read, from a cache or not.
    #[must_use]
    pub const fn prompt(self) -> u64 {
        let read = self.input.saturating_add(self.cache_read);
        read.saturating_add(self.cache_write)
    }
}

impl std::ops::AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
    }
}

/// Who wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The person, or whoever prompted.
    User,
    /// The agent.
    Assistant,
}

/// What became of a turn whose driver died.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recovery {
    /// The turn had come to its stop; only its commit was missing.
    Complete,
    /// It was broken off with no call open.
    Interrupted,
    /// A person decided on a call that has no result.
    Decided,
}

/// What was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "snake_case")]
pub enum Fact {
    /// The agent began to run this session.
    SessionStarted {
        how: StartKind,
        /// The model, if told.
        model: Option<String>,
    },
    /// The agent stopped running this session.
    SessionEnded {
        /// In the agent's own words.
        reason: String,
    },
    /// Somebody prompted; a turn began.
    Prompt {
        text: Body,
        /// Whether the agent wrote it itself (a task notification, a hook's feedback).
        synthetic: bool,
    },
    /// The turn came to its stop.
    Stopped {
        /// The last words of the agent.
        last_message: Option<Body>,
        /// Work that goes on in the background, by the agent's own ids.
        background: Vec<String>,
        /// The error that ended it, in the agent's own word.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<String>,
    },
    ToolStarted {
        /// The tool's own name.
        tool: String,
        class: ToolClass,
        input: Body,
        /// The file it names, relative to the worktree where it lies inside one.
        path: Option<String>,
    },
    ToolEnded {
        /// The tool's own name.
        tool: String,
        class: ToolClass,
        outcome: Outcome,
        output: Option<Body>,
        /// How long it ran, in milliseconds.
        duration_ms: Option<u64>,
    },
    /// The content of a file, before or after an edit.
    FileSeen {
        /// Relative to the worktree.
        path: String,
        /// Which side of the edit.
        side: Side,
        /// Its content; absent if there was no such file.
        version: Option<FileVersion>,
        /// What surrounded it.
        #[serde(default, skip_serializing_if = "DiskState::is_empty")]
        disk: DiskState,
        /// What the call itself did, after a call whose tool says so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        write: Option<Box<CallWrite>>,
        /// The checkout that the file is in, where that is another than the session's: a submodule, a
        /// linked worktree.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<Place>,
    },
    /// Where HEAD of the worktree stood, before or after a shell tool ran.
    HeadSeen {
        /// Which side of the call.
        side: Side,
        /// The commit; absent in a repository without one.
        commit: Option<Oid>,
        /// How HEAD came there last, where git's own list of its moves tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        arrival: Option<Arrival>,
        /// How long git's list of its moves was, in bytes; absent where git keeps none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        log: Option<u64>,
        /// The last moves that the list has, oldest first; after a call only.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        moves: Vec<HeadStep>,
    },
    /// Which branch was checked out.
    BranchSeen {
        name: String,
    },
    SubagentStarted {
        agent_type: String,
        /// The tool call that started it, where the source tells: what [`event::call_of`] takes from its event.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<String>,
    },
    SubagentStopped {
        last_message: Option<Body>,
    },
    /// A message of the conversation.
    Message {
        role: Role,
        text: Body,
        model: Option<String>,
        /// What it cost; counted once per event.
        tokens: Option<Tokens>,
        /// The provider's id of the request that it answers, where the source tells: sources that call one message
        /// by different ids agree on it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<String>,
    },
    /// The context was compacted.
    Compacted {
        /// By whom.
        trigger: String,
        /// What is left of it.
        summary: Option<Body>,
    },
    /// A driver died, and what it had said in its turn was settled without it.
    Recovered {
        how: Recovery,
    },
    /// Whoever asked for the turn was being traced: what comes of it belongs into that trace.
    Traced {
        /// Where in it.
        parent: TraceParent,
    },
    /// Anything that this version has no word for, by the agent's own name.
    Other {
        name: String,
    },
}

impl Fact {
    /// The word that listings use for this kind of fact.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::SessionStarted { .. } => "session_started",
            Self::SessionEnded { .. } => "session_ended",
            Self::Prompt { .. } => "prompt",
            Self::Stopped { .. } => "stopped",
            Self::ToolStarted { .. } => "tool_started",
            Self::ToolEnded { .. } => "tool_ended",
            Self::FileSeen { .. } => "file_seen",
            Self::HeadSeen { .. } => "head_seen",
            Self::BranchSeen { .. } => "branch_seen",
            Self::SubagentStarted { .. } => "subagent_started",
            Self::SubagentStopped { .. } => "subagent_stopped",
            Self::Message { .. } => "message",
            Self::Compacted { .. } => "compacted",
            Self::Recovered { .. } => "recovered",
            Self::Traced { .. } => "traced",
            Self::Other { .. } => "other",
        }
    }

    /// The short texts in which the source names something.
    fn names(&mut self) -> Vec<&mut String> {
        match self {
            Self::SessionStarted { model, .. } => model.iter_mut().collect(),
            Self::SessionEnded { reason: name }
            | Self::Compacted { trigger: name, .. }
            | Self::ToolEnded { tool: name, .. }
            | Self::FileSeen { path: name, .. }
            | Self::BranchSeen { name }
            | Self::Other { name } => vec![name],
            Self::Stopped {
                background,
                failure,
                ..
            } => background.iter_mut().chain(failure).collect(),
            Self::ToolStarted { tool, path, .. } => iter::once(tool).chain(path).collect(),
            Self::SubagentStarted { agent_type, call } => {
                iter::once(agent_type).chain(call).collect()
            }
            Self::Message { model, request, .. } => model.iter_mut().chain(request).collect(),
            Self::Prompt { .. }
            | Self::HeadSeen { .. }
            | Self::SubagentStopped { .. }
            | Self::Recovered { .. }
            | Self::Traced { .. } => Vec::new(),
        }
    }
}

/// One thing seen by one source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    pub source: Source,
    /// What this sighting is called at its source. With session and source, it makes the same
    /// sighting twice one row.
    pub key: String,
    /// Which event it speaks of: equal for all sightings of one event in one session.
    pub event: String,
    /// When it happened, by the source's clock.
    pub at: Timestamp,
    /// The agent's own name for the turn, if it has one.
    pub turn: Option<String>,
    pub subagent: Option<String>,
    pub fact: Fact,
}

impl Observation {
    /// Redacts what the source names: ids, models, tools, paths. Its bodies are redacted already.
    ///
    /// A secret in an id has the same marker wherever the id stands, so that the sightings of an event stay together.
    pub fn redact_names(&mut self, redactor: &Redactor) {
        let event = self.event.clone();
        redact_name(&mut self.event, redactor);
        // What stands before the event in the key may hide that a secret begins there.
        if self.event != event {
            self.key = self.key.replace(&event, &self.event);
        }
        redact_name(&mut self.key, redactor);
        let ids = self.turn.iter_mut().chain(&mut self.subagent);
        for name in ids.chain(self.fact.names()) {
            redact_name(name, redactor);
        }
    }
}

/// Redacts a name in place.
pub fn redact_name(name: &mut String, redactor: &Redactor) {
    let Cow::Owned(redacted) = redactor.redact_cow(name) else {
        return;
    };
    *name = redacted;
}

/// The names of events, so that all sources use the same ones.
pub mod event {
    /// A prompt, by the agent's name for the turn.
    #[must_use]
    pub fn prompt(turn: &str) -> String {
        format!("prompt:{turn}")
    }
    /// A stop, by the agent's name for the turn.
    #[must_use]
    pub fn stop(turn: &str) -> String {
        format!("stop:{turn}")
    }
    /// A tool call, by its id.
    #[must_use]
    pub fn tool(call: &str) -> String {
        format!("tool:{call}")
    }
    /// The id of the tool call that an event is, as [`tool`] took it.
    #[must_use]
    pub fn call_of(event: &str) -> Option<&str> {
        event.strip_prefix("tool:")
    }
    /// Every tool call that does the same, for agents that give calls no id: `likeness` names what
    /// they do. The engine gives each call of them a name of its own.
    #[must_use]
    pub fn unnamed(likeness: &str) -> String {
        format!("call?{likeness}")
    }
    /// The same as a transcript tells it, which knows an id that hooks do not.
    #[must_use]
    pub fn unnamed_with_id(likeness: &str, id: &str) -> String {
        format!("call?{likeness}?{id}")
    }
    /// What an unnamed call does, and the id that only a transcript knows.
    #[must_use]
    pub fn unnamed_parts(event: &str) -> Option<(&str, Option<&str>)> {
        let rest = event.strip_prefix("call?")?;
        Some(match rest.split_once('?') {
            Some((likeness, id)) => (likeness, Some(id)),
            None => (rest, None),
        })
    }
    /// What stands for the name of a turn that hooks have no name for, by the id of its prompt in the
    /// transcript; none where the transcript does not tell the turn. The engine finds the turn.
    #[must_use]
    pub fn unnamed_turn(prompt: Option<&str>) -> String {
        format!("turn?{}", prompt.unwrap_or_default())
    }
    /// The prompt that such a name stands for.
    #[must_use]
    pub fn unnamed_turn_prompt(turn: &str) -> Option<Option<&str>> {
        let prompt = turn.strip_prefix("turn?")?;
        Some(Some(prompt).filter(|prompt| !prompt.is_empty()))
    }
    /// A message, by the provider's id.
    #[must_use]
    pub fn message(id: &str) -> String {
        format!("msg:{id}")
    }
    /// The compaction of the context in the course of a turn, by the agent's name for the turn.
    #[must_use]
    pub fn compaction(turn: &str) -> String {
        format!("compact:{turn}")
    }
    /// A sub-agent, by its id.
    #[must_use]
    pub fn subagent(id: &str) -> String {
        format!("sub:{id}")
    }
}
