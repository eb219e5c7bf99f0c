//! The use cases of Siglum.
//!
//! The edges extract claims into an [`Intake`](siglum_domain::intake::Intake); [`deliver`] resolves
//! them into one identity and writes them down; [`landing`] and [`sweep`] turn intents into commits;
//! [`worker`] does what can wait; [`why`] answers. Nothing here reads a clock, an environment or a
//! terminal: all of that comes in a [`World`].
#![warn(missing_docs)]

pub mod access;
pub mod audit;
pub mod authors;
mod calls;
pub mod check;
mod checkout;
pub mod checkpoints;
mod committed_file;
mod contents;
pub mod context;
mod copies;
pub mod cost;
mod damage;
pub mod deliver;
pub mod doctor;
mod edits;
mod error;
mod evidence;
mod file_life;
pub mod find;
pub mod forget;
pub mod heartbeat;
pub mod history;
mod identity;
pub mod import;
pub mod ingest;
pub mod judgements;
pub mod landing;
mod late_events;
pub mod launch;
pub mod lines;
pub mod links;
mod moves;
pub mod origins;
pub mod otel;
pub mod overview;
pub mod pipeline;
pub mod project;
pub mod prompts;
mod pull_requests;
pub mod remote;
mod reopened;
pub mod replica;
pub mod repositories;
pub mod restore;
mod rewrites;
mod rivals;
pub mod run;
mod scene;
mod scope;
pub mod search;
pub mod session;
mod session_log;
pub mod settle;
pub mod sighting_keys;
pub mod statements;
pub mod sweep;
#[cfg(test)]
mod tests;
pub mod transcript;
pub mod turn;
mod unassigned;
pub mod verify;
pub mod why;
pub mod worker;
mod world;

pub use error::EngineError;
pub use world::{Here, World};
