//! What goes into reading a hook payload and what comes out.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use siglum_domain::grammar::GrammarError;
use siglum_domain::observation::{Observation, Side, redact_name};
use siglum_domain::redact::Redactor;
use siglum_domain::{NativeId, Timestamp};

/// The size above which a field is not looked at in a hook, in bytes.
pub const BODY_LIMIT: usize = 64 * 1024;

/// One payload and what is needed to read it.
#[derive(Clone, Copy)]
pub struct HookCall<'a> {
    /// What the agent wrote to the hook's standard input.
    pub payload: &'a [u8],
    pub redactor: &'a Redactor,
    /// The key for digests of what is too large to be looked at.
    pub digest_key: &'a [u8; 32],
    /// When the hook ran.
    pub now: Timestamp,
    /// Unique for each hook process; names sightings of events that have no name of their own.
    pub delivery: &'a str,
    /// The agent's own directory, in which its transcripts lie.
    pub agent_dir: &'a Path,
    /// The checkout that paths are made relative to.
    pub worktree: Option<&'a Path>,
}

/// What a payload says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reduced {
    /// The agent's id for the session.
    pub native: NativeId,
    /// The agent's id for the session that this one came from, where a payload names it.
    pub parent: Option<NativeId>,
    /// The id under which a sub-agent that begins tells what it does, where that is not the session's.
    pub thread: Option<NativeId>,
    /// The directory the agent works in.
    pub cwd: Option<String>,
    /// The session's transcript, which lies in the agent's own directory.
    pub transcript: Option<PathBuf>,
    /// The sub-agent that the transcript belongs to; absent if it is the session's own.
    pub transcript_of: Option<String>,
    /// What was dropped, and why.
    pub declines: Vec<Declined>,
    pub observations: Vec<Observation>,
    /// The files whose content is to be captured.
    pub edits: Vec<EditHint>,
    /// The event for which HEAD is to be read, and the side of the call that this is.
    pub head: Option<(String, Side)>,
    /// Where in the session's life this is.
    pub boundary: Boundary,
}

impl Reduced {
    /// The same without secrets in the names and the places that the agent gave. A transcript in whose path there is one is
    /// not read: where it lies would be stored.
    ///
    /// # Errors
    /// The id of the session has one: without it, sessions that have nothing to do with each other would be one.
    pub fn without_secrets(mut self, redactor: &Redactor) -> Result<Self, ReduceError> {
        let is_clean = |id: &NativeId| matches!(redactor.redact_cow(id.as_str()), Cow::Borrowed(_));
        if !is_clean(&self.native) {
            return Err(ReduceError::BadSessionId(GrammarError {
                what: "session id",
                rule: "no secret",
            }));
        }
        self.parent = self.parent.filter(is_clean);
        self.thread = self.thread.filter(is_clean);
        for observation in &mut self.observations {
            observation.redact_names(redactor);
        }
        if self
            .transcript
            .as_deref()
            .is_some_and(|path| has_secret(path, redactor))
        {
            self.transcript = None;
            self.declines.push(Declined {
                reason: "transcript_path",
                detail: SECRET_IN_PATH.to_owned(),
            });
        }
        let events = self.edits.iter_mut().map(|edit| &mut edit.event);
        let head = self.head.iter_mut().map(|(event, _)| event);
        let places = self.transcript_of.iter_mut().chain(&mut self.cwd);
        for name in events.chain(head).chain(places) {
            redact_name(name, redactor);
        }
        Ok(self)
    }
}

/// Why a transcript is not read where it lies.
pub const SECRET_IN_PATH: &str = "the path of the transcript has a secret in it";

/// Tells whether there is a secret in a path.
#[must_use]
pub fn has_secret(path: &Path, redactor: &Redactor) -> bool {
    redactor.has_secret(&path.to_string_lossy())
}

/// A part of a payload that was dropped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declined {
    /// A stable word for the reason.
    pub reason: &'static str,
    /// What exactly, without secrets.
    pub detail: String,
}

/// A file that a tool call changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditHint {
    /// The event of the tool call.
    pub event: String,
    /// Relative to the worktree if it lies in it, else absolute.
    pub path: PathBuf,
    /// Before or after the change.
    pub side: Side,
    /// The file that holds the content, where it is another one: a file that is about to be moved here.
    pub held_by: Option<PathBuf>,
    /// After the change: what the tool says it wrote.
    pub write: Option<WriteHint>,
}

/// What a tool says it wrote, whatever else is in the file by the time its hook runs. Not redacted: it
/// goes to the object store or nowhere.
#[derive(Clone, PartialEq, Eq)]
pub enum WriteHint {
    /// The whole content that it started from, if there was a file, and the whole one that it wrote.
    Whole {
        /// What it started from.
        base: Option<Vec<u8>>,
        /// What it wrote.
        written: Vec<u8>,
    },
    /// Text that holds all the lines that it added.
    Added(Vec<u8>),
}

impl std::fmt::Debug for WriteHint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole { base, written } => {
                let base = base.as_ref().map(Vec::len);
                write!(f, "Whole({base:?} → {} bytes)", written.len())
            }
            Self::Added(text) => write!(f, "Added({} bytes)", text.len()),
        }
    }
}

/// Where in a session's life a hook ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Boundary {
    /// The agent began to run the session.
    SessionStart,
    /// A turn began.
    TurnStart,
    /// A turn came to its stop.
    TurnEnd,
    /// The agent stopped running the session.
    SessionEnd,
    /// Anything else.
    Within,
}

/// Why a payload could not be used at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReduceError {
    /// It is cut off, or was never JSON.
    #[error("payload of {bytes} bytes is not JSON")]
    NotJson { bytes: usize },
    /// It names no session.
    #[error("payload has no session id")]
    NoSession,
    /// It names a session in a way that no session is named.
    #[error("payload has an invalid session id")]
    BadSessionId(#[source] GrammarError),
    /// It is a line that does not keep to the record protocol.
    #[error("{0}")]
    BadLine(String),
}

impl ReduceError {
    /// The stable word for the reason.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::NotJson { .. } => "not_json",
            Self::NoSession => "no_session",
            Self::BadSessionId(_) => "bad_session_id",
            Self::BadLine(_) => "bad_line",
        }
    }
}
