//! `siglum heartbeat run`.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use siglum_domain::access::{Limits, Scope};
use siglum_domain::heartbeat::HeartbeatName;
use siglum_domain::{TokenId, TokenName};
use siglum_egress::{EgressError, GatewayClient, Once, Plain, Timeouts, Token};
use siglum_engine::driven::heartbeat;
use siglum_engine::identity::access::{self, NewToken};
use siglum_ledger::Ledger;

use crate::clock::{self, Ids};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::{env, gateway, store};

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.heartbeat.run/1";

/// How long the token holds that is made for one call.
const HOLDS: Duration = Duration::from_secs(60);

/// Run a heartbeat now, regardless of its schedule
///
/// Calls the gateway, which must run with `--run` for the heartbeat's agent. Without a token, the command creates
/// one in the ledger of this home that is valid for this call only.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Run a heartbeat now
    siglum heartbeat run triage

  Run it through a gateway on another machine
    siglum heartbeat run triage --gateway https://siglum.example.org --gateway-token-file launcher.token")]
pub struct Args {
    /// Heartbeat name
    #[arg(value_name = "NAME", value_parser = super::name)]
    name: HeartbeatName,
    /// Gateway address (default: SIGLUM_GATEWAY, else the default address of `siglum serve`)
    #[arg(long, value_name = "URL")]
    gateway: Option<String>,
    /// File with a launcher token
    #[arg(long, value_name = "FILE")]
    gateway_token_file: Option<PathBuf>,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    /// The name of the tick.
    tick: String,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let mut ledger = store::open(cx)?;
    heartbeat::show(ledger.as_mut(), &args.name)?;
    let text = args.gateway.clone().or_else(|| env::text(gateway::ADDRESS));
    let text = text.unwrap_or_else(|| "http://127.0.0.1:7477".to_owned());
    let address = gateway::address(&text, Plain::Loopback)?;
    let given = gateway::given_token(args.gateway_token_file.as_deref())?;
    let made = match &given {
        Some(_) => None,
        None => Some(made(cx, ledger.as_mut())?),
    };
    let token = given.or_else(|| made.as_ref().map(|(_, token)| token.clone()));
    let client = GatewayClient::new(address, token, Timeouts::default());
    let answer = client.run_heartbeat(args.name.as_str(), &Once);
    if let Some((id, _)) = made {
        access::revoke(&*cx.world()?, ledger.as_mut(), id, &cx.person())?;
    }
    let tick = answer.map_err(|error| refused(&error))?;
    let tick = tick
        .body
        .get("id")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    if cx.ui.json {
        return cx.ui.json(SCHEMA, Json { tick });
    }
    cx.ui
        .status(format!("Started heartbeat {} as {tick}.", args.name));
    cx.ui.hint(format!(
        "Run `siglum heartbeat show {}` to see its outcome.",
        args.name
    ));
    Ok(())
}

fn refused(error: &EgressError) -> CommandError {
    match error {
        EgressError::Unreachable { .. } => CommandError::failed(error.to_string()).hint(
            "Start a gateway with `siglum serve --run AGENT --workdir DIR`, or pass the address of one with `--gateway`.",
        ),
        _ => CommandError::failed(error.to_string()),
    }
}

/// A launcher's token for one call.
fn made(cx: &Cx, ledger: &mut dyn Ledger) -> Result<(TokenId, Token), CommandError> {
    let secret = store::new_secret()?;
    let name = TokenName::new("heartbeat run").map_err(|e| CommandError::failed(e.to_string()))?;
    let new = NewToken {
        id: TokenId::mint(&Ids),
        digest: secret.digest(),
        scope: Scope::Launcher,
        limits: Limits::default(),
        name,
        by: cx.person(),
        expires_at: Some(
            clock::now().plus_millis(i64::try_from(HOLDS.as_millis()).unwrap_or(60_000)),
        ),
    };
    let record = access::issue(&*cx.world()?, ledger, &new)?;
    let token = Token::new(secret.reveal()).map_err(|e| CommandError::failed(e.to_string()))?;
    Ok((record.id, token))
}
