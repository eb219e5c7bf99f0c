//! GitHub Copilot CLI: command hooks in a file of ours, `~/.copilot/hooks/siglum.json`, transcripts as JSON Lines in
//! `~/.copilot/session-state/<session>/events.jsonl`.
//!
//! Learned from 1.0.102, whose recorded hook calls are in `fixtures`, from the schema of its events, which it brings along,
//! and from its vendor's documentation of hooks. Payloads come in two forms. One has the form of Claude Code's hooks and names
//! the event; it is the one that is hooked. The other names no event: what it is shows in what it tells. Neither names turns
//! or calls: a call comes under the name of all calls that do the same ([`event::unnamed`]). What a sub-agent does is told
//! under the sub-agent's own id, in the place of the session's, and names who started it.
//!
//! [`event::unnamed`]: siglum_domain::observation::event::unnamed

mod discover;
mod hooks;
mod output;
mod passage;
mod path;
mod reduce;
mod spec;
mod tools;
mod transcript;
mod wire;

#[cfg(test)]
mod fixture;

pub(crate) use spec::SPEC;
