//! One record, understood.

use siglum_domain::Timestamp;
use siglum_domain::observation::Observation;
use siglum_domain::trace::{SpanId, TraceId};

use super::claims::Claims;
use crate::wire::{Batch, RecordIndex};

/// What one record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Heard {
    /// Which record of its batch.
    pub record: RecordIndex,
    /// When it happened (a span: when it began); the epoch where the record has no time.
    pub at: Timestamp,
    /// Its name, for listings.
    pub name: String,
    /// The trace it belongs to.
    pub trace: Option<TraceId>,
    /// The span that it is, or that it was written in.
    pub span: Option<SpanId>,
    /// The span above it.
    pub parent: Option<SpanId>,
    /// Who it says it is from.
    pub claims: Claims,
    /// What it says was done.
    pub observations: Vec<Observation>,
}

/// Listens to every record of a batch, in order.
///
/// The batch is expected to be redacted: what is taken from it as text is taken as it stands.
#[must_use]
pub fn hear(batch: &Batch) -> Vec<Heard> {
    let mut heard = Vec::with_capacity(batch.records());
    batch.each(|view| heard.push(super::records::hear(&view)));
    heard
}
