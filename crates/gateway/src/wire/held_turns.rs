//! Turns that wait for a decision, and the decision.

use serde::{Deserialize, Serialize};
use siglum_engine::driven::turn::Decision;
use siglum_engine::views::session::HeldTurnJson;

use super::Receipt;
#[cfg(test)]
use crate::shared_schemas::HeldTurn;

/// A page of turns that wait for a decision.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct HeldTurnList {
    /// The turns, in the order in which their sessions were created.
    #[cfg_attr(test, schema(value_type = Vec<HeldTurn>))]
    pub(crate) items: Vec<HeldTurnJson>,
    /// Pass it as `cursor` to get the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

/// What becomes of a turn that waits for a decision.
#[derive(Debug, Clone, Copy, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum TurnDecision {
    /// The turn is kept; the calls without a result were executed.
    Done,
    /// The turn is kept; the calls without a result failed.
    Failed,
    /// The turn is dropped, with all of its content.
    Discard,
}

impl From<TurnDecision> for Decision {
    fn from(decision: TurnDecision) -> Self {
        match decision {
            TurnDecision::Done => Self::Done,
            TurnDecision::Failed => Self::Failed,
            TurnDecision::Discard => Self::Discard,
        }
    }
}

/// The decision on a turn.
#[derive(Debug, Clone, Deserialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct DecideTurn {
    pub(crate) decision: TurnDecision,
}

/// The result of a decision.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct DecidedTurn {
    /// The receipt of the turn; absent if it was discarded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) receipt: Option<Receipt>,
    /// Whether the turn was already committed, so that nothing was decided.
    pub(crate) already: bool,
}
