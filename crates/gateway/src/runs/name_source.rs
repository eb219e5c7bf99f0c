//! Where names of conversations come from.

use serde::{Deserialize, Serialize};

/// Where the name of a conversation came from.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, PartialEq, Eq)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum NameSource {
    /// The path of the request.
    Path,
    /// The body of the request.
    Body,
    /// The header `siglum-conversation-id`.
    Header,
    /// The baggage of the trace.
    Baggage,
    /// The agent's own id.
    Agent,
    /// Nobody named it: it is the id of the session.
    Nobody,
}
