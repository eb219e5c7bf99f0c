//! What each route does: checks the request, asks the engine, answers.

pub(crate) mod audit;
pub(crate) mod checkpoints;
pub(crate) mod commits;
pub(crate) mod contexts;
pub(crate) mod cost;
pub(crate) mod creation;
pub(crate) mod health;
pub(crate) mod heartbeats;
pub(crate) mod interactions;
pub(crate) mod links;
pub(crate) mod log;
pub(crate) mod messages;
mod path;
pub(crate) mod pipelines;
mod refusable;
pub(crate) mod replicas;
pub(crate) mod running;
pub(crate) mod sessions;
mod standing;
pub(crate) mod telemetry;
mod told;
mod traced;
pub(crate) mod turns;
