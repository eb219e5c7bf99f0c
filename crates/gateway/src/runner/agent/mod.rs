//! An agent that runs: something that is told a prompt, and that tells what comes of it. What it tells is put as the Agent
//! Client Protocol has it, whichever way the agent itself speaks.

mod acp;
mod claude_code;
mod error;
mod headless;
mod lines;
#[cfg(test)]
mod recorded;
mod running_agent;

pub(super) use acp::{cancelled, selected};
pub(super) use error::{AgentError, Refused};
pub(super) use running_agent::{Agent, AgentMessage, Opening};
