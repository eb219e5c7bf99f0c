//! What comes out of reading transcripts, whichever agent wrote them.

use std::borrow::Cow;
use std::path::PathBuf;

use siglum_domain::observation::Observation;
use siglum_domain::{NativeId, Timestamp};

/// One observation and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sighting {
    /// The session that it happened in.
    pub owner: NativeId,
    /// Whether the line is a copy of the owner's history in the transcript of another session. A
    /// copy is of use only where the owner's own transcript is gone.
    pub copied: bool,
    /// What was seen.
    pub observation: Observation,
}

/// What one line of a transcript gives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadLine<'a> {
    /// What was seen, in this line or in lines before it that were held back.
    pub sightings: Vec<Sighting>,
    /// The directory the agent works in.
    pub cwd: Option<Cow<'a, str>>,
    /// The branch that was checked out.
    pub git_branch: Option<Cow<'a, str>>,
    /// The version of the agent.
    pub version: Option<Cow<'a, str>>,
    /// When it was written.
    pub at: Option<Timestamp>,
}

/// A transcript in an agent's own directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptFile {
    /// Where it lies.
    pub path: PathBuf,
    /// The name of its stream: the file's name without its ending.
    pub stream: String,
    /// The session that it belongs to.
    pub session: NativeId,
    /// The sub-agent that it belongs to.
    pub subagent: Option<String>,
    /// When it was written last.
    pub modified: Timestamp,
    /// Its size.
    pub bytes: u64,
}
