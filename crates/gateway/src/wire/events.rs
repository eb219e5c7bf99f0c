//! Streams of sealed turns.

use serde::Serialize;
use utoipa::ToSchema;

use super::{EntryTold, ReceiptTold};

/// What one receipt seals, as one event of a stream.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct SealedTold {
    pub(crate) receipt: ReceiptTold,
    /// The entries that it seals, without those that were forgotten.
    pub(crate) entries: Vec<EntryTold>,
}
