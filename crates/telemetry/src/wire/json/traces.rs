//! Spans in JSON.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use serde_json::Value;

use super::super::batch::DecodeError;
use super::fields::{Fields, Read};
use super::value::{attributes, resource, scope};
use super::{Faults, groups, leaves, one};

pub(super) fn request(
    root: Fields<'_>,
    faults: &mut Faults,
) -> Result<ExportTraceServiceRequest, DecodeError> {
    let list = groups(root, "resourceSpans")?;
    let weight = |value: &Value| leaves(value, &["scopeSpans", "spans"]);
    Ok(ExportTraceServiceRequest {
        resource_spans: faults.each(list, weight, group),
    })
}

fn group(faults: &mut Faults, value: &Value) -> Read<ResourceSpans> {
    let fields = Fields::new(value, "resourceSpans")?;
    let (resource, schema_url) = (resource(fields)?, fields.text("schemaUrl")?);
    let weight = |value: &Value| leaves(value, &["spans"]);
    Ok(ResourceSpans {
        resource,
        scope_spans: faults.each(fields.list("scopeSpans")?, weight, of_scope),
        schema_url,
    })
}

fn of_scope(faults: &mut Faults, value: &Value) -> Read<ScopeSpans> {
    let fields = Fields::new(value, "scopeSpans")?;
    let (scope, schema_url) = (scope(fields)?, fields.text("schemaUrl")?);
    Ok(ScopeSpans {
        scope,
        spans: faults.each(fields.list("spans")?, one, |_, value| span(value)),
        schema_url,
    })
}

fn span(value: &Value) -> Read<Span> {
    let fields = Fields::new(value, "spans")?;
    Ok(Span {
        trace_id: fields.id("traceId", 16)?,
        span_id: fields.id("spanId", 8)?,
        trace_state: fields.text("traceState")?,
        parent_span_id: fields.id("parentSpanId", 8)?,
        flags: fields.number("flags")?,
        name: fields.text("name")?,
        kind: fields.choice("kind", |name| {
            SpanKind::from_str_name(name).map(|kind| kind as i32)
        })?,
        start_time_unix_nano: fields.number("startTimeUnixNano")?,
        end_time_unix_nano: fields.number("endTimeUnixNano")?,
        attributes: attributes(fields, "attributes")?,
        dropped_attributes_count: fields.number("droppedAttributesCount")?,
        events: fields.each("events", event)?,
        dropped_events_count: fields.number("droppedEventsCount")?,
        links: fields.each("links", link)?,
        dropped_links_count: fields.number("droppedLinksCount")?,
        status: fields.object("status")?.map(status).transpose()?,
    })
}

fn event(value: &Value) -> Read<Event> {
    let fields = Fields::new(value, "events")?;
    Ok(Event {
        time_unix_nano: fields.number("timeUnixNano")?,
        name: fields.text("name")?,
        attributes: attributes(fields, "attributes")?,
        dropped_attributes_count: fields.number("droppedAttributesCount")?,
    })
}

fn link(value: &Value) -> Read<Link> {
    let fields = Fields::new(value, "links")?;
    Ok(Link {
        trace_id: fields.id_or_none("traceId", 16),
        span_id: fields.id_or_none("spanId", 8),
        trace_state: fields.text("traceState")?,
        attributes: attributes(fields, "attributes")?,
        dropped_attributes_count: fields.number("droppedAttributesCount")?,
        flags: fields.number("flags")?,
    })
}

fn status(fields: Fields<'_>) -> Read<Status> {
    Ok(Status {
        message: fields.text("message")?,
        code: fields.choice("code", |name| {
            StatusCode::from_str_name(name).map(|code| code as i32)
        })?,
    })
}
