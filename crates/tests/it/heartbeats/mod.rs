//! Heartbeats as people and programs elsewhere have them: `siglum serve` with a played agent.
//!
//! Names that begin with `t` and two digits are scenarios of the design's reference on traces, those with `s` of the one on
//! contexts.

mod delivery;
mod fired;
mod payloads;
pub(crate) mod played;
mod shared;
