//! Schemas of forms that the command line prints and the API serves: one type, and one schema of it, for both.

use std::borrow::Cow;

use schemars::{JsonSchema, schema_for};
use serde_json::{Value, json};
use siglum_engine::driven::heartbeat::{Form, HeartbeatJson, TickJson};
use siglum_engine::views::checkpoints::{CheckpointJson, CheckpointListJson};
use siglum_engine::views::commits::{AttestationJson, CommitJson, CommitSummaryJson};
use siglum_engine::views::context::{
    ContextExplanationJson, ContextJson, ContextSwitchJson, GapJson, RouteDetailJson, RouteListJson,
};
use siglum_engine::views::cost::CostReportJson;
use siglum_engine::views::pipeline::{Bundle, GraphJson};
use siglum_engine::views::search::SearchListJson;
use siglum_engine::views::session::{self, HeldTurnJson, LinkJson, SessionJson, SessionListJson};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

/// Names the schema of a type for the document, and what it consists of: `TickJson` of a heartbeat is `HeartbeatTick`.
macro_rules! shared {
    ($($name:ident: $form:ty, parts $prefix:literal;)*) => {$(
        pub(crate) struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                converted(form::<$form>($prefix).0)
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($name))
            }

            fn schemas(all: &mut Vec<(String, RefOr<Schema>)>) {
                let parts = form::<$form>($prefix).1.into_iter();
                all.extend(parts.map(|(name, schema)| (name, converted(schema))));
            }
        }
    )*};
}

shared! {
    Attestation: AttestationJson, parts "Attestation";
    Checkpoint: CheckpointJson, parts "";
    CheckpointList: CheckpointListJson, parts "";
    Commit: CommitJson, parts "Commit";
    CommitSummary: CommitSummaryJson, parts "Commit";
    Context: ContextJson, parts "";
    ContextExplanation: ContextExplanationJson, parts "";
    ContextSwitch: ContextSwitchJson, parts "";
    CostReport: CostReportJson, parts "";
    Gap: GapJson, parts "";
    Heartbeat: HeartbeatJson, parts "Heartbeat";
    HeartbeatForm: Form, parts "Heartbeat";
    HeartbeatTick: TickJson, parts "Heartbeat";
    HeldTurn: HeldTurnJson, parts "";
    Link: LinkJson, parts "";
    Pipeline: GraphJson, parts "Pipeline";
    PipelineBundle: Bundle, parts "Bundle";
    RouteDetail: RouteDetailJson, parts "";
    RouteList: RouteListJson, parts "";
    SearchResultList: SearchListJson, parts "";
    Session: SessionJson, parts "";
    SessionList: SessionListJson, parts "";
    TokenUsage: session::TokenUsage, parts "";
}

/// The schema of a type, and those of its parts under their names in the document.
fn form<T: JsonSchema>(prefix: &str) -> (Value, Vec<(String, Value)>) {
    let mut schema = schema_for!(T).to_value();
    point_into_document(&mut schema, prefix);
    let mut parts = Vec::new();
    if let Value::Object(fields) = &mut schema {
        fields.remove("$schema");
        fields.remove("title");
        if let Some(Value::Object(defs)) = fields.remove("$defs") {
            parts.extend(
                defs.into_iter()
                    .map(|(name, part)| (named(prefix, &name), part)),
            );
        }
    }
    (schema, parts)
}

fn named(prefix: &str, name: &str) -> String {
    let name = name.strip_suffix("Json").unwrap_or(name);
    if name.starts_with(prefix) {
        return name.to_owned();
    }
    format!("{prefix}{name}")
}

/// Has references point to where the parts are in the document, and says of what may be anything that it has no type.
fn point_into_document(value: &mut Value, prefix: &str) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::Object(properties)) = fields.get_mut("properties") {
                properties.values_mut().for_each(name_no_type);
            }
            for (key, field) in fields {
                match field {
                    Value::String(path) if key == "$ref" => {
                        if let Some(name) = path.strip_prefix("#/$defs/") {
                            *path = format!("#/components/schemas/{}", named(prefix, name));
                        }
                    }
                    _ => point_into_document(field, prefix),
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                point_into_document(item, prefix);
            }
        }
        _ => {}
    }
}

/// The types of the document read the absence of a type only where it is spelled out.
fn name_no_type(schema: &mut Value) {
    const TYPED_BY: [&str; 5] = ["type", "$ref", "anyOf", "oneOf", "allOf"];
    if *schema == Value::Bool(true) {
        *schema = json!({});
    }
    if let Value::Object(fields) = schema
        && !TYPED_BY.iter().any(|key| fields.contains_key(*key))
    {
        fields.insert("type".to_owned(), Value::Null);
    }
}

/// Documents of OpenAPI 3.1 have the schemas of JSON Schema.
fn converted(schema: Value) -> RefOr<Schema> {
    serde_json::from_value(schema).expect("because schemas of both forms are alike")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drop_null_types(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|key, field| key != "type" || !field.is_null());
                fields.values_mut().for_each(drop_null_types);
            }
            Value::Array(items) => items.iter_mut().for_each(drop_null_types),
            _ => {}
        }
    }

    #[track_caller]
    fn keeps<T: JsonSchema>(prefix: &str) {
        let (schema, parts) = form::<T>(prefix);
        for (name, mut schema) in parts.into_iter().chain([("whole".to_owned(), schema)]) {
            let written = serde_json::to_value(converted(schema.clone())).unwrap();
            drop_null_types(&mut schema);
            assert_eq!(written, schema, "{name}");
        }
    }

    #[test]
    fn nothing_of_a_schema_is_lost_on_its_way_into_the_document() {
        keeps::<AttestationJson>("Attestation");
        keeps::<CommitJson>("Commit");
        keeps::<CommitSummaryJson>("Commit");
        keeps::<CheckpointListJson>("");
        keeps::<CostReportJson>("");
        keeps::<HeartbeatJson>("Heartbeat");
        keeps::<Form>("Heartbeat");
        keeps::<TickJson>("Heartbeat");
        keeps::<GraphJson>("Pipeline");
        keeps::<Bundle>("Bundle");
        keeps::<SearchListJson>("");
        keeps::<SessionListJson>("");
        keeps::<ContextExplanationJson>("");
        keeps::<RouteDetailJson>("");
    }
}
