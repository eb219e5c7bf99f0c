//! What the engine gives, as the answers of steps.

use serde_json::{Value, json};
use siglum_domain::fold::Entry;
use siglum_domain::observation::{Body, Fact, Observation};
use siglum_domain::receipt::Receipt;
use siglum_engine::driven::turn::{Fate, Recovered, TurnError};
use siglum_ledger::{Delivery, LedgerError};

use crate::machine::whole;

pub(crate) fn refusal(error: &TurnError) -> Value {
    let fate = match error.fate() {
        Fate::NotCommitted => "not committed",
        Fate::Unknown => "unknown",
    };
    let mut answer = json!({ "error": error.code(), "fate": fate, "text": whole(error) });
    if let TurnError::Stale { committed, .. } = error {
        answer["committed"] = json!(committed);
    }
    if let TurnError::Conflict { receipt, .. } = error {
        answer["digest"] = json!(receipt);
    }
    answer
}

pub(crate) fn store(error: &LedgerError) -> Value {
    json!({ "error": "store", "text": whole(error) })
}

pub(crate) fn receipt(r: &Receipt) -> Value {
    json!({
        "number": r.number, "first": r.first, "last": r.last, "digest": r.digest,
        "turns": r.turns.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

pub(crate) fn recovered(recovered: &Recovered) -> Value {
    match recovered {
        Recovered::Nothing => json!({ "how": "nothing" }),
        Recovered::Asked => json!({ "how": "asked" }),
        Recovered::Committed(r) => json!({ "how": "committed", "receipt": receipt(r) }),
        Recovered::Interrupted(r) => json!({ "how": "interrupted", "receipt": receipt(r) }),
        Recovered::Held { calls } => json!({ "how": "held", "calls": calls }),
    }
}

pub(crate) fn entry(e: &Entry) -> Value {
    let mut shown = observation(&e.observation);
    shown["sequence"] = json!(e.sequence);
    shown["id"] = json!(e.id.to_string());
    shown["turn"] = json!(e.turn.map(|t| t.to_string()));
    shown["whole"] = serde_json::to_value(&e.observation).unwrap();
    shown
}

pub(crate) fn observation(o: &Observation) -> Value {
    json!({ "kind": o.fact.kind(), "key": o.key, "text": text(&o.fact) })
}

fn text(fact: &Fact) -> Option<String> {
    let body = match fact {
        Fact::Prompt { text, .. } | Fact::Message { text, .. } => Some(text),
        Fact::ToolStarted { input, .. } => Some(input),
        Fact::ToolEnded { output, .. } => output.as_ref(),
        Fact::Compacted { summary, .. } => summary.as_ref(),
        Fact::Recovered { how } => return Some(format!("{how:?}").to_lowercase()),
        Fact::SessionStarted { model, .. } => return model.clone(),
        _ => None,
    };
    body.and_then(Body::text).map(str::to_owned)
}

pub(crate) fn delivery(d: &Delivery) -> Value {
    json!({
        "projection": d.projection, "session": d.session.to_string(), "taken": d.taken,
        "due": d.due, "tries": d.tries, "reason": d.reason, "parked": d.parked_at.is_some(),
    })
}
