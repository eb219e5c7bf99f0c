//! Sending what a tick said to where it goes, for targets that need no process and no clock of their own.

use std::time::Duration;

use serde_json::{Value, json};
use siglum_domain::TurnKey;
use siglum_domain::context::{Policy, RouteKey};
use siglum_egress::{Address, Reach, Timeouts, WebhookError, hand_over};
use siglum_ledger::Ledger;

use super::deliver::{Parcel, Undelivered};
use super::sweep::BY;
use crate::Here;
use crate::driven::context::{self, Commit, Message, Resolve, Spoken, Want};

/// How long a webhook may take.
const TIMEOUTS: Timeouts = Timeouts {
    connect: Duration::from_secs(5),
    whole: Duration::from_secs(30),
};

/// What is delivered, as a document. The route says where it belongs. Of what else the run is known by, `arguments` has
/// what the receiver's schema declares, where it has one.
#[must_use]
pub fn document(parcel: &Parcel) -> Value {
    let mut document = json!({
        "schema": "siglum.heartbeat.tick/1",
        "id": parcel.id,
        "heartbeat": parcel.tick.heartbeat.as_str(),
        "route_key": parcel.route.as_str(),
        "due": parcel.tick.due.to_string(),
        "session": parcel.tick.session.map(|s| s.to_string()),
        "text": parcel.text,
    });
    if let Some(arguments) = &parcel.arguments {
        document["arguments"] = Value::Object(arguments.clone());
    }
    document
}

/// What a command reads: the document where it says what it takes, and else what is said.
#[must_use]
pub fn input(parcel: &Parcel) -> String {
    match parcel.arguments {
        Some(_) => format!("{}\n", document(parcel)),
        None => parcel.text.clone(),
    }
}

/// Hands it over to a webhook, as far as that may be reached.
///
/// # Errors
/// Whether to try it again, and why.
pub fn to_webhook(address: &Address, reach: Reach, parcel: &Parcel) -> Result<(), Undelivered> {
    let sent = hand_over(address, &parcel.id, &document(parcel), TIMEOUTS, reach);
    sent.map_err(|error| match error {
        WebhookError::Later { .. } => Undelivered::Later(error.to_string()),
        WebhookError::Refused { .. } => Undelivered::Refused(error.to_string()),
    })
}

/// Says it in the conversation of a route, once: it is a turn of its own there.
///
/// # Errors
/// Whether to try it again, and why.
pub fn to_session(
    here: &Here<'_>,
    ledger: &mut dyn Ledger,
    policy: &Policy,
    route: &RouteKey,
    parcel: &Parcel,
) -> Result<(), Undelivered> {
    let later = |e: &dyn std::fmt::Display| Undelivered::Later(e.to_string());
    // The run of the tick itself is called otherwise.
    let key = TurnKey::new(format!("said:{}", parcel.id))
        .map_err(|e| Undelivered::Refused(e.to_string()))?;
    let agent =
        siglum_domain::AgentName::new("siglum").map_err(|e| Undelivered::Refused(e.to_string()))?;
    let ask = Resolve::new(
        route.clone(),
        Want::Shared,
        agent,
        BY.to_owned(),
        key.clone(),
    );
    let found = context::resolve(here, ledger, policy, &ask).map_err(|e| later(&e))?;
    let text = format!("Heartbeat {}: {}", parcel.tick.heartbeat, parcel.text);
    let message = Message {
        spoken: Spoken::System { text },
        at: Some(parcel.tick.fired_at),
    };
    let turn = Commit::new(key, vec![message]);
    context::commit(here, ledger, &found.keys, BY, &turn)
        .map(drop)
        .map_err(|e| later(&e))
}
