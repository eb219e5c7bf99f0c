//! What `siglum init` is about to do, on one screen; the diff is for whoever asks for it.

use std::path::{Path, PathBuf};

use siglum_agents::AgentSpec;
use siglum_gitstore::hooks::{HOOKS, Plan};

use crate::cx::Cx;
use crate::error::CommandError;
use crate::settings_change::SettingsChange;
use crate::ui::{self, Style};

/// How many files are named.
const NAMED: usize = 3;

/// What is about to be done.
pub(super) struct Summary<'a> {
    pub(super) agents: &'a [&'static AgentSpec],
    pub(super) settings: &'a [SettingsChange],
    pub(super) plan: &'a Plan,
    /// The checkout, if it is one that is switched on.
    pub(super) worktree: Option<&'a Path>,
    /// Whether it is all repositories.
    pub(super) global: bool,
    /// Whether agents' commits get a trailer.
    pub(super) trailer: bool,
    /// Where agents are to send their own telemetry.
    pub(super) telemetry: Option<&'a str>,
    /// The names of what this repository's sessions leave for.
    pub(super) destinations: Vec<String>,
}

impl Summary<'_> {
    pub(super) fn show(&self, cx: &Cx) -> Result<(), CommandError> {
        cx.ui
            .line("Siglum records which agent's session makes each commit.")?;
        show_rows(cx, self.rows(cx))
    }

    fn rows(&self, cx: &Cx) -> Vec<(&'static str, String)> {
        let place = match (self.global, self.worktree) {
            (true, _) => "every repository that your agents work in".to_owned(),
            (false, Some(worktree)) => Cx::tilde(worktree),
            (false, None) => "no repository".to_owned(),
        };
        let trailer = match self.trailer {
            true => {
                "one line in the message of agents' commits, `Siglum-Checkpoint: chk_…`; none in yours"
            }
            false => "none: `trailer` is false",
        };
        vec![
            ("where", place),
            ("agents", self.agents_row()),
            ("git", self.git_row()),
            ("trailer", trailer.to_owned()),
            (
                "reads",
                "agents' hook events and transcripts (including earlier ones), and git's history"
                    .to_owned(),
            ),
            (
                "keeps",
                format!(
                    "prompts, responses, tool calls and file versions, without secrets, in {}",
                    Cx::tilde(cx.home.dir())
                ),
            ),
            ("sends", self.sends_row()),
            ("undo", "`siglum uninstall`".to_owned()),
        ]
    }

    fn sends_row(&self) -> String {
        let mut sent = Vec::new();
        if !self.destinations.is_empty() {
            let names = self.destinations.join(", ");
            sent.push(format!("the data in the scope of {names}"));
        }
        if let Some(gateway) = self.telemetry {
            sent.push(format!(
                "agents' own telemetry to {gateway}, without message content"
            ));
        }
        match sent.is_empty() {
            true => "nothing".to_owned(),
            false => sent.join("; "),
        }
    }

    fn agents_row(&self) -> String {
        let titles: Vec<&str> = self.agents.iter().map(|agent| agent.title).collect();
        let files = self.settings.iter().map(|change| change.path.clone());
        let changed = match files.len() {
            0 => "unchanged".to_owned(),
            _ => format!("hooks in {}", named(files)),
        };
        format!("{}: {changed}", titles.join(", "))
    }

    fn git_row(&self) -> String {
        if self.plan.obstacle.is_some() {
            return "no hooks, see below".to_owned();
        }
        match (changed_hooks(self.plan), self.worktree) {
            (Some(hooks), _) => hooks,
            (None, Some(_)) => "unchanged".to_owned(),
            (None, None) => "no hooks".to_owned(),
        }
    }
}

/// Writes the rows of a summary, between blank lines.
pub(in crate::commands) fn show_rows(
    cx: &Cx,
    rows: Vec<(&'static str, String)>,
) -> Result<(), CommandError> {
    let width = cx.ui.width().min(100);
    cx.ui.line("")?;
    for (name, text) in rows {
        let mut head = cx.ui.paint(Style::Heading, format!("  {name:<11}"));
        for line in ui::wrap(&text, width.saturating_sub(13)) {
            cx.ui.line(format!("{head}{line}"))?;
            head = " ".repeat(13);
        }
    }
    cx.ui.line("")
}

/// The hooks of git that change, if some do.
pub(in crate::commands) fn changed_hooks(plan: &Plan) -> Option<String> {
    let paths = plan.changes.iter().map(|change| change.path());
    let is_hook = |path: &&Path| {
        let name = path.file_name();
        name.is_some_and(|name| HOOKS.iter().any(|hook| *hook == name))
    };
    let hooks: Vec<&Path> = paths.filter(is_hook).collect();
    let dir = hooks.first()?.parent()?;
    let count = ui::plural(hooks.len() as u64, "hook");
    Some(format!("{count} in {}", Cx::tilde(dir)))
}

/// The first of some files.
pub(in crate::commands) fn named(files: impl Iterator<Item = PathBuf>) -> String {
    let files: Vec<String> = files.map(|path| Cx::tilde(&path)).collect();
    let (shown, rest) = files.split_at(files.len().min(NAMED));
    match rest.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
