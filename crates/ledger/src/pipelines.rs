//! Verbs of pipelines: what was recorded of each, and which sessions were ever linked to it.
//!
//! A pipeline is there from the first link or event that names it. Its events have numbers of their own without holes,
//! so that whoever records one is in the way of nobody who records another pipeline.

use siglum_domain::Timestamp;
use siglum_domain::pipeline::{Draft, Event};

use crate::LedgerError;
use crate::record::SessionListing;

type Result<T, E = LedgerError> = std::result::Result<T, E>;

/// A pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PipelineRecord {
    pub id: String,
    /// When it was first named.
    pub first_at: Timestamp,
    /// When it was last named.
    pub last_at: Timestamp,
    pub events: u64,
}

/// An event on its way into a pipeline.
#[derive(Debug, Clone, Copy)]
pub struct NewPipelineEvent<'a> {
    /// When the ledger takes it.
    pub at: Timestamp,
    /// Who records it.
    pub by: &'a str,
    pub source: &'a str,
    pub draft: &'a Draft,
    /// A keyed digest of what was said.
    pub content: &'a str,
}

/// What was recorded of pipelines, and their sessions.
#[expect(
    clippy::missing_errors_doc,
    reason = "every verb fails as its transaction does"
)]
pub trait Pipelines {
    /// Records an event under the next number of its pipeline, which it gives. A key that the pipeline has already is
    /// an error of the store: ask for it before.
    fn put_pipeline_event(&mut self, pipeline: &str, event: &NewPipelineEvent<'_>) -> Result<u64>;
    /// The number and the digest of what was said of the event that its caller calls so.
    fn keyed_pipeline_event(&mut self, pipeline: &str, key: &str) -> Result<Option<(u64, String)>>;
    /// The events of a pipeline behind a number, in order.
    fn pipeline_events(&mut self, pipeline: &str, after: u64, limit: usize) -> Result<Vec<Event>>;
    /// One pipeline.
    fn pipeline(&mut self, id: &str) -> Result<Option<PipelineRecord>>;
    /// Pipelines behind one, the one that was first named last first, then by id.
    fn pipelines(
        &mut self,
        after: Option<&PipelineRecord>,
        limit: usize,
    ) -> Result<Vec<PipelineRecord>>;
    /// The sessions that were ever linked to a pipeline, oldest first, then by id.
    fn sessions_of_pipeline(&mut self, pipeline: &str) -> Result<Vec<SessionListing>>;
}
