//! Who a record says it is from.

use siglum_domain::{AgentName, NativeId, SessionId};

use super::agents::{AgentSpec, Reach, SecondId};
use super::foreign;
use super::record::Record;
use crate::wire::SESSION_KEY;

/// Keys of the tool call that a record belongs to.
const CALLS: &[&str] = &[
    "gen_ai.tool.call.id",
    "tool_use_id",
    "call_id",
    "tool.call_id",
    "gen_ai.tool.call_id",
    "ai.toolCall.id",
    "tool_call.id",
];

/// What kind of program a record came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// An agent of the table; a record of it may open a session.
    Agent,
    /// A record about generative models of a program that the table lacks; it may open a session, too.
    Model,
    /// Anything else. It joins a session or stays unassigned.
    Other,
}

impl Origin {
    /// Whether a record of this kind may open a session for a native id that nobody knows yet.
    #[must_use]
    pub const fn may_open(self) -> bool {
        matches!(self, Self::Agent | Self::Model)
    }
}

/// What a record claims.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// The agent, as the table has it; for a foreign program the name of its service, as far as the grammar goes.
    pub agent: Option<AgentName>,
    /// The session by the ledger's own id, injected by whoever started the agent or stamped by another gateway.
    pub session: Option<SessionId>,
    /// The sender's own ids of the session: most telling first, each once.
    pub natives: Vec<NativeId>,
    /// Whether the record itself names two sessions: `session.id` is not `gen_ai.conversation.id`.
    pub conflict: bool,
    /// The tool call it belongs to.
    pub call: Option<String>,
    /// What kind of program it came from.
    pub origin: Origin,
    pub subagent: Option<String>,
    /// A thread that the record says was started for a sub-agent: what names it as its session is of this one.
    pub started: Option<NativeId>,
    /// Whose its trace is.
    pub reach: Reach,
}

impl Claims {
    /// Reads the claims of a record that is from this agent, if any of the table.
    pub(super) fn from_record(record: &Record<'_>, agent: Option<&AgentSpec>) -> Self {
        let origin = match agent {
            Some(_) => Origin::Agent,
            None if foreign::is_about_models(record) => Origin::Model,
            None => Origin::Other,
        };
        let name = match agent {
            Some(agent) => AgentName::new(agent.name).ok(),
            None if origin == Origin::Model => service(record),
            None => None,
        };
        let started = agent.and_then(|agent| (agent.started)(record));
        Self {
            agent: name,
            session: session(record),
            natives: natives(record, agent),
            conflict: conflict(record, agent),
            call: record.first(CALLS).map(str::to_owned),
            origin,
            subagent: agent.and_then(|agent| (agent.subagent)(record)),
            started: started.and_then(|id| NativeId::new(id).ok()),
            reach: agent.map_or(Reach::Session, |agent| agent.reach),
        }
    }
}

/// The ledger's own id; a text that is none is not taken for another kind of id.
fn session(record: &Record<'_>) -> Option<SessionId> {
    let of = [record.text(SESSION_KEY), record.of_resource(SESSION_KEY)];
    of.into_iter().flatten().find_map(|id| id.parse().ok())
}

fn natives(record: &Record<'_>, agent: Option<&AgentSpec>) -> Vec<NativeId> {
    let mut found = Vec::new();
    let mut note = |id: Option<&str>| {
        let id = id.and_then(|id| NativeId::new(id).ok());
        if let Some(id) = id.filter(|id| !found.contains(id)) {
            found.push(id);
        }
    };
    let (on_record, uuids, on_resource) = match agent {
        Some(agent) => (agent.natives, agent.uuid_natives, agent.resource_natives),
        None => (foreign::NATIVES, &[][..], foreign::NATIVES),
    };
    on_record.iter().for_each(|key| note(record.text(key)));
    let is_id = |id: &&str| is_uuid(id);
    uuids
        .iter()
        .for_each(|key| note(record.text(key).filter(is_id)));
    let spoken = agent.and_then(|agent| (agent.native)(record));
    note(spoken.as_deref());
    on_resource
        .iter()
        .for_each(|key| note(record.of_resource(key)));
    found
}

fn conflict(record: &Record<'_>, agent: Option<&AgentSpec>) -> bool {
    if agent.is_some_and(|agent| agent.second == SecondId::Subagent) {
        return false;
    }
    let (session, conversation) = (
        record.text("session.id"),
        record.text("gen_ai.conversation.id"),
    );
    session.zip(conversation).is_some_and(|(a, b)| a != b)
}

/// The service, with what a name may not have made into dashes. A default name says nothing.
fn service(record: &Record<'_>) -> Option<AgentName> {
    let service = record.of_resource("service.name")?;
    if service.starts_with("unknown_service") {
        return None;
    }
    let lower = service.chars().map(|c| match c.to_ascii_lowercase() {
        c if c.is_ascii_lowercase() || c.is_ascii_digit() => c,
        _ => '-',
    });
    let name: String = lower.take(64).collect();
    AgentName::new(name.trim_matches('-')).ok()
}

fn is_uuid(id: &str) -> bool {
    let places = [8, 13, 18, 23];
    id.len() == 36
        && id
            .bytes()
            .enumerate()
            .all(|(at, byte)| match places.contains(&at) {
                true => byte == b'-',
                false => byte.is_ascii_hexdigit(),
            })
}
