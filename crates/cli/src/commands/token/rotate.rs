//! `siglum token rotate`.

use std::time::Duration;

use serde::Serialize;
use siglum_domain::access::{Limits, Scope};
use siglum_domain::{Timestamp, TokenId, TokenName};
use siglum_engine::identity::access::{self, NewToken};
use siglum_engine::views::find;
use siglum_ledger::read;

use super::{Expiry, TokenJson};
use crate::clock::{self, Ids};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;
use crate::ui;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.token.rotate/1";

/// Replace a token with a new one, and print the new one once
///
/// The old token stays valid for the grace period, so that its users can switch. The new one has the same scope, the
/// same limits, the same name and the lifetime that the old one was created with.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Rotate a token, with one hour to switch
    siglum token rotate a1b2c3d4

  Rotate a leaked token and end it at once
    siglum token rotate a1b2c3d4 --grace 0s")]
pub struct Args {
    /// Token id, or the last digits of it
    #[arg(value_name = "TOKEN")]
    token: String,
    /// Grace period in which the old token stays valid; `0s` ends it at once
    #[arg(long, value_name = "SPAN", value_parser = crate::time::duration, default_value = "1h")]
    grace: Duration,
    /// Lifetime of the new token: `12h`, `30d`, `never`
    #[arg(long, value_name = "SPAN", value_parser = super::expiry)]
    expires: Option<Expiry>,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    /// The new token itself. It is not shown again.
    secret: String,
    token: TokenJson,
    /// The old one.
    replaces: String,
    /// Until when the old one holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    holds_until: Option<String>,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let old = find::token(ledger.as_mut(), &args.token)?;
    let before = read(ledger.as_mut(), |tx| tx.token(old))?;
    let before = before.ok_or(access::AccessError::Unknown)?;
    let (now, secret) = (clock::now(), store::new_secret()?);
    let expires_at = match args.expires {
        Some(expiry) => expiry.from(now),
        None => before
            .expires_at
            .map(|at| again(before.created_at, at, now)),
    };
    let new = NewToken {
        id: TokenId::mint(&Ids),
        digest: secret.digest(),
        // Scope and limits are those of the old one.
        scope: Scope::Launcher,
        limits: Limits::default(),
        name: TokenName::new(&*before.name)
            .map_err(|e| CommandError::failed(format!("the old token's {e}")))?,
        by: cx.person(),
        expires_at,
    };
    let token = access::rotate(&*cx.world()?, ledger.as_mut(), old, &new, args.grace)?;
    let holds_until = read(ledger.as_mut(), |tx| tx.token(old))?.and_then(|old| old.expires_at);
    if cx.ui.json {
        let answer = Json {
            secret: secret.reveal().to_owned(),
            token: TokenJson::from_record(&token, now),
            replaces: old.to_string(),
            holds_until: holds_until.map(|at| at.to_string()),
        };
        return cx.ui.json(SCHEMA, answer);
    }
    let held = holds_until.map_or_else(String::new, |at| {
        format!(", which stays valid until {}", ui::when(at))
    });
    let message = format!(
        "Token {} replaces {}{held}; it {}.",
        token.id.short(),
        old.short(),
        super::until(token.expires_at)
    );
    super::reveal(cx, &secret, &message)
}

/// The end of something that lasts from `now` on as long as it lasted before.
fn again(from: Timestamp, to: Timestamp, now: Timestamp) -> Timestamp {
    now.plus_millis(to.millis_since(from))
}
