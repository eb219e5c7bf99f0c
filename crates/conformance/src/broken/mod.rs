//! Stores that each have one fault, to show that the suite can fail.
//!
//! A good store does the work; on the way in or out, one verb goes wrong. The verbs of each trait
//! are listed with their kind, so that every verb gets every fault that its kind can have.

mod access;
mod audit;
mod commits;
mod contexts;
mod fault;
mod forgetting;
mod heartbeats;
mod integrity;
mod ledger;
mod log;
mod own;
mod pipelines;
mod projections;
mod queue;
mod replicas;
mod requests;
mod retention;
mod runs;
mod search;
mod sessions;
mod telemetry;
mod tests;
mod turns;
mod usage;
mod verbs;

use fault::{Fault, Kind};
use ledger::{Broken, BrokenTx};
