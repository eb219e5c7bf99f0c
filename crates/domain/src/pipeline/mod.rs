//! Pipelines, seen: what was recorded of one, and the graph that it comes to with its sessions.
//!
//! A pipeline is known by the link `pipeline_id`. Nothing here says what a pipeline may do: no gate, no order of
//! phases, no permission. It tells what was recorded, and what follows from it is marked as such.

mod event;
mod fold;
mod graph;
mod phase;
mod summary;
mod taking;
#[cfg(test)]
mod tests;

pub use event::{CheckEvidence, CheckResult, Draft, Event, NewEvent, Outcome, ReviewVerdict, What};
pub use fold::fold;
pub use graph::{
    Activity, Check, CheckCounts, Contract, Graph, Instance, Member, Phase, Review, State, Totals,
    Validated,
};
pub use taking::{KINDS, TEXT_MOST, pipeline_id, take};
