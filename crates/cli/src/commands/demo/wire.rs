//! What the processes of the play tell each other, one JSON object on a line, and what the demo
//! answers.

use serde::{Deserialize, Serialize};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.demo/1";

/// What the stage tells an agent to do.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// Start the session of this native id.
    Begin(String),
    /// Take a prompt.
    Prompt(String),
    /// Write a new file; the path is relative to the repository.
    Write { path: String, content: String },
    /// Change a file.
    Edit {
        path: String,
        old: String,
        new: String,
    },
    /// Run a shell command.
    Bash { command: String },
    /// End the turn with these words.
    Stop(String),
}

/// What an agent answers to a step.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    Done,
    Failed(String),
}

/// What the stage tells the process that the newcomer started.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageMessage {
    /// What happens now, as a sentence.
    Doing(String),
    /// The play is over.
    Done(Played),
    /// The play had to be broken off, why, and what to do.
    Failed { error: String, hints: Vec<String> },
}

/// What was played.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Played {
    /// The sessions: the letter in the play and the native id.
    pub sessions: Vec<(char, String)>,
    /// The commits, oldest first.
    pub commits: Vec<Made>,
    /// Why a person cannot be told from an agent on this machine, as a sentence.
    pub obstacle: Option<String>,
    /// What was left out and why, in sentences.
    pub notes: Vec<String>,
}

/// One commit, and who made it in truth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    pub commit: String,
    pub subject: String,
    pub by: By,
}

/// Who made a commit in truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The session of this letter.
    Session(char),
    /// A process that the session of this letter left behind.
    Detached(char),
    /// A person at a terminal.
    Person,
    /// A script without a terminal.
    Script,
}

/// The envelope of a JSON answer.
#[derive(Debug, Deserialize)]
pub struct Envelope<T> {
    pub data: T,
}

/// What the demo reads of the answer of `siglum why --json`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Answer {
    pub committer: Party,
    pub authors: Vec<Party>,
}

/// Somebody who has a part in a commit.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Party {
    pub kind: String,
    pub session: Option<String>,
    pub native_ids: Vec<String>,
    pub verdict: String,
}

/// The answer of `siglum demo --json`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    /// Where the directory is, if it was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
    /// The commits, oldest first.
    pub commits: Vec<Row>,
}

/// One commit of the demo.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Row {
    /// The commit.
    pub commit: String,
    /// The first line of its message.
    pub subject: String,
    /// Who made it in truth: `A`, `B`, `B, detached`, `a person` or `a script`.
    pub made_by: String,
    /// What Siglum says: `session`, `human` or `unknown`.
    pub kind: String,
    /// The session that Siglum names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The letter of that session in the play.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub letter: Option<char>,
    /// `certain`, `likely`, `ambiguous` or `unknown`.
    pub verdict: String,
    /// The sessions that wrote its lines, as letters.
    pub authors: Vec<char>,
    /// Whether what Siglum says is the truth.
    pub right: bool,
}
