//! What hosts are told of contexts.

use serde::Serialize;
use siglum_engine::driven::context::{
    Assembled, Bootstrapped, Committed, Coverage, Lineage, Maintained, Resolved, Was,
};
use siglum_engine::views::context::{ContextJson, ContextSwitchJson, GapJson};
use siglum_ledger::ContextGap;

use super::message::VisibleMessage;
#[cfg(test)]
use crate::shared_schemas::{Context, ContextSwitch, Gap};
use crate::wire::Receipt;

/// Whether a context existed before the request.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum ContextResolution {
    /// It was created for this run.
    Created,
    /// The route had it.
    Existing,
    /// The same run requested its keys before.
    Repeated,
}

/// The keys of a run.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct ResolvedContext {
    /// Route key: where answers are delivered.
    route_key: String,
    /// Context key, to pass with every further call.
    context_key: String,
    /// Session that stores the context.
    session: String,
    /// Conversation id.
    conversation_id: String,
    /// Why the context was created.
    cause: &'static str,
    /// What it inherits from its parent: `none`, `summary`, `tail:<n>`, `all`.
    inherit: String,
    /// The parent context.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    resolution: ContextResolution,
}

impl From<&Resolved> for ResolvedContext {
    fn from(resolved: &Resolved) -> Self {
        Self {
            route_key: resolved.keys.route.to_string(),
            context_key: resolved.keys.context.to_string(),
            session: resolved.session.to_string(),
            conversation_id: resolved.conversation.to_string(),
            cause: resolved.cause.as_str(),
            inherit: resolved.inherit.to_string(),
            parent: resolved.parent.as_ref().map(ToString::to_string),
            resolution: match resolved.was {
                Was::Made => ContextResolution::Created,
                Was::Found => ContextResolution::Existing,
                Was::Asked => ContextResolution::Repeated,
            },
        }
    }
}

/// A page of the gaps of a context.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct GapList {
    /// The gaps, in the host's order.
    #[cfg_attr(test, schema(value_type = Vec<Gap>))]
    items: Vec<GapJson>,
    /// Pass it as `cursor` to get the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

impl GapList {
    /// The first `limit` of these gaps.
    pub(crate) fn from_page(gaps: &[ContextGap], limit: usize) -> Self {
        let page = gaps.get(..limit).unwrap_or(gaps);
        let next = page.last().filter(|_| gaps.len() > limit);
        Self {
            items: page.iter().map(GapJson::from).collect(),
            next: next.map(|gap| gap.first.to_string()),
        }
    }
}

/// The state of a context when a run starts.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct BootstrappedContext {
    session: String,
    /// Why the context was created.
    cause: &'static str,
    /// What it inherits from its parent.
    inherit: String,
    /// Last committed sequence of its session.
    committed: u64,
    /// Next position in the host's order, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_position: Option<u64>,
    /// Gaps that are neither filled nor accepted.
    #[cfg_attr(test, schema(value_type = Vec<Gap>))]
    gaps: Vec<GapJson>,
}

impl From<&Bootstrapped> for BootstrappedContext {
    fn from(stands: &Bootstrapped) -> Self {
        Self {
            session: stands.session.to_string(),
            cause: stands.cause.as_str(),
            inherit: stands.inherit.to_string(),
            committed: stands.committed,
            next_position: stands.next,
            gaps: stands.gaps.iter().map(GapJson::from).collect(),
        }
    }
}

/// Whether the current turn is among the messages.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum TurnCoverage {
    /// It is: the host adds nothing.
    CurrentTurn,
    /// It is not: the host adds it behind them.
    BeforeCurrentTurn,
}

/// The messages that a run reads.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct AssembledContext {
    messages: Vec<VisibleMessage>,
    /// Estimated tokens of the messages: one per four bytes.
    tokens: u64,
    /// Tokens left in the budget.
    room: u64,
    /// Whether older messages were omitted to fit the budget.
    cut: bool,
    coverage: TurnCoverage,
}

impl From<&Assembled> for AssembledContext {
    fn from(assembled: &Assembled) -> Self {
        Self {
            messages: assembled
                .messages
                .iter()
                .map(VisibleMessage::from)
                .collect(),
            tokens: assembled.tokens,
            room: assembled.room,
            cut: assembled.cut,
            coverage: match assembled.coverage {
                Coverage::CurrentTurn => TurnCoverage::CurrentTurn,
                Coverage::BeforeCurrentTurn => TurnCoverage::BeforeCurrentTurn,
            },
        }
    }
}

/// The outcome of committing a turn.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum CommitOutcome {
    /// It is stored.
    Committed,
    /// It had been stored before.
    Duplicate,
    /// Turns before it are missing: nothing but the gap is stored.
    Behind,
}

/// The outcome of committing a turn.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct ContextCommit {
    outcome: CommitOutcome,
    /// The receipt of the turn, unless earlier turns are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt: Option<Receipt>,
    /// The expected position, if earlier turns are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<u64>,
}

impl From<&Committed> for ContextCommit {
    fn from(committed: &Committed) -> Self {
        let (outcome, receipt, expected) = match committed {
            Committed::Done(receipt) => (CommitOutcome::Committed, Some(receipt), None),
            Committed::Duplicate(receipt) => (CommitOutcome::Duplicate, Some(receipt), None),
            Committed::Behind { expected } => (CommitOutcome::Behind, None, Some(*expected)),
        };
        Self {
            outcome,
            receipt: receipt.map(Receipt::from),
            expected,
        }
    }
}

/// The result of maintaining a context.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct MaintenanceReport {
    /// Number of records of old runs that were deleted, in all contexts.
    runs: u64,
    /// Number of gaps that are neither filled nor accepted.
    gaps: u64,
}

impl From<Maintained> for MaintenanceReport {
    fn from(done: Maintained) -> Self {
        Self {
            runs: done.runs,
            gaps: done.gaps as u64,
        }
    }
}

/// The number of accepted gaps.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct AcceptedGaps {
    pub(crate) accepted: u64,
}

/// The ancestors and descendants of a context.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct ContextLineage {
    /// The context and its ancestors, newest first.
    #[cfg_attr(test, schema(value_type = Vec<Context>))]
    ancestors: Vec<ContextJson>,
    /// Its children, oldest first; the first 100.
    #[cfg_attr(test, schema(value_type = Vec<Context>))]
    children: Vec<ContextJson>,
    /// Switches of its route to another context, newest first; the last 100.
    #[cfg_attr(test, schema(value_type = Vec<ContextSwitch>))]
    moves: Vec<ContextSwitchJson>,
}

impl From<&Lineage> for ContextLineage {
    fn from(lineage: &Lineage) -> Self {
        Self {
            ancestors: lineage.ancestors.iter().map(ContextJson::from).collect(),
            children: lineage.children.iter().map(ContextJson::from).collect(),
            moves: lineage.moves.iter().map(ContextSwitchJson::from).collect(),
        }
    }
}
