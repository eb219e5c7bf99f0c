//! The rule for names in the API, as `docs/gateway.md` states it under "Names of fields". A released name never changes, so
//! that a wrong one has to be found before.

use serde_json::Value;

use crate::openapi::document;

/// Names that say which name of a thing they have. All others of this form would be a second word for the noun.
const FULL: &[&str] = &[
    "conversation_id",
    "native_id",
    "turn_key",
    "route_key",
    "target_route_key",
    "context_key",
    "trace_id",
    "span_id",
    "request_id",
    "pipeline_id",
];

/// Names that others gave: OAuth, OTLP and the AI SDK.
const FOREIGN: &[&str] = &[
    "client_id",
    "messageId",
    "partialSuccess",
    "resourceLogs",
    "resourceMetrics",
    "resourceSpans",
];

#[track_caller]
fn check_name(name: &str, place: &str) {
    if FOREIGN.contains(&name) {
        return;
    }
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    assert!(name.chars().all(is_plain), "{place}: {name}");
    let is_full = ["_id", "_key"].iter().any(|end| name.ends_with(end));
    assert!(!is_full || FULL.contains(&name), "{place}: {name}");
}

/// Checks the names of fields in a schema, and the words that a field can have.
fn check_schema(schema: &Value, field: &str, place: &str) {
    for word in schema["enum"].as_array().into_iter().flatten() {
        let is_type = ["type", "kind"].contains(&field);
        let word = word.as_str().unwrap_or_default();
        let wrong = if is_type { '-' } else { '_' };
        assert!(!word.contains(wrong), "{place}: {word}");
    }
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        check_name(name, place);
        check_schema(schema, name, &format!("{place}.{name}"));
    }
    for arms in ["oneOf", "anyOf", "allOf"] {
        for arm in schema[arms].as_array().into_iter().flatten() {
            check_schema(arm, field, place);
        }
    }
}

#[test]
fn each_thing_has_one_name_and_each_kind_of_word_one_spelling() {
    let document: Value = serde_json::from_str(&document()).unwrap();
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        // The words of messages are those of a field `type`.
        let field = if name == "MessageKind" { "type" } else { "" };
        check_schema(schema, field, name);
    }
    for (path, methods) in document["paths"].as_object().unwrap() {
        for operation in methods.as_object().unwrap().values() {
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                if parameter["in"] != "header" {
                    check_name(parameter["name"].as_str().unwrap(), path);
                }
            }
        }
    }
}
