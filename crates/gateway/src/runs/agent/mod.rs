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
pub(crate) use running_agent::{Agent, AgentMessage, Opening};
