//! Our hooks in `~/.claude/settings.json`.

use jsonc_parser::ast::Value;

use crate::command_hooks::{CommandHooks, Hooked, member, parse};
use crate::install::{InstallState, SettingsError, SettingsFile};
use crate::known::CLAUDE_CODE;

/// Which tool calls are reported.
const TOOLS: &str = "Bash|Write|Edit|MultiEdit|NotebookEdit|Task|Agent";

/// The hooks; the timeout is in seconds.
pub(crate) const HOOKS: CommandHooks = CommandHooks {
    agent: CLAUDE_CODE.name,
    hooked: &[
        Hooked::plain("SessionStart"),
        Hooked::plain("SessionEnd"),
        Hooked::plain("UserPromptSubmit"),
        Hooked::tool("PreToolUse", TOOLS),
        Hooked::tool("PostToolUse", TOOLS),
        Hooked::tool("PostToolUseFailure", TOOLS),
        Hooked::plain("Stop"),
        Hooked::plain("SubagentStart"),
        Hooked::plain("SubagentStop"),
        Hooked::plain("PreCompact"),
        Hooked::plain("PostCompact"),
    ],
    timeout: 10,
};

/// What of our hooks the settings hold. They may be there and yet be switched off: all hooks, in any of the files, or all
/// but those of the administrator, in the managed one.
pub(super) fn inspect(files: &[SettingsFile], shim: &str) -> Result<InstallState, SettingsError> {
    let state = HOOKS.inspect_first(files, shim)?;
    if state != InstallState::Current {
        return Ok(state);
    }
    for (n, file) in files.iter().enumerate() {
        let text = file.text.as_deref().unwrap_or_default();
        let settings = ["disableAllHooks", "allowManagedHooksOnly"];
        let told = if n == 0 {
            &settings[..1]
        } else {
            &settings[..]
        };
        if let Some(setting) = told.iter().find(|setting| is_on(text, setting)) {
            return Ok(InstallState::SwitchedOff {
                setting,
                path: file.path.clone(),
            });
        }
    }
    Ok(state)
}

fn is_on(settings: &str, name: &str) -> bool {
    let Ok(Some(Value::Object(root))) = parse(settings) else {
        return false;
    };
    let value = member(&root, name).map(|m| &m.value);
    matches!(value, Some(Value::BooleanLit(lit)) if lit.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_switch_hooks_off_are_named_with_their_file() {
        let file = |name: &str, text: Option<String>| SettingsFile {
            path: name.into(),
            text,
        };
        let own = [file("own", None), file("managed", None)];
        let plan = HOOKS.install_first(&own, "/siglum").expect("a plan");
        let hooks = plan[0].clone().expect("a text");
        let state = |own: &str, managed: &str| {
            let own = hooks.replacen('{', &format!("{{{own}"), 1);
            let files = [
                file("own", Some(own)),
                file("managed", Some(managed.to_owned())),
            ];
            inspect(&files, "/siglum").expect("a state")
        };
        let off = |setting, name: &str| InstallState::SwitchedOff {
            setting,
            path: name.into(),
        };
        let all = "\"disableAllHooks\": true";
        assert_eq!(state("", "{}"), InstallState::Current);
        assert_eq!(state(&format!("{all},"), ""), off("disableAllHooks", "own"));
        assert_eq!(
            state("", &format!("{{{all}}}")),
            off("disableAllHooks", "managed")
        );
        let managed = "{ \"allowManagedHooksOnly\": true }";
        assert_eq!(state("", managed), off("allowManagedHooksOnly", "managed"));
        assert_eq!(
            state("\"disableAllHooks\": false,", "no JSON"),
            InstallState::Current
        );
    }
}
