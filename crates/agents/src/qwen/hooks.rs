//! Our hooks in `~/.qwen/settings.json`.
//!
//! Not hooked: `PostToolBatch` repeats the calls that it ends; `PreCompact` comes before the context is compacted, if it is, and
//! what `PostCompact` says stands in the transcript.

use crate::command_hooks::{CommandHooks, Hooked, switched_off};
use crate::install::{InstallState, SettingsError, SettingsFile};
use crate::known::QWEN;

/// Which tool calls are reported.
const TOOLS: &str = "^(run_shell_command|write_file|edit|agent)$";

/// The hooks; the timeout is in milliseconds, for which versions that count in seconds take numbers from 1000 on.
pub(super) const HOOKS: CommandHooks = CommandHooks {
    arguments: QWEN.name,
    hooked: &[
        Hooked::plain("SessionStart"),
        Hooked::plain("SessionEnd"),
        Hooked::plain("UserPromptSubmit"),
        Hooked::tool("PreToolUse", TOOLS),
        Hooked::tool("PostToolUse", TOOLS),
        Hooked::tool("PostToolUseFailure", TOOLS),
        Hooked::plain("Stop"),
        Hooked::plain("StopFailure"),
        Hooked::plain("SubagentStart"),
        Hooked::plain("SubagentStop"),
    ],
    timeout: 10_000,
};

/// The setting that switches all hooks off.
const OFF: &str = "disableAllHooks";

/// What of our hooks the settings hold. They may be there and yet be switched off, by a person's own settings or by those
/// of the checkout, which come first.
pub(super) fn inspect(files: &[SettingsFile], shim: &str) -> Result<InstallState, SettingsError> {
    let state = HOOKS.inspect_first(files, shim)?;
    if state != InstallState::Current {
        return Ok(state);
    }
    Ok(switched_off(files.iter().rev(), OFF).unwrap_or(state))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    const SHIM: &str = "/home/dev/.local/share/siglum/bin/siglum";

    fn file(path: &str, text: Option<&str>) -> SettingsFile {
        SettingsFile {
            path: PathBuf::from(path),
            text: text.map(str::to_owned),
        }
    }

    fn installed(text: &str) -> SettingsFile {
        let own = file("/home/dev/.qwen/settings.json", Some(text));
        let mut texts = HOOKS
            .install_first(std::slice::from_ref(&own), SHIM)
            .expect("settings");
        let text = texts.remove(0);
        SettingsFile { text, ..own }
    }

    #[test]
    fn hooks_are_added_and_taken_out_again() {
        for text in ["{}\n", "{\n  \"general\": {} // mine\n}\n"] {
            let after = installed(text);
            let state = inspect(std::slice::from_ref(&after), SHIM);
            assert_eq!(state, Ok(InstallState::Current));
            let removed = HOOKS.remove_first(&[after], SHIM);
            assert_eq!(removed, Ok(vec![Some(text.to_owned())]));
        }
    }

    #[test]
    fn hooks_that_are_switched_off_are_no_hooks() {
        let check = |own: &str, checkout: Option<&str>, expected: Option<&str>| {
            let files = [installed(own), file("/repo/.qwen/settings.json", checkout)];
            let state = inspect(&files, SHIM).expect("settings");
            let path = match state {
                InstallState::SwitchedOff { path, .. } => Some(path),
                _ => None,
            };
            assert_eq!(path, expected.map(PathBuf::from), "{own} {checkout:?}");
        };
        let (own, repo) = ("/home/dev/.qwen/settings.json", "/repo/.qwen/settings.json");
        let (on, off) = (
            "{\"disableAllHooks\": false}\n",
            "{\"disableAllHooks\": true}\n",
        );
        check("{}\n", None, None);
        check(on, None, None);
        check(off, None, Some(own));
        check(off, Some(on), None);
        check(on, Some(off), Some(repo));
        check("{}\n", Some("not JSON"), None);
        check("{\"disableAllHooks\": 7}\n", None, None);
    }
}
