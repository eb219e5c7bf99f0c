//! Our hooks in `~/.gemini/settings.json`.
//!
//! Not hooked: `BeforeModel`, `AfterModel` and `BeforeToolSelection` carry the whole conversation, and
//! `PreCompress` comes before every call of the model, compressed or not.

use jsonc_parser::ast::Value;

use crate::command_hooks::{CommandHooks, Hooked, member, parse, quote};
use crate::install::{InstallState, SettingsError, SettingsFile};
use crate::known::GEMINI;

/// Which tool calls are reported.
const TOOLS: &str = "^(run_shell_command|write_file|replace|edit|invoke_agent)$";

/// The hooks; the timeout is in milliseconds.
pub(super) const HOOKS: CommandHooks = CommandHooks {
    arguments: GEMINI.name,
    hooked: &[
        Hooked::plain("SessionStart"),
        Hooked::plain("SessionEnd"),
        Hooked::plain("BeforeAgent"),
        Hooked::plain("AfterAgent"),
        Hooked::tool("BeforeTool", TOOLS),
        Hooked::tool("AfterTool", TOOLS),
    ],
    timeout: 10_000,
};

/// What of our hooks the settings hold. They may be there and yet be switched off: all hooks, or those
/// with our command.
pub(super) fn inspect(files: &[SettingsFile], shim: &str) -> Result<InstallState, SettingsError> {
    let state = HOOKS.inspect_first(files, shim)?;
    let off = |file: &&SettingsFile| file.text.as_deref().is_some_and(|text| is_off(text, shim));
    match files.first().filter(off) {
        Some(file) if state == InstallState::Current => Ok(InstallState::SwitchedOff {
            setting: "hooksConfig",
            path: file.path.clone(),
        }),
        _ => Ok(state),
    }
}

fn is_off(settings: &str, shim: &str) -> bool {
    let Ok(Some(Value::Object(root))) = parse(settings) else {
        return false;
    };
    let Some(Value::Object(config)) = member(&root, "hooksConfig").map(|m| &m.value) else {
        return false;
    };
    let enabled = member(config, "enabled").map(|m| &m.value);
    if matches!(enabled, Some(Value::BooleanLit(lit)) if !lit.value) {
        return true;
    }
    let Some(Value::Array(disabled)) = member(config, "disabled").map(|m| &m.value) else {
        return false;
    };
    let ours = format!("{} hook {}", quote(shim), GEMINI.name);
    disabled
        .elements
        .iter()
        .any(|name| matches!(name, Value::StringLit(lit) if lit.value == ours))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    const SHIM: &str = "/home/dev/.local/share/siglum/bin/siglum";

    fn file(text: &str) -> SettingsFile {
        SettingsFile {
            path: PathBuf::from("/home/dev/.gemini/settings.json"),
            text: Some(text.to_owned()),
        }
    }

    fn installed(text: &str) -> SettingsFile {
        let mut texts = HOOKS.install_first(&[file(text)], SHIM).expect("settings");
        file(&texts.remove(0).expect("a text"))
    }

    #[test]
    fn hooks_are_added_and_taken_out_again() {
        for text in ["{}\n", "{\n  \"general\": {} // mine\n}\n"] {
            let after = installed(text);
            assert_eq!(
                inspect(std::slice::from_ref(&after), SHIM),
                Ok(InstallState::Current)
            );
            let removed = HOOKS.remove_first(&[after], SHIM);
            assert_eq!(removed, Ok(vec![Some(text.to_owned())]));
        }
        assert_eq!(inspect(&[file("{}")], SHIM), Ok(InstallState::Missing));
    }

    #[test]
    fn hooks_that_are_switched_off_are_no_hooks() {
        let check = |config: &str, off: bool| {
            let text = format!("{{\n  \"hooksConfig\": {config}\n}}\n");
            let state = inspect(&[installed(&text)], SHIM).expect("settings");
            assert_eq!(
                matches!(state, InstallState::SwitchedOff { .. }),
                off,
                "{config}"
            );
        };
        check("{\"enabled\": false}", true);
        check("{\"enabled\": true}", false);
        check("{\"disabled\": [\"other\"]}", false);
        check(
            &format!("{{\"disabled\": [\"x\", \"{SHIM} hook gemini\"]}}"),
            true,
        );
        check("7", false);
    }
}
