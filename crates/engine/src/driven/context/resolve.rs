//! A run is given its two keys, and the session that its context is kept in.

use serde_json::json;
use siglum_domain::context::{Cause, ContextKey, Inherit, Keys, Policy, RouteKey};
use siglum_domain::digest::Hasher;
use siglum_domain::link::Link;
use siglum_domain::{AgentName, ConversationId, NativeId, SessionId, Timestamp, TurnKey};
use siglum_ledger::{
    ContextRecord, ContextRun, Durability, LastRun, Ledger, RouteMove, RouteRecord, Transaction,
};

use super::ContextError;
use super::error::{attempt, belongs};
use super::keep::{New, anchors, keep, make};
use super::view::{Gaps, Heartbeats, Look, Most, Past, view};
use crate::Here;
use crate::driven::remote;
use crate::identity::audit;
use crate::identity::links::{Change, LINKS_MOST};

/// What a run asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolve {
    /// Where its answers go.
    pub route: RouteKey,
    pub want: Want,
    /// The product that does the work.
    pub agent: AgentName,
    /// What the outside world calls the conversation, if anybody named it.
    pub conversation: Option<ConversationId>,
    /// What the agent itself calls it.
    pub native: Option<NativeId>,
    /// What else the host calls it: short words and their values, kept as they are.
    pub anchors: Vec<(String, String)>,
    /// The next position in the host's own order, where it counts.
    pub next: Option<u64>,
    pub links: Vec<Link>,
    pub cwd: Option<String>,
    /// Who runs it.
    pub by: String,
    /// What that one calls itself, where it has a name that outlives what it is known by.
    pub client: Option<String>,
    /// What that one calls the run: asked for again, it is given the same.
    pub run: TurnKey,
}

impl Resolve {
    /// An ordinary run of a route.
    #[must_use]
    pub const fn new(
        route: RouteKey,
        want: Want,
        agent: AgentName,
        by: String,
        run: TurnKey,
    ) -> Self {
        Self {
            route,
            want,
            agent,
            conversation: None,
            native: None,
            anchors: Vec::new(),
            next: None,
            links: Vec::new(),
            cwd: None,
            by,
            client: None,
            run,
        }
    }

    /// Whose runs this one is among.
    pub(super) fn client(&self) -> &str {
        self.client.as_deref().unwrap_or(&self.by)
    }
}

/// What a run wants to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Want {
    /// The context that the route has now.
    Shared,
    /// A context of its own, which the route does not go over to.
    Isolated {
        /// [`Cause::Tick`] or [`Cause::CronRun`].
        cause: Cause,
    },
    /// Another context in the place of the one that the route has, because of a reset, a silence, a recovery or an
    /// import.
    Another { cause: Cause },
    /// The context that the route has, as it was at an earlier place, from which it goes on.
    Rewound { to: Anchor },
    /// The context of another route, from which this one goes on.
    Forked {
        from: Keys,
        /// Where; without this, at its end.
        at: Option<Anchor>,
    },
}

/// A place in a context.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Anchor {
    /// The end of the turn that was handed over under this key.
    Turn(TurnKey),
    /// A position in the host's own order.
    Position(u64),
    /// The message of this number, from 1, as it is seen from the context.
    Message(u64),
}

impl Anchor {
    /// Adds the place to a hash.
    pub(super) fn hash(&self, hasher: &mut Hasher) {
        let (kind, value) = match self {
            Self::Turn(key) => ("turn", key.to_string()),
            Self::Position(position) => ("position", position.to_string()),
            Self::Message(number) => ("message", number.to_string()),
        };
        hasher.field(kind.as_bytes());
        hasher.field(value.as_bytes());
    }
}

/// Whether a context was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Was {
    /// It came to be for this run.
    Made,
    /// The route had it.
    Found,
    /// The same run asked before.
    Asked,
}

/// What a run is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// Both keys, which go with every other call.
    pub keys: Keys,
    pub session: SessionId,
    /// What the outside world calls the conversation.
    pub conversation: ConversationId,
    pub cause: Cause,
    /// What it has of the one that it came from.
    pub inherit: Inherit,
    pub parent: Option<ContextKey>,
    pub was: Was,
}

type Outcome<T> = Result<T, ContextError>;

/// Gives a run its keys, and makes what is missing. The same run asked for again is given the same; a run that asks for
/// something else under the same name is refused.
///
/// # Errors
/// [`ContextError::Conflict`], [`ContextError::Taken`] for a conversation of another route, and
/// [`ContextError::Invalid`]: nothing was written then.
pub fn resolve(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    policy: &Policy,
    ask: &Resolve,
) -> Result<Resolved, ContextError> {
    // A heartbeat and a host that tells of one come to the same route.
    let ask = &Resolve {
        route: ask.route.clone().converged(),
        ..ask.clone()
    };
    checked(ask)?;
    let home = ledger.id();
    let content = content(ask);
    attempt(ledger, Durability::Disk, |tx| {
        let at = here.now();
        let fresh = RouteRecord {
            key: ask.route.clone(),
            current: None,
            agent: ask.agent.clone(),
            created_at: at,
            seen_at: at,
            runs: 0,
            last: None,
        };
        let route = tx.claim_route(&fresh)?;
        if let Some(known) = tx.context_run(ask.client(), ask.run.as_str())? {
            return again(tx, &ask.route, known, &content);
        }
        let (context, was) = chosen(here, tx, policy, ask, &route, home)?;
        for link in ask.links.chunks(LINKS_MOST) {
            remote::change_links(here, tx, context.session, link, Change::Attach, &ask.by)?;
        }
        started(tx, ask, &route, &context, at)?;
        let run = ContextRun {
            client: ask.client().to_owned(),
            run: ask.run.to_string(),
            context: context.key.clone(),
            content: content.clone(),
            made: was == Was::Made,
            at,
        };
        tx.put_context_run(&run)?;
        let resolved = resolved_context(tx, &context, was)?;
        audited(here, tx, ask, &resolved)?;
        Ok(resolved)
    })
}

/// Refuses what makes no sense, before anything is looked at.
fn checked(ask: &Resolve) -> Outcome<()> {
    anchors(&ask.anchors)?;
    match &ask.want {
        Want::Isolated {
            cause: Cause::Tick | Cause::CronRun,
        }
        | Want::Another {
            cause: Cause::Reset | Cause::Idle | Cause::Recovery | Cause::Import,
        }
        | Want::Shared
        | Want::Rewound { .. } => Ok(()),
        Want::Forked { from, .. } if from.route != ask.route => Ok(()),
        Want::Forked { .. } => Err(ContextError::invalid(
            "route_key",
            "a fork must have a route of its own",
        )),
        Want::Isolated { .. } => Err(ContextError::invalid(
            "cause",
            "an isolated run must be a tick or a cron-run",
        )),
        Want::Another { .. } => Err(ContextError::invalid(
            "cause",
            "must be reset, idle, recovery or import for a new context",
        )),
    }
}

/// What tells whether two runs ask for the same. It is stored: the same run has the same bytes in every version.
fn content(ask: &Resolve) -> String {
    let mut hasher = Hasher::new();
    hasher.field(ask.route.as_str().as_bytes());
    hasher.field(ask.agent.as_str().as_bytes());
    let kind = match &ask.want {
        Want::Shared => "shared",
        Want::Isolated { .. } => "isolated",
        Want::Another { .. } => "another",
        Want::Rewound { .. } => "rewound",
        Want::Forked { .. } => "forked",
    };
    hasher.field(kind.as_bytes());
    match &ask.want {
        Want::Shared => {}
        Want::Isolated { cause } | Want::Another { cause } => {
            hasher.field(cause.as_str().as_bytes());
        }
        Want::Rewound { to } => to.hash(&mut hasher),
        Want::Forked { from, at } => {
            hasher.field(from.route.as_str().as_bytes());
            hasher.field(from.context.as_str().as_bytes());
            if let Some(at) = at {
                at.hash(&mut hasher);
            }
        }
    }
    let conversation = ask.conversation.as_ref().map(ConversationId::as_str);
    hasher.field(conversation.unwrap_or_default().as_bytes());
    hasher.hex()
}

/// A session that came to be goes into the audit. Those of a schedule would fill it, and are listed by their route.
fn audited(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    ask: &Resolve,
    resolved: &Resolved,
) -> Outcome<()> {
    if resolved.was != Was::Made || matches!(resolved.cause, Cause::Tick | Cause::CronRun) {
        return Ok(());
    }
    let more = json!({ "route": ask.route.as_str(), "cause": resolved.cause.as_str() });
    audit::session_created(tx, here, &ask.by, resolved.session, more)?;
    Ok(())
}

fn again(
    tx: &mut dyn Transaction,
    route: &RouteKey,
    known: ContextRun,
    content: &str,
) -> Outcome<Resolved> {
    let context = tx.context(&known.context)?;
    match context {
        Some(context) if known.content == content => resolved_context(tx, &context, Was::Asked),
        _ => Err(ContextError::Conflict {
            context: route.to_string(),
            key: known.run,
        }),
    }
}

fn resolved_context(
    tx: &mut dyn Transaction,
    context: &ContextRecord,
    was: Was,
) -> Outcome<Resolved> {
    let record = tx.session(context.session)?;
    let record = record.ok_or(crate::driven::turn::TurnError::NoSession(context.session))?;
    Ok(Resolved {
        keys: Keys {
            route: context.route.clone(),
            context: context.key.clone(),
        },
        session: context.session,
        conversation: record.conversation,
        cause: context.cause,
        inherit: context.inherit,
        parent: context.parent.as_ref().map(|(key, _)| key.clone()),
        was,
    })
}

/// The run begins: the route says so.
fn started(
    tx: &mut dyn Transaction,
    ask: &Resolve,
    before: &RouteRecord,
    context: &ContextRecord,
    at: Timestamp,
) -> Outcome<()> {
    let current = match (&before.current, &ask.want) {
        (current, Want::Isolated { .. }) => current.clone(),
        _ => Some(context.key.clone()),
    };
    if current != before.current {
        tx.put_route_move(&RouteMove {
            route: before.key.clone(),
            at,
            by: ask.by.clone(),
            from: before.current.clone(),
            to: context.key.clone(),
            cause: context.cause,
        })?;
        ended(tx, before.current.as_ref(), at)?;
    }
    tx.put_route(&RouteRecord {
        current,
        agent: ask.agent.clone(),
        seen_at: at,
        runs: before.runs + 1,
        last: Some(LastRun {
            context: context.key.clone(),
            session: context.session,
            outcome: None,
            at,
        }),
        ..before.clone()
    })?;
    Ok(())
}

fn ended(tx: &mut dyn Transaction, key: Option<&ContextKey>, at: Timestamp) -> Outcome<()> {
    let Some(key) = key else { return Ok(()) };
    if let Some(before) = tx.context(key)? {
        let ended_at = Some(before.ended_at.unwrap_or(at));
        tx.set_ended(before.session, ended_at)?;
        tx.put_context(&ContextRecord { ended_at, ..before })?;
    }
    Ok(())
}

/// The context of a run: that of the route, or one that is made.
fn chosen(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    policy: &Policy,
    ask: &Resolve,
    route: &RouteRecord,
    home: siglum_domain::LedgerId,
) -> Outcome<(ContextRecord, Was)> {
    let current = match &route.current {
        Some(key) => tx.context(key)?,
        None => None,
    };
    let cause = match (&ask.want, &current) {
        (Want::Shared, Some(current)) if !silent(policy, ask, current, here.now()) => {
            return Ok((keep(here, tx, ask, current, home)?, Was::Found));
        }
        (Want::Shared, Some(_)) => Cause::Idle,
        (Want::Shared, None) => Cause::First,
        // A host that lost its own state goes on with what is here.
        (
            Want::Another {
                cause: Cause::Recovery,
            },
            Some(current),
        ) => return Ok((keep(here, tx, ask, current, home)?, Was::Found)),
        (Want::Isolated { cause } | Want::Another { cause }, _) => *cause,
        (Want::Rewound { .. }, Some(_)) => Cause::Rewind,
        (Want::Rewound { .. }, None) => return Err(ContextError::NoRoute(ask.route.clone())),
        (Want::Forked { .. }, None) => Cause::Fork,
        (Want::Forked { .. }, Some(_)) => {
            return Err(ContextError::invalid(
                "route_key",
                "the route already has a context: a fork needs a new route",
            ));
        }
    };
    let parent = parent(tx, ask, current.as_ref())?;
    let new = New {
        key: None,
        cause,
        inherit: policy.inherit(&ask.route, cause),
        parent,
        is_first: route.current.is_none() && !matches!(ask.want, Want::Isolated { .. }),
    };
    Ok((make(here, tx, ask, new, home)?, Was::Made))
}

/// Whether nothing was said for so long that another context takes the place of this one.
fn silent(policy: &Policy, ask: &Resolve, current: &ContextRecord, now: Timestamp) -> bool {
    policy.idle(&ask.route).is_some_and(|idle| {
        u128::try_from(now.millis_since(current.seen_at)).unwrap_or(0) > idle.as_millis()
    })
}

/// The context that a new one comes from, and up to where.
fn parent(
    tx: &mut dyn Transaction,
    ask: &Resolve,
    current: Option<&ContextRecord>,
) -> Outcome<Option<(ContextKey, u64)>> {
    match (&ask.want, current) {
        (Want::Forked { from, at }, _) => {
            let from = belongs(tx, from)?;
            anchored(tx, &from, at.as_ref()).map(Some)
        }
        (Want::Rewound { to }, Some(current)) => anchored(tx, current, Some(to)).map(Some),
        (_, Some(current)) => anchored(tx, current, None).map(Some),
        (_, None) => Ok(None),
    }
}

/// Where an anchor stands: the context whose log it is in, and the sequence there.
pub(super) fn anchored(
    tx: &mut dyn Transaction,
    context: &ContextRecord,
    anchor: Option<&Anchor>,
) -> Outcome<(ContextKey, u64)> {
    let sealed = tx.session(context.session)?.map_or(0, |s| s.sealed);
    let Some(anchor) = anchor else {
        return Ok((context.key.clone(), sealed));
    };
    let nowhere = |what: String| ContextError::invalid("anchor", what);
    match anchor {
        Anchor::Turn(key) => {
            let found = tx.keyed_receipt(context.session, key.as_str())?;
            let found = found.map(|keyed| (context.key.clone(), keyed.receipt.last));
            found.ok_or_else(|| nowhere(format!("no turn `{key}` is committed in this context")))
        }
        Anchor::Position(position) => at_position(tx, context, *position)?
            .map(|at| (context.key.clone(), at))
            .ok_or_else(|| {
                nowhere(format!(
                    "no turn of this context ends at position {position}"
                ))
            }),
        Anchor::Message(number) => {
            let all = Look {
                heartbeats: Heartbeats::Seen,
                gaps: Gaps::Accepted,
                past: Past::Whole,
                most: Most::All,
            };
            let seen = view(tx, context, sealed, all)?;
            let place = usize::try_from(*number).ok().and_then(|n| n.checked_sub(1));
            let found = place.and_then(|place| seen.get(place));
            let found =
                found.ok_or_else(|| nowhere(format!("the context has {} messages", seen.len())))?;
            let of = tx.context_of_session(found.session)?;
            Ok((
                of.map_or_else(|| context.key.clone(), |c| c.key),
                found.sequence,
            ))
        }
    }
}

/// The sequence at which a position stands: the end of its turn, or within it, where each message has one.
fn at_position(
    tx: &mut dyn Transaction,
    context: &ContextRecord,
    position: u64,
) -> Outcome<Option<u64>> {
    let turns = tx.context_turns(&context.key, 0)?;
    let found = turns.into_iter().find_map(|turn| {
        let (first, last) = turn.positions?;
        // A turn ends with its stop, which is no message.
        let each = last - first == (turn.log.1 - turn.log.0).saturating_sub(1);
        match position {
            _ if position == last => Some(turn.log.1),
            _ if each && (first..last).contains(&position) => Some(turn.log.0 + position - first),
            _ => None,
        }
    });
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(want: Want, conversation: Option<&str>) -> String {
        let route = RouteKey::new("chat:7").unwrap();
        let agent = AgentName::new("one").unwrap();
        let run = TurnKey::new("run-1").unwrap();
        let ask = Resolve {
            conversation: conversation.map(|name| ConversationId::new(name).unwrap()),
            ..Resolve::new(route, want, agent, "somebody".to_owned(), run)
        };
        content(&ask)[..16].to_owned()
    }

    /// Runs of an older version are asked for again: what is stored of them keeps its bytes.
    #[test]
    fn the_bytes_of_what_a_run_asks_for_are_pinned() {
        let other = RouteKey::new("chat:8").unwrap();
        let from = Keys {
            context: ContextKey::from_route(&other),
            route: other,
        };
        let turn = || Anchor::Turn(TurnKey::new("t-1").unwrap());
        let (tick, reset) = (Cause::Tick, Cause::Reset);
        let digests = [
            digest(Want::Shared, None),
            digest(Want::Shared, Some("c")),
            digest(Want::Isolated { cause: tick }, None),
            digest(Want::Another { cause: reset }, None),
            digest(Want::Rewound { to: turn() }, None),
            digest(
                Want::Rewound {
                    to: Anchor::Position(3),
                },
                None,
            ),
            digest(
                Want::Rewound {
                    to: Anchor::Message(3),
                },
                None,
            ),
            digest(
                Want::Forked {
                    from,
                    at: Some(turn()),
                },
                None,
            ),
        ];
        let pinned = [
            "5119c995260c2a25",
            "804fc520476b2e00",
            "33d4ccdd76084ffd",
            "7e6ddc4e800d8c82",
            "d733fd144f4cdf68",
            "4b460900e27d43e2",
            "28510e3dfe710d4e",
            "88c95b0595d5e9a1",
        ];
        assert_eq!(digests.as_slice(), pinned);
    }
}
