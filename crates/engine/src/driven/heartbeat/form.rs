//! A heartbeat as people write it: one form for the configuration, the command line, the API and the ledger.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use siglum_domain::redact::Redactor;

/// A heartbeat, as it is written. What is absent has its default.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub struct Form {
    /// How often, such as `30m`; this or `cron`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every: Option<String>,
    /// A cron expression; this or `every`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cron: Option<String>,
    /// The time zone of `cron` and `active`; `UTC` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The hours in which it is followed, such as `09:00-18:00`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<String>,
    /// Its route key; `heartbeat:<name>` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route_key: Option<String>,
    /// The agent that is run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Whether each tick has a session and a context of its own; `true` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolated: Option<bool>,
    /// What the agent is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// A file in `cwd` with what the agent is told, read for each tick.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_file: Option<String>,
    /// Where the agent works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The model, as the agent calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What is said when the agent wants to be allowed something: `refuse`, `allow`, or `ask` for somebody who answers;
    /// `refuse` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<String>,
    /// Links of each tick's session.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub links: BTreeMap<String, Value>,
    /// Where answers go: `none`, `log`, `webhook`, `command` or `route`; `log` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The address of a webhook: https, or http on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook: Option<String>,
    /// The route key of the conversation that answers are said in, with the target `route`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_route_key: Option<String>,
    /// The JSON schema of what the webhook or the command takes: of what the run is known by it gets what this declares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Value>,
    /// An answer that is only this is not delivered; `HEARTBEAT_OK` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledge: Option<String>,
    /// How long a tick may take, such as `10m`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wall: Option<String>,
    /// How many tokens a tick may use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// How many dollars a tick may cost, such as `0.50`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dollars: Option<String>,
    /// How long ticks are kept, such as `30d`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep: Option<String>,
}

/// Why a heartbeat was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {rule}")]
pub struct FormError {
    pub field: String,
    pub rule: String,
}

impl FormError {
    pub(crate) fn new(field: &str, rule: impl Into<String>) -> Self {
        Self {
            field: field.to_owned(),
            rule: rule.into(),
        }
    }
}

pub(super) fn no_secret(field: &str, text: &str) -> Result<(), FormError> {
    match Redactor::shared().redact_cow(text) {
        Cow::Borrowed(_) => Ok(()),
        Cow::Owned(_) => Err(FormError::new(field, "text without secrets")),
    }
}
