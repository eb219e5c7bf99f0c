//! `siglum token revoke`.

use serde::Serialize;
use siglum_engine::identity::access;
use siglum_engine::views::find;

use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.token.revoke/1";

/// Revoke a token
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Revoke a token
    siglum token revoke a1b2c3d4

  Print the result as JSON
    siglum token revoke a1b2c3d4 --json")]
pub struct Args {
    /// Token id, or the last digits of it
    #[arg(value_name = "TOKEN")]
    token: String,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    token: String,
    /// Whether it had been revoked before.
    before: bool,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let id = find::token(ledger.as_mut(), &args.token)?;
    let revoked = access::revoke(&*cx.world()?, ledger.as_mut(), id, &cx.person())?;
    if cx.ui.json {
        let answer = Json {
            token: id.to_string(),
            before: !revoked,
        };
        return cx.ui.json(SCHEMA, answer);
    }
    let short = id.short();
    cx.ui.status(match revoked {
        true => format!("Revoked token {short}."),
        false => format!("Token {short} was already revoked; nothing was changed."),
    });
    Ok(())
}
