//! What the rest of the program knows about an agent that is recorded.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use siglum_domain::NativeId;

use crate::command_hooks::quote;
use crate::hook::{HookCall, ReduceError, Reduced};
use crate::install::{InstallState, SettingsError, SettingsFile, SettingsTexts};
use crate::paths::accept_below;
use crate::transcript::{TranscriptFile, TranscriptReader};

/// Everything that the rest of the program needs to know about one agent.
#[derive(Debug, Clone, Copy)]
pub struct AgentSpec {
    /// The name in the ledger and on the command line.
    pub name: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// Base names of its programs.
    pub executables: &'static [&'static str],
    /// Parts of the paths of its programs and scripts.
    pub scripts: &'static [&'static str],
    /// The variable that names the session to what the agent starts.
    pub session_variable: Option<&'static str>,
    /// Variables that only say that the agent is there.
    pub presence_variables: &'static [&'static str],
    /// The variable that holds the agent's own process id.
    pub pid_variable: Option<&'static str>,
    /// The variable that names the agent's own directory, where it is not the default one.
    pub config_variable: Option<&'static str>,
    /// The variable that names the directory that the agent takes for the home directory.
    pub home_variable: Option<&'static str>,
    /// The agent's own directory in a home directory, unless the variable names another one.
    pub default_dir: fn(&Path) -> PathBuf,
    /// Whether hooks tell that a command failed; else the transcript alone does.
    pub hooks_tell_failure: bool,
    /// Reads one hook payload.
    pub reduce: fn(&HookCall<'_>) -> Result<Reduced, ReduceError>,
    /// Makes a reader for a transcript: its stream, the sub-agent it belongs to, the session that
    /// lines without one belong to.
    pub transcript: fn(String, Option<String>, NativeId) -> Box<dyn TranscriptReader>,
    /// The directory in which sub-agents write transcripts of their own: the session's transcript, the
    /// session → path.
    pub subagents: fn(&Path, &NativeId) -> PathBuf,
    /// The readable text of one stored line of a transcript.
    pub passage_text: fn(&str) -> Option<String>,
    /// Lists the transcripts in the agent's own directory.
    pub discover: fn(&Path) -> Vec<TranscriptFile>,
    /// The directory in which the transcripts of sessions started in a working directory lie: the
    /// agent's own directory, working directory → path. Absent where that cannot be told from the
    /// path alone.
    pub project_dir: fn(&Path, &str) -> Option<PathBuf>,
    /// The working directory that the head of a transcript names.
    pub first_cwd: fn(&[u8]) -> Option<String>,
    /// The settings files in the agent's own directory that our hooks concern, the main one first.
    pub settings: fn(&Path) -> Vec<PathBuf>,
    /// Further files that may keep our hooks from running, and that are nobody's to change here: checkout → paths.
    pub other_settings: fn(Option<&Path>) -> Vec<PathBuf>,
    /// The settings with our hooks: files before, stable shim → texts after, one per file; none where
    /// there is no such file.
    pub plan_install: fn(&[SettingsFile], &str) -> Result<SettingsTexts, SettingsError>,
    /// The settings without our hooks: files before, stable shim → texts after, one per file; none
    /// where nothing is left in a file that install made.
    pub plan_remove: fn(&[SettingsFile], &str) -> Result<SettingsTexts, SettingsError>,
    /// What of our hooks the settings hold: files, the main one first, and the others; stable shim.
    pub inspect: fn(&[SettingsFile], &str) -> Result<InstallState, SettingsError>,
    /// How many days the agent keeps transcripts by its settings, the main file first, and the others; nothing where it
    /// deletes none.
    pub retention_days: fn(&[SettingsFile]) -> Option<u32>,
    /// The program that resumes a session, with its arguments; see [`AgentSpec::resume_words`].
    pub resume: fn(&NativeId) -> Vec<String>,
    /// Where the agent looks for the transcript of a session that it resumes: its own directory, the directory that it
    /// is started in, its id, the stream of the transcript. Absent for an agent that takes no transcript back, and for
    /// names that the agent does not give; what is returned lies in its own directory, whatever the names are.
    pub resumed_transcript: fn(&Path, &str, &NativeId, &str) -> Option<PathBuf>,
    /// Whether a transcript of which lines may be missing is one that the agent resumes as a whole.
    pub is_whole: fn(&mut dyn BufRead) -> bool,
}

impl AgentSpec {
    /// Tells whether a path names a file in the agent's own directory that may be a transcript; it need not exist yet.
    #[must_use]
    pub fn may_be_transcript(agent_dir: &Path, path: &str) -> bool {
        accept_below(agent_dir, "jsonl", path).is_some()
    }

    /// The command that resumes a session; nothing for an id that begins with a dash, which its program would take for an
    /// option.
    #[must_use]
    pub fn resume_words(&self, native: &NativeId) -> Option<Vec<String>> {
        let is_option = native.as_str().starts_with('-');
        (!is_option).then(|| (self.resume)(native))
    }

    /// The same, for a POSIX shell.
    #[must_use]
    pub fn resume_line(&self, native: &NativeId) -> Option<String> {
        let words = self.resume_words(native)?;
        let words: Vec<String> = words.iter().map(|word| quote(word)).collect();
        Some(words.join(" "))
    }
}
