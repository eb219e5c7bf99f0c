//! Gemini CLI's tools: what they do, what of their input is kept, and which calls are alike.

use std::path::{Path, PathBuf};

use siglum_domain::observation::ToolClass;
use siglum_domain::redact::Redactor;

use super::wire::ToolInput;
use crate::hook::BODY_LIMIT;
use crate::json::Field;
use crate::paths::normal;
use crate::summary;

/// Fields of edit tools that are no content.
const PLAIN: &[&str] = &["file_path"];
/// How many digits of a digest name calls that are alike.
const DIGITS: usize = 16;

/// What a tool of this name does, here or in a fork.
pub(crate) fn class(tool: &str) -> ToolClass {
    match tool {
        "write_file" | "replace" | "edit" => ToolClass::Edit,
        "run_shell_command" => ToolClass::Shell,
        "invoke_agent" | "agent" => ToolClass::Agent,
        _ => ToolClass::Other,
    }
}

/// The file that an edit tool's input names, absolute where that can be told.
pub(crate) fn edited(input: Field<'_>, cwd: Option<&str>) -> Option<PathBuf> {
    let path = input.object::<ToolInput<'_>>().file_path.text()?;
    let usable = !path.is_empty() && path.len() <= 4096 && !path.contains('\0');
    usable.then(|| normal(&Path::new(cwd.unwrap_or_default()).join(&*path)))
}

/// The input as short JSON: long values become their size, and so does all content of an edit.
pub(crate) fn summary(class: ToolClass, input: Field<'_>) -> String {
    summary::summarize(class, input, PLAIN)
}

/// The name of all calls that do the same: of one tool with one command, on one file, or with one
/// input. It tells no secret, since it is made of what is left after redaction.
pub(super) fn likeness(
    tool: &str,
    class: ToolClass,
    input: Field<'_>,
    redactor: &Redactor,
) -> String {
    let known: ToolInput<'_> = input.object();
    let subject = match class {
        ToolClass::Shell => known.command,
        ToolClass::Edit => known.file_path,
        ToolClass::Agent | ToolClass::Other => Field::default(),
    };
    let subject = subject
        .text()
        .filter(|text| text.len() <= BODY_LIMIT)
        .map_or_else(|| summary(class, input), std::borrow::Cow::into_owned);
    digest_of_likeness(tool, &subject, redactor)
}

/// The name of all calls of a tool that do something to one subject.
pub(crate) fn digest_of_likeness(tool: &str, subject: &str, redactor: &Redactor) -> String {
    let subject = redactor.redact_cow(subject);
    let mut hasher = blake3::Hasher::new();
    hasher.update(tool.as_bytes());
    hasher.update(b"\0");
    hasher.update(subject.as_bytes());
    hasher.finalize().to_hex()[..DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(tool: &str, input: &str) -> String {
        let raw: &serde_json::value::RawValue = serde_json::from_str(input).expect("JSON");
        likeness(tool, class(tool), Field::from(raw), Redactor::shared())
    }

    #[test]
    fn calls_that_do_the_same_are_alike() {
        let shell = "run_shell_command";
        let one = summary(shell, r#"{"command":"ls","description":"a"}"#);
        assert_eq!(one.len(), DIGITS);
        assert_eq!(
            summary(shell, r#"{"description":"b","command":"l\u0073"}"#),
            one
        );
        assert_ne!(summary(shell, r#"{"command":"ls -l"}"#), one);
        assert_ne!(summary("write_file", r#"{"command":"ls"}"#), one);
        let edit = summary(
            "replace",
            r#"{"file_path":"/r/a","old_string":"a","new_string":"b"}"#,
        );
        assert_eq!(
            summary("replace", r#"{"file_path":"/r/a","old_string":"c"}"#),
            edit
        );
        assert_ne!(summary("replace", r#"{"file_path":"/r/b"}"#), edit);
        let other = summary("invoke_agent", r#"{"agent_name":"a","prompt":"p"}"#);
        assert_eq!(
            summary("invoke_agent", r#"{"prompt":"p","agent_name":"a"}"#),
            other
        );
        assert_ne!(
            summary("invoke_agent", r#"{"prompt":"q","agent_name":"a"}"#),
            other
        );
        assert_eq!(summary("x", "null").len(), DIGITS);
    }

    #[test]
    fn a_command_that_is_too_large_is_alike_by_its_size() {
        let long = |c: &str| format!(r#"{{"command":"{}"}}"#, c.repeat(BODY_LIMIT + 1));
        assert_eq!(
            summary("run_shell_command", &long("a")),
            summary("run_shell_command", &long("b"))
        );
    }
}
