//! What comes out of reading transcripts, whichever agent wrote them.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use siglum_domain::observation::Observation;
use siglum_domain::redact::Redactor;
use siglum_domain::{NativeId, Timestamp};

/// One observation and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// The session that it happened in.
    pub owner: NativeId,
    /// Whether the line is a copy of the owner's history in the transcript of another session. A
    /// copy is of use only where the owner's own transcript is gone.
    pub copied: bool,
    pub observation: Observation,
}

/// One change of one file by an edit tool, of which both sides are known.
///
/// The bytes are **raw**: nothing was removed from them. They may go into the local object store and
/// nowhere else: not into the ledger, a log or the network. `Debug` shows their sizes only.
///
/// They are what the agent says it read and wrote. Agents read files as text, so line endings may
/// have been made `\n`; such an edit equals no blob and proves nothing. A file that was there but
/// empty is told as none.
#[derive(Clone, PartialEq, Eq)]
pub struct TranscriptEdit {
    /// The session that made the change.
    pub owner: NativeId,
    /// Whether the line is a copy of the owner's history in the transcript of another session.
    pub copied: bool,
    /// The event of the tool call.
    pub event: String,
    /// The file, as the agent names it: absolute, as a rule.
    pub path: PathBuf,
    /// The whole file before; nothing if there was no file.
    pub before: Option<Vec<u8>>,
    /// The whole file after.
    pub after: Vec<u8>,
    /// When it was told.
    pub at: Timestamp,
    /// The agent's name for the turn; not told of copies.
    pub turn: Option<String>,
    /// The sub-agent that made the change.
    pub subagent: Option<String>,
}

impl fmt::Debug for TranscriptEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TranscriptEdit")
            .field("owner", &self.owner)
            .field("copied", &self.copied)
            .field("event", &self.event)
            .field("before_bytes", &self.before.as_ref().map(Vec::len))
            .field("after_bytes", &self.after.len())
            .field("at", &self.at)
            .field("turn", &self.turn)
            .field("subagent", &self.subagent)
            .finish_non_exhaustive()
    }
}

/// A commit that the output of a shell command names, where the command speaks of committing.
///
/// It is a claim of the output and no proof: whoever uses it checks that there is such a commit and
/// that it was made between `started` and `ended`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitMention {
    /// The session that ran the command.
    pub owner: NativeId,
    /// Whether the line is a copy of the owner's history in the transcript of another session.
    pub copied: bool,
    /// The event of the tool call.
    pub event: String,
    /// The first 7 or more digits of the commit's id, lower-case; 40 or 64 where all were printed.
    pub abbreviated: String,
    /// When the command was given; absent if that line bears no time.
    pub started: Option<Timestamp>,
    /// When its output was there.
    pub ended: Timestamp,
}

/// What one line of a transcript gives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadLine<'a> {
    /// What was seen, in this line or in lines before it that were held back.
    pub sightings: Vec<Sighting>,
    /// Changes of files. A reader that goes on at an earlier line tells them again; owner, event
    /// and path are the same then.
    pub edits: Vec<TranscriptEdit>,
    /// Commits that a command named in its output.
    pub commits: Vec<CommitMention>,
    /// The session that this one was forked from.
    pub forked_from: Option<NativeId>,
    /// The directory the agent works in.
    pub cwd: Option<Cow<'a, str>>,
    /// The branch that was checked out.
    pub git_branch: Option<Cow<'a, str>>,
    /// The version of the agent.
    pub version: Option<Cow<'a, str>>,
    /// When it was written.
    pub at: Option<Timestamp>,
    /// When it was written, of a line to which nothing that was seen points, and without which the agent resumes no
    /// session, or another one.
    pub archived: Option<Timestamp>,
    /// The name that the session has from now on, by the agent or by a person there.
    pub name: Option<Cow<'a, str>>,
}

/// The name of the stream of a transcript: its file's name without the ending, or its directory's where the files of all
/// sessions have one name.
#[must_use]
pub fn stream_name(path: &Path) -> String {
    let named = match path.file_name().and_then(OsStr::to_str) {
        Some("events.jsonl") => path.parent().and_then(Path::file_name),
        _ => path.file_stem(),
    };
    named.unwrap_or_default().to_string_lossy().into_owned()
}

/// A transcript in an agent's own directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptFile {
    pub path: PathBuf,
    /// The name of its stream: the file's name without its ending.
    pub stream: String,
    pub session: NativeId,
    /// The sub-agent that it belongs to.
    pub subagent: Option<String>,
    /// The directory that the agent worked in, where the agent notes it beside the transcript.
    pub cwd: Option<String>,
    pub modified: Timestamp,
    pub bytes: u64,
}

/// What a repository had committed: for agents that tell a change of a file as a patch alone.
pub trait Committed: fmt::Debug + Send + Sync {
    /// The contents that a file may have had at a moment, the likeliest first: as of the last commit before it, and of
    /// the commit that the session began at, where the transcript names one. None is certain; a patch fits or does not.
    fn contents(&self, path: &Path, at: Timestamp, began_at: Option<&str>) -> Vec<Vec<u8>>;
}

/// Reads the lines of one transcript in order, and keeps what it must know between them.
pub trait TranscriptReader: fmt::Debug + Send {
    /// Names the checkout that paths are made relative to; without it, no paths are told.
    fn set_worktree(&mut self, worktree: PathBuf);

    /// Lets the reader ask what was committed. One whose agent tells both sides of each change asks nothing.
    fn set_committed(&mut self, _: Arc<dyn Committed>) {}

    /// Goes on where another reader of the same transcript stopped: with its [`turn`](Self::turn)
    /// and its [`is_own`](Self::is_own), at its [`held_from`](Self::held_from) or else at the end of
    /// what it read.
    fn resume(&mut self, turn: Option<String>, own: bool);

    /// Reads one complete line, which starts at `offset` in the agent's own file.
    fn line<'a>(&mut self, offset: u64, raw: &'a str, redactor: &Redactor) -> ReadLine<'a>;

    /// Takes what is held back as the session's own: for a transcript that will not grow.
    fn finish(&mut self) -> Vec<Sighting>;

    /// The agent's name for the turn that the last line belongs to.
    fn turn(&self) -> Option<&str>;

    /// Whether copied history, if there was any, is over.
    fn is_own(&self) -> bool;

    /// Where the first line starts whose sightings are still held back.
    fn held_from(&self) -> Option<u64>;

    /// How many lines were not of the form that the agent writes.
    fn skipped(&self) -> u64;

    /// Another reader in the same state.
    fn copy(&self) -> Box<dyn TranscriptReader>;
}
