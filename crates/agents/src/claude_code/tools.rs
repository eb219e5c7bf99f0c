//! Claude Code's tools: what they do, and what of their input is kept.

use std::path::{Path, PathBuf};

use siglum_domain::observation::ToolClass;

use super::wire::ToolInput;
use crate::json::Field;
use crate::paths::normal;
use crate::summary;

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
    summary::summarize(class, input, PLAIN)
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
