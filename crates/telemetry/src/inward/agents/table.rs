//! How each agent is recognised and what its records are asked for.

use super::super::record::Record;
use super::super::teller::Teller;
use super::{claude, codex, copilot, gemini, opencode, qwen};

/// Whose the trace of a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::inward) enum Reach {
    /// One session's: what has no id of its own belongs to the session of its trace.
    Session,
    /// A process's that may have many sessions: the trace tells nothing of the session.
    Process,
}

/// What `gen_ai.conversation.id` is where it differs from `session.id` on one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::inward) enum SecondId {
    /// The sub-agent that the record is of.
    Subagent,
    /// Another session: a contradiction.
    Conflict,
}

pub(in crate::inward) struct AgentSpec {
    /// The name in the ledger.
    pub(in crate::inward) name: &'static str,
    /// What names of its scopes begin with.
    scopes: &'static [&'static str],
    /// What names of its services begin with.
    services: &'static [&'static str],
    /// Keys of its own session id on a record, most telling first.
    pub(in crate::inward) natives: &'static [&'static str],
    /// The same, where only a UUID is an id.
    pub(in crate::inward) uuid_natives: &'static [&'static str],
    /// Keys of its own session id on the resource.
    pub(in crate::inward) resource_natives: &'static [&'static str],
    /// Its own session id where it stands under no key.
    pub(in crate::inward) native: fn(&Record<'_>) -> Option<String>,
    /// Whose a trace of it is.
    pub(in crate::inward) reach: Reach,
    /// What a second id means.
    pub(in crate::inward) second: SecondId,
    /// The sub-agent that a record is of.
    pub(in crate::inward) subagent: fn(&Record<'_>) -> Option<String>,
    /// The thread that a record says was started for a sub-agent.
    pub(in crate::inward) started: fn(&Record<'_>) -> Option<String>,
    /// Tells what a record says.
    pub(in crate::inward) listen: fn(&Record<'_>, &mut Teller<'_>),
}

const ON_RESOURCE: &[&str] = &["session.id"];

static AGENTS: &[AgentSpec] = &[
    AgentSpec {
        name: "claude-code",
        scopes: &["com.anthropic.claude_code"],
        services: &["claude-code"],
        natives: &["session.id"],
        uuid_natives: &[],
        resource_natives: ON_RESOURCE,
        native: nothing,
        reach: Reach::Session,
        second: SecondId::Subagent,
        subagent: claude::subagent,
        started: nothing,
        listen: claude::listen,
    },
    AgentSpec {
        name: "codex",
        scopes: &["codex_", "codex-"],
        services: &["codex"],
        natives: &["conversation.id", "thread_id"],
        uuid_natives: &["thread.id"],
        resource_natives: &[],
        native: nothing,
        reach: Reach::Session,
        second: SecondId::Conflict,
        subagent: nothing,
        started: codex::started,
        listen: codex::listen,
    },
    AgentSpec {
        name: "gemini",
        scopes: &["gemini-cli"],
        services: &["gemini-cli"],
        natives: &["session.id", "gen_ai.conversation.id"],
        uuid_natives: &[],
        resource_natives: ON_RESOURCE,
        native: nothing,
        reach: Reach::Session,
        second: SecondId::Conflict,
        subagent: gemini::subagent,
        started: nothing,
        listen: gemini::listen,
    },
    AgentSpec {
        name: "qwen",
        scopes: &["qwen-code"],
        services: &["qwen-code"],
        natives: &["session.id", "gen_ai.conversation.id"],
        uuid_natives: &[],
        resource_natives: ON_RESOURCE,
        native: nothing,
        reach: Reach::Session,
        second: SecondId::Conflict,
        subagent: qwen::subagent,
        started: nothing,
        listen: qwen::listen,
    },
    AgentSpec {
        name: "copilot",
        scopes: &["github.copilot"],
        services: &["github-copilot"],
        natives: &["gen_ai.conversation.id", "session.id"],
        uuid_natives: &[],
        resource_natives: ON_RESOURCE,
        native: nothing,
        reach: Reach::Session,
        second: SecondId::Conflict,
        subagent: nothing,
        started: nothing,
        listen: copilot::listen,
    },
    AgentSpec {
        name: "opencode",
        scopes: &["opencode"],
        services: &["opencode"],
        natives: &["session.id", "ai.telemetry.metadata.sessionId"],
        uuid_natives: &[],
        resource_natives: ON_RESOURCE,
        native: opencode::native,
        reach: Reach::Process,
        second: SecondId::Conflict,
        subagent: nothing,
        started: opencode::started,
        listen: opencode::listen,
    },
];

const fn nothing(_: &Record<'_>) -> Option<String> {
    None
}

/// Finds the agent that a record is from. The scope says it better: a person may rename the service.
pub(in crate::inward) fn recognise(record: &Record<'_>) -> Option<&'static AgentSpec> {
    let scope = record.scope();
    let by_scope = || {
        let mut agents = AGENTS.iter();
        agents.find(|agent| agent.scopes.iter().any(|own| scope.starts_with(own)))
    };
    let by_service = || {
        let service = record.of_resource("service.name")?;
        let mut agents = AGENTS.iter();
        agents.find(|agent| agent.services.iter().any(|own| service.starts_with(own)))
    };
    by_scope().or_else(by_service)
}
