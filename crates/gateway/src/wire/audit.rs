//! The audit.

use serde::Serialize;
use siglum_domain::audit::{Entry, Outcome};

/// Whether something was done.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum AuditOutcome {
    Done,
    /// It was refused, and nothing was done.
    Refused,
}

impl From<&Outcome> for AuditOutcome {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Done => Self::Done,
            Outcome::Refused { .. } => Self::Refused,
        }
    }
}

/// An audit entry, chained to the previous one.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct AuditEntry {
    /// Consecutive number, from 1.
    number: u64,
    #[cfg_attr(test, schema(format = DateTime))]
    at: String,
    /// The actor.
    actor: String,
    /// The action, such as `session.created`.
    action: String,
    outcome: AuditOutcome,
    /// Reason for a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Field that caused a refusal.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pipeline: Option<String>,
    /// Details; absent if they were erased.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schema(value_type = Option<Object>))]
    body: Option<serde_json::Value>,
    /// Digest of the previous entry.
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
            outcome: (&header.outcome).into(),
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

/// A page of audit entries.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct AuditEntryList {
    /// The entries, newest first.
    pub(crate) items: Vec<AuditEntry>,
    /// Pass it as `cursor` to get the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

impl AuditEntry {
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }
}

/// The result of verifying the audit log.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct AuditReport {
    /// True if no entry was changed, removed, inserted or moved.
    pub(crate) sound: bool,
    /// Number of entries.
    pub(crate) entries: u64,
    /// Descriptions of the flaws that were found.
    pub(crate) flaws: Vec<String>,
    /// Digest of the last entry; if you store it elsewhere, it later shows whether the log was truncated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) digest: Option<String>,
}
