//! Log records in JSON.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs, SeverityNumber};
use serde_json::Value;

use super::super::batch::DecodeError;
use super::fields::{Fields, Read};
use super::value::{any, attributes, resource, scope};
use super::{Faults, groups, leaves, one};

pub(super) fn request(
    root: Fields<'_>,
    faults: &mut Faults,
) -> Result<ExportLogsServiceRequest, DecodeError> {
    let list = groups(root, "resourceLogs")?;
    let weight = |value: &Value| leaves(value, &["scopeLogs", "logRecords"]);
    Ok(ExportLogsServiceRequest {
        resource_logs: faults.each(list, weight, group),
    })
}

fn group(faults: &mut Faults, value: &Value) -> Read<ResourceLogs> {
    let fields = Fields::new(value, "resourceLogs")?;
    let (resource, schema_url) = (resource(fields)?, fields.text("schemaUrl")?);
    let weight = |value: &Value| leaves(value, &["logRecords"]);
    Ok(ResourceLogs {
        resource,
        scope_logs: faults.each(fields.list("scopeLogs")?, weight, of_scope),
        schema_url,
    })
}

fn of_scope(faults: &mut Faults, value: &Value) -> Read<ScopeLogs> {
    let fields = Fields::new(value, "scopeLogs")?;
    let (scope, schema_url) = (scope(fields)?, fields.text("schemaUrl")?);
    Ok(ScopeLogs {
        scope,
        log_records: faults.each(fields.list("logRecords")?, one, |_, value| record(value)),
        schema_url,
    })
}

fn record(value: &Value) -> Read<LogRecord> {
    let fields = Fields::new(value, "logRecords")?;
    Ok(LogRecord {
        time_unix_nano: fields.number("timeUnixNano")?,
        observed_time_unix_nano: fields.number("observedTimeUnixNano")?,
        severity_number: fields.choice("severityNumber", |name| {
            SeverityNumber::from_str_name(name).map(|severity| severity as i32)
        })?,
        severity_text: fields.text("severityText")?,
        body: fields.get("body").map(any).transpose()?,
        attributes: attributes(fields, "attributes")?,
        dropped_attributes_count: fields.number("droppedAttributesCount")?,
        flags: fields.number("flags")?,
        trace_id: fields.id_or_none("traceId", 16),
        span_id: fields.id_or_none("spanId", 8),
        event_name: fields.text("eventName")?,
    })
}
