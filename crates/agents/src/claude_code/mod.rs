//! Claude Code: command hooks in `~/.claude/settings.json`, transcripts as JSON Lines in
//! `~/.claude/projects`.
//!
//! Learned from 2.1.329, whose recordings are in `fixtures`.

mod discover;
mod install;
mod passage;
mod path;
mod prompt;
mod reduce;
mod spec;
mod tools;
mod transcript;
mod wire;

#[cfg(test)]
mod fixture;

pub(crate) use spec::SPEC;
pub use transcript::Reader;
