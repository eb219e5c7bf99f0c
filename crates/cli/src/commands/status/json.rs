//! The JSON form of the status.

use serde::Serialize;
use siglum_engine::views::session::SessionJson;
use siglum_gitstore::hooks::HookCondition;

use super::installed::condition;
use super::{Status, Worker};
use crate::commands::projection::standing::StandingJson;
use crate::commands::session::recover::OpenJson;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.status/1";

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    /// The checkout that we stand in.
    #[serde(skip_serializing_if = "Option::is_none")]
    worktree: Option<String>,
    /// Whether Siglum is on in it.
    on: bool,
    /// Whether sessions are recorded everywhere on this machine.
    everywhere: bool,
    /// Whether the settings allow recording.
    recording: bool,
    /// The hooks of git that are not as they should be.
    git_hooks: Vec<Hook>,
    agents: Vec<Agent>,
    running: Vec<SessionJson>,
    /// The newest session of this repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<SessionJson>,
    waiting: Waiting,
    /// `running`, `started` or `not_needed`.
    worker: String,
    parked: Vec<Parked>,
    /// Who else gets what is committed, and what each lacks.
    projections: Vec<StandingJson>,
    /// The gateways that answer for commits of this repository which nobody is known here to have made; `siglum doctor`
    /// says whether they answer.
    gateways: Vec<String>,
    /// As whom these gateways know us, where somebody logged in.
    logins: Vec<GatewayLogin>,
    /// The turns of driven sessions that are open and not settled.
    open_turns: Vec<OpenJson>,
    /// What was declined in the last day, newest first, 20 at most.
    declines: Vec<Decline>,
}

/// A login at a gateway.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct GatewayLogin {
    /// The address of the gateway.
    gateway: String,
    /// What the issuer calls whoever logged in.
    name: String,
}

/// One hook of git.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Hook {
    name: String,
    /// `missing`, `out of date`, `calls another program` or `not executable`.
    state: String,
}

/// One agent and its hooks.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Agent {
    agent: String,
    in_place: bool,
    text: String,
}

/// What waits, each 1000 at most.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Waiting {
    deliveries: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest_delivery_at: Option<String>,
    transcripts: usize,
    unsealed_sessions: usize,
    commits_under_way: usize,
    /// Whether an import of this repository runs, or did not come to its end.
    importing: bool,
}

/// Something that was set aside because it failed too often.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Parked {
    queue: String,
    item: String,
    at: String,
    reason: String,
}

/// Something that was refused, deferred or lost.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Decline {
    at: String,
    edge: String,
    reason: String,
    detail: String,
}

impl Json {
    pub(super) fn from_status(status: Status) -> Self {
        let turns = status.turns;
        let status = &Status {
            turns: Vec::new(),
            ..status
        };
        let (installed, overview) = (&status.installed, &status.overview);
        let addresses = status.gateways.iter();
        let session = |s| SessionJson::from_listed(s, &status.repositories);
        let bad = installed
            .hooks
            .iter()
            .filter(|h| h.state != HookCondition::Current);
        Self {
            worktree: installed.repository.clone(),
            on: installed.on,
            everywhere: installed.everywhere,
            recording: installed.recording,
            git_hooks: bad
                .map(|h| Hook {
                    name: h.name.clone(),
                    state: condition(h.state).to_owned(),
                })
                .collect(),
            agents: installed
                .agents
                .iter()
                .map(|(agent, text, in_place)| Agent {
                    agent: agent.name.to_owned(),
                    in_place: *in_place,
                    text: text.clone(),
                })
                .collect(),
            running: overview.running.iter().map(session).collect(),
            last: overview.last.as_ref().map(session),
            waiting: Waiting {
                deliveries: status.spooled.0,
                oldest_delivery_at: status.spooled.1.map(|t| t.to_string()),
                transcripts: overview.transcripts,
                unsealed_sessions: overview.unsealed,
                commits_under_way: overview.intents,
                importing: overview.importing,
            },
            worker: match status.worker {
                Worker::Running => "running",
                Worker::Started => "started",
                Worker::NotNeeded => "not_needed",
            }
            .to_owned(),
            parked: parked(status),
            projections: status
                .projections
                .iter()
                .map(StandingJson::from_standing)
                .collect(),
            gateways: addresses.map(|(address, _)| address.clone()).collect(),
            logins: logins(status),
            open_turns: turns,
            declines: declines(status),
        }
    }
}

fn logins(status: &Status) -> Vec<GatewayLogin> {
    let login = |(gateway, name): &(String, Option<String>)| {
        Some(GatewayLogin {
            gateway: gateway.clone(),
            name: name.clone()?,
        })
    };
    status.gateways.iter().filter_map(login).collect()
}

fn parked(status: &Status) -> Vec<Parked> {
    let parked = status.overview.parked.iter();
    parked
        .map(|(queue, item, at, reason)| Parked {
            queue: queue.clone(),
            item: item.clone(),
            at: at.to_string(),
            reason: reason.clone(),
        })
        .collect()
}

fn declines(status: &Status) -> Vec<Decline> {
    let declines = status.overview.declines.iter().take(20);
    declines
        .map(|d| Decline {
            at: d.at.to_string(),
            edge: d.edge.clone(),
            reason: d.reason.clone(),
            detail: d.detail.clone(),
        })
        .collect()
}
