//! Who a record says it is from.

use siglum_domain::claims::{Claims, Origin};
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

/// Reads the claims of a record that is from this agent, if any of the table.
pub(super) fn claims(record: &Record<'_>, agent: Option<&AgentSpec>) -> Claims {
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
    let is_of_process = agent.is_some_and(|agent| agent.reach == Reach::Process);
    Claims {
        origin,
        agent: name,
        session: session(record),
        natives: natives(record, agent),
        conflict: conflict(record, agent),
        call: record.first(CALLS).map(str::to_owned),
        trace: record.trace().filter(|_| !is_of_process),
        ..Claims::default()
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
    let name = AgentName::new(name.trim_matches('-')).ok()?;
    name.named()
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
