//! Our hooks in `~/.claude/settings.json`, added and removed without touching another byte.

mod command;
mod document;
mod hooks;
mod plan;
mod retention;

#[cfg(test)]
mod tests;

pub(super) use command::quote;
pub(super) use plan::{inspect, plan_install, plan_remove};
pub(super) use retention::retention_days;
