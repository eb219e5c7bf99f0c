//! The published schema of a line.

use serde_json::{Map, Value, json};
use siglum_domain::link::NUMBER_MAX;

use super::form::{
    COMMON, CONTENT_MOST, FORMS, Field, Form, ID_MOST, Kind, PATH_MOST, PATHS_MOST, TEXT_MOST,
    VERSION, WORD_MOST,
};

/// The JSON Schema of a line of the record protocol, as it is committed in `docs/record.schema.json`.
///
/// # Panics
/// Never: it is made of texts and numbers alone.
#[must_use]
pub fn record_schema() -> String {
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("siglum record, version {VERSION}"),
        "description": "A line that `siglum record` reads",
        "oneOf": FORMS.iter().map(form_schema).collect::<Vec<_>>(),
    });
    // Which order keys have in memory depends on what else is built.
    schema.sort_all_objects();
    let text = serde_json::to_string_pretty(&schema);
    text.expect("because all of it is text") + "\n"
}

fn form_schema(form: &Form) -> Value {
    let mut properties = Map::new();
    properties.insert("v".to_owned(), json!({ "const": VERSION }));
    properties.insert("type".to_owned(), json!({ "const": form.name }));
    let mut required = vec!["v", "type"];
    // What a form says itself of a field stands.
    for field in COMMON.iter().chain(form.fields) {
        properties.insert(field.name.to_owned(), field_schema(*field));
        if field.is_required {
            required.push(field.name);
        }
    }
    required.sort_unstable();
    json!({
        "type": "object",
        "description": form.about,
        "additionalProperties": false,
        "required": required,
        "properties": properties,
    })
}

fn field_schema(field: Field) -> Value {
    let mut schema = kind_schema(field.kind);
    schema["description"] = Value::from(field.about);
    schema
}

fn kind_schema(kind: Kind) -> Value {
    let text = |least: usize, most: usize| json!({ "type": "string", "minLength": least, "maxLength": most });
    match kind {
        Kind::Id => json!({
            "type": "string", "minLength": 1, "maxLength": ID_MOST, "pattern": "^(?!.*\\.\\.)[^\\s/\\\\]+$",
        }),
        Kind::Word => text(1, WORD_MOST),
        Kind::OneOf(words) => json!({ "enum": words }),
        Kind::Text => text(0, TEXT_MOST),
        Kind::Content => json!({ "type": ["string", "null"], "maxLength": CONTENT_MOST }),
        Kind::Path => text(1, PATH_MOST),
        Kind::Directory => json!({
            "type": "string", "minLength": 1, "maxLength": PATH_MOST, "pattern": "^/",
        }),
        Kind::Paths => json!({
            "type": "array", "maxItems": PATHS_MOST, "items": text(1, PATH_MOST),
        }),
        Kind::Time => json!({ "type": "string", "format": "date-time" }),
        Kind::Count => json!({ "type": "integer", "minimum": 0, "maximum": NUMBER_MAX }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Link => json!({
            "type": "string", "pattern": "^(#|(issue|pr|pipeline|role|phase|label)=)",
        }),
        Kind::Any => json!({}),
    }
}
