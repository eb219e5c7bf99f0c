//! Gemini CLI: command hooks in `~/.gemini/settings.json`, transcripts as JSON Lines in
//! `~/.gemini/tmp/<project>/chats`; older ones are one JSON document each.
//!
//! Learned from 0.61.0, whose recordings are in `fixtures`. Hooks name neither turns nor tool calls:
//! a call comes under the name of all calls that do the same ([`event::unnamed`]), and the engine tells
//! them apart.
//!
//! Qwen Code came from it: what its tools take and return is read by what is shared here.
//!
//! [`event::unnamed`]: siglum_domain::observation::event::unnamed

mod discover;
mod hooks;
pub(crate) mod output;
mod passage;
mod path;
mod reduce;
mod retention;
mod spec;
pub(crate) mod tools;
mod transcript;
pub(crate) mod wire;

#[cfg(test)]
mod fixture;

pub(crate) use spec::SPEC;
