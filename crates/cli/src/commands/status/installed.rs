//! What of Siglum is in place: in this repository and in the settings of agents.

use std::path::Path;

use siglum_agents::{AGENTS, AgentSpec, InstallState};
use siglum_gitstore::Repo;
use siglum_gitstore::hooks::{self, HookCondition, HookState};

use super::field;
use crate::cx::Cx;
use crate::env;
use crate::error::CommandError;
use crate::ui::{self, Style};

/// What of Siglum is in place.
pub struct Installed {
    /// The checkout that we stand in.
    pub repository: Option<String>,
    /// Whether Siglum is on in it.
    pub on: bool,
    /// Whether sessions are recorded everywhere.
    pub everywhere: bool,
    /// Whether recording is allowed by the settings.
    pub recording: bool,
    /// The hooks of git, by name.
    pub hooks: Vec<HookState>,
    /// The agents, each with how its hooks stand in words, and whether they are in place.
    pub agents: Vec<(&'static AgentSpec, String, bool)>,
    /// Whether the program that hooks call is there.
    pub program: bool,
}

impl Installed {
    /// Whether everything that records is in place.
    pub fn sound(&self) -> bool {
        self.program && self.git_sound() && self.agents.iter().any(|(_, _, good)| *good)
    }

    fn git_sound(&self) -> bool {
        let good = |hook: &HookState| hook.state == HookCondition::Current;
        self.hooks.iter().all(good)
    }
}

/// Looks at what is in place.
pub fn installed(cx: &Cx) -> Result<Installed, CommandError> {
    let repo = cx.find_repo();
    let on = repo.as_ref().is_some_and(Repo::is_on);
    let shim = cx.home.shim();
    let hooks = match &repo {
        Some(repo) if on => hooks::inspect(&cx.hook_site(repo)?, &shim),
        _ => Vec::new(),
    };
    Ok(Installed {
        repository: repo.as_ref().map(|r| r.place.worktree.clone()),
        on,
        everywhere: cx.home.everywhere().exists(),
        recording: cx.config.get("record") != "false",
        hooks,
        agents: AGENTS
            .iter()
            .map(|agent| of_agent(agent, &shim, repo.as_ref()))
            .collect(),
        program: shim.exists(),
    })
}

fn of_agent(
    agent: &'static AgentSpec,
    shim: &Path,
    repo: Option<&Repo>,
) -> (&'static AgentSpec, String, bool) {
    let files = match env::settings_in(agent, repo.map(Repo::worktree)) {
        Ok(files) => files,
        Err(error) => return (agent, error.to_string(), false),
    };
    let shown = Cx::tilde(&files[0].path);
    let state = (agent.inspect)(&files, &shim.to_string_lossy());
    match state {
        Ok(InstallState::Current) => (agent, format!("hooks installed in {shown}"), true),
        Ok(InstallState::Missing) => (agent, format!("no hooks in {shown}"), false),
        Ok(InstallState::Partial(lacking)) => {
            let text = format!("hooks missing in {shown}: {}", lacking.join(", "));
            (agent, text, false)
        }
        Ok(InstallState::OtherShim(other)) => {
            (agent, format!("hooks in {shown} call {other}"), false)
        }
        Ok(InstallState::Untrusted(events)) => {
            let text = format!(
                "hooks in {shown} not trusted: {}; `siglum init` repairs it",
                events.join(", ")
            );
            (agent, text, false)
        }
        Ok(InstallState::SwitchedOff { setting, path }) => {
            let path = Cx::tilde(&path);
            let text = format!("hooks in {shown} are disabled by `{setting}` in {path}");
            (agent, text, false)
        }
        Err(error) => (agent, error.to_string(), false),
    }
}

/// The word for how a hook of git stands.
pub const fn condition(state: HookCondition) -> &'static str {
    match state {
        HookCondition::Missing | HookCondition::NotPassedOn | HookCondition::NotLinked => "missing",
        HookCondition::Current => "in place",
        HookCondition::Outdated => "out of date",
        HookCondition::OtherShim => "calls another program",
        HookCondition::NotExecutable => "not executable",
    }
}

/// Says what is in place.
pub fn print(cx: &Cx, installed: &Installed) -> Result<(), CommandError> {
    let ui = &cx.ui;
    let place = installed
        .repository
        .as_ref()
        .map(|r| Cx::tilde(Path::new(r)));
    ui.line(match (&place, installed.on) {
        (Some(place), true) => format!("Siglum is {} in {place}.", ui.paint(Style::Added, "on")),
        (Some(place), false) => {
            format!("Siglum is {} in {place}.", ui.paint(Style::Warning, "off"))
        }
        (None, _) => "Not a git repository.".to_owned(),
    })?;
    if installed.everywhere {
        ui.line("Sessions are recorded everywhere on this machine.")?;
    }
    if !installed.recording {
        let text = "Recording is off by a setting; `siglum config list` shows which.";
        ui.line(ui.paint(Style::Warning, text))?;
    }
    if !installed.program && installed.on {
        let text = format!(
            "{}, which the hooks call, is missing.",
            Cx::tilde(&cx.home.shim())
        );
        ui.line(ui.paint(Style::Warning, text))?;
    }
    ui.line("")?;
    let room = ui.width().saturating_sub(14).max(40);
    let styled = |text: &str, good: bool| {
        let text = ui::one_line(text, room);
        if good {
            text
        } else {
            ui.paint(Style::Warning, text)
        }
    };
    if installed.on {
        field(cx, "git", styled(&git(installed), installed.git_sound()))?;
    }
    for (agent, text, good) in &installed.agents {
        // `siglum agents` lists those that are not on this machine.
        if !good && !env::agent_dir(agent).is_dir() {
            continue;
        }
        field(cx, agent.title, styled(text, *good))?;
    }
    Ok(())
}

fn git(installed: &Installed) -> String {
    if installed.git_sound() {
        return "hooks installed".to_owned();
    }
    let bad = installed
        .hooks
        .iter()
        .filter(|h| h.state != HookCondition::Current)
        .map(|h| format!("{} {}", h.name, condition(h.state)));
    format!("hooks: {}", bad.collect::<Vec<_>>().join(", "))
}
