//! Where contexts came from, and why a run saw what it saw.

use siglum_domain::SessionId;
use siglum_domain::context::{Keys, RouteKey};
use siglum_ledger::{
    ContextGap, ContextRecord, ContextTurn, ContextTurnKind, Ledger, RouteMove, RouteRecord,
};

use super::error::{attempt_read, belongs};
use super::view::{Gaps, Heartbeats, Look, Most, Past, view};
use super::{ContextError, Origin};

/// How far back contexts are followed, and how many of each list are told.
const DEEP: usize = 64;
const LISTED: usize = 100;

type Outcome<T> = Result<T, ContextError>;

/// Where a context came from, and what came from it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lineage {
    /// The context and those that it came from, newest first.
    pub ancestors: Vec<ContextRecord>,
    /// Those that came from it, oldest first; the first hundred.
    pub children: Vec<ContextRecord>,
    /// When its route went over to another context, newest first; the last hundred.
    pub moves: Vec<RouteMove>,
}

/// Tells where a context came from, and what came from it.
///
/// # Errors
/// [`ContextError::Mismatch`] and [`ContextError::NoContext`] for keys that do not belong together.
pub fn lineage(ledger: &mut dyn Ledger, keys: &Keys) -> Outcome<Lineage> {
    attempt_read(ledger, |tx| {
        let context = belongs(tx, keys)?;
        let mut ancestors = vec![context.clone()];
        let mut next = context.parent;
        while let Some((key, _)) = next.filter(|_| ancestors.len() < DEEP) {
            let Some(before) = tx.context(&key)? else {
                break;
            };
            next = before.parent.clone();
            ancestors.push(before);
        }
        Ok(Lineage {
            ancestors,
            children: tx.contexts_from(&keys.context, LISTED)?,
            moves: tx.route_moves(&keys.route, LISTED)?,
        })
    })
}

/// Entries that are seen from a context for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub origin: Origin,
    pub session: SessionId,
    /// The sequence of the first of them.
    pub first: u64,
    /// The sequence of the last of them.
    pub last: u64,
    pub messages: usize,
    /// Why they are seen, in words.
    pub why: String,
}

/// Why a run sees what it sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explained {
    pub context: ContextRecord,
    /// What is seen, in order.
    pub parts: Vec<Part>,
    /// The turns that heartbeats had in it.
    pub heartbeats: usize,
    /// The turns that did one again that was broken off.
    pub recovered: Vec<ContextTurn>,
    /// Its gaps, also those that were filled or accepted.
    pub gaps: Vec<ContextGap>,
}

/// Tells why a run of a context sees what it sees.
///
/// # Errors
/// As [`lineage`].
pub fn explain(ledger: &mut dyn Ledger, keys: &Keys) -> Outcome<Explained> {
    attempt_read(ledger, |tx| {
        let context = belongs(tx, keys)?;
        let head = tx.session(context.session)?.map_or(0, |s| s.sealed);
        let all = Look {
            heartbeats: Heartbeats::Seen,
            gaps: Gaps::Accepted,
            past: Past::Compacted,
            most: Most::All,
        };
        let mut parts: Vec<Part> = Vec::new();
        for seen in view(tx, &context, head, all)? {
            match parts.last_mut() {
                Some(part) if part.origin == seen.origin && part.session == seen.session => {
                    part.first = part.first.min(seen.sequence);
                    part.last = part.last.max(seen.sequence);
                    part.messages += 1;
                }
                _ => parts.push(Part {
                    why: why(&context, &seen.origin),
                    origin: seen.origin,
                    session: seen.session,
                    first: seen.sequence,
                    last: seen.sequence,
                    messages: 1,
                }),
            }
        }
        let turns = tx.context_turns(&context.key, 0)?;
        let beats = |turn: &&ContextTurn| turn.kind == ContextTurnKind::Heartbeat;
        Ok(Explained {
            heartbeats: turns.iter().filter(beats).count(),
            recovered: turns.into_iter().filter(|t| t.recovers.is_some()).collect(),
            gaps: tx.context_gaps(&context.key)?,
            parts,
            context,
        })
    })
}

fn why(context: &ContextRecord, origin: &Origin) -> String {
    match origin {
        Origin::Own => "said in this context".to_owned(),
        Origin::Open => "said in the turn that is open".to_owned(),
        Origin::Summary { of } => format!("what compaction left of `{of}`"),
        Origin::Inherited { from } => format!(
            "inherited from `{from}`: a context of cause {} has {} of the one before it",
            context.cause, context.inherit
        ),
    }
}

/// A route with the last of its contexts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteShown {
    pub route: RouteRecord,
    /// Its contexts, newest first; the last hundred.
    pub contexts: Vec<ContextRecord>,
    /// When it went over to another context, newest first; the last hundred.
    pub moves: Vec<RouteMove>,
}

/// The routes behind a key, by key.
///
/// # Errors
/// Those of the store.
pub fn routes(
    ledger: &mut dyn Ledger,
    after: Option<&RouteKey>,
    limit: usize,
) -> Outcome<Vec<RouteRecord>> {
    attempt_read(ledger, |tx| Ok(tx.routes(after, limit)?))
}

/// One route, with the last of its contexts.
///
/// # Errors
/// [`ContextError::NoRoute`].
pub fn route(ledger: &mut dyn Ledger, key: &RouteKey) -> Outcome<RouteShown> {
    attempt_read(ledger, |tx| {
        let route = tx.route(key)?;
        Ok(RouteShown {
            route: route.ok_or_else(|| ContextError::NoRoute(key.clone()))?,
            contexts: tx.contexts_of_route(key, None, LISTED)?,
            moves: tx.route_moves(key, LISTED)?,
        })
    })
}

/// The contexts of a route, newest first, before one of them.
///
/// # Errors
/// Those of the store.
pub fn contexts(
    ledger: &mut dyn Ledger,
    key: &RouteKey,
    before: Option<&ContextRecord>,
    limit: usize,
) -> Outcome<Vec<ContextRecord>> {
    attempt_read(ledger, |tx| Ok(tx.contexts_of_route(key, before, limit)?))
}
