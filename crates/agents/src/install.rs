//! An agent's settings, and what can be said about our hooks in them.

use std::path::PathBuf;

/// One settings file of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsFile {
    pub path: PathBuf,
    /// What it holds; absent: there is no such file.
    pub text: Option<String>,
}

/// What settings files are to hold, one text per file; none where there is to be no such file.
pub type SettingsTexts = Vec<Option<String>>;

/// Why a settings file was left alone.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {error}", path.display())]
pub struct SettingsError {
    pub path: PathBuf,
    pub error: InstallError,
}

impl SettingsFile {
    /// Says that something is wrong in this file.
    pub(crate) fn error(&self, error: InstallError) -> SettingsError {
        SettingsError {
            path: self.path.clone(),
            error,
        }
    }
}

/// What of our hooks the settings of an agent hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallState {
    /// Nothing.
    Missing,
    /// Some events; these lack, or have another tool matcher than today's.
    Partial(Vec<String>),
    /// All of it.
    Current,
    /// Hooks of ours that run this other program.
    OtherShim(String),
    /// All of it, but the agent passes over these events in silence: the person has not said yet that
    /// it may run the hooks as they are now, or switched them off one by one.
    Untrusted(Vec<String>),
    /// All of it, but a setting that is not ours to change keeps the agent from running our hooks.
    SwitchedOff {
        setting: &'static str,
        path: PathBuf,
    },
}

/// Why settings were left alone. The texts name the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InstallError {
    /// The file is there and cannot be read.
    #[error("cannot read the settings: {0}")]
    Unreadable(String),
    /// The file is not JSON, not even with comments.
    #[error("settings are not valid JSON: {0}")]
    NotJson(String),
    /// The file is not TOML.
    #[error("settings are not valid TOML: {0}")]
    NotToml(String),
    /// The file is JSON, but not of the form that the agent reads.
    #[error("settings have an unexpected structure: `{place}` is not {expected}")]
    Form {
        /// Where, such as `hooks.Stop`.
        place: String,
        expected: &'static str,
    },
    /// A file that is not ours stands where our plug-in belongs.
    #[error("it is not Siglum's plug-in, and stays as it is")]
    Foreign,
    /// The path of the shim cannot be written into settings.
    #[error("shim path is empty or contains a control character")]
    Shim,
}
