//! Why an agent does not do what it should.

use std::io;
use std::path::Path;

use agent_client_protocol::Error;
use serde_json::Value;
use siglum_domain::redact::Redactor;

/// What of a refusal is told, in characters.
const TEXT_MOST: usize = 600;

/// Why an agent does not do what it should.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{text}")]
pub(crate) struct AgentError {
    /// A word for programs.
    pub(crate) code: &'static str,
    pub(crate) text: String,
}

impl AgentError {
    pub(crate) fn new(code: &'static str, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { code, text }
    }

    /// Its program could not be started.
    pub(super) fn not_started(program: &Path, error: &io::Error) -> Self {
        let code = match error.kind() {
            io::ErrorKind::NotFound => "agent-not-installed",
            _ => "agent-not-started",
        };
        let text = format!("cannot start {}: {error}", program.display());
        Self::new(code, text)
    }
}

/// What an agent answers to a prompt that it does not bring to its stop.
#[derive(Debug, Clone)]
pub(crate) struct Refused {
    /// Why, redacted.
    pub(super) text: String,
    /// A word for programs, where more is known than that it refused.
    pub(super) code: Option<&'static str>,
    /// What it used all the same, as an answer has it.
    pub(crate) answer: Value,
}

impl Refused {
    pub(super) fn new(text: &str) -> Self {
        let text: String = text.chars().take(TEXT_MOST).collect();
        Self {
            text: Redactor::shared().redact(&text).into_string(),
            code: None,
            answer: Value::Null,
        }
    }

    /// What an error of the protocol comes to.
    pub(super) fn from_error(method: &str, error: &Error) -> Self {
        let detail = error.data.as_ref().and_then(|data| {
            let message = data
                .get("details")
                .or_else(|| data.get("message"))
                .unwrap_or(data);
            message.as_str().map(|text| format!(": {text}"))
        });
        let detail = detail.unwrap_or_default();
        Self::new(&format!("`{method}`: {}{detail}", error.message))
    }
}
