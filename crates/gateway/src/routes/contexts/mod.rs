//! Contexts: hosts that run agents keep what was said under two keys, and ask what a run is to read.

pub(crate) mod commands;
mod permission;
pub(crate) mod queries;
