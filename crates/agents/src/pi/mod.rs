//! Pi: no command hooks, but extensions in its own process; session files as JSON Lines in `~/.pi/agent/sessions`.
//!
//! Learned from 0.87.1, whose recordings are in `fixtures`. Our extension, in `integrations/pi`, speaks the record protocol,
//! with the session file beside each line. It tells no turns by name, and the engine joins those of the session file to
//! them; answers and tokens are in the session file alone.

mod discover;
mod passage;
mod reduce;
mod spec;
mod transcript;
mod wire;

#[cfg(test)]
mod tests;

pub(crate) use spec::SPEC;
