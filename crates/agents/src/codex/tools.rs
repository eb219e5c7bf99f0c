//! Codex's tools: what they do, and what of their input is kept.

use serde_json::json;
use siglum_domain::observation::ToolClass;

use super::patch::{self, Change};

/// The shell, as hooks call it; transcripts have other names for it.
pub(super) const SHELL: &str = "Bash";
/// The tool that edits.
pub(super) const EDIT: &str = "apply_patch";
/// Most files that a summary of a patch names.
const FILES: usize = 100;

/// What a tool of this name does.
pub(super) fn class(tool: &str) -> ToolClass {
    match tool {
        SHELL => ToolClass::Shell,
        EDIT => ToolClass::Edit,
        _ if tool.ends_with("spawn_agent") => ToolClass::Agent,
        _ => ToolClass::Other,
    }
}

/// The name that hooks have for a tool of the model.
pub(super) fn hook_name(tool: &str) -> &str {
    match tool {
        "exec_command" | "shell" | "shell_command" | "local_shell" | "container.exec" => SHELL,
        other => other,
    }
}

/// A patch as short JSON: which files it changes, and its size. Nothing of its content.
pub(super) fn summary(text: &str, changes: &[Change<'_>]) -> String {
    let files: Vec<String> = changes
        .iter()
        .take(FILES)
        .map(patch::Change::summary_line)
        .collect();
    json!({"files": files, "patch_bytes": text.len()}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_known_by_both_names() {
        for tool in ["exec_command", "shell", "shell_command", "Bash"] {
            assert_eq!(class(hook_name(tool)), ToolClass::Shell, "{tool}");
        }
        assert_eq!(class("apply_patch"), ToolClass::Edit);
        assert_eq!(class("spawn_agent"), ToolClass::Agent);
        assert_eq!(class("collaborationspawn_agent"), ToolClass::Agent);
        assert_eq!(class("write_stdin"), ToolClass::Other);
        assert_eq!(class("exec"), ToolClass::Other);
    }

    #[test]
    fn no_content_of_a_patch_is_kept() {
        let text = "*** Begin Patch\n*** Add File: a\n+secret\n*** End Patch\n";
        let changes = patch::changes(text);
        assert_eq!(
            summary(text, &changes),
            r#"{"files":["A a"],"patch_bytes":54}"#
        );
    }
}
