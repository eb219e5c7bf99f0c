//! Claude Code: command hooks in `~/.claude/settings.json`, transcripts as JSON Lines in
//! `~/.claude/projects`.
//!
//! Learned from 2.1.329, whose recordings are in `fixtures`.

mod discover;
mod hooks;
mod passage;
mod path;
mod prompt;
mod reduce;
mod retention;
mod spec;
mod tools;
mod transcript;
mod whole;
mod wire;

#[cfg(test)]
mod fixture;

#[cfg(test)]
pub(crate) use hooks::HOOKS;
pub(crate) use spec::SPEC;
