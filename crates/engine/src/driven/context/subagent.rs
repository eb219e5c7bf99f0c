//! Sub-agents get a context before they start, and leave nothing where they never did.

use siglum_domain::SessionId;
use siglum_domain::context::{Cause, Inherit, Keys};
use siglum_domain::digest::Hasher;
use siglum_ledger::{
    ContextRecord, ContextRun, Durability, LastRun, Ledger, RouteRecord, Transaction,
};

use super::error::{attempt, belongs};
use super::keep::{New, Prepared, anchors, unmade};
use super::resolve::anchored;
use super::{Anchor, ContextError, Resolve, Resolved, Want, Was};
use crate::Here;

type Outcome<T> = Result<T, ContextError>;

/// A sub-agent that is about to be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrepareSubagent {
    /// The run that the child will be: its route, its agent, who starts it. What it wants is told here.
    pub child: Resolve,
    /// What it has of the one that starts it: nothing, or more.
    pub inherit: Inherit,
    /// Up to where; without this, up to the end.
    pub at: Option<Anchor>,
}

/// What tells whether two runs start the same sub-agent, stored like that of a run.
fn content(parent: &Keys, ask: &PrepareSubagent) -> String {
    let mut hasher = Hasher::new();
    hasher.field(parent.context.as_str().as_bytes());
    hasher.field(ask.inherit.to_string().as_bytes());
    if let Some(at) = &ask.at {
        at.hash(&mut hasher);
    }
    hasher.hex()
}

/// How a sub-agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubagentEnd {
    Done,
    Failed,
    /// It was never started: nothing of it stays.
    NeverStarted,
}

/// Gives a sub-agent its keys. Its session comes to be with its first call, so that one that is never started leaves
/// nothing.
///
/// # Errors
/// [`ContextError::Invalid`] where the child's route has a context already.
pub fn prepare_subagent(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    parent: &Keys,
    ask: &PrepareSubagent,
) -> Outcome<Resolved> {
    let child = &ask.child;
    anchors(&child.anchors)?;
    if child.want != Want::Shared || child.route == parent.route {
        return Err(ContextError::invalid(
            "child.route_key",
            "a sub-agent must have a route of its own, and no cause",
        ));
    }
    let content = content(parent, ask);
    attempt(ledger, Durability::Disk, |tx| {
        let from = belongs(tx, parent)?;
        let at = here.now();
        if let Some(known) = tx.context_run(child.client(), child.run.as_str())? {
            let context = tx.context(&known.context)?;
            return match context.filter(|c| known.content == content && c.route == child.route) {
                Some(context) => Ok(resolved_subagent(child, &context, Was::Asked)),
                None => Err(ContextError::Conflict {
                    context: child.route.to_string(),
                    key: known.run,
                }),
            };
        }
        if tx
            .route(&child.route)?
            .is_some_and(|route| route.current.is_some())
        {
            return Err(ContextError::invalid(
                "child.route_key",
                "the route already has a context",
            ));
        }
        let new = New {
            key: None,
            cause: Cause::Subagent,
            inherit: ask.inherit,
            parent: Some(anchored(tx, &from, ask.at.as_ref())?),
            is_first: true,
        };
        let context = ContextRecord {
            prepared: Some(Prepared::new(child).stored()),
            ..unmade(here, child, new, SessionId::mint(here.ids))?
        };
        if tx.context(&context.key)?.is_some() {
            return Err(ContextError::Conflict {
                context: context.key.to_string(),
                key: child.run.to_string(),
            });
        }
        tx.put_context(&context)?;
        begun(tx, child, &context, at)?;
        tx.put_context_run(&ContextRun {
            client: child.client().to_owned(),
            run: child.run.to_string(),
            context: context.key.clone(),
            content: content.clone(),
            made: true,
            at,
        })?;
        Ok(resolved_subagent(child, &context, Was::Made))
    })
}

/// The child's route is there, with its run.
fn begun(
    tx: &mut dyn Transaction,
    child: &Resolve,
    context: &ContextRecord,
    at: siglum_domain::Timestamp,
) -> Outcome<()> {
    let fresh = RouteRecord {
        key: child.route.clone(),
        current: None,
        agent: child.agent.clone(),
        created_at: at,
        seen_at: at,
        runs: 0,
        last: None,
    };
    let route = tx.claim_route(&fresh)?;
    tx.put_route(&RouteRecord {
        current: Some(context.key.clone()),
        seen_at: at,
        runs: route.runs + 1,
        last: Some(LastRun {
            context: context.key.clone(),
            session: context.session,
            outcome: None,
            at,
        }),
        ..route
    })?;
    Ok(())
}

fn resolved_subagent(child: &Resolve, context: &ContextRecord, was: Was) -> Resolved {
    let conversation = child.conversation.clone();
    Resolved {
        keys: Keys {
            route: context.route.clone(),
            context: context.key.clone(),
        },
        session: context.session,
        conversation: conversation.unwrap_or_else(|| {
            siglum_domain::ConversationId::of_native(child.native.as_ref(), context.session)
        }),
        cause: context.cause,
        inherit: context.inherit,
        parent: context.parent.as_ref().map(|(key, _)| key.clone()),
        was,
    }
}

/// A sub-agent came to its end. One that was never started leaves nothing; one that said something stays, whatever is
/// said of its start.
///
/// # Errors
/// [`ContextError::Invalid`] for a context that is not a sub-agent's.
pub fn subagent_ended(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    child: &Keys,
    how: SubagentEnd,
) -> Outcome<()> {
    attempt(ledger, Durability::Disk, |tx| {
        let route = tx.route(&child.route)?;
        let Some(context) = known(tx, child, how)? else {
            return Ok(());
        };
        if context.cause != Cause::Subagent {
            return Err(ContextError::invalid(
                "context_key",
                "the context does not belong to a sub-agent",
            ));
        }
        if how == SubagentEnd::NeverStarted && context.prepared.is_some() {
            tx.drop_context(&context.key)?;
            tx.drop_route(&context.route)?;
            return Ok(());
        }
        let at = here.now();
        let word = match how {
            SubagentEnd::Done => "done",
            SubagentEnd::Failed => "failed",
            SubagentEnd::NeverStarted => "never-started",
        };
        if let Some(route) = route {
            tx.put_route(&RouteRecord {
                seen_at: at,
                last: Some(LastRun {
                    context: context.key.clone(),
                    session: context.session,
                    outcome: Some(word.to_owned()),
                    at,
                }),
                ..route
            })?;
        }
        let ended_at = Some(context.ended_at.unwrap_or(at));
        if context.prepared.is_none() {
            tx.set_ended(context.session, ended_at)?;
        }
        tx.put_context(&ContextRecord {
            ended_at,
            ..context
        })?;
        Ok(())
    })
}

/// The context of a sub-agent; nothing where it was taken back already.
fn known(
    tx: &mut dyn Transaction,
    child: &Keys,
    how: SubagentEnd,
) -> Outcome<Option<ContextRecord>> {
    match belongs(tx, child) {
        Err(ContextError::NoContext(_)) if how == SubagentEnd::NeverStarted => Ok(None),
        found => found.map(Some),
    }
}
