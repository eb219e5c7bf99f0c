//! Streams of sealed turns.

use serde::Serialize;

use super::{LogEntry, Receipt};

/// What one receipt seals, as one event of a stream.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct SealedPosition {
    pub(crate) receipt: Receipt,
    /// The entries that it seals, without those that were forgotten.
    pub(crate) entries: Vec<LogEntry>,
}
