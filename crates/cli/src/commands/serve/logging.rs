//! The log of the gateway on standard error, as text or as JSON. Other commands log by [`ui::log_to_stderr`].

use std::fmt::{self, Write as _};

use serde_json::Value;
use siglum_domain::legible;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime as _, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::ui;

/// How a line of the log looks
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// Text
    Text,
    /// A JSON object
    Json,
}

/// The least that is logged
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LogLevel {
    /// Faults that an operator must look at
    Error,
    /// Requests that failed for a fault of the gateway or its store, too
    Warn,
    /// Every request, too
    Info,
    /// Connections and their failures, too
    Debug,
}

impl From<LogLevel> for LevelFilter {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Error => Self::ERROR,
            LogLevel::Warn => Self::WARN,
            LogLevel::Info => Self::INFO,
            LogLevel::Debug => Self::DEBUG,
        }
    }
}

/// Logs to standard error from now on. Other crates log what they read from clients, so nothing of theirs is logged.
pub fn start(format: LogFormat, level: LogLevel) {
    let own = Targets::new().with_target("siglum", level);
    let lines = tracing_subscriber::fmt::layer().with_writer(|| ui::LogWriter);
    // One that is there already stays.
    let _ = match format {
        LogFormat::Text => {
            let lines = lines.with_ansi(false).with_target(false);
            tracing_subscriber::registry()
                .with(own)
                .with(lines)
                .try_init()
        }
        LogFormat::Json => {
            let lines = lines.fmt_fields(JsonFields).event_format(JsonLines);
            tracing_subscriber::registry()
                .with(own)
                .with(lines)
                .try_init()
        }
    };
    // What a panic says may repeat what a client sent: only its place is logged.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!("a thread panicked at {}", place.unwrap_or_default());
    }));
}

/// Writes each event as a JSON object on a line of its own, with the fields of the spans that it is in.
struct JsonLines;

impl<S> FormatEvent<S, JsonFields> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn format_event(
        &self,
        cx: &FmtContext<'_, S, JsonFields>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut time = String::new();
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        let mut members = Members::default();
        members.add("time", time);
        members.add("level", event.metadata().level().as_str());
        for span in cx.event_scope().into_iter().flatten() {
            if let Some(fields) = span.extensions().get::<FormattedFields<JsonFields>>()
                && !fields.fields.is_empty()
            {
                members.0.push(',');
                members.0.push_str(&fields.fields);
            }
        }
        event.record(&mut members);
        writeln!(writer, "{{{}}}", legible::json(&members.0))
    }
}

/// Writes the fields of a span as [`Members`].
struct JsonFields;

impl<'writer> FormatFields<'writer> for JsonFields {
    fn format_fields<R: RecordFields>(
        &self,
        mut writer: Writer<'writer>,
        fields: R,
    ) -> fmt::Result {
        let mut members = Members::default();
        fields.record(&mut members);
        writer.write_str(&members.0)
    }
}

/// The members of a JSON object, without its braces.
#[derive(Default)]
struct Members(String);

impl Members {
    fn add(&mut self, name: &str, value: impl Into<Value>) {
        let comma = if self.0.is_empty() { "" } else { "," };
        let (name, value) = (Value::from(name), value.into());
        // Writing to a text does not fail.
        let _ = write!(self.0, "{comma}{name}:{value}");
    }
}

impl Visit for Members {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field.name(), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field.name(), value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field.name(), value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field.name(), value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field.name(), format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    #[test]
    fn each_event_is_one_json_object_whatever_is_in_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let lines = tracing_subscriber::fmt::layer()
            .fmt_fields(JsonFields)
            .event_format(JsonLines)
            .with_writer(Arc::new(File::create(&path).unwrap()));
        let logged = tracing_subscriber::registry().with(lines);
        let evil = "a\n{\"b\u{1b}[31m\u{202e}\u{9b}";
        tracing::subscriber::with_default(logged, || {
            let span = tracing::error_span!("request", request_id = "r-1");
            let _entered = span.enter();
            tracing::warn!(evil, none = None::<u64>, count = 3_u64, "it is {evil}");
            tracing::info!(of = %"x", is_good = true);
        });
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.chars().any(legible::is_hazard), "{text:?}");
        let mut seen: Vec<Value> = Vec::new();
        for line in text.lines() {
            let mut line: Value = serde_json::from_str(line).unwrap();
            let time = line["time"].take();
            assert!(time.as_str().unwrap().ends_with('Z'), "{time}");
            seen.push(line);
        }
        let expected = json!([
            { "time": null, "level": "WARN", "request_id": "r-1", "message": format!("it is {evil}"), "evil": evil, "count": 3 },
            { "time": null, "level": "INFO", "request_id": "r-1", "of": "x", "is_good": true },
        ]);
        assert_eq!(json!(seen), expected);
    }
}
