//! What hosts are told of contexts.

use serde::Serialize;
use siglum_engine::context::{
    Assembled, Bootstrapped, Committed, Coverage, Explained, Lineage, Maintained, Part, Resolved,
    RouteShown, Was,
};
use siglum_ledger::{ContextGap, ContextRecord, RouteMove, RouteRecord};
use utoipa::ToSchema;

use super::message::{OriginTold, SeenTold, origin};
use crate::wire::ReceiptTold;

/// Whether a context was there.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WasTold {
    /// It came to be for this run.
    Made,
    /// The route had it.
    Found,
    /// The same run asked before.
    Asked,
}

/// The keys of a run.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct ResolvedTold {
    /// Where answers go.
    route_key: String,
    /// What is kept under it: to be given with every other call.
    context_key: String,
    /// The session that the context is kept in.
    session: String,
    /// What the outside world calls the conversation.
    conversation_id: String,
    /// Why the context came to be.
    cause: &'static str,
    /// What it has of the one that it came from: `none`, `summary`, `tail:<n>`, `all`.
    inherit: String,
    /// The one that it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    was: WasTold,
}

impl From<&Resolved> for ResolvedTold {
    fn from(resolved: &Resolved) -> Self {
        Self {
            route_key: resolved.keys.route.to_string(),
            context_key: resolved.keys.context.to_string(),
            session: resolved.session.to_string(),
            conversation_id: resolved.conversation.to_string(),
            cause: resolved.cause.as_str(),
            inherit: resolved.inherit.to_string(),
            parent: resolved.parent.as_ref().map(ToString::to_string),
            was: match resolved.was {
                Was::Made => WasTold::Made,
                Was::Found => WasTold::Found,
                Was::Asked => WasTold::Asked,
            },
        }
    }
}

/// A part of a host's order that nobody handed over.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct GapTold {
    /// The first position.
    first: u64,
    /// The last position.
    last: u64,
    reason: String,
    #[schema(format = DateTime)]
    since: String,
    #[schema(format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    filled_at: Option<String>,
    #[schema(format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted_by: Option<String>,
}

impl From<&ContextGap> for GapTold {
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

/// The gaps of a context, in the host's order.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct GapsTold {
    gaps: Vec<GapTold>,
}

impl From<&[ContextGap]> for GapsTold {
    fn from(gaps: &[ContextGap]) -> Self {
        let gaps = gaps.iter().map(GapTold::from).collect();
        Self { gaps }
    }
}

/// How a context stands when a run begins.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct BootstrappedTold {
    session: String,
    /// Why the context came to be.
    cause: &'static str,
    /// What it has of the one that it came from.
    inherit: String,
    /// The last committed sequence of its session.
    committed: u64,
    /// The next position in the host's own order, where one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_position: Option<u64>,
    /// The gaps that nobody filled or accepted.
    gaps: Vec<GapTold>,
}

impl From<&Bootstrapped> for BootstrappedTold {
    fn from(stands: &Bootstrapped) -> Self {
        Self {
            session: stands.session.to_string(),
            cause: stands.cause.as_str(),
            inherit: stands.inherit.to_string(),
            committed: stands.committed,
            next_position: stands.next,
            gaps: stands.gaps.iter().map(GapTold::from).collect(),
        }
    }
}

/// Whether the current turn is among the messages.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CoverageTold {
    /// It is: the host adds nothing.
    CurrentTurn,
    /// It is not: the host adds it behind them.
    BeforeCurrentTurn,
}

/// What a run reads.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct AssembledTold {
    messages: Vec<SeenTold>,
    /// Their tokens, estimated: one for four bytes.
    tokens: u64,
    /// The tokens that are left of the budget.
    room: u64,
    /// Whether older messages were left out for the budget.
    cut: bool,
    coverage: CoverageTold,
}

impl From<&Assembled> for AssembledTold {
    fn from(assembled: &Assembled) -> Self {
        Self {
            messages: assembled.messages.iter().map(SeenTold::from).collect(),
            tokens: assembled.tokens,
            room: assembled.room,
            cut: assembled.cut,
            coverage: match assembled.coverage {
                Coverage::CurrentTurn => CoverageTold::CurrentTurn,
                Coverage::BeforeCurrentTurn => CoverageTold::BeforeCurrentTurn,
            },
        }
    }
}

/// What became of a turn that was handed over.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AdvancementTold {
    /// It is stored.
    Committed,
    /// It had been stored before.
    Duplicate,
    /// Turns before it are missing: nothing but the gap is stored.
    Behind,
}

/// What became of a turn that was handed over.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct AdvancedTold {
    outcome: AdvancementTold,
    /// The receipt of the turn, unless turns before it are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    receipt: Option<ReceiptTold>,
    /// The position that was expected, where turns before it are missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<u64>,
}

impl From<&Committed> for AdvancedTold {
    fn from(committed: &Committed) -> Self {
        let (outcome, receipt, expected) = match committed {
            Committed::Done(receipt) => (AdvancementTold::Committed, Some(receipt), None),
            Committed::Duplicate(receipt) => (AdvancementTold::Duplicate, Some(receipt), None),
            Committed::Behind { expected } => (AdvancementTold::Behind, None, Some(*expected)),
        };
        Self {
            outcome,
            receipt: receipt.map(ReceiptTold::from),
            expected,
        }
    }
}

/// What looking after a context gave.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct MaintainedTold {
    /// How many notes of old runs were let go, of any context.
    runs: u64,
    /// How many gaps wait to be filled or accepted.
    gaps: u64,
}

impl From<Maintained> for MaintainedTold {
    fn from(done: Maintained) -> Self {
        Self {
            runs: done.runs,
            gaps: done.gaps as u64,
        }
    }
}

/// How many gaps were accepted.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct AcceptedTold {
    pub(crate) accepted: u64,
}

/// A context.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct ContextTold {
    context_key: String,
    route_key: String,
    session: String,
    /// Why it came to be.
    cause: &'static str,
    /// What it has of the one that it came from.
    inherit: String,
    /// The one that it came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    /// The last sequence of that one's log that it may see.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_at: Option<u64>,
    /// Who asked for it.
    by: String,
    #[schema(format = DateTime)]
    created_at: String,
    #[schema(format = DateTime)]
    seen_at: String,
    #[schema(format = DateTime)]
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<String>,
    /// What else the host calls it.
    #[schema(value_type = Object)]
    aliases: serde_json::Value,
}

impl From<&ContextRecord> for ContextTold {
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

/// A route went over to another context.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct MoveTold {
    #[schema(format = DateTime)]
    at: String,
    by: String,
    /// The context before.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// The context since.
    to: String,
    cause: &'static str,
}

impl From<&RouteMove> for MoveTold {
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

/// Where a context came from, and what came from it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct LineageTold {
    /// The context and those that it came from, newest first.
    ancestors: Vec<ContextTold>,
    /// Those that came from it, oldest first; the first hundred.
    children: Vec<ContextTold>,
    /// When its route went over to another context, newest first; the last hundred.
    moves: Vec<MoveTold>,
}

impl From<&Lineage> for LineageTold {
    fn from(lineage: &Lineage) -> Self {
        Self {
            ancestors: lineage.ancestors.iter().map(ContextTold::from).collect(),
            children: lineage.children.iter().map(ContextTold::from).collect(),
            moves: lineage.moves.iter().map(MoveTold::from).collect(),
        }
    }
}

/// Entries that are seen from a context for one reason.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct PartTold {
    origin: OriginTold,
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

impl From<&Part> for PartTold {
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

/// A turn that did one again that was broken off.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct RecoveredTold {
    /// Its key.
    advancement_key: String,
    /// The key of the one that was broken off.
    recovers: String,
}

/// Why a run sees what it sees.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct ExplainedTold {
    context: ContextTold,
    /// What is seen, in order.
    parts: Vec<PartTold>,
    /// The turns that heartbeats had in it.
    heartbeats: u64,
    recovered: Vec<RecoveredTold>,
    gaps: Vec<GapTold>,
}

impl From<&Explained> for ExplainedTold {
    fn from(explained: &Explained) -> Self {
        let recovered = explained.recovered.iter().map(|turn| RecoveredTold {
            advancement_key: turn.key.clone(),
            recovers: turn.recovers.clone().unwrap_or_default(),
        });
        Self {
            context: ContextTold::from(&explained.context),
            parts: explained.parts.iter().map(PartTold::from).collect(),
            heartbeats: explained.heartbeats as u64,
            recovered: recovered.collect(),
            gaps: explained.gaps.iter().map(GapTold::from).collect(),
        }
    }
}

/// The last run of a route.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct LastRunTold {
    context_key: String,
    session: String,
    /// How it ended, in a word of its host; absent while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    /// When it began, or ended.
    #[schema(format = DateTime)]
    at: String,
}

/// A route.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct RouteTold {
    pub(crate) route_key: String,
    /// The context that its ordinary runs see; absent where all of them were isolated.
    #[serde(skip_serializing_if = "Option::is_none")]
    current: Option<String>,
    agent: String,
    #[schema(format = DateTime)]
    created_at: String,
    /// When anything was last heard of it.
    #[schema(format = DateTime)]
    seen_at: String,
    /// How many runs there were.
    runs: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<LastRunTold>,
}

impl From<&RouteRecord> for RouteTold {
    fn from(route: &RouteRecord) -> Self {
        Self {
            route_key: route.key.to_string(),
            current: route.current.as_ref().map(ToString::to_string),
            agent: route.agent.to_string(),
            created_at: route.created_at.to_string(),
            seen_at: route.seen_at.to_string(),
            runs: route.runs,
            last: route.last.as_ref().map(|last| LastRunTold {
                context_key: last.context.to_string(),
                session: last.session.to_string(),
                outcome: last.outcome.clone(),
                at: last.at.to_string(),
            }),
        }
    }
}

/// Routes, by key.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct RoutesTold {
    pub(crate) routes: Vec<RouteTold>,
    /// The last key, where there may be more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

/// A route with the last of its contexts.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct RouteShownTold {
    route: RouteTold,
    /// Newest first; the last hundred.
    contexts: Vec<ContextTold>,
    /// When it went over to another context, newest first; the last hundred.
    moves: Vec<MoveTold>,
}

impl From<&RouteShown> for RouteShownTold {
    fn from(shown: &RouteShown) -> Self {
        Self {
            route: RouteTold::from(&shown.route),
            contexts: shown.contexts.iter().map(ContextTold::from).collect(),
            moves: shown.moves.iter().map(MoveTold::from).collect(),
        }
    }
}
