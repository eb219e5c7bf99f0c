//! The committed schemas of all JSON answers, and the test that keeps them true.
//!
//! A new answer is one line in [`SCHEMAS`].

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Value, json};
use siglum_engine::views;

use crate::commands::*;
use crate::{env, ui};

/// A name of a schema and what makes it.
type Row = (&'static str, fn(SchemaSettings) -> Schema);

/// All JSON answers.
const SCHEMAS: &[Row] = &[
    (adopt::SCHEMA, schema_for::<adopt::Json>),
    (agents::SCHEMA, schema_for::<agents::Json>),
    (audit::list::SCHEMA, schema_for::<audit::list::Json>),
    (audit::verify::SCHEMA, schema_for::<audit::verify::Json>),
    (audit::export::SCHEMA, schema_for::<audit::export::Json>),
    (backup::SCHEMA, schema_for::<backup::Json>),
    (check::SCHEMA, schema_for::<check::Json>),
    (
        checkpoint::list::SCHEMA,
        schema_for::<siglum_engine::views::checkpoints::CheckpointListJson>,
    ),
    (
        checkpoint::show::SCHEMA,
        schema_for::<checkpoint::show::Json>,
    ),
    (config::list::SCHEMA, schema_for::<config::list::Json>),
    (config::get::SCHEMA, schema_for::<config::get::Json>),
    (config::set::SCHEMA, schema_for::<config::set::Json>),
    (config::unset::SCHEMA, schema_for::<config::unset::Json>),
    (config::path::SCHEMA, schema_for::<config::path::Json>),
    (
        context::list::SCHEMA,
        schema_for::<views::context::RouteListJson>,
    ),
    (
        context::show::SCHEMA,
        schema_for::<views::context::RouteDetailJson>,
    ),
    (
        context::explain::SCHEMA,
        schema_for::<views::context::ContextExplanationJson>,
    ),
    (cost::SCHEMA, schema_for::<cost::Json>),
    (demo::wire::SCHEMA, schema_for::<demo::wire::Json>),
    (doctor::SCHEMA, schema_for::<doctor::Json>),
    (files::SCHEMA, schema_for::<files::Json>),
    (forget::SCHEMA, schema_for::<forget::Json>),
    (heartbeat::add::SCHEMA, schema_for::<heartbeat::add::Json>),
    (heartbeat::list::SCHEMA, schema_for::<heartbeat::list::Json>),
    (
        heartbeat::pause::SCHEMA,
        schema_for::<heartbeat::pause::Json>,
    ),
    (
        heartbeat::remove::SCHEMA,
        schema_for::<heartbeat::remove::Json>,
    ),
    (
        heartbeat::resume::SCHEMA,
        schema_for::<heartbeat::pause::Json>,
    ),
    (heartbeat::run::SCHEMA, schema_for::<heartbeat::run::Json>),
    (heartbeat::show::SCHEMA, schema_for::<heartbeat::show::Json>),
    (import::SCHEMA, schema_for::<import::show::Json>),
    #[cfg(feature = "gateway")]
    (import::acp::SCHEMA, schema_for::<import::acp::Json>),
    (link::ADD, schema_for::<link::Json>),
    (link::LIST, schema_for::<link::Json>),
    (link::REMOVE, schema_for::<link::Json>),
    (log::SCHEMA, schema_for::<log::Json>),
    (login::SCHEMA, schema_for::<login::Json>),
    (logout::SCHEMA, schema_for::<logout::Json>),
    (otel::add::SCHEMA, schema_for::<otel::add::Json>),
    (otel::list::SCHEMA, schema_for::<otel::list::Json>),
    (otel::remove::SCHEMA, schema_for::<otel::remove::Json>),
    (otel::test::SCHEMA, schema_for::<otel::test::Json>),
    (
        otel::unassigned::SCHEMA,
        schema_for::<otel::unassigned::Json>,
    ),
    (
        pipeline::export::SCHEMA,
        schema_for::<siglum_engine::views::pipeline::Bundle>,
    ),
    (pipeline::list::SCHEMA, schema_for::<pipeline::list::Json>),
    (
        pipeline::record::SCHEMA,
        schema_for::<pipeline::record::Json>,
    ),
    (
        pipeline::show::SCHEMA,
        schema_for::<siglum_engine::views::pipeline::GraphJson>,
    ),
    (projection::add::SCHEMA, schema_for::<projection::add::Json>),
    (
        projection::list::SCHEMA,
        schema_for::<projection::list::Json>,
    ),
    (
        projection::remove::SCHEMA,
        schema_for::<projection::remove::Json>,
    ),
    (
        projection::retry::SCHEMA,
        schema_for::<projection::retry::Json>,
    ),
    (
        projection::scope::SCHEMA,
        schema_for::<projection::scope::Json>,
    ),
    (
        projection::show::SCHEMA,
        schema_for::<projection::show::Json>,
    ),
    (
        projection::skip::SCHEMA,
        schema_for::<projection::skip::Json>,
    ),
    (rebuild::SCHEMA, schema_for::<rebuild::Json>),
    (record::SCHEMA, schema_for::<record::Json>),
    (relocate::SCHEMA, schema_for::<relocate::Json>),
    (uninstall::SCHEMA, schema_for::<uninstall::Json>),
    (restore::SCHEMA, schema_for::<restore::Json>),
    (resume::SCHEMA, schema_for::<resume::Json>),
    (search::SCHEMA, schema_for::<search::Json>),
    #[cfg(feature = "gateway")]
    (serve::SCHEMA, schema_for::<serve::Json>),
    (
        session::archive::SCHEMA,
        schema_for::<session::archive::Json>,
    ),
    (session::end::SCHEMA, schema_for::<session::end::Json>),
    (session::fork::SCHEMA, schema_for::<session::fork::Json>),
    (session::list::SCHEMA, schema_for::<session::list::Json>),
    (
        session::recover::SCHEMA,
        schema_for::<session::recover::Json>,
    ),
    (session::rename::SCHEMA, schema_for::<session::rename::Json>),
    (session::show::SCHEMA, schema_for::<session::show::Json>),
    (status::json::SCHEMA, schema_for::<status::json::Json>),
    (statusline::SCHEMA, schema_for::<statusline::Json>),
    (sync::SCHEMA, schema_for::<sync::Json>),
    (tail::SCHEMA, schema_for::<tail::Json>),
    (token::create::SCHEMA, schema_for::<token::create::Json>),
    (token::list::SCHEMA, schema_for::<token::list::Json>),
    (token::release::SCHEMA, schema_for::<token::release::Json>),
    (token::revoke::SCHEMA, schema_for::<token::revoke::Json>),
    (token::rotate::SCHEMA, schema_for::<token::rotate::Json>),
    (upgrade::SCHEMA, schema_for::<upgrade::Json>),
    (verify::SCHEMA, schema_for::<verify::Json>),
    (version::SCHEMA, schema_for::<version::Json>),
    (ui::ERROR_SCHEMA, schema_for::<ui::ErrorJson>),
    (why::SCHEMA, schema_for::<why::Json>),
    (why::lines::SCHEMA, schema_for::<why::lines::Json>),
];

/// Answers of which a digest is over all fields, those that are null too.
const DIGESTED: &[&str] = &[audit::export::SCHEMA, pipeline::export::SCHEMA];

fn schema_for<T: JsonSchema>(settings: SchemaSettings) -> Schema {
    settings.into_generator().into_root_schema_for::<T>()
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas")
}

/// `siglum.why/1` is in `siglum.why.1.json`.
fn file_of(name: &str) -> String {
    format!("{}.json", name.replace('/', "."))
}

/// The schema of an answer with its envelope.
fn enveloped(name: &str, data: Schema) -> String {
    let mut data = Value::from(data);
    let part = |data: &mut Value, key: &str| data.as_object_mut().and_then(|o| o.remove(key));
    let (dialect, defs) = (part(&mut data, "$schema"), part(&mut data, "$defs"));
    part(&mut data, "title");
    let mut whole = json!({
        "$schema": dialect,
        "title": name,
        "type": "object",
        "required": ["schema", "data"],
        "properties": { "schema": { "const": name }, "data": data },
        "$defs": defs.unwrap_or_else(|| json!({})),
    });
    // Which order keys have in memory depends on what else is built.
    whole.sort_all_objects();
    sort_required(&mut whole);
    serde_json::to_string_pretty(&whole).unwrap() + "\n"
}

/// Sorts the names of required members, whose order means nothing either.
fn sort_required(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(sort_required),
        Value::Object(members) => {
            if let Some(Value::Array(names)) = members.get_mut("required") {
                names.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
            }
            members.values_mut().for_each(sort_required);
        }
        _ => {}
    }
}

#[test]
fn committed_schemas_are_those_of_the_answers() {
    let update = env::text("SIGLUM_UPDATE_SCHEMAS").is_some();
    let mut stale = Vec::new();
    let mut wanted = BTreeSet::new();
    for (name, schema) in SCHEMAS {
        let path = directory().join(file_of(name));
        let text = enveloped(name, schema(SchemaSettings::default()));
        assert!(wanted.insert(file_of(name)), "{name} stands here twice");
        if update {
            fs::create_dir_all(directory()).unwrap();
            fs::write(&path, &text).unwrap();
        } else if fs::read_to_string(&path).ok().as_deref() != Some(text.as_str()) {
            stale.push(file_of(name));
        }
    }
    for entry in fs::read_dir(directory()).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if update && !wanted.contains(&name) {
            fs::remove_file(entry.path()).unwrap();
        } else if !wanted.contains(&name) {
            stale.push(name);
        }
    }
    assert!(
        stale.is_empty(),
        "schemas/ differs from the answers in {stale:?}: a field that was added is fine, a field \
         that changed or went needs the next number; then run \
         `SIGLUM_UPDATE_SCHEMAS=1 cargo test -p siglum schema` and commit what it writes"
    );
}

#[test]
fn what_is_not_known_is_absent_and_never_null() {
    let mut wrong = Vec::new();
    for (name, schema) in SCHEMAS.iter().filter(|(name, _)| !DIGESTED.contains(name)) {
        let written = schema(SchemaSettings::default().for_serialize());
        let fields = null_fields(written.as_value()).into_iter();
        wrong.extend(fields.map(|field| format!("{name}: {field}")));
    }
    assert!(
        wrong.is_empty(),
        "{wrong:#?} would be null where their value is not known: skip them"
    );
}

/// The fields that are written always, and can be null.
fn null_fields(schema: &Value) -> Vec<String> {
    let parts: Vec<&Value> = match schema {
        Value::Array(items) => items.iter().collect(),
        Value::Object(members) => members.values().collect(),
        _ => Vec::new(),
    };
    let required = schema["required"].as_array().into_iter().flatten();
    let names = required.filter_map(Value::as_str);
    let null = names.filter(|name| can_be_null(&schema["properties"][*name]));
    let inner = parts.into_iter().flat_map(null_fields);
    null.map(str::to_owned).chain(inner).collect()
}

fn can_be_null(schema: &Value) -> bool {
    let is_typed = match &schema["type"] {
        Value::Array(types) => types.iter().any(|kind| kind == "null"),
        kind => kind == "null",
    };
    let mut forms = schema["anyOf"].as_array().into_iter().flatten();
    is_typed || forms.any(can_be_null)
}

#[test]
fn the_committed_schema_of_recorded_lines_is_that_of_their_reader() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/record.schema.json");
    let text = siglum_agents::record_schema();
    if env::text("SIGLUM_UPDATE_SCHEMAS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap() == text,
        "docs/record.schema.json differs from the protocol: run \
         `SIGLUM_UPDATE_SCHEMAS=1 cargo test -p siglum schema` and commit what it writes"
    );
}

#[test]
fn every_answer_has_a_schema() {
    let known: BTreeSet<&str> = SCHEMAS.iter().map(|(name, _)| *name).collect();
    let mut missing = Vec::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/commands")];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().flatten().map(|e| e.path()));
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        missing.extend(
            text.split('"')
                .filter(|word| is_name(word) && !known.contains(word))
                .map(str::to_owned),
        );
    }
    assert!(
        missing.is_empty(),
        "{missing:?} have no row in `SCHEMAS` of src/schema.rs"
    );
}

/// `siglum.<noun>…/<number>`
fn is_name(word: &str) -> bool {
    word.strip_prefix("siglum.")
        .and_then(|rest| rest.split_once('/'))
        .is_some_and(|(_, number)| number.parse::<u32>().is_ok())
}
