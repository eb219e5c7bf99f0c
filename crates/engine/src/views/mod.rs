//! Answers about sessions, their cost, pipelines, and the state of the ledger.

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
