//! Coding agents: one folder for each that is recorded, and the table that lists them.
//!
//! An agent's folder reads what the agent says (hook payloads, transcripts) into the observations of
//! `domain`, and edits the agent's settings as text. Nothing here asks for the clock, the
//! environment or git. The only input is the agent's own directory, to list its transcripts and to
//! check that a path lies inside it; nothing is written.
//!
//! What agents send is hostile until shown otherwise: unknown fields and events are ignored, bad
//! ones are dropped with a reason, and only a payload that names no session is an error.

mod claude_code;
mod codex;
mod command_hooks;
mod copilot;
mod draft;
mod gemini;
mod hook;
mod install;
mod json;
mod known;
mod listing;
mod mentions;
mod open_calls;
mod opencode;
mod paths;
mod pi;
mod plugin_file;
mod qwen;
mod record;
#[cfg(test)]
mod recorded;
mod regular;
mod runs;
mod spec;
mod summary;
mod table;
mod telemetry;
mod transcript;
mod unreported;

pub use command_hooks::quote;
pub use hook::{
    BODY_LIMIT, Boundary, Declined, EditHint, HookCall, ReduceError, Reduced, SECRET_IN_PATH,
    WriteHint, has_secret,
};
pub use install::{InstallError, InstallState, SettingsError, SettingsFile, SettingsTexts};
pub use known::{GENERIC_VARIABLES, KNOWN_AGENTS, KnownAgent, known, recognise, unrecorded_reason};
pub use record::{LINE_MOST, LineError, RecordLine, record_schema};
pub use regular::open_regular;
pub use runs::{Blank, Choosing, HeadlessSpec, Mode, ReportedUsage, RunSpec, run_spec, runnable};
pub use spec::AgentSpec;
pub use table::{AGENTS, find};
pub use telemetry::{
    Export, TELEMETRY, TelemetryPlan, TelemetrySpec, TelemetryState,
    environment as telemetry_environment,
};
pub use transcript::{
    CommitMention, Committed, ReadLine, Sighting, TranscriptEdit, TranscriptFile, TranscriptReader,
    stream_name,
};
pub use unreported::{Unreported, unreported};
