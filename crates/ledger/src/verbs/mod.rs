//! The verbs that both stores share: their statements, their rows, and what is done around them, written once.
//!
//! A file here has what is the same of a subject. Where a store does a part of it in its own way, that is a method of a
//! trait beside it (`OwnSessions`, say), which each store implements in its own folder, or of [`crate::database::Database`].

mod access;
pub(crate) mod audit;
pub(crate) mod commits;
mod contexts;
pub(crate) mod forgetting;
mod heartbeats;
pub(crate) mod integrity;
pub(crate) mod listing;
pub(crate) mod log;
pub(crate) mod pinned;
mod pipelines;
pub(crate) mod places;
pub(crate) mod projections;
mod queue;
pub(crate) mod replicas;
mod repositories;
mod requests;
mod retention;
mod runs;
pub(crate) mod scope;
pub(crate) mod sessions;
pub(crate) mod statements;
mod telemetry;
pub(crate) mod turns;
pub(crate) mod usage;
