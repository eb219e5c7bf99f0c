//! The committed schemas of all JSON answers, and the test that keeps them true.
//!
//! A new answer is one line in [`SCHEMAS`].

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use schemars::{JsonSchema, Schema, schema_for};
use serde_json::{Value, json};

use crate::commands::*;
use crate::{env, ui};

/// A name of a schema and what makes it.
type Row = (&'static str, fn() -> Schema);

/// All JSON answers.
const SCHEMAS: &[Row] = &[
    (adopt::SCHEMA, of::<adopt::Json>),
    (audit::list::SCHEMA, of::<audit::list::Json>),
    (audit::verify::SCHEMA, of::<audit::verify::Json>),
    (audit::export::SCHEMA, of::<audit::export::Json>),
    (backup::SCHEMA, of::<backup::Json>),
    (check::SCHEMA, of::<check::Json>),
    (checkpoint::list::SCHEMA, of::<checkpoint::list::Json>),
    (checkpoint::show::SCHEMA, of::<checkpoint::show::Json>),
    (config::list::SCHEMA, of::<config::list::Json>),
    (config::get::SCHEMA, of::<config::get::Json>),
    (config::set::SCHEMA, of::<config::set::Json>),
    (config::unset::SCHEMA, of::<config::unset::Json>),
    (config::path::SCHEMA, of::<config::path::Json>),
    (context::list::SCHEMA, of::<context::list::Json>),
    (context::show::SCHEMA, of::<context::show::Json>),
    (context::explain::SCHEMA, of::<context::explain::Json>),
    (cost::SCHEMA, of::<cost::Json>),
    (demo::wire::SCHEMA, of::<demo::wire::Json>),
    (doctor::SCHEMA, of::<doctor::Json>),
    (forget::SCHEMA, of::<forget::Json>),
    (heartbeat::add::SCHEMA, of::<heartbeat::add::Json>),
    (heartbeat::list::SCHEMA, of::<heartbeat::list::Json>),
    (heartbeat::pause::SCHEMA, of::<heartbeat::pause::Json>),
    (heartbeat::remove::SCHEMA, of::<heartbeat::remove::Json>),
    (heartbeat::resume::SCHEMA, of::<heartbeat::pause::Json>),
    (heartbeat::run::SCHEMA, of::<heartbeat::run::Json>),
    (heartbeat::show::SCHEMA, of::<heartbeat::show::Json>),
    (import::SCHEMA, of::<import::show::Json>),
    (link::ADD, of::<link::Json>),
    (link::LIST, of::<link::Json>),
    (link::REMOVE, of::<link::Json>),
    (log::SCHEMA, of::<log::Json>),
    (otel::add::SCHEMA, of::<otel::add::Json>),
    (otel::list::SCHEMA, of::<otel::list::Json>),
    (otel::remove::SCHEMA, of::<otel::remove::Json>),
    (otel::test::SCHEMA, of::<otel::test::Json>),
    (otel::unassigned::SCHEMA, of::<otel::unassigned::Json>),
    (
        pipeline::export::SCHEMA,
        of::<siglum_engine::pipeline::Bundle>,
    ),
    (pipeline::list::SCHEMA, of::<pipeline::list::Json>),
    (pipeline::record::SCHEMA, of::<pipeline::record::Json>),
    (
        pipeline::show::SCHEMA,
        of::<siglum_engine::pipeline::GraphJson>,
    ),
    (projection::add::SCHEMA, of::<projection::add::Json>),
    (projection::list::SCHEMA, of::<projection::list::Json>),
    (projection::remove::SCHEMA, of::<projection::remove::Json>),
    (projection::retry::SCHEMA, of::<projection::retry::Json>),
    (projection::scope::SCHEMA, of::<projection::scope::Json>),
    (projection::show::SCHEMA, of::<projection::show::Json>),
    (projection::skip::SCHEMA, of::<projection::skip::Json>),
    (rebuild::SCHEMA, of::<rebuild::Json>),
    (remove::SCHEMA, of::<remove::Json>),
    (restore::SCHEMA, of::<restore::Json>),
    (search::SCHEMA, of::<search::Json>),
    #[cfg(feature = "gateway")]
    (serve::SCHEMA, of::<serve::Json>),
    (session::archive::SCHEMA, of::<session::archive::Json>),
    (session::end::SCHEMA, of::<session::end::Json>),
    (session::fork::SCHEMA, of::<session::fork::Json>),
    (session::list::SCHEMA, of::<session::list::Json>),
    (session::recover::SCHEMA, of::<session::recover::Json>),
    (session::show::SCHEMA, of::<session::show::Json>),
    (status::json::SCHEMA, of::<status::json::Json>),
    (sync::SCHEMA, of::<sync::Json>),
    (token::create::SCHEMA, of::<token::create::Json>),
    (token::list::SCHEMA, of::<token::list::Json>),
    (token::revoke::SCHEMA, of::<token::revoke::Json>),
    (token::rotate::SCHEMA, of::<token::rotate::Json>),
    (upgrade::SCHEMA, of::<upgrade::Json>),
    (verify::SCHEMA, of::<verify::Json>),
    (version::SCHEMA, of::<version::Json>),
    (ui::ERROR_SCHEMA, of::<ui::ErrorJson>),
    (why::SCHEMA, of::<why::Json>),
    (why::lines::SCHEMA, of::<why::lines::Json>),
];

fn of<T: JsonSchema>() -> Schema {
    schema_for!(T)
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
        let text = enveloped(name, schema());
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
