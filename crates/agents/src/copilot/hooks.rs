//! Our hooks in `~/.copilot/hooks/siglum.json`.
//!
//! Written in the form of Claude Code's, in which payloads name their event. Not hooked: `PreCompact` comes before the
//! context is compacted, if it is; `PermissionRequest` and `Notification` say nothing that other events do not.

use crate::command_hooks::{CommandHooks, Hooked, switched_off};
use crate::install::{InstallState, SettingsError, SettingsFile};

/// Which tool calls are reported: by the names that Claude Code has for them, and by the agent's own.
const TOOLS: &str =
    "Bash|bash|powershell|Write|create|Edit|edit|str_replace_editor|apply_patch|Agent|Task|task";

/// The hooks; the timeout is in seconds. The agent refuses a tool whose hook fails: one that cannot even be started must not.
pub(super) const HOOKS: CommandHooks = CommandHooks {
    arguments: "copilot || exit 0",
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
    ],
    timeout: 10,
};

/// The setting that switches all hooks off.
const OFF: &str = "disableAllHooks";

/// What of our hooks the settings hold. They may be there and yet be switched off, by any of the files.
pub(super) fn inspect(files: &[SettingsFile], shim: &str) -> Result<InstallState, SettingsError> {
    let state = HOOKS.inspect_first(files, shim)?;
    if state != InstallState::Current {
        return Ok(state);
    }
    let off = |file| switched_off(std::iter::once(file), OFF);
    Ok(files.iter().find_map(off).unwrap_or(state))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::copilot::path;
    use crate::known::COPILOT;

    const SHIM: &str = "/home/dev/.local/share/siglum/bin/siglum";

    fn files(texts: &[Option<&str>]) -> Vec<SettingsFile> {
        let mut paths = path::settings(Path::new("/home/dev/.copilot"));
        paths.extend(path::other_settings(Some(Path::new("/repo"))));
        let texts = texts.iter().copied().chain(std::iter::repeat(None));
        paths
            .into_iter()
            .zip(texts)
            .map(|(path, text)| SettingsFile {
                path,
                text: text.map(str::to_owned),
            })
            .collect()
    }

    fn installed(texts: &[Option<&str>]) -> Vec<SettingsFile> {
        let before = files(texts);
        let after = HOOKS.install_first(&before, SHIM).expect("settings");
        let file = |(file, text): (SettingsFile, Option<String>)| SettingsFile { text, ..file };
        before.into_iter().zip(after).map(file).collect()
    }

    #[test]
    fn our_file_comes_and_goes() {
        let after = installed(&[]);
        assert_eq!(inspect(&after, SHIM), Ok(InstallState::Current));
        let text = after[0].text.as_deref().unwrap_or_default();
        assert!(text.contains("siglum hook copilot || exit 0"), "{text}");
        assert!(HOOKS.arguments.starts_with(COPILOT.name));
        assert_eq!(inspect(&files(&[]), SHIM), Ok(InstallState::Missing));
        assert_eq!(HOOKS.remove_first(&after, SHIM), Ok(vec![None; 5]));
    }

    #[test]
    fn hooks_that_are_switched_off_are_no_hooks() {
        let (on, off) = (
            "{\"disableAllHooks\": false}",
            "// for now\n{\"disableAllHooks\": true}",
        );
        let cases: [(&[Option<&str>], Option<&str>); 5] = [
            (&[None, Some(on)], None),
            (&[None, Some(off)], Some("/home/dev/.copilot/settings.json")),
            (
                &[None, Some(on), Some(off)],
                Some("/home/dev/.copilot/config.json"),
            ),
            (
                &[None, None, None, Some(off)],
                Some("/repo/.github/copilot/settings.local.json"),
            ),
            (&[None, Some("not JSON")], None),
        ];
        for (texts, expected) in cases {
            let state = inspect(&installed(texts), SHIM).expect("settings");
            let path = match state {
                InstallState::SwitchedOff { path, .. } => Some(path),
                _ => None,
            };
            assert_eq!(path.as_deref(), expected.map(Path::new), "{texts:?}");
        }
    }
}
