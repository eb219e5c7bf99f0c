//! `siglum logout`: forgets a login.

use serde::Serialize;
use siglum_egress::{Address, Plain};

use crate::cx::Cx;
use crate::error::CommandError;
use crate::logins;

/// The schema of the JSON answer.
pub const SCHEMA: &str = "siglum.logout/1";

/// Forget the login at a gateway
///
/// Deletes the tokens of `siglum login` from this machine. A token that was given to `siglum sync` is used again, if there
/// is one. The session at the issuer is not ended.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  Forget the only login
    siglum logout

  Forget the login at one gateway
    siglum logout https://siglum.example.org")]
pub struct Args {
    /// Gateway URL; default: the only one with a login
    #[arg(value_name = "URL")]
    gateway: Option<String>,
}

/// The JSON form of the answer.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Json {
    /// The address of the gateway.
    gateway: String,
}

pub fn run(args: &Args, cx: &Cx) -> Result<(), CommandError> {
    let gateway = match &args.gateway {
        Some(text) => Address::parse(text, Plain::Anywhere)
            .map_err(CommandError::usage)?
            .to_string(),
        None => only_login(cx)?,
    };
    let removed = logins::remove(&cx.home, &gateway);
    if !removed.map_err(CommandError::at(&cx.home.tokens()))? {
        return Err(CommandError::not_found(format!(
            "not logged in to {gateway}"
        )));
    }
    if cx.ui.json {
        return cx.ui.json(SCHEMA, Json { gateway });
    }
    cx.ui.status(format!("Logged out of {gateway}."));
    Ok(())
}

fn only_login(cx: &Cx) -> Result<String, CommandError> {
    let mut logins = logins::all(&cx.home);
    match (logins.pop(), logins.is_empty()) {
        (Some(login), true) => Ok(login.gateway),
        (Some(_), false) => Err(CommandError::usage("there are several logins")
            .hint("Pass the URL of a gateway: `siglum logout https://…`.")),
        (None, _) => Err(CommandError::not_found("not logged in to any gateway")),
    }
}
