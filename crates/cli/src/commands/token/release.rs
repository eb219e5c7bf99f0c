//! `siglum token release`.

use serde::Serialize;
use siglum_domain::LedgerId;
use siglum_engine::identity::access;

use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.token.release/1";

/// Release a ledger so that another token can register it
///
/// A ledger belongs to the token or login that sent its first data. Once released, it belongs to the next token or login
/// that sends its data, for example when a laptop switches from a token to `siglum login`, or to another account.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Release the ledger of a laptop that logs in now
    siglum token release led_019ad0000000700080000000000000ff

  Print the result as JSON
    siglum token release led_019ad0000000700080000000000000ff --json")]
pub struct Args {
    /// Id of the ledger
    #[arg(value_name = "LEDGER")]
    ledger: LedgerId,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    ledger: String,
    /// The token, or the identity of an issuer, that had it.
    token: String,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    let of = args.ledger;
    let released = access::release(&*cx.world()?, ledger.as_mut(), of, &cx.person())?;
    let Some(token) = released else {
        return Err(CommandError::not_found(format!(
            "ledger {of} is not registered here"
        )));
    };
    if cx.ui.json {
        let answer = Json {
            ledger: of.to_string(),
            token: token.to_string(),
        };
        return cx.ui.json(SCHEMA, answer);
    }
    cx.ui.status(format!(
        "Released ledger {of}; the next one that sends for it has it."
    ));
    Ok(())
}
