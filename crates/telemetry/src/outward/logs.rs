//! What is no span: moments of a session, as records of a log.

use opentelemetry_proto::tonic::common::v1::AnyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::logs::v1::{LogRecord, SeverityNumber};
use siglum_domain::fold::Entry;
use siglum_domain::observation::{Fact, StartKind};
use siglum_domain::{CheckpointId, Oid, Timestamp};

use super::attributes::kit;
use super::spans::nanos;
use super::subject::{Origin, Subject};

/// Something that happened to a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionMoment {
    /// What it is called: `session.start`.
    pub name: &'static str,
    /// What tells it from all others of the session.
    pub key: String,
    pub at: Timestamp,
    /// The turn that it belongs to.
    pub origin: Option<Origin>,
    pub more: Vec<(&'static str, String)>,
}

impl SessionMoment {
    /// What an entry of the log tells, if it is such a moment.
    #[must_use]
    pub fn from_entry(entry: &Entry, origin: Option<Origin>) -> Option<Self> {
        let o = &entry.observation;
        let (name, more) = match &o.fact {
            Fact::SessionStarted { how, .. } => ("session.start", vec![("siglum.how", start(how))]),
            Fact::SessionEnded { reason } => {
                ("session.end", vec![("siglum.reason", reason.clone())])
            }
            Fact::Compacted { trigger, .. } => (
                "siglum.compaction",
                vec![("siglum.trigger", trigger.clone())],
            ),
            Fact::Prompt { .. } => ("siglum.prompt", Vec::new()),
            _ => return None,
        };
        Some(Self {
            name,
            key: format!("{}:{}", o.source.as_str(), o.key),
            at: o.at,
            origin,
            more,
        })
    }

    /// A checkpoint that pins the session.
    #[must_use]
    pub fn checkpoint(id: CheckpointId, commit: Option<&Oid>, at: Timestamp) -> Self {
        let commit = commit.map(|c| ("vcs.ref.head.revision", c.to_string()));
        Self {
            name: "siglum.checkpoint",
            key: id.to_string(),
            at,
            origin: None,
            more: [("siglum.checkpoint.id", id.to_string())]
                .into_iter()
                .chain(commit)
                .collect(),
        }
    }
}

fn start(how: &StartKind) -> String {
    match how {
        StartKind::Startup => "startup".to_owned(),
        StartKind::Resume => "resume".to_owned(),
        StartKind::Fork => "fork".to_owned(),
        StartKind::Compact => "compact".to_owned(),
        StartKind::Clear => "clear".to_owned(),
        StartKind::Other(word) => word.clone(),
    }
}

/// The record of a moment. `log.record.uid` is the same whenever it is told.
#[must_use]
pub fn moment(subject: &Subject, moment: &SessionMoment) -> LogRecord {
    let mut attributes = kit(subject)
        .text(
            "log.record.uid",
            &format!("{}:{}", subject.session, moment.key),
        )
        // Before records had a name of their own, it stood here.
        .text("event.name", moment.name);
    for (key, value) in &moment.more {
        attributes = attributes.text(key, value);
    }
    let origin = moment.origin;
    LogRecord {
        time_unix_nano: nanos(moment.at),
        observed_time_unix_nano: nanos(moment.at),
        severity_number: SeverityNumber::Info as i32,
        severity_text: "INFO".to_owned(),
        event_name: moment.name.to_owned(),
        body: Some(AnyValue {
            value: Some(Value::StringValue(moment.name.to_owned())),
        }),
        attributes: attributes.into_vec(),
        trace_id: origin.map_or_else(Vec::new, |o| o.trace.bytes().to_vec()),
        span_id: origin.map_or_else(Vec::new, |o| o.span.bytes().to_vec()),
        ..LogRecord::default()
    }
}
