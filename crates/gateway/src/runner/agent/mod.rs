//! An agent that runs: something that is told a prompt, and that tells what comes of it. What it tells is put as the Agent
//! Client Protocol has it, whichever way the agent itself speaks.

mod acp;
mod claude_code;
mod either;
mod error;
mod headless;
mod lines;
#[cfg(test)]
mod recorded;

pub(super) use acp::{cancelled, selected};
pub(super) use either::{Agent, Heard, Opening};
pub(super) use error::{AgentError, Refused};
