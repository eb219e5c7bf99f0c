//! `siglum token create`.

use std::time::Duration;

use serde::Serialize;
use siglum_domain::access::{Limits, Right, Scope};
use siglum_domain::{LedgerId, TokenId, TokenName};
use siglum_engine::identity::access::{self, NewToken};
use siglum_engine::views::find;

use super::{Expiry, TokenJson};
use crate::clock::{self, Ids};
use crate::cx::Cx;
use crate::error::CommandError;
use crate::store;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.token.create/1";

/// How long the token of a launcher or a reader holds, and a session's, unless told.
const LAUNCHER: Duration = Duration::from_hours(90 * 24);
const SESSION: Duration = Duration::from_hours(24);

/// Create a token and print it, once
///
/// A launcher token creates, reads and ends sessions, and with `--attests` also attests commits of sessions that no hook
/// observed, for a platform that you trust; a session token (`--session`) acts for that session only; a
/// telemetry token (`--telemetry`) submits telemetry and does nothing else; a read token (`--read`) reads who made which
/// commit and does nothing else. `--may` and `--repository` limit a token further; what is outside of its repositories
/// does not exist for it. Only a digest of the token is stored.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Create a launcher token that expires in 30 days
    siglum token create --name ci --expires 30d

  Create a token for a pipeline that runs `siglum check`
    siglum token create --name ci-check --read

  Create a token for a platform that commits by itself
    siglum token create --name forge-bot --attests

  Create a token for a dashboard of one repository
    siglum token create --name board --may read --repository github.com/acme/shop")]
pub struct Args {
    /// Name of the token
    #[arg(long, value_parser = super::name)]
    name: Option<TokenName>,
    /// Lifetime: `12h`, `30d`, `never`; default: 90 days, 24 hours for a session token, no expiry for a telemetry
    /// token
    #[arg(long, value_name = "SPAN", value_parser = super::expiry)]
    expires: Option<Expiry>,
    /// Create a session token, for this session only: its id, the last digits of it, or the agent's native id
    #[arg(long)]
    session: Option<String>,
    /// Create a telemetry token, for the settings of agents and collectors
    #[arg(long, conflicts_with = "session")]
    telemetry: bool,
    /// Create a read token, for `siglum check`, `why` and `log` in pipelines and on laptops that send nothing
    #[arg(long, conflicts_with_all = ["session", "telemetry"])]
    read: bool,
    /// Create a launcher token that may also attest commits: only for a platform that you trust
    #[arg(long, conflicts_with_all = ["session", "telemetry", "read"])]
    attests: bool,
    /// Allow only this: `sync` (send what another ledger recorded), `read`, `run` (let agents run on the gateway's
    /// machine), `drive` (create and drive sessions), `admin` (read the audit, decide held turns, rotate tokens); may be
    /// repeated. Default: everything
    #[arg(long, value_name = "RIGHT", value_parser = super::right, conflicts_with_all = ["telemetry", "read"])]
    may: Vec<Right>,
    /// Allow only what belongs to this repository, by its remote (`github.com/owner/name`) or its id; may be repeated
    #[arg(long, value_name = "REPOSITORY", value_parser = super::repository, conflicts_with_all = ["session", "telemetry"])]
    repository: Vec<String>,
    /// Transfer this ledger, which sends here, to the new token, if the token that registered it is lost
    #[arg(long, value_name = "LEDGER", conflicts_with_all = ["session", "telemetry", "read"])]
    for_ledger: Vec<LedgerId>,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    /// The token itself. It is not shown again.
    secret: String,
    token: TokenJson,
}

impl Json {
    pub fn new(secret: &str, token: TokenJson) -> Self {
        Self {
            secret: secret.to_owned(),
            token,
        }
    }
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let limits = Limits::new(args.may.iter().copied(), args.repository.iter().cloned());
    let limits = limits.map_err(|error| CommandError::usage(error.to_string()))?;
    // A tenant begins with a token, but not with one for a session that it would have to have.
    let mut ledger = match args.session {
        None => store::begin(cx)?,
        Some(_) => store::open(cx)?,
    };
    let scope = match &args.session {
        Some(text) => Scope::Session(find::session(ledger.as_mut(), text)?),
        None if args.telemetry => Scope::Telemetry,
        None if args.read => Scope::Read,
        None if args.attests => Scope::Attester,
        None => Scope::Launcher,
    };
    let default = match scope {
        Scope::Launcher | Scope::Attester | Scope::Read => Expiry::After(LAUNCHER),
        Scope::Session(_) => Expiry::After(SESSION),
        Scope::Telemetry => Expiry::Never,
    };
    let named = |word| TokenName::new(word).expect("because it keeps to the grammar");
    let (now, secret) = (clock::now(), store::new_secret()?);
    let new = NewToken {
        id: TokenId::mint(&Ids),
        digest: secret.digest(),
        scope,
        limits,
        name: args.name.clone().unwrap_or_else(|| named(scope.as_str())),
        by: cx.person(),
        expires_at: args.expires.unwrap_or(default).from(now),
    };
    let world = cx.world()?;
    let token = access::issue(&world.here, ledger.as_mut(), &new)?;
    for of in &args.for_ledger {
        access::hand_over(&world.here, ledger.as_mut(), *of, token.id, &new.by)?;
    }
    if cx.ui.json {
        let token = TokenJson::from_record(&token, now);
        return cx.ui.json(SCHEMA, Json::new(secret.reveal(), token));
    }
    let what = match scope {
        Scope::Launcher => "for launchers".to_owned(),
        Scope::Attester => "for launchers that attest commits".to_owned(),
        Scope::Telemetry => "for telemetry".to_owned(),
        Scope::Read => "for reading".to_owned(),
        Scope::Session(session) => format!("for session {}", session.short()),
    };
    let (until, limits) = (super::until(token.expires_at), super::limits(&token.limits));
    let message = format!(
        "Created token {} ({}) {what}{limits}; it {until}.",
        token.id.short(),
        token.name
    );
    super::reveal(cx, &secret, &message)
}
