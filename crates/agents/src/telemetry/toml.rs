//! The tables of Codex's settings that send its telemetry. They are put in and taken out as text, so that taking out
//! undoes putting in byte for byte.

use toml_edit::{DocumentMut, Item};

use super::{Export, Set};
use crate::install::InstallError;

/// The tables, and what each sends.
const TABLES: &[(&str, &str)] = &[
    ("exporter", "logs"),
    ("trace_exporter", "traces"),
    ("metrics_exporter", "metrics"),
];

fn document(text: &str) -> Result<DocumentMut, InstallError> {
    let parsed = text.parse::<DocumentMut>();
    parsed.map_err(|error| InstallError::NotToml(error.to_string()))
}

fn name(table: &str) -> String {
    format!("otel.{table}")
}

fn block(table: &str, signal: &str, export: &Export) -> String {
    let (endpoint, token) = (export.for_signal(signal), &export.token);
    format!(
        "[otel.{table}.otlp-http]\nendpoint = \"{endpoint}\"\nprotocol = \"binary\"\nheaders = {{ Authorization = \"Bearer {token}\" }}\n"
    )
}

/// Whether a table is as we write it: it goes to our address by our token.
fn is_ours(item: &Item, signal: &str, export: &Export) -> bool {
    let http = item.get("otlp-http");
    let text = |item: Option<&Item>| item.and_then(Item::as_str).map(str::to_owned);
    let endpoint = text(http.and_then(|http| http.get("endpoint")));
    let header = text(http.and_then(|http| http.get("headers")?.get("Authorization")));
    endpoint == Some(export.for_signal(signal))
        && header == Some(format!("Bearer {}", export.token))
}

pub(super) fn set(text: Option<&str>, export: &Export) -> Result<Set, InstallError> {
    let document = document(text.unwrap_or_default())?;
    let otel = document.get("otel");
    let mut after = text.map(str::to_owned);
    let mut added = Vec::new();
    for (table, signal) in TABLES {
        if otel.and_then(|otel| otel.get(table)).is_some() {
            continue;
        }
        let block = block(table, signal, export);
        after = Some(match after {
            Some(text) => format!("{text}\n{block}"),
            None => block,
        });
        added.push(name(table));
    }
    // An `otel` that is written in one line takes no further tables.
    if after
        .as_deref()
        .is_some_and(|text| text.parse::<DocumentMut>().is_err())
    {
        return Err(InstallError::Form {
            place: "otel".to_owned(),
            expected: "a table to which others can be added",
        });
    }
    Ok(Set {
        text: after,
        added,
        kept: Vec::new(),
    })
}

pub(super) fn unset(
    text: &str,
    export: &Export,
    added: &[String],
) -> Result<Option<String>, InstallError> {
    let mut left = text.to_owned();
    for (table, signal) in TABLES.iter().rev() {
        if !added.contains(&name(table)) {
            continue;
        }
        let block = block(table, signal, export);
        if let Some(at) = left.find(&format!("\n{block}")) {
            left.replace_range(at..=at + block.len(), "");
            continue;
        }
        if let Some(rest) = left.strip_prefix(&block) {
            if rest.is_empty() {
                return Ok(None);
            }
            left = rest.strip_prefix('\n').unwrap_or(rest).to_owned();
            continue;
        }
        let mut document = document(&left)?;
        let otel = document.get_mut("otel").and_then(Item::as_table_like_mut);
        if let Some(otel) = otel
            && otel
                .get(table)
                .is_some_and(|item| is_ours(item, signal, export))
        {
            otel.remove(table);
            left = document.to_string();
        }
    }
    Ok(Some(left))
}

/// A table that is not ours: a person sends something elsewhere, or nowhere.
pub(super) fn elsewhere(text: &str, export: &Export) -> Result<Option<String>, InstallError> {
    let document = document(text)?;
    let Some(otel) = document.get("otel") else {
        return Ok(None);
    };
    let theirs = |(table, signal): &&(&str, &str)| {
        let item = otel.get(table);
        item.is_some_and(|item| !is_ours(item, signal, export))
    };
    Ok(TABLES.iter().find(theirs).map(|(table, _)| name(table)))
}
