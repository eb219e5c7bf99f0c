//! `siglum mcp`: the ledger as tools of an agent.

mod args;
mod caller;
mod desk;

pub use desk::{Args, run};
