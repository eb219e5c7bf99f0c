//! `siglum context`: routes, their contexts, and why a run sees what it sees. One file per verb.

pub mod explain;
pub mod list;
pub mod show;

use serde::Serialize;
use siglum_engine::driven::context::ContextError;
use siglum_ledger::{ContextRecord, RouteRecord};

use crate::cx::Cx;
use crate::error::CommandError;

/// Show routes, contexts and the messages that agent runs read
///
/// A route is where an agent's answers go; a context is the conversational state that a run sees. Shows where
/// each context comes from.
#[derive(clap::Subcommand)]
#[command(after_long_help = "\
Examples:
  List the routes
    siglum context list

  Explain a context by its key
    siglum context explain heartbeat:triage")]
pub enum Command {
    #[command(alias = "ls")]
    List(list::Args),
    Show(show::Args),
    Explain(explain::Args),
}

pub fn run(command: &Command, cx: &Cx) -> Result<(), CommandError> {
    match command {
        Command::List(args) => list::run(args, cx),
        Command::Show(args) => show::run(args, cx),
        Command::Explain(args) => explain::run(args, cx),
    }
}

fn failed(error: ContextError) -> CommandError {
    match error {
        ContextError::NoRoute(_) | ContextError::NoContext(_) => {
            CommandError::not_found(error).hint("Run `siglum context list` to list the routes.")
        }
        ContextError::Turn(siglum_engine::driven::turn::TurnError::Ledger(error)) => error.into(),
        other => CommandError::failed(other),
    }
}

/// A route in JSON.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RouteJson {
    route_key: String,
    /// Key of the context that its ordinary runs see; absent if all its runs were isolated.
    context_key: Option<String>,
    agent: String,
    created_at: String,
    seen_at: String,
    /// How many runs there were.
    runs: u64,
    last: Option<LastJson>,
}

/// The last run of a route in JSON.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LastJson {
    context_key: String,
    session: String,
    /// How it ended; absent while it runs.
    outcome: Option<String>,
    at: String,
}

impl From<&RouteRecord> for RouteJson {
    fn from(route: &RouteRecord) -> Self {
        Self {
            route_key: route.key.to_string(),
            context_key: route.current.as_ref().map(ToString::to_string),
            agent: route.agent.to_string(),
            created_at: route.created_at.to_string(),
            seen_at: route.seen_at.to_string(),
            runs: route.runs,
            last: route.last.as_ref().map(|last| LastJson {
                context_key: last.context.to_string(),
                session: last.session.to_string(),
                outcome: last.outcome.clone(),
                at: last.at.to_string(),
            }),
        }
    }
}

/// A context in JSON.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ContextJson {
    context_key: String,
    route_key: String,
    session: String,
    /// Why it came to be.
    cause: String,
    /// What it has of the one that it came from.
    inherit: String,
    parent: Option<String>,
    created_at: String,
    seen_at: String,
    ended_at: Option<String>,
}

impl From<&ContextRecord> for ContextJson {
    fn from(context: &ContextRecord) -> Self {
        Self {
            context_key: context.key.to_string(),
            route_key: context.route.to_string(),
            session: context.session.to_string(),
            cause: context.cause.to_string(),
            inherit: context.inherit.to_string(),
            parent: context.parent.as_ref().map(|(key, _)| key.to_string()),
            created_at: context.created_at.to_string(),
            seen_at: context.seen_at.to_string(),
            ended_at: context.ended_at.map(|at| at.to_string()),
        }
    }
}
