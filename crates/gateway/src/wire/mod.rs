//! Requests and answers as they are sent. What is stored has forms of its own.

mod attestations;
mod audit;
mod checkpoints;
mod commits;
mod contexts;
mod events;
mod held_turns;
mod links;
mod messages;
mod numbers;
mod pipelines;
mod runs;
mod sessions;
mod telemetry;
mod turns;

pub(crate) use attestations::*;
pub(crate) use audit::*;
pub(crate) use checkpoints::*;
pub(crate) use commits::*;
pub(crate) use contexts::*;
pub(crate) use events::*;
pub(crate) use held_turns::*;
pub(crate) use links::*;
pub(crate) use messages::*;
pub(crate) use pipelines::*;
pub(crate) use runs::*;
pub(crate) use sessions::*;
pub(crate) use telemetry::*;
pub(crate) use turns::*;
