//! `siglum heartbeat add`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use siglum_domain::heartbeat::HeartbeatName;
use siglum_engine::heartbeat::{self, Definition, Form, HeartbeatJson, Origin, Target};

use crate::cx::Cx;
use crate::error::CommandError;
use crate::{store, ui};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.heartbeat.add/1";

/// Add a heartbeat, or change the one of this name
///
/// Runs are made by `siglum serve --run AGENT --workdir DIR`, which has to run. A heartbeat whose answers go
/// to a command is written in the configuration, as [heartbeat.NAME].
#[derive(clap::Args)]
pub struct Args {
    /// What it is called
    #[arg(value_name = "NAME", value_parser = super::name)]
    name: HeartbeatName,
    /// The agent to run
    #[arg(long)]
    agent: String,
    /// How often, such as 30m or 1h30m
    #[arg(
        long,
        value_name = "SPAN",
        required_unless_present = "cron",
        conflicts_with = "cron"
    )]
    every: Option<String>,
    /// When, as a cron expression
    #[arg(long, value_name = "EXPRESSION")]
    cron: Option<String>,
    /// The time zone of the expression and of the active hours; without this, UTC
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// Only in these hours of the day, such as 09:00-18:00
    #[arg(long, value_name = "HOURS")]
    active: Option<String>,
    /// What the agent is told
    #[arg(
        long,
        value_name = "TEXT",
        required_unless_present = "prompt_file",
        conflicts_with = "prompt_file"
    )]
    prompt: Option<String>,
    /// A file in the directory with what the agent is told; without content there is nothing to do
    #[arg(long, value_name = "FILE", requires = "cwd")]
    prompt_file: Option<String>,
    /// The directory that it works in
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// The model, as the agent calls it
    #[arg(long)]
    model: Option<String>,
    /// Its route key; without this, heartbeat:NAME
    #[arg(long, value_name = "KEY")]
    route: Option<String>,
    /// Let all ticks go on in one context, that of the route
    #[arg(long)]
    shared: bool,
    /// Attach a link to each tick's session, as field=value: issue_number=7, label=area=auth
    #[arg(long, value_name = "FIELD=VALUE")]
    link: Vec<String>,
    /// Where answers go: none, log, webhook or session
    #[arg(long, value_name = "TARGET")]
    target: Option<String>,
    /// The address of the webhook: https, or http on this machine
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    /// The route key of the conversation that answers are said in
    #[arg(long, value_name = "KEY")]
    session: Option<String>,
    /// A file with the JSON schema of what the webhook takes: of what the run is known by it gets what this declares
    #[arg(long, value_name = "FILE")]
    schema: Option<PathBuf>,
    /// An answer that is only this is not delivered; without this, HEARTBEAT_OK
    #[arg(long, value_name = "TEXT")]
    acknowledge: Option<String>,
    /// What the agent hears when it wants to be allowed something: refuse, allow or ask
    #[arg(long, value_name = "ANSWER")]
    permissions: Option<String>,
    /// How long a tick may take, such as 10m
    #[arg(long, value_name = "SPAN")]
    wall: Option<String>,
    /// How many tokens a tick may use
    #[arg(long, value_name = "N")]
    tokens: Option<u64>,
    /// How many dollars a tick may cost, such as 0.50
    #[arg(long, value_name = "AMOUNT")]
    dollars: Option<String>,
    /// How long ticks are kept, with their sessions, such as 30d
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
            route: self.route.clone(),
            agent: Some(self.agent.clone()),
            isolated: self.shared.then_some(false),
            prompt: self.prompt.clone(),
            prompt_file: self.prompt_file.clone(),
            cwd,
            model: self.model.clone(),
            permissions: self.permissions.clone(),
            links: links(&self.link)?,
            target: self.target.clone(),
            webhook: self.webhook.clone(),
            session: self.session.clone(),
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

/// Links as flags have them, in the form of a definition.
fn links(flags: &[String]) -> Result<BTreeMap<String, Value>, CommandError> {
    let mut links = BTreeMap::new();
    let mut labels = serde_json::Map::new();
    for flag in flags {
        let wrong = || CommandError::usage(format!("--link {flag}: field=value"));
        let (field, value) = flag.split_once('=').ok_or_else(wrong)?;
        match field {
            "label" => {
                let (key, value) = value.split_once('=').ok_or_else(wrong)?;
                labels.insert(key.to_owned(), Value::from(value));
            }
            "issue_number" | "pr_number" => {
                let number: u64 = value.parse().map_err(|_| wrong())?;
                links.insert(field.to_owned(), Value::from(number));
            }
            _ => {
                links.insert(field.to_owned(), Value::from(value));
            }
        }
    }
    if !labels.is_empty() {
        links.insert("labels".to_owned(), Value::Object(labels));
    }
    Ok(links)
}

/// The JSON form of the answer.
#[derive(serde::Serialize, schemars::JsonSchema)]
pub struct Json {
    heartbeat: HeartbeatJson,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let definition = Definition::of(args.name.clone(), args.form()?)?;
    if definition.target == Target::Command {
        return Err(
            CommandError::usage("target: a command is named in the configuration alone")
                .hint("Write it as [heartbeat.NAME] in the file that `siglum config path` names."),
        );
    }
    let mut ledger = store::open(cx)?;
    let world = cx.world()?;
    heartbeat::put(
        &world,
        ledger.as_mut(),
        &definition,
        Origin::Asked,
        &cx.person(),
    )?;
    let told = heartbeat::show(ledger.as_mut(), &definition.name)?;
    if cx.ui.json {
        let heartbeat = HeartbeatJson::from(&told);
        return cx.ui.json(SCHEMA, Json { heartbeat });
    }
    let due = told
        .record
        .next_due
        .map_or_else(|| "when it goes on".to_owned(), ui::when);
    cx.ui
        .status(format!("Heartbeat {} is due next {due}.", definition.name));
    cx.ui.hint(format!(
        "It runs while `siglum serve --run {} --workdir DIR` does.",
        definition.agent
    ));
    Ok(())
}
