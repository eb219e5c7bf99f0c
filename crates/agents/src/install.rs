//! What can be said about our hooks in an agent's settings.

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
}

/// Why settings were left alone. The texts name the place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InstallError {
    /// The file is not JSON, not even with comments.
    #[error("settings are not valid JSON: {0}")]
    NotJson(String),
    /// The file is JSON, but not of the form that the agent reads.
    #[error("settings have an unexpected form: `{place}` is not {expected}")]
    Form {
        /// Where, such as `hooks.Stop`.
        place: String,
        /// What it should be.
        expected: &'static str,
    },
    /// The path of the shim cannot be written into settings.
    #[error("shim path is empty or has a control character")]
    Shim,
}
