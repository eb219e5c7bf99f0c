//! `siglum agents`: which agents are here, whether their hooks run, and what those do not report.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;
use siglum_agents::{
    AGENTS, AgentSpec, InstallState, KNOWN_AGENTS, SettingsError, Unreported, unrecorded_reason,
    unreported,
};
use siglum_domain::{AgentName, Timestamp};
use siglum_gitstore::Repo;
use siglum_ledger::{Order, SessionFilter, read};

use crate::clock;
use crate::cx::Cx;
use crate::env;
use crate::error::CommandError;
use crate::ui::{self, Cell, Style, Table};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.agents/1";

/// List agents: found, hooked, last seen, and what hooks omit
///
/// The agents that Siglum records, whether or not they are on this machine. FOUND says whether the agent has a directory in
/// your home, and HOOKS whether Siglum's hooks are in its settings and run. NOT REPORTED BY HOOKS lists what Siglum learns
/// from the agent's transcripts or processes instead.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  List the agents and the state of their hooks
    siglum agents

  Print it as JSON, with the settings files and explanations
    siglum agents --json")]
pub struct Args {}

/// One agent.
struct Row {
    agent: &'static AgentSpec,
    directory: PathBuf,
    hooks: Hooks,
    /// Where something was last heard of it.
    last_seen: Option<Timestamp>,
    /// How many days it keeps transcripts, where it deletes them.
    days: Option<u32>,
}

/// How our hooks stand in the settings of an agent.
struct Hooks {
    word: &'static str,
    /// What is wrong.
    detail: Option<String>,
    /// Whether the agent runs them as they are; absent where there are none that it could.
    trusted: Option<bool>,
    /// The main settings file.
    file: Option<PathBuf>,
}

impl Row {
    fn is_found(&self) -> bool {
        self.directory.is_dir()
    }
}

pub fn run(_: &Args, cx: &Cx) -> Result<(), CommandError> {
    let checkout = cx.find_repo();
    let seen = last_seen(cx)?;
    let rows: Vec<Row> = AGENTS
        .iter()
        .map(|agent| row(cx, agent, checkout.as_ref(), &seen))
        .collect();
    if cx.ui.json {
        return cx.ui.json(SCHEMA, json(&rows));
    }
    cx.ui.table(&table(&rows))?;
    cx.ui.line("")?;
    let mut others: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for name in recognised() {
        others
            .entry(unrecorded_reason(name))
            .or_default()
            .push(name);
    }
    let others = others.iter();
    let others = others.map(|(reason, names)| format!("{} ({reason})", names.join(", ")));
    let others = others.collect::<Vec<_>>().join("; ");
    let text = format!(
        "Recognised, but not recorded: {others}. `siglum record` records any agent; `siglum import --acp` imports the sessions of one that speaks the Agent Client Protocol."
    );
    for line in ui::wrap(&text, cx.ui.width().min(100)) {
        cx.ui.line(line)?;
    }
    let stands = |row: &Row| !row.is_found() || row.hooks.trusted == Some(true);
    if !rows.iter().all(stands) {
        cx.ui.hint(
            "Run `siglum doctor` to see why hooks do not run, and `siglum init` to install them.",
        );
    }
    Ok(())
}

/// The agents that are recognised and not recorded.
fn recognised() -> Vec<&'static str> {
    let names = KNOWN_AGENTS.iter().map(|known| known.name);
    names
        .filter(|name| siglum_agents::find(name).is_none())
        .collect()
}

/// When something was last heard of each agent.
fn last_seen(cx: &Cx) -> Result<BTreeMap<&'static str, Timestamp>, CommandError> {
    if !cx.has_ledger() {
        return Ok(BTreeMap::new());
    }
    let (mut ledger, _) = cx.settled()?;
    let seen = read(&mut ledger, |tx| {
        let mut seen = BTreeMap::new();
        for agent in AGENTS {
            let filter = SessionFilter {
                agent: AgentName::new(agent.name).ok(),
                order: Order::LastActive,
                limit: 1,
                ..SessionFilter::default()
            };
            let newest = tx.sessions(&filter)?.into_iter().next();
            seen.extend(newest.map(|session| (agent.name, session.record.last_at)));
        }
        Ok(seen)
    });
    Ok(seen?)
}

fn row(
    cx: &Cx,
    agent: &'static AgentSpec,
    checkout: Option<&Repo>,
    seen: &BTreeMap<&'static str, Timestamp>,
) -> Row {
    let files = env::settings_in(agent, checkout.map(Repo::worktree));
    let shim = cx.home.shim();
    let days = files.as_ref().ok().and_then(|f| (agent.retention_days)(f));
    let file = files.as_ref().ok().and_then(|f| f.first());
    let file = file.map(|file| file.path.clone());
    let state = files.and_then(|files| (agent.inspect)(&files, &shim.to_string_lossy()));
    Row {
        agent,
        directory: env::agent_dir(agent),
        hooks: Hooks {
            file,
            ..hooks(state)
        },
        last_seen: seen.get(agent.name).copied(),
        days,
    }
}

fn hooks(state: Result<InstallState, SettingsError>) -> Hooks {
    let (word, detail, trusted) = match state {
        Ok(InstallState::Current) => ("installed", None, Some(true)),
        Ok(InstallState::Missing) => ("none", None, None),
        Ok(InstallState::Partial(lacking)) => {
            let detail = format!("missing: {}", lacking.join(", "));
            ("partial", Some(detail), None)
        }
        Ok(InstallState::OtherShim(other)) => {
            ("other program", Some(format!("they call {other}")), None)
        }
        Ok(InstallState::Untrusted(events)) => {
            let detail = format!("not trusted: {}", events.join(", "));
            ("not trusted", Some(detail), Some(false))
        }
        Ok(InstallState::SwitchedOff { setting, path }) => {
            let detail = format!("`{setting}` in {}", Cx::tilde(&path));
            ("disabled", Some(detail), Some(false))
        }
        Err(error) => ("unreadable", Some(error.to_string()), None),
    };
    Hooks {
        word,
        detail,
        trusted,
        file: None,
    }
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(vec![
        "AGENT",
        "FOUND",
        "HOOKS",
        "LAST SEEN",
        "NOT REPORTED BY HOOKS",
    ]);
    let now = clock::now();
    for row in rows {
        let hooks = match (row.is_found(), row.hooks.word) {
            (_, "installed") => Cell::styled(Style::Added, "installed"),
            (false, "none") => Cell::styled(Style::Dim, "none"),
            (_, word) => Cell::styled(Style::Warning, word),
        };
        let last_seen = row.last_seen.map(|at| ui::age(at, now));
        let words: Vec<&str> = unreported_by(row.agent).iter().map(|u| u.word()).collect();
        table.row(vec![
            Cell::styled(Style::Agent, row.agent.title),
            Cell::plain(if row.is_found() { "yes" } else { "no" }),
            hooks,
            Cell::styled(Style::Time, last_seen.as_deref().unwrap_or("never")),
            Cell::plain(match words.is_empty() {
                true => "-".to_owned(),
                false => words.join(", "),
            }),
        ]);
    }
    table
}

fn unreported_by(agent: &AgentSpec) -> &'static [Unreported] {
    unreported(agent.name).unwrap_or_default()
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    agents: Vec<AgentJson>,
    /// Agents that are recognised, but not recorded, by name.
    recognised: Vec<String>,
    /// The same, each with the reason.
    not_recorded: Vec<NotRecordedJson>,
}

/// An agent that is recognised, but not recorded.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NotRecordedJson {
    agent: String,
    /// Why it is not recorded.
    reason: String,
}

/// One agent that is recorded.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AgentJson {
    agent: String,
    title: String,
    /// Whether its directory is there.
    found: bool,
    directory: String,
    /// `installed`, `none`, `partial`, `other program`, `not trusted`, `disabled` or `unreadable`.
    hooks: String,
    /// What is wrong with them.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    /// Whether the agent runs them as they are; absent where there are none that it could.
    #[serde(skip_serializing_if = "Option::is_none")]
    trusted: Option<bool>,
    /// The settings file with the hooks.
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<String>,
    /// When something was last heard of one of its sessions.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_seen_at: Option<String>,
    /// How many days it keeps transcripts, where it deletes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    transcript_days: Option<u32>,
    /// What its hooks do not report.
    not_reported: Vec<UnreportedJson>,
}

/// Something that hooks do not report.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UnreportedJson {
    what: String,
    /// What is done instead.
    instead: String,
}

fn json(rows: &[Row]) -> Json {
    let agent = |row: &Row| AgentJson {
        agent: row.agent.name.to_owned(),
        title: row.agent.title.to_owned(),
        found: row.is_found(),
        directory: row.directory.to_string_lossy().into_owned(),
        hooks: row.hooks.word.to_owned(),
        detail: row.hooks.detail.clone(),
        trusted: row.hooks.trusted,
        settings: row
            .hooks
            .file
            .as_ref()
            .map(|file| file.to_string_lossy().into_owned()),
        last_seen_at: row.last_seen.map(|at| at.to_string()),
        transcript_days: row.days,
        not_reported: unreported_by(row.agent)
            .iter()
            .map(|unreported| UnreportedJson {
                what: unreported.word().to_owned(),
                instead: unreported.instead().to_owned(),
            })
            .collect(),
    };
    let not_recorded = |name: &'static str| NotRecordedJson {
        agent: name.to_owned(),
        reason: unrecorded_reason(name).to_owned(),
    };
    Json {
        agents: rows.iter().map(agent).collect(),
        recognised: recognised().into_iter().map(str::to_owned).collect(),
        not_recorded: recognised().into_iter().map(not_recorded).collect(),
    }
}
