//! Codex: command hooks in `~/.codex/hooks.json`, which run only once the person trusts them, and
//! transcripts as JSON Lines in `~/.codex/sessions`.
//!
//! A sub-agent is a thread of its own, with an id and a transcript of its own; it belongs to the
//! session of the thread that the person talks to. Learned from 0.169.0, whose recordings are in
//! `fixtures`.

mod discover;
mod hooks;
mod meta;
mod passage;
mod patch;
mod path;
mod prompt;
mod reduce;
mod settings;
mod spec;
mod tools;
mod transcript;
mod trust;
mod wire;

#[cfg(test)]
mod fixture;

pub(crate) use spec::SPEC;
