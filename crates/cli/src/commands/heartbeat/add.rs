//! `siglum heartbeat add`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use siglum_domain::heartbeat::HeartbeatName;
use siglum_domain::link::Link;
use siglum_engine::driven::heartbeat::{self, Definition, Form, HeartbeatJson, Origin, Target};

use crate::cx::Cx;
use crate::error::CommandError;
use crate::{store, ui};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.heartbeat.add/1";

/// Add a heartbeat, or change the one with this name
///
/// `siglum serve --run AGENT --workdir DIR` runs the ticks and must be running. To send answers to a command, define
/// the heartbeat in the configuration file instead, as [heartbeat.NAME].
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Triage issues every 30 minutes
    siglum heartbeat add triage --agent claude-code --every 30m --prompt 'Triage new issues'

  Review pull requests at 9:00 on weekdays
    siglum heartbeat add review --agent codex --cron '0 9 * * 1-5' --zone Europe/Berlin --prompt 'Review open pull requests'")]
pub struct Args {
    /// Heartbeat name
    #[arg(value_name = "NAME", value_parser = super::name)]
    name: HeartbeatName,
    /// Agent to run
    #[arg(long)]
    agent: String,
    /// Interval, such as 30m or 1h30m
    #[arg(
        long,
        value_name = "SPAN",
        required_unless_present = "cron",
        conflicts_with = "cron"
    )]
    every: Option<String>,
    /// Schedule, as a cron expression
    #[arg(long, value_name = "EXPRESSION")]
    cron: Option<String>,
    /// Time zone of `--cron` and `--active` (default: UTC)
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// Run only in these hours of the day, such as 09:00-18:00
    #[arg(long, value_name = "HOURS")]
    active: Option<String>,
    /// Prompt for the agent
    #[arg(
        long,
        value_name = "TEXT",
        required_unless_present = "prompt_file",
        conflicts_with = "prompt_file"
    )]
    prompt: Option<String>,
    /// File in the working directory with the prompt; if it is empty, the tick does nothing
    #[arg(long, value_name = "FILE", requires = "cwd")]
    prompt_file: Option<String>,
    /// Working directory of the agent
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Model, by the agent's name for it
    #[arg(long)]
    model: Option<String>,
    /// Route key (default: heartbeat:NAME)
    #[arg(long, value_name = "KEY")]
    route_key: Option<String>,
    /// Continue all ticks in one context, the context of the route
    #[arg(long)]
    shared: bool,
    /// Attach a link to each tick's session: issue=N (or #N), pr=N, pipeline=ID, role=NAME, phase=NAME or
    /// label=KEY=VALUE
    #[arg(long, value_name = "FACT")]
    link: Vec<Link>,
    /// Target for answers: none, log, webhook or route
    #[arg(long, value_name = "TARGET")]
    target: Option<String>,
    /// Webhook URL: https, or http on this machine
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    /// Route key of the conversation that receives answers
    #[arg(long, value_name = "KEY")]
    target_route_key: Option<String>,
    /// File with the JSON schema of the webhook's arguments; only the run identifiers that it declares are sent
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// Do not deliver an answer that is only this text (default: HEARTBEAT_OK)
    #[arg(long, value_name = "TEXT")]
    acknowledge: Option<String>,
    /// Response to the agent's permission requests: refuse, allow or ask
    #[arg(long, value_name = "ANSWER")]
    permissions: Option<String>,
    /// Time limit of a tick, such as 10m
    #[arg(long, value_name = "SPAN")]
    wall: Option<String>,
    /// Token limit of a tick
    #[arg(long, value_name = "N")]
    tokens: Option<u64>,
    /// Cost limit of a tick in dollars, such as 0.50
    #[arg(long, value_name = "AMOUNT")]
    dollars: Option<String>,
    /// Retention of ticks and their sessions, such as 30d
    #[arg(long, value_name = "SPAN")]
    keep: Option<String>,
}

impl Args {
    fn form(&self) -> Result<Form, CommandError> {
        let cwd = match &self.cwd {
            None => None,
            Some(cwd) => {
                let real = std::fs::canonicalize(cwd);
                let real =
                    real.map_err(|e| CommandError::usage(format!("--cwd {}: {e}", cwd.display())))?;
                Some(real.to_string_lossy().into_owned())
            }
        };
        Ok(Form {
            every: self.every.clone(),
            cron: self.cron.clone(),
            zone: self.zone.clone(),
            active: self.active.clone(),
            route_key: self.route_key.clone(),
            agent: Some(self.agent.clone()),
            isolated: self.shared.then_some(false),
            prompt: self.prompt.clone(),
            prompt_file: self.prompt_file.clone(),
            cwd,
            model: self.model.clone(),
            permissions: self.permissions.clone(),
            links: links(&self.link),
            target: self.target.clone(),
            webhook: self.webhook.clone(),
            target_route_key: self.target_route_key.clone(),
            schema: self.schema.as_deref().map(schema).transpose()?,
            acknowledge: self.acknowledge.clone(),
            wall: self.wall.clone(),
            tokens: self.tokens,
            dollars: self.dollars.clone(),
            keep: self.keep.clone(),
        })
    }
}

/// The schema that a file holds.
fn schema(file: &Path) -> Result<Value, CommandError> {
    let wrong = |e: &dyn std::fmt::Display| {
        CommandError::usage(format!("--schema {}: {e}", file.display()))
    };
    let text = std::fs::read_to_string(file).map_err(|e| wrong(&e))?;
    serde_json::from_str(&text).map_err(|e| wrong(&e))
}

/// Links in the form of a definition.
fn links(given: &[Link]) -> BTreeMap<String, Value> {
    let mut links = BTreeMap::new();
    let mut labels = serde_json::Map::new();
    for link in given {
        match link {
            Link::Label { key, value } => {
                labels.insert(key.clone(), Value::from(value.as_str()));
            }
            _ => {
                links.insert(link.field().to_owned(), link.to_json());
            }
        }
    }
    if !labels.is_empty() {
        links.insert("labels".to_owned(), Value::Object(labels));
    }
    links
}

/// The JSON form of the answer.
#[derive(serde::Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    heartbeat: HeartbeatJson,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let definition = Definition::parse(args.name.clone(), args.form()?)?;
    if definition.target == Target::Command {
        return Err(CommandError::usage(
            "the target `command` is only allowed in the configuration",
        )
        .hint("Define it as [heartbeat.NAME] in the file that `siglum config path` prints."));
    }
    // A gateway runs the heartbeats of a tenant that has nothing else, so one may begin with them.
    let mut ledger = store::begin(cx)?;
    let world = cx.world()?;
    heartbeat::put(
        &world,
        ledger.as_mut(),
        &definition,
        Origin::Asked,
        &cx.person(),
    )?;
    let overview = heartbeat::show(ledger.as_mut(), &definition.name)?;
    if cx.ui.json {
        let heartbeat = HeartbeatJson::from(&overview);
        return cx.ui.json(SCHEMA, Json { heartbeat });
    }
    let due = overview
        .record
        .next_due
        .map_or_else(|| "when it is resumed".to_owned(), ui::when);
    cx.ui
        .status(format!("Heartbeat {} is due next {due}.", definition.name));
    cx.ui.hint(format!(
        "It runs only while `siglum serve --run {} --workdir DIR` is running.",
        definition.agent
    ));
    Ok(())
}
