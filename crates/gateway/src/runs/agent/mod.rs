//! An agent that runs: something that is told a prompt, and that tells what comes of it. What it tells is put as the Agent
//! Client Protocol has it, whichever way the agent itself speaks.

mod acp;
mod claude_code;
mod error;
mod headless;
mod history;
mod lines;
#[cfg(test)]
mod recorded;
mod running_agent;

pub(crate) use acp::{cancelled, selected};
pub(crate) use error::{AgentError, Refused};
pub use history::{AcpHistory, AcpHistoryError};
pub(crate) use running_agent::Agent;

use std::pin::Pin;
use std::time::Duration;

use agent_client_protocol::v1::Responder;
use serde_json::Value;
use siglum_domain::NativeId;
use siglum_domain::redact::Redactor;
use siglum_engine::driven::run::{HeadlessSpec, RunSpec};

use super::Permissions;

/// Messages of an agent that wait to be looked at; then it waits, too.
const WAITING: usize = 1_024;
/// How long an agent may take to begin, and to open a native session.
const BEGIN: Duration = Duration::from_secs(90);

/// Which way an agent speaks.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way {
    Protocol,
    Headless(&'static HeadlessSpec),
}

/// What an agent says by itself.
pub(crate) enum AgentMessage {
    /// Something of the turn, as the protocol has it.
    Update(Value),
    /// It wants to be allowed something, and waits.
    Permission(Value, Box<Responder<Value>>),
}

/// What comes of a prompt, in the end.
type Answer = Pin<Box<dyn Future<Output = Result<Value, Refused>> + Send>>;

/// How an agent begins.
pub(crate) struct Opening<'a> {
    pub(crate) spec: &'static RunSpec,
    /// The native session that it goes on with.
    pub(crate) native: Option<&'a NativeId>,
    pub(crate) cwd: &'a str,
    pub(crate) permissions: Permissions,
    pub(crate) model: Option<&'a str>,
    /// What it is told, for one that is told so as it begins.
    pub(crate) blocks: &'a [String],
}

/// What an agent calls its session. A name with a secret in it is none: it would be stored, and looked for, as it is.
fn native_id(text: &str) -> Option<NativeId> {
    let id = NativeId::new(text).ok();
    id.filter(|_| !Redactor::shared().has_secret(text))
}
