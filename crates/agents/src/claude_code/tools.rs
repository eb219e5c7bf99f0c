//! Claude Code's tools: what they do, and what of their input is kept.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use siglum_domain::observation::ToolClass;

use super::wire::ToolInput;
use crate::json::Field;
use crate::paths::normal;

/// Longest value that a summary of an input keeps, in bytes of JSON.
const SHORT: usize = 160;
/// Most fields that a summary of an input keeps.
const FIELDS: usize = 16;
/// Fields of edit tools that are no content.
const PLAIN: &[&str] = &[
    "file_path",
    "notebook_path",
    "cell_id",
    "cell_type",
    "edit_mode",
];

/// What a tool of this name does.
pub(super) fn class(tool: &str) -> ToolClass {
    match tool {
        "Write" | "Edit" | "MultiEdit" | "NotebookEdit" => ToolClass::Edit,
        "Bash" => ToolClass::Shell,
        "Task" | "Agent" => ToolClass::Agent,
        _ => ToolClass::Other,
    }
}

/// The file that an edit tool's input names, absolute where that can be told.
pub(super) fn edited(input: Field<'_>, cwd: Option<&str>) -> Option<PathBuf> {
    let input: ToolInput<'_> = input.object();
    let path = input
        .file_path
        .text()
        .or_else(|| input.notebook_path.text())?;
    let usable = !path.is_empty() && path.len() <= 4096 && !path.contains('\0');
    usable.then(|| normal(&Path::new(cwd.unwrap_or_default()).join(&*path)))
}

/// The input as short JSON: long values become their size, and so does all content of an edit.
pub(super) fn summary(class: ToolClass, input: Field<'_>) -> String {
    let mut out = Map::new();
    for (key, value) in input.entries().into_iter().take(FIELDS) {
        let raw = value.raw().unwrap_or("null");
        let content = class == ToolClass::Edit
            && !raw.starts_with(|c: char| c.is_ascii_digit() || matches!(c, 't' | 'f' | 'n'));
        let kept = if content {
            PLAIN.contains(&key.as_str()) && raw.len() <= 4096
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
    Value::Object(out).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(class: ToolClass, input: &str, expected: &str) {
        let raw: &serde_json::value::RawValue = serde_json::from_str(input).expect("JSON");
        assert_eq!(summary(class, Field::from(raw)), expected);
    }

    #[test]
    fn no_content_of_an_edit_is_kept() {
        check(
            ToolClass::Edit,
            r#"{"file_path":"/r/a","content":"hi\n"}"#,
            r#"{"content_bytes":4,"file_path":"/r/a"}"#,
        );
        check(
            ToolClass::Edit,
            r#"{"file_path":"/r/a","old_string":"a","new_string":"","replace_all":false,"edits":[{"x":"y"}]}"#,
            r#"{"edits_bytes":11,"file_path":"/r/a","new_string_bytes":0,"old_string_bytes":1,"replace_all":false}"#,
        );
    }

    #[test]
    fn long_values_of_other_tools_become_sizes() {
        let long = format!(
            r#"{{"prompt":"{}","description":"d","n":[1]}}"#,
            "x".repeat(500)
        );
        check(
            ToolClass::Agent,
            &long,
            r#"{"description":"d","n":[1],"prompt_bytes":500}"#,
        );
        check(ToolClass::Other, "null", "{}");
        check(ToolClass::Other, "[1]", "{}");
    }
}
