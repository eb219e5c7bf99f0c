//! Turns that wait for a decision, and the decision.

use serde::{Deserialize, Serialize};
use siglum_domain::observation::{Body, Fact, Observation, event};
use siglum_engine::driven::turn::{Decision, Held};

use super::Receipt;

/// How much of the input of a call is shown, in characters.
const INPUT: usize = 200;

/// A tool call without a result: it is unknown whether it was executed.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct UnansweredCall {
    call: String,
    tool: String,
    /// The first 200 characters of its input; absent in a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<String>,
    #[cfg_attr(test, schema(format = DateTime))]
    started_at: String,
}

impl UnansweredCall {
    fn new(call: &Observation) -> Option<Self> {
        let Fact::ToolStarted { tool, input, .. } = &call.fact else {
            return None;
        };
        let input = Body::text(input).map(|text| text.chars().take(INPUT).collect());
        Some(Self {
            call: event::call_of(&call.event)
                .unwrap_or(&call.event)
                .to_owned(),
            tool: tool.clone(),
            input,
            started_at: call.at.to_string(),
        })
    }
}

/// A turn that waits for a decision: its driver is gone, and calls in it have no result.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct HeldTurn {
    session: String,
    /// Turn key; pass it with the decision.
    turn_key: String,
    /// When the turn was opened.
    #[cfg_attr(test, schema(format = DateTime))]
    since: String,
    /// The calls without a result, in order.
    calls: Vec<UnansweredCall>,
}

impl From<&Held> for HeldTurn {
    fn from(held: &Held) -> Self {
        let calls = held.calls().into_iter();
        Self {
            session: held.turn.session.to_string(),
            turn_key: held.turn.key.clone(),
            since: held.turn.opened_at.to_string(),
            calls: calls.filter_map(UnansweredCall::new).collect(),
        }
    }
}

impl HeldTurn {
    /// The same without what was said in it, which nobody is shown before it is committed unless they are to decide.
    pub(crate) fn without_input(mut self) -> Self {
        for call in &mut self.calls {
            call.input = None;
        }
        self
    }
}

/// A page of turns that wait for a decision.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct HeldTurnList {
    /// The turns, in the order in which their sessions were created.
    pub(crate) items: Vec<HeldTurn>,
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
