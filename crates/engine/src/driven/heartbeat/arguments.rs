//! What a webhook or a command is given of what a tick is known by: what its schema declares, and nothing else.

use serde_json::{Map, Value};
use siglum_domain::context::{Keys, RouteKey};
use siglum_domain::envelope::{Envelope, bind};
use siglum_domain::trace::TraceId;
use siglum_ledger::{LedgerError, TickRecord, Transaction};

use super::schedule::tick_turn;
use super::{FormError, Target};
use crate::identity::statements;

/// The most bytes of a schema.
const MOST: usize = 16 << 10;
/// How deep a schema is nested at most.
const DEEPEST: usize = 32;

/// The JSON schema of what a webhook or a command takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Takes(Value);

impl Takes {
    /// Checks a schema: that of an object, bounded, for a target that takes arguments.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn new(schema: &Value, target: &Target) -> Result<Self, FormError> {
        let refused = |rule: &str| Err(FormError::new("schema", rule));
        if !matches!(target, Target::Webhook(_) | Target::Command) {
            return refused("only with `target` `webhook` or `command`");
        }
        let is_of_object = schema.is_object()
            && schema.get("type").is_none_or(|word| word == "object")
            && schema.get("properties").is_none_or(Value::is_object);
        if !is_of_object {
            return refused("a JSON schema of an object, with its `properties`");
        }
        let text = schema.to_string();
        if text.len() > MOST || depth(schema) > DEEPEST {
            return refused("a JSON schema of at most 16 KiB and 32 levels");
        }
        Ok(Self(schema.clone()))
    }
}

/// How deep a value is nested.
fn depth(value: &Value) -> usize {
    let below = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(fields) => fields.values().map(depth).max(),
        _ => return 0,
    };
    1 + below.unwrap_or(0)
}

/// The fields of the envelope of a tick that a schema declares.
pub(super) fn arguments(
    tx: &mut dyn Transaction,
    takes: &Takes,
    route: &RouteKey,
    tick: &TickRecord,
) -> Result<Map<String, Value>, LedgerError> {
    let mut arguments = Map::new();
    if let Some(envelope) = envelope(tx, route, tick)? {
        bind(&envelope, &takes.0, &mut arguments);
    }
    Ok(arguments)
}

/// What a tick is known by; nothing where it has no session.
fn envelope(
    tx: &mut dyn Transaction,
    route: &RouteKey,
    tick: &TickRecord,
) -> Result<Option<Envelope>, LedgerError> {
    let Some(session) = tick.session.map(|id| tx.session(id)).transpose()?.flatten() else {
        return Ok(None);
    };
    let key = tick_turn(&tick.heartbeat, tick.due);
    let committed = tx.keyed_receipt(session.id, key.as_str())?;
    let turn = committed.and_then(|keyed| keyed.receipt.turns.first().copied());
    let keys = match &tick.context {
        None => None,
        Some(context) => Some(Keys {
            // The definition may say another route by now.
            route: tx
                .context(context)?
                .map_or_else(|| route.clone(), |known| known.route),
            context: context.clone(),
        }),
    };
    Ok(Some(Envelope {
        links: statements::links(&tx.statements_of_session(session.id)?),
        conversation: session.conversation,
        session: session.id,
        turn,
        trace: turn.map(TraceId::of_turn),
        keys,
        agent: session.agent,
    }))
}
