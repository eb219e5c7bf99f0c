//! A tool's input in short.

use serde_json::{Map, Value};
use siglum_domain::observation::ToolClass;
use siglum_domain::pull_request;

use crate::hook::BODY_LIMIT;
use crate::json::Field;

/// Longest value that a summary of an input keeps, in bytes of JSON.
const SHORT: usize = 160;
/// Most fields that a summary of an input keeps.
const FIELDS: usize = 16;

/// Longest command of a transcript that is kept in the observation, in bytes.
const COMMAND_INLINE: usize = 2 * 1024;

/// Whether a command of a transcript is kept in the observation: if it is short, or if it opens a pull
/// request, with whatever is to stand there.
pub(crate) fn is_kept(command: &str) -> bool {
    command.len() <= COMMAND_INLINE
        || command.len() <= BODY_LIMIT && pull_request::is_opened_by_command(command)
}

/// The input as short JSON: long values become their size, and so does all content of an edit, of
/// which the fields in `plain` are none.
pub(crate) fn summarize(class: ToolClass, input: Field<'_>, plain: &[&str]) -> String {
    let mut out = Map::new();
    for (key, value) in input.entries().into_iter().take(FIELDS) {
        let raw = value.raw().unwrap_or("null");
        let content = class == ToolClass::Edit
            && !raw.starts_with(|c: char| c.is_ascii_digit() || matches!(c, 't' | 'f' | 'n'));
        let kept = if content {
            plain.contains(&key.as_str()) && raw.len() <= 4096
        } else {
            raw.len() <= SHORT
        };
        let key = key.chars().take(64).collect::<String>();
        if kept {
            out.insert(key, serde_json::from_str(raw).unwrap_or(Value::Null));
        } else {
            let quotes = if value.is_string() { 2 } else { 0 };
            out.insert(format!("{key}_bytes"), Value::from(raw.len() - quotes));
        }
    }
    let mut out = Value::Object(out);
    // What several sources tell of one call is the same text, in whatever order each has its keys.
    out.sort_all_objects();
    out.to_string()
}
