//! What hosts are told of contexts.

use serde::Serialize;
use siglum_engine::driven::context::{
    Assembled, Bootstrapped, Committed, Coverage, Explained, Lineage, Maintained, Part, Resolved,
    RouteShown, Was,
};
use siglum_ledger::{ContextGap, ContextRecord, RouteMove, RouteRecord};

use super::message::{MessageOrigin, VisibleMessage, origin};
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

/// A range of the host's order that was not handed over.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct Gap {
    /// The first position.
    first: u64,
    /// The last position.
    last: u64,
    reason: String,
    #[cfg_attr(test, schema(format = DateTime))]
    since: String,
    #[cfg_attr(test, schema(format = DateTime))]
    #[serde(skip_serializing_if = "Option::is_none")]
    filled_at: Option<String>,
    #[cfg_attr(test, schema(format = DateTime))]
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted_by: Option<String>,
}

impl From<&ContextGap> for Gap {
    fn from(gap: &ContextGap) -> Self {
        let accepted = gap.accepted.as_ref();
        Self {
            first: gap.first,
            last: gap.last,
            reason: gap.reason.clone(),
            since: gap.since.to_string(),
            filled_at: gap.filled_at.map(|at| at.to_string()),
            accepted_at: accepted.map(|(at, _)| at.to_string()),
            accepted_by: accepted.map(|(_, by)| by.clone()),
        }
    }
}

/// A page of the gaps of a context.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct GapList {
    /// The gaps, in the host's order.
    items: Vec<Gap>,
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
            items: page.iter().map(Gap::from).collect(),
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
    gaps: Vec<Gap>,
}

impl From<&Bootstrapped> for BootstrappedContext {
    fn from(stands: &Bootstrapped) -> Self {
        Self {
            session: stands.session.to_string(),
            cause: stands.cause.as_str(),
            inherit: stands.inherit.to_string(),
            committed: stands.committed,
            next_position: stands.next,
            gaps: stands.gaps.iter().map(Gap::from).collect(),
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

/// A context.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct Context {
    context_key: String,
    route_key: String,
    session: String,
    /// Why it was created.
    cause: &'static str,
    /// What it inherits from its parent.
    inherit: String,
    /// The parent context.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    /// Last sequence of the parent's log that it may see.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_at: Option<u64>,
    /// Who requested it.
    by: String,
    #[cfg_attr(test, schema(format = DateTime))]
    created_at: String,
    #[cfg_attr(test, schema(format = DateTime))]
    seen_at: String,
    #[cfg_attr(test, schema(format = DateTime))]
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    /// Other names that the host uses for it.
    #[cfg_attr(test, schema(value_type = Object))]
    aliases: serde_json::Value,
}

impl From<&ContextRecord> for Context {
    fn from(context: &ContextRecord) -> Self {
        let parent = context.parent.as_ref();
        Self {
            context_key: context.key.to_string(),
            route_key: context.route.to_string(),
            session: context.session.to_string(),
            cause: context.cause.as_str(),
            inherit: context.inherit.to_string(),
            parent: parent.map(|(key, _)| key.to_string()),
            parent_at: parent.map(|(_, at)| *at),
            by: context.by.clone(),
            created_at: context.created_at.to_string(),
            seen_at: context.seen_at.to_string(),
            ended_at: context.ended_at.map(|at| at.to_string()),
            aliases: serde_json::from_str(&context.anchors).unwrap_or_default(),
        }
    }
}

/// A route switched to another context.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct ContextSwitch {
    #[cfg_attr(test, schema(format = DateTime))]
    at: String,
    by: String,
    /// The previous context.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// The new context.
    to: String,
    cause: &'static str,
}

impl From<&RouteMove> for ContextSwitch {
    fn from(moved: &RouteMove) -> Self {
        Self {
            at: moved.at.to_string(),
            by: moved.by.clone(),
            from: moved.from.as_ref().map(ToString::to_string),
            to: moved.to.to_string(),
            cause: moved.cause.as_str(),
        }
    }
}

/// The ancestors and descendants of a context.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct ContextLineage {
    /// The context and its ancestors, newest first.
    ancestors: Vec<Context>,
    /// Its children, oldest first; the first 100.
    children: Vec<Context>,
    /// Switches of its route to another context, newest first; the last 100.
    moves: Vec<ContextSwitch>,
}

impl From<&Lineage> for ContextLineage {
    fn from(lineage: &Lineage) -> Self {
        Self {
            ancestors: lineage.ancestors.iter().map(Context::from).collect(),
            children: lineage.children.iter().map(Context::from).collect(),
            moves: lineage.moves.iter().map(ContextSwitch::from).collect(),
        }
    }
}

/// Entries that are visible from a context for one reason.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct VisiblePart {
    origin: MessageOrigin,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    session: String,
    /// The sequence of the first of them.
    first: u64,
    /// The sequence of the last of them.
    last: u64,
    messages: u64,
    why: String,
}

impl From<&Part> for VisiblePart {
    fn from(part: &Part) -> Self {
        let (origin, from) = origin(&part.origin);
        Self {
            origin,
            from,
            session: part.session.to_string(),
            first: part.first,
            last: part.last,
            messages: part.messages as u64,
            why: part.why.clone(),
        }
    }
}

/// A turn that repeats an interrupted one.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct RecoveredTurn {
    /// Its key.
    turn_key: String,
    /// Key of the interrupted turn.
    recovers: String,
}

/// Why a run of a context sees these messages.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct ContextExplanation {
    context: Context,
    /// The visible parts, in order.
    parts: Vec<VisiblePart>,
    /// Turns of heartbeats in it.
    heartbeats: u64,
    recovered: Vec<RecoveredTurn>,
    gaps: Vec<Gap>,
}

impl From<&Explained> for ContextExplanation {
    fn from(explained: &Explained) -> Self {
        let recovered = explained.recovered.iter().map(|turn| RecoveredTurn {
            turn_key: turn.key.clone(),
            recovers: turn.recovers.clone().unwrap_or_default(),
        });
        Self {
            context: Context::from(&explained.context),
            parts: explained.parts.iter().map(VisiblePart::from).collect(),
            heartbeats: explained.heartbeats as u64,
            recovered: recovered.collect(),
            gaps: explained.gaps.iter().map(Gap::from).collect(),
        }
    }
}

/// The last run of a route.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct LastRun {
    context_key: String,
    session: String,
    /// Outcome, in a word chosen by its host; absent while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    /// When it started or ended.
    #[cfg_attr(test, schema(format = DateTime))]
    at: String,
}

/// A route.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct Route {
    pub(crate) route_key: String,
    /// Key of the context that its ordinary runs see; absent if all its runs were isolated.
    #[serde(skip_serializing_if = "Option::is_none")]
    context_key: Option<String>,
    agent: String,
    #[cfg_attr(test, schema(format = DateTime))]
    created_at: String,
    /// Time of its last activity.
    #[cfg_attr(test, schema(format = DateTime))]
    seen_at: String,
    /// Number of runs.
    runs: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<LastRun>,
}

impl From<&RouteRecord> for Route {
    fn from(route: &RouteRecord) -> Self {
        Self {
            route_key: route.key.to_string(),
            context_key: route.current.as_ref().map(ToString::to_string),
            agent: route.agent.to_string(),
            created_at: route.created_at.to_string(),
            seen_at: route.seen_at.to_string(),
            runs: route.runs,
            last: route.last.as_ref().map(|last| LastRun {
                context_key: last.context.to_string(),
                session: last.session.to_string(),
                outcome: last.outcome.clone(),
                at: last.at.to_string(),
            }),
        }
    }
}

/// Routes, sorted by key.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct RouteList {
    pub(crate) items: Vec<Route>,
    /// Pass it as `cursor` to get the next page; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

/// A route with its latest contexts.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct RouteDetail {
    route: Route,
    /// Newest first; the last 100.
    contexts: Vec<Context>,
    /// Switches to another context, newest first; the last 100.
    moves: Vec<ContextSwitch>,
}

impl From<&RouteShown> for RouteDetail {
    fn from(shown: &RouteShown) -> Self {
        Self {
            route: Route::from(&shown.route),
            contexts: shown.contexts.iter().map(Context::from).collect(),
            moves: shown.moves.iter().map(ContextSwitch::from).collect(),
        }
    }
}
