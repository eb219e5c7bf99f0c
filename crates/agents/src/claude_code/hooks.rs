//! Our hooks in `~/.claude/settings.json`.
//!
//! Never hooked: a hook of `WorktreeCreate` makes the worktree in the agent's place.

use crate::command_hooks::{CommandHooks, Hooked, switched_off};
use crate::install::{InstallState, SettingsError, SettingsFile};
use crate::known::CLAUDE_CODE;

use super::path::is_managed;

/// Which tool calls are reported.
const TOOLS: &str = "Bash|Write|Edit|MultiEdit|NotebookEdit|Task|Agent";

/// The hooks; the timeout is in seconds.
pub(crate) const HOOKS: CommandHooks = CommandHooks {
    arguments: CLAUDE_CODE.name,
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
        Hooked::plain("StopFailure"),
        Hooked::plain("CwdChanged"),
    ],
    timeout: 10,
};

/// What of our hooks the settings hold. They may be there and yet be switched off: all hooks, by the file that has the
/// last word on it, or all but those of the administrator, in the administrator's files.
pub(super) fn inspect(files: &[SettingsFile], shim: &str) -> Result<InstallState, SettingsError> {
    let state = HOOKS.inspect_first(files, shim)?;
    if state != InstallState::Current {
        return Ok(state);
    }
    let (managed, own): (Vec<_>, Vec<_>) = files.iter().partition(|f| is_managed(&f.path));
    let parts = |f: &&&SettingsFile| !f.path.ends_with("managed-settings.json");
    let (parts, whole): (Vec<_>, Vec<_>) = managed.iter().copied().partition(|f| parts(&f));
    // The agent's own settings come first in the list, and give way to those of the checkout.
    let own = own.iter().skip(1).chain(own.first()).copied();
    let managed = || parts.iter().chain(&whole).copied();
    let only_managed = switched_off(managed(), "allowManagedHooksOnly");
    let all = || switched_off(managed().chain(own), "disableAllHooks");
    Ok(only_managed.or_else(all).unwrap_or(state))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_that_switches_hooks_off_is_named() {
        let off = |setting, path: &str| InstallState::SwitchedOff {
            setting,
            path: path.into(),
        };
        let (all, only) = ("disableAllHooks", "allowManagedHooksOnly");
        let (own, local) = (
            "/home/.claude/settings.json",
            "/repo/.claude/settings.local.json",
        );
        let (project, managed) = ("/repo/.claude/settings.json", "/etc/managed-settings.json");
        let part = "/etc/managed-settings.d/10.json";
        /// A settings file, a switch in it, and how it stands.
        type Switch<'a> = (&'a str, &'a str, bool);
        let cases: &[(&[Switch<'_>], InstallState)] = &[
            (&[], InstallState::Current),
            (&[(own, all, true)], off(all, own)),
            (&[(project, all, true)], off(all, project)),
            (&[(local, all, true)], off(all, local)),
            (&[(managed, all, true)], off(all, managed)),
            (&[(part, all, true)], off(all, part)),
            (&[(part, only, true)], off(only, part)),
            (&[(managed, only, true)], off(only, managed)),
            (&[(own, all, false)], InstallState::Current),
            // The one with the last word decides.
            (
                &[(own, all, true), (project, all, false)],
                InstallState::Current,
            ),
            (
                &[(project, all, true), (local, all, false)],
                InstallState::Current,
            ),
            (
                &[(local, all, true), (managed, all, false)],
                InstallState::Current,
            ),
            (
                &[(managed, only, true), (part, only, false)],
                InstallState::Current,
            ),
            // Only an administrator says that.
            (
                &[(own, only, true), (local, only, true)],
                InstallState::Current,
            ),
        ];
        for (given, expected) in cases {
            let state = inspect(&settings(given), "/siglum").expect("a state");
            assert_eq!(state, *expected, "{given:?}");
        }
        let mut files = settings(&[]);
        files[1].text = Some("no JSON".to_owned());
        assert_eq!(inspect(&files, "/siglum"), Ok(InstallState::Current));
    }

    /// Our hooks, and in each file what is given for it.
    fn settings(given: &[(&str, &str, bool)]) -> Vec<SettingsFile> {
        let paths = [
            "/home/.claude/settings.json",
            "/etc/managed-settings.json",
            "/etc/managed-settings.d/10.json",
            "/repo/.claude/settings.local.json",
            "/repo/.claude/settings.json",
        ];
        let text = |path: &str| {
            let mine = given.iter().filter(|(of, _, _)| *of == path);
            let flags: Vec<_> = mine
                .map(|(_, name, on)| format!("\"{name}\": {on}"))
                .collect();
            (!flags.is_empty()).then(|| format!("{{ {} }}", flags.join(", ")))
        };
        let file = |path: &str| SettingsFile {
            path: path.into(),
            text: text(path),
        };
        let mut files = paths.map(file).to_vec();
        let plan = HOOKS.install_first(&files, "/siglum").expect("a plan");
        files[0].text.clone_from(&plan[0]);
        files
    }
}
