//! Contexts and their routes as they are shown: one form for the command line and for the API.

use serde::Serialize;
use siglum_domain::Timestamp;
use siglum_ledger::{ContextGap, ContextRecord, RouteMove, RouteRecord};

use crate::driven::context::{Explained, Origin, Part, RouteShown};

#[cfg(feature = "schemas")]
words! {
    OriginWords as "MessageOrigin":
        "Where a visible message comes from.", "own" | "inherited" | "summary" | "open";
}

/// A context.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ContextJson {
    context_key: String,
    route_key: String,
    session: String,
    /// Why it was created.
    cause: String,
    /// What it inherits from its parent: `none`, `summary`, `tail:<n>`, `all`.
    inherit: String,
    /// The parent context.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    /// Last sequence of the parent's log that it may see.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_at: Option<u64>,
    /// Who requested it.
    by: String,
    created_at: Timestamp,
    seen_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Timestamp>,
    /// Other names that the host uses for it.
    #[cfg_attr(feature = "schemas", schemars(extend("type" = "object")))]
    aliases: serde_json::Value,
}

/// A route.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RouteJson {
    route_key: String,
    /// Key of the context that its ordinary runs see; absent if all its runs were isolated.
    #[serde(skip_serializing_if = "Option::is_none")]
    context_key: Option<String>,
    agent: String,
    created_at: Timestamp,
    /// Time of its last activity.
    seen_at: Timestamp,
    /// Number of runs.
    runs: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<LastRunJson>,
}

/// The last run of a route.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LastRunJson {
    context_key: String,
    session: String,
    /// Outcome, in a word chosen by its host; absent while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    /// When it started or ended.
    at: Timestamp,
}

/// Routes, sorted by key.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RouteListJson {
    items: Vec<RouteJson>,
    /// Whether there are more than were asked for.
    more: bool,
    /// Pass it as `cursor` to get the next page of the API; absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
}

/// A route with its latest contexts.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RouteDetailJson {
    route: RouteJson,
    /// Newest first; the last 100.
    contexts: Vec<ContextJson>,
    /// Switches to another context, newest first; the last 100.
    moves: Vec<ContextSwitchJson>,
}

/// A route switched to another context.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ContextSwitchJson {
    at: Timestamp,
    by: String,
    /// The previous context.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// The new context.
    to: String,
    cause: String,
}

/// Why a run of a context sees these messages.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ContextExplanationJson {
    context: ContextJson,
    /// The visible parts, in order.
    parts: Vec<VisiblePartJson>,
    /// Turns of heartbeats in it.
    heartbeats: u64,
    recovered: Vec<RecoveredTurnJson>,
    gaps: Vec<GapJson>,
}

/// Entries that are visible from a context for one reason.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct VisiblePartJson {
    #[cfg_attr(feature = "schemas", schemars(with = "OriginWords"))]
    origin: &'static str,
    /// The context that they are inherited from or summarise.
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

/// A turn that repeats an interrupted one.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RecoveredTurnJson {
    /// Its key.
    turn_key: String,
    /// Key of the interrupted turn.
    recovers: String,
}

/// A range of the host's order that was not handed over.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct GapJson {
    /// The first position.
    first: u64,
    /// The last position.
    last: u64,
    reason: String,
    since: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    filled_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted_by: Option<String>,
}

impl From<&ContextRecord> for ContextJson {
    fn from(context: &ContextRecord) -> Self {
        let parent = context.parent.as_ref();
        Self {
            context_key: context.key.to_string(),
            route_key: context.route.to_string(),
            session: context.session.to_string(),
            cause: context.cause.to_string(),
            inherit: context.inherit.to_string(),
            parent: parent.map(|(key, _)| key.to_string()),
            parent_at: parent.map(|(_, at)| *at),
            by: context.by.clone(),
            created_at: context.created_at,
            seen_at: context.seen_at,
            ended_at: context.ended_at,
            aliases: serde_json::from_str(&context.anchors).unwrap_or_default(),
        }
    }
}

impl From<&RouteRecord> for RouteJson {
    fn from(route: &RouteRecord) -> Self {
        Self {
            route_key: route.key.to_string(),
            context_key: route.current.as_ref().map(ToString::to_string),
            agent: route.agent.to_string(),
            created_at: route.created_at,
            seen_at: route.seen_at,
            runs: route.runs,
            last: route.last.as_ref().map(|last| LastRunJson {
                context_key: last.context.to_string(),
                session: last.session.to_string(),
                outcome: last.outcome.clone(),
                at: last.at,
            }),
        }
    }
}

impl RouteListJson {
    /// The first `limit` of these routes, behind which there are more where these are more.
    #[must_use]
    pub fn from_page(routes: &[RouteRecord], limit: usize) -> Self {
        let page = routes.get(..limit).unwrap_or(routes);
        let more = routes.len() > limit;
        let last = page.last().filter(|_| more);
        Self {
            items: page.iter().map(RouteJson::from).collect(),
            more,
            next: last.map(|route| route.key.to_string()),
        }
    }
}

impl From<&RouteMove> for ContextSwitchJson {
    fn from(moved: &RouteMove) -> Self {
        Self {
            at: moved.at,
            by: moved.by.clone(),
            from: moved.from.as_ref().map(ToString::to_string),
            to: moved.to.to_string(),
            cause: moved.cause.to_string(),
        }
    }
}

impl From<&RouteShown> for RouteDetailJson {
    fn from(shown: &RouteShown) -> Self {
        Self {
            route: RouteJson::from(&shown.route),
            contexts: shown.contexts.iter().map(ContextJson::from).collect(),
            moves: shown.moves.iter().map(ContextSwitchJson::from).collect(),
        }
    }
}

impl From<&ContextGap> for GapJson {
    fn from(gap: &ContextGap) -> Self {
        let accepted = gap.accepted.as_ref();
        Self {
            first: gap.first,
            last: gap.last,
            reason: gap.reason.clone(),
            since: gap.since,
            filled_at: gap.filled_at,
            accepted_at: accepted.map(|(at, _)| *at),
            accepted_by: accepted.map(|(_, by)| by.clone()),
        }
    }
}

impl From<&Part> for VisiblePartJson {
    fn from(part: &Part) -> Self {
        let (origin, from) = match &part.origin {
            Origin::Own => ("own", None),
            Origin::Open => ("open", None),
            Origin::Inherited { from } => ("inherited", Some(from)),
            Origin::Summary { of } => ("summary", Some(of)),
        };
        Self {
            origin,
            from: from.map(ToString::to_string),
            session: part.session.to_string(),
            first: part.first,
            last: part.last,
            messages: part.messages as u64,
            why: part.why.clone(),
        }
    }
}

impl From<&Explained> for ContextExplanationJson {
    fn from(explained: &Explained) -> Self {
        let recovered = explained.recovered.iter().map(|turn| RecoveredTurnJson {
            turn_key: turn.key.clone(),
            recovers: turn.recovers.clone().unwrap_or_default(),
        });
        Self {
            context: ContextJson::from(&explained.context),
            parts: explained.parts.iter().map(VisiblePartJson::from).collect(),
            heartbeats: explained.heartbeats as u64,
            recovered: recovered.collect(),
            gaps: explained.gaps.iter().map(GapJson::from).collect(),
        }
    }
}
