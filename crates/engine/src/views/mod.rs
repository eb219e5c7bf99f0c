//! Answers about sessions, their checkpoints and cost, pipelines, and the state of the ledger.

pub mod checkpoints;
pub mod cost;
pub mod doctor;
pub mod file_history;
pub mod find;
pub mod history;
pub mod overview;
pub mod pipeline;
pub mod search;
pub mod session;
pub mod verify;
