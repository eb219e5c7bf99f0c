//! Streams of sealed turns.

use serde::Serialize;
use utoipa::ToSchema;

use super::{LogEntry, Receipt};

/// What one receipt seals, as one event of a stream.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct SealedPosition {
    pub(crate) receipt: Receipt,
    /// The entries that it seals, without those that were forgotten.
    pub(crate) entries: Vec<LogEntry>,
}
