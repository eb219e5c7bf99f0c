//! Qwen Code: command hooks in `~/.qwen/settings.json`, transcripts as JSON Lines in
//! `~/.qwen/projects/<project>/chats`, those of sub-agents in `~/.qwen/projects/<project>/subagents/<session>`.
//!
//! Learned from 0.24.4, whose recorded hook calls are in `fixtures`. It came from Gemini CLI and took the hooks of Claude
//! Code: a call's input and result have the form of the one, hooks that of the other. Hooks name a call twice; the
//! name that the model gave it (`tool_call_id`) is that of the transcript.

mod discover;
mod hooks;
mod output;
mod passage;
mod path;
mod reduce;
mod spec;
mod transcript;
mod wire;

#[cfg(test)]
mod fixture;

pub(crate) use spec::SPEC;
