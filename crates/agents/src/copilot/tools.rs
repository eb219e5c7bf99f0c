//! Copilot CLI's tools, by their own names and by those of Claude Code, under which some hooks tell them.

use std::path::{Path, PathBuf};

use siglum_domain::observation::ToolClass;
use siglum_domain::redact::Redactor;

use super::wire::ToolInput;
use crate::gemini::tools::digest_of_likeness;
use crate::hook::BODY_LIMIT;
use crate::json::Field;
use crate::paths::normal;
use crate::summary;

/// Fields of edit tools that are no content.
const PLAIN: &[&str] = &["path", "file_path"];

/// What a tool of this name does.
pub(super) fn class(tool: &str) -> ToolClass {
    match tool {
        "create" | "edit" | "str_replace_editor" | "apply_patch" | "Write" | "Edit" => {
            ToolClass::Edit
        }
        "bash" | "powershell" | "Bash" => ToolClass::Shell,
        "task" | "Task" | "Agent" => ToolClass::Agent,
        _ => ToolClass::Other,
    }
}

/// The file that an edit tool's input names, absolute where that can be told.
pub(super) fn edited(input: Field<'_>, cwd: Option<&str>) -> Option<PathBuf> {
    let path = input.object::<ToolInput<'_>>().path().text()?;
    let usable = !path.is_empty() && path.len() <= 4096 && !path.contains('\0');
    usable.then(|| normal(&Path::new(cwd.unwrap_or_default()).join(&*path)))
}

/// The input as short JSON: long values become their size, and so does all content of an edit.
pub(super) fn summary(class: ToolClass, input: Field<'_>) -> String {
    summary::summarize(class, input, PLAIN)
}

/// The name of all calls that do the same: with one command, on one file, or with one input. The tool's name is left out
/// of it where it may be told in two ways.
pub(super) fn likeness(
    tool: &str,
    class: ToolClass,
    input: Field<'_>,
    redactor: &Redactor,
) -> String {
    let known: ToolInput<'_> = input.object();
    let (tool, subject) = match class {
        ToolClass::Shell => ("shell", known.command),
        ToolClass::Edit => ("edit", known.path()),
        ToolClass::Agent => ("agent", Field::default()),
        ToolClass::Other => (tool, Field::default()),
    };
    let subject = subject
        .text()
        .filter(|text| text.len() <= BODY_LIMIT)
        .map_or_else(|| summary(class, input), std::borrow::Cow::into_owned);
    digest_of_likeness(tool, &subject, redactor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(tool: &str, input: &str) -> String {
        let raw: &serde_json::value::RawValue = serde_json::from_str(input).expect("JSON");
        likeness(tool, class(tool), Field::from(raw), Redactor::shared())
    }

    #[test]
    fn a_call_is_like_itself_under_both_of_its_names() {
        for (own, other, input) in [
            ("bash", "Bash", r#"{"command":"ls","description":"x"}"#),
            ("create", "Write", r#"{"path":"/r/a","file_text":"x"}"#),
            ("task", "Agent", r#"{"prompt":"p"}"#),
        ] {
            assert_eq!(like(own, input), like(other, input), "{own}");
        }
        let ls = like("bash", r#"{"command":"ls"}"#);
        assert_ne!(ls, like("bash", r#"{"command":"ls -l"}"#));
        assert_ne!(like("view", "{}"), like("glob", "{}"));
    }
}
