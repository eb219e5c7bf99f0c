//! The audit.

use serde::Serialize;
use siglum_domain::audit::Entry;
use utoipa::ToSchema;

/// An entry of the audit, chained to the one before.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct AuditEntry {
    /// From 1, without holes.
    number: u64,
    #[schema(format = DateTime)]
    at: String,
    /// Who.
    actor: String,
    /// What.
    action: String,
    /// `done` or `refused`.
    outcome: &'static str,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Because of which field.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pipeline: Option<String>,
    /// The details; absent where they were erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    body: Option<serde_json::Value>,
    /// The digest of the entry before.
    previous: String,
    digest: String,
}

impl From<&Entry> for AuditEntry {
    fn from(entry: &Entry) -> Self {
        let header = &entry.header;
        let (reason, field) = header.outcome.refusal();
        let body = entry.body.as_ref();
        Self {
            number: entry.number,
            at: header.at.to_string(),
            actor: header.actor.clone(),
            action: header.action.as_str().to_owned(),
            outcome: header.outcome.as_str(),
            reason: reason.map(str::to_owned),
            field: field.map(str::to_owned),
            session: header.session.map(|s| s.to_string()),
            pipeline: header.pipeline.clone(),
            body: body.and_then(|b| serde_json::from_str(b.text.as_str()).ok()),
            previous: entry.previous.clone(),
            digest: entry.digest.clone(),
        }
    }
}

/// A page of the audit.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct AuditPage {
    /// The entries, newest first.
    pub(crate) entries: Vec<AuditEntry>,
    /// Give it as `before` to get the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<u64>,
}

impl AuditEntry {
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }
}

/// Whether the audit is whole.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct AuditReport {
    /// No entry was changed, taken out, added or moved.
    pub(crate) sound: bool,
    /// How many entries there are.
    pub(crate) entries: u64,
    /// What is wrong, in words.
    pub(crate) flaws: Vec<String>,
    /// The digest of the last entry: noted elsewhere, it tells later whether the audit was cut off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) digest: Option<String>,
}
