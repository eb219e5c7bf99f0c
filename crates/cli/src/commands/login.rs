//! `siglum login`: a token of the team's issuer, by a page that a person opens anywhere.

use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::json;
use siglum_egress::{
    Address, DeviceAuthorization, DevicePoll, EgressError, GatewayClient, IssuedTokens,
    IssuerError, Plain, Provider,
};

use crate::cx::Cx;
use crate::env;
use crate::error::CommandError;
use crate::gateway::{self, ADDRESS};
use crate::logins::{self, Login, LoginIssuer, PATIENCE};
use crate::ui::Style;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.login/1";

/// By how much longer is waited between two questions where the issuer is asked too often.
const SLOWER: Duration = Duration::from_secs(5);

/// Log in to the team's gateway with an account of its issuer
///
/// Prints the address of a page and a code. Open the page in any browser, enter the code and log in there; Siglum waits
/// until then and opens nothing by itself. The gateway names the issuer (OpenID Connect), and accepts its tokens in place
/// of its own. Siglum stores the token, readable only by you, and gets another one when it expires.
///
/// `siglum sync` and all commands that read from the gateway then use the login. In jobs of GitHub Actions and GitLab CI,
/// no login is needed: the ID token of the job is used.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Log in to a gateway
    siglum login https://siglum.example.org

  Log in at one of its issuers
    siglum login https://siglum.example.org --issuer corp")]
pub struct Args {
    /// Gateway URL; default: SIGLUM_GATEWAY, else the gateway that `siglum sync` remembers
    #[arg(value_name = "URL")]
    gateway: Option<String>,
    /// Name of the issuer, if the gateway has several
    #[arg(long, value_name = "NAME")]
    issuer: Option<String>,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    /// The address of the gateway.
    gateway: String,
    /// The address of the issuer.
    issuer: String,
    /// What the issuer calls whoever logged in.
    name: String,
    /// When the token expires; another one is issued then, if the issuer allows it.
    expires_at: String,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let address = named_gateway(cx, args.gateway.as_deref())?;
    let issuer = issuer_of(&address, args.issuer.as_deref())?;
    let provider = Provider::discover(&issuer.issuer, PATIENCE).map_err(CommandError::failed)?;
    let tokens = issued_tokens(cx, &address, &provider, &issuer)?;
    let login = Login::new(&address, &issuer, &tokens)?;
    let limited = refusal(&address, &login)?;
    logins::keep(&cx.home, &login).map_err(CommandError::at(&cx.home.tokens()))?;
    if let Some(limited) = limited {
        cx.ui.warning(limited);
    }
    if cx.ui.json {
        let answer = Json {
            gateway: login.gateway.clone(),
            issuer: login.issuer.clone(),
            name: login.name.clone(),
            expires_at: login.expires_at().to_string(),
        };
        return cx.ui.json(SCHEMA, answer);
    }
    cx.ui
        .status(format!("Logged in to {address} as {}.", login.name));
    Ok(())
}

/// The gateway that is named, else the one that the environment names, else the only one that is remembered.
fn named_gateway(cx: &Cx, text: Option<&str>) -> Result<Address, CommandError> {
    if let Some(text) = text.map(str::to_owned).or_else(|| env::text(ADDRESS)) {
        return Address::parse(&text, Plain::Loopback).map_err(CommandError::usage);
    }
    let known = match cx.has_ledger() {
        true => gateway::remembered(&mut cx.open_ledger()?)?,
        false => Vec::new(),
    };
    match known.as_slice() {
        [one] => Address::parse(&one.target, Plain::Anywhere).map_err(CommandError::failed),
        [] => Err(CommandError::usage("no gateway is named")
            .hint("Pass its URL: `siglum login https://…`.")),
        _ => Err(CommandError::usage("several gateways are configured")
            .hint("Pass the URL of one: `siglum login https://…`.")),
    }
}

/// The issuer at which people log in to a gateway: the one of this name, or the only one.
fn issuer_of(address: &Address, name: Option<&str>) -> Result<LoginIssuer, CommandError> {
    let client = GatewayClient::new(address.clone(), None, PATIENCE);
    let items = match client.get("/v1/issuers", &[]) {
        Ok(answer) => answer["items"].clone(),
        // One that knows no issuers at all.
        Err(EgressError::Refused { problem, .. }) if problem.status == 404 => json!([]),
        Err(error) => return Err(CommandError::failed(error)),
    };
    let mut issuers: Vec<LoginIssuer> = serde_json::from_value(items)
        .map_err(|_| CommandError::failed(format!("{address} names no valid issuers")))?;
    let names: Vec<String> = issuers.iter().map(|issuer| issuer.name.clone()).collect();
    if let Some(name) = name {
        issuers.retain(|issuer| issuer.name == name);
    }
    match (issuers.pop(), issuers.is_empty(), names.is_empty()) {
        (Some(issuer), true, _) => Ok(issuer),
        (_, _, true) => Err(CommandError::failed(format!(
            "{address} has no issuer at which people log in"
        ))
        .hint("Ask its operator for a token, and pass it to `siglum sync --token-file`.")),
        _ => Err(
            CommandError::usage(format!("{address} has the issuers {}", names.join(", ")))
                .hint("Pass the name of one with `--issuer`."),
        ),
    }
}

/// What the issuer issues, once a person has entered the code.
fn issued_tokens(
    cx: &Cx,
    gateway: &Address,
    provider: &Provider,
    issuer: &LoginIssuer,
) -> Result<IssuedTokens, CommandError> {
    let client = issuer.client();
    let begun = provider.authorize_device(client, PATIENCE);
    let begun = begun.map_err(CommandError::failed)?;
    show(cx, gateway, &begun)?;
    let until = Instant::now() + begun.expires_in;
    let mut interval = begun.interval;
    while Instant::now() + interval < until {
        sleep(interval);
        match provider.poll_device(client, &begun, PATIENCE) {
            Ok(DevicePoll::Granted(tokens)) => return Ok(*tokens),
            Ok(DevicePoll::Pending) => {}
            Ok(DevicePoll::SlowDown) | Err(IssuerError::Unreachable { .. }) => interval += SLOWER,
            Err(error) => return Err(refused(&error)),
        }
    }
    Err(expired())
}

fn refused(error: &IssuerError) -> CommandError {
    match error {
        IssuerError::Refused { code, .. } if code == "access_denied" => {
            CommandError::failed("the login was refused at the issuer")
        }
        IssuerError::Refused { code, .. } if code == "expired_token" => expired(),
        _ => CommandError::failed(error),
    }
}

fn expired() -> CommandError {
    CommandError::failed("nobody entered the code before it expired")
        .hint("Run `siglum login` again.")
}

/// Shows what a person is to do, and who gets the token; where an answer is for a program, beside it.
fn show(cx: &Cx, gateway: &Address, begun: &DeviceAuthorization) -> Result<(), CommandError> {
    let (page, code) = (&begun.page, cx.ui.paint(Style::Id, &begun.user_code));
    let mut lines = vec![format!(
        "Open {page} and enter the code {code} to log in to {gateway}."
    )];
    if let Some(page) = &begun.page_with_code {
        lines.push(format!("Or open {page} and compare the code."));
    }
    for line in lines {
        match cx.ui.json {
            true => cx.ui.status(line),
            false => cx.ui.line(line)?,
        }
    }
    Ok(())
}

/// Asks the gateway whether it takes the token. What the token does not allow is told, and no error: it may be for sending
/// alone.
fn refusal(address: &Address, login: &Login) -> Result<Option<String>, CommandError> {
    let client = GatewayClient::new(address.clone(), Some(login.kept_token()?), PATIENCE);
    match client.get("/v1/sessions", &[("limit", "1".to_owned())]) {
        Ok(_) => Ok(None),
        Err(EgressError::Refused { problem, .. }) if problem.status == 401 => {
            let what = format!("{address} does not take the token of {}", login.issuer);
            Err(CommandError::failed(format!("{what}: {problem}")))
        }
        Err(error) => Ok(Some(error.to_string())),
    }
}
