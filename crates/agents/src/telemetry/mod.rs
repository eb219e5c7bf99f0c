//! The agents' own OpenTelemetry export: switched on in their settings, and off again.
//!
//! Only what is not there is added, and only what was added and is still as it was is taken out. Where a person sends
//! an agent's telemetry somewhere already, that agent is left alone. What was said in a conversation is never switched
//! on; Gemini CLI sends it unless told not to, so it is told.
//!
//! Some agents take the header with the token from their environment alone: [`environment`] has it, for a launcher.

mod dotenv;
mod members;
mod table;
mod toml;

use std::path::{Path, PathBuf};

use crate::command_hooks::Json;
use crate::install::{SettingsError, SettingsFile, SettingsTexts};

pub use table::{TELEMETRY, environment};

/// Where telemetry goes, and by which token.
#[derive(Clone, PartialEq, Eq)]
pub struct Export {
    /// The base address of the gateway, without a slash at its end.
    pub gateway: String,
    /// The text of the token.
    pub token: String,
}

impl Export {
    /// The address for `traces`, `logs` or `metrics`.
    fn for_signal(&self, signal: &str) -> String {
        format!("{}/v1/{signal}", self.gateway)
    }

    /// The header, in the form of the variable for headers. The blank stands as it is: Claude Code sends the value
    /// undecoded, and all others leave a blank alone.
    fn header(&self) -> String {
        format!("Authorization=Bearer {}", self.token)
    }
}

/// What an agent's telemetry needs in its settings.
#[derive(Debug, Clone, Copy)]
pub struct TelemetrySpec {
    /// The agent's name.
    pub agent: &'static str,
    /// The name for people.
    pub title: &'static str,
    /// The variable that names the agent's own directory, where it is not the default one.
    pub config_variable: Option<&'static str>,
    /// The variable that names the directory that the agent takes for the home directory.
    pub home_variable: Option<&'static str>,
    /// The agent's own directory in a home directory, unless the variable names another one.
    pub default_dir: fn(&Path) -> PathBuf,
    /// What still has to be said of it, where settings alone are not enough.
    pub note: Option<&'static str>,
    files: &'static [Wanted],
}

/// What one file is to hold.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    name: &'static str,
    form: Form,
}

/// The form of a file, and what is wanted in it.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// JSON with comments.
    Json {
        members: &'static [Member],
        /// Members by which a person sends the telemetry elsewhere.
        theirs: &'static [&'static [&'static str]],
    },
    /// Codex's settings.
    Codex,
    /// A file of variables, with the one for headers.
    Variables,
}

/// A member of a JSON text.
#[derive(Debug, Clone, Copy)]
struct Member {
    path: &'static [&'static str],
    value: fn(&Export) -> Json,
    /// Whether another value there is a person's wish to send the telemetry elsewhere, or nowhere.
    weight: Weight,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Weight {
    /// The agent is left alone then.
    Decides,
    /// The value stays, and the rest is set.
    Details,
}

/// What is to be done to the settings of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetryPlan {
    /// The texts afterwards, one per file.
    pub texts: SettingsTexts,
    /// What was added to each file, by its path in it.
    pub added: Vec<Vec<String>>,
    /// What a person had set otherwise, and what was left as it is.
    pub kept: Vec<String>,
}

/// What of our settings an agent has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TelemetryState {
    /// All of it.
    Current,
    /// All of it, but these lack or have another value.
    Drifted(Vec<String>),
    /// A person sends it elsewhere, by this setting.
    Elsewhere(String),
}

impl TelemetrySpec {
    /// The files in the agent's own directory.
    #[must_use]
    pub fn settings(&self, dir: &Path) -> Vec<PathBuf> {
        self.files.iter().map(|file| dir.join(file.name)).collect()
    }

    /// Whether one of its files holds the token, by its place among them.
    #[must_use]
    pub fn holds_token(&self, at: usize) -> bool {
        self.files.get(at).is_some_and(|file| match file.form {
            Form::Json { members, .. } => members.iter().any(|m| m.path.ends_with(HEADERS)),
            Form::Codex | Form::Variables => true,
        })
    }

    /// The settings with the export.
    ///
    /// # Errors
    /// A file is not of the form that the agent reads.
    pub fn plan(
        &self,
        files: &[SettingsFile],
        export: &Export,
    ) -> Result<TelemetryPlan, SettingsError> {
        let unchanged: SettingsTexts = files.iter().map(|file| file.text.clone()).collect();
        if let Some(setting) = self.elsewhere(files, export)? {
            return Ok(TelemetryPlan {
                texts: unchanged,
                added: vec![Vec::new(); files.len()],
                kept: vec![format!(
                    "{} sends its telemetry elsewhere, by `{setting}`; that is left as it is",
                    self.title
                )],
            });
        }
        let (mut texts, mut added, mut kept) = (Vec::new(), Vec::new(), Vec::new());
        for (wanted, file) in self.files.iter().zip(files) {
            let text = file.text.as_deref();
            let set = match wanted.form {
                Form::Json { members, .. } => members::set(text, members, export),
                Form::Codex => toml::set(text, export),
                Form::Variables => Ok(dotenv::set(text, export)),
            };
            let set = set.map_err(|error| file.error(error))?;
            texts.push(set.text);
            added.push(set.added);
            let stays = |setting| {
                let path = file.path.display();
                format!("`{setting}` in {path} has another value; it is left as it is")
            };
            kept.extend(set.kept.into_iter().map(stays));
        }
        Ok(TelemetryPlan { texts, added, kept })
    }

    /// The settings without what was added, as far as it is still as it was; a file that only we made is gone.
    ///
    /// # Errors
    /// A file is not of the form that the agent reads.
    pub fn undo(
        &self,
        files: &[SettingsFile],
        export: &Export,
        added: &[Vec<String>],
    ) -> Result<SettingsTexts, SettingsError> {
        let none = Vec::new();
        let each = self.files.iter().zip(files).enumerate();
        each.map(|(at, (wanted, file))| {
            let added = added.get(at).unwrap_or(&none);
            let Some(text) = file.text.as_deref().filter(|_| !added.is_empty()) else {
                return Ok(file.text.clone());
            };
            let left = match wanted.form {
                Form::Json { members, .. } => members::unset(text, members, export, added),
                Form::Codex => toml::unset(text, export, added),
                Form::Variables => Ok(dotenv::unset(text, export)),
            };
            left.map_err(|error| file.error(error))
        })
        .collect()
    }

    /// What of the export the settings hold.
    ///
    /// # Errors
    /// A file is not of the form that the agent reads.
    pub fn inspect(
        &self,
        files: &[SettingsFile],
        export: &Export,
    ) -> Result<TelemetryState, SettingsError> {
        if let Some(setting) = self.elsewhere(files, export)? {
            return Ok(TelemetryState::Elsewhere(setting));
        }
        let plan = self.plan(files, export)?;
        let lacking: Vec<String> = plan.added.into_iter().flatten().chain(plan.kept).collect();
        Ok(match lacking.is_empty() {
            true => TelemetryState::Current,
            false => TelemetryState::Drifted(lacking),
        })
    }

    /// The setting by which a person sends the telemetry elsewhere.
    fn elsewhere(
        &self,
        files: &[SettingsFile],
        export: &Export,
    ) -> Result<Option<String>, SettingsError> {
        for (wanted, file) in self.files.iter().zip(files) {
            let Some(text) = file.text.as_deref() else {
                continue;
            };
            let found = match wanted.form {
                Form::Json { members, theirs } => members::elsewhere(text, members, theirs, export),
                Form::Codex => toml::elsewhere(text, export),
                Form::Variables => Ok(dotenv::elsewhere(text, export)),
            };
            if let Some(setting) = found.map_err(|error| file.error(error))? {
                return Ok(Some(setting));
            }
        }
        Ok(None)
    }
}

/// One file with what is wanted in it.
struct Set {
    text: Option<String>,
    added: Vec<String>,
    /// What has another value.
    kept: Vec<String>,
}

/// The path of the variable for headers, among variables.
const HEADERS: &[&str] = &["env", "OTEL_EXPORTER_OTLP_HEADERS"];

#[cfg(test)]
mod tests;
