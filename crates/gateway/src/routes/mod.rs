//! What each route does: checks the request, asks the engine, answers.

pub(crate) mod attestations;
pub(crate) mod audit;
pub(crate) mod checkpoints;
pub(crate) mod commits;
pub(crate) mod contexts;
pub(crate) mod cost;
pub(crate) mod creation;
pub(crate) mod health;
pub(crate) mod heartbeats;
pub(crate) mod held_turns;
pub(crate) mod interactions;
pub(crate) mod issuers;
pub(crate) mod links;
pub(crate) mod log;
pub(crate) mod messages;
mod path;
pub(crate) mod pipelines;
pub(crate) mod replicas;
mod representation;
mod responses;
pub(crate) mod running;
pub(crate) mod search;
pub(crate) mod sessions;
pub(crate) mod telemetry;
mod trace_context;
mod transaction;
pub(crate) mod turns;
