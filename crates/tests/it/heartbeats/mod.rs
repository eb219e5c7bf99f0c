//! Heartbeats as people and programs elsewhere have them: `siglum serve` with a played agent.
//!
//! `docs/scenarios.md` lists the scenarios of traces and of contexts.

mod delivery;
mod fired;
mod payloads;
pub(crate) mod played;
mod shared;
