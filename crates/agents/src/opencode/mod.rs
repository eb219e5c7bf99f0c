//! OpenCode: no command hooks, but plug-ins in its own process. Ours, in `integrations/opencode`, speaks the record protocol.
//!
//! Learned from 1.18.33; what the plug-in sent is in `fixtures`. Sub-agents are sessions of their own there: the plug-in
//! tells what happens in them as that of the session that they belong to. Sessions lie in a database, which is not read.

mod spec;
mod transcript;

#[cfg(test)]
mod tests;

pub(crate) use spec::SPEC;
