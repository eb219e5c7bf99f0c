//! Pipelines, seen: recording what happens in one, and showing what it comes to.
//!
//! Nothing here starts, stops or holds up anything: a pipeline belongs to whoever runs it.

mod bundle;
mod draw;
mod error;
mod graph;
mod json;
mod record;
#[cfg(test)]
mod tests;

pub use bundle::{Bundle, BundleContent, bundle};
pub use draw::{Drawing, Piece, Style, Tone, draw, duration};
pub use error::PipelineError;
pub use graph::{Page, graph, list};
pub use json::{
    CheckJson, ContractJson, CountsJson, GraphJson, InstanceJson, PhaseJson, ReviewJson,
    ValidatedJson,
};
pub use record::{EVENTS_MOST, Recorded, record};
