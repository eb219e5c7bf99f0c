//! `siglum token`: who may call the gateway. One file per verb.

pub mod create;
pub mod list;
pub mod release;
pub mod revoke;
pub mod rotate;

use std::time::Duration;

use serde::Serialize;
use siglum_domain::access::{Limits, Right, Secret};
use siglum_domain::{RepositoryId, Timestamp, TokenName};
use siglum_engine::identity::repositories::remote_of;
use siglum_ledger::TokenRecord;

use crate::cx::Cx;
use crate::error::CommandError;
use crate::ui;

/// Create, list, rotate and revoke tokens for the gateway
#[derive(clap::Subcommand)]
#[command(after_long_help = "\
Examples:
  Create a token for a launcher
    siglum token create --name ci

  List tokens with their expiry and last use
    siglum token list")]
pub enum Command {
    Create(create::Args),
    #[command(alias = "ls")]
    List(list::Args),
    Release(release::Args),
    Revoke(revoke::Args),
    Rotate(rotate::Args),
}

pub fn run(command: &Command, cx: &Cx) -> Result<(), CommandError> {
    match command {
        Command::Create(args) => create::run(args, cx),
        Command::List(args) => list::run(args, cx),
        Command::Release(args) => release::run(args, cx),
        Command::Revoke(args) => revoke::run(args, cx),
        Command::Rotate(args) => rotate::run(args, cx),
    }
}

/// When a token ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    After(Duration),
    Never,
}

impl Expiry {
    fn from(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::After(time) => {
                let millis = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
                Some(now.plus_millis(millis))
            }
            Self::Never => None,
        }
    }
}

/// Reads `30d` or `never`; for clap.
fn expiry(text: &str) -> Result<Expiry, String> {
    match text {
        "never" => Ok(Expiry::Never),
        _ => match crate::time::duration(text) {
            Ok(time) if !time.is_zero() => Ok(Expiry::After(time)),
            _ => Err("expected a duration such as `12h`, `30d` or `8w`, or `never`".to_owned()),
        },
    }
}

/// Reads what a token is to be called; for clap.
fn name(text: &str) -> Result<TokenName, String> {
    TokenName::new(text).map_err(|e| e.rule.to_owned())
}

/// Reads a right; for clap.
fn right(word: &str) -> Result<Right, String> {
    let words = Right::ALL.map(Right::as_str).join("`, `");
    Right::parse(word).ok_or_else(|| format!("expected one of `{words}`"))
}

/// Reads the repository that a token is limited to, by its id or its remote; for clap.
fn repository(text: &str) -> Result<String, String> {
    if text.parse::<RepositoryId>().is_ok() {
        return Ok(text.to_owned());
    }
    // A path says something on one machine only.
    let remote = remote_of(text).filter(|name| !name.starts_with('/'));
    remote.ok_or_else(|| {
        "expected the remote of a repository, such as `github.com/owner/name`, or its id".to_owned()
    })
}

/// The limits of a token, in words that follow its scope; empty where it has none.
fn limits(limits: &Limits) -> String {
    let mut words = String::new();
    let rights: Vec<&str> = limits.rights().map(Right::as_str).collect();
    if !rights.is_empty() {
        words.push_str(&format!(", only {}", rights.join(" and ")));
    }
    let repositories: Vec<&str> = limits.repositories().iter().map(String::as_str).collect();
    if !repositories.is_empty() {
        words.push_str(&format!(", only in {}", repositories.join(" and ")));
    }
    words
}

/// A token as answers show it: all but its secret.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TokenJson {
    id: String,
    name: String,
    /// `launcher`, which creates, reads and ends sessions, `attester`, which also attests commits, `session`, which acts
    /// for one, `telemetry`, which hands over telemetry, or `read`, which reads who made which commit.
    scope: String,
    /// The rights that it is limited to: `sync`, `read`, `run`, `drive`, `admin`. Absent where it may everything that its
    /// scope allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    may: Option<Vec<String>>,
    /// The repositories that it is limited to, by remote or id. Absent where it is limited to none.
    #[serde(skip_serializing_if = "Option::is_none")]
    repositories: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
    /// `active`, `replaced` (it still holds for a while), `expired` or `revoked`.
    state: String,
    by: String,
    created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revoked_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced_by: Option<String>,
    /// When its use was last noted, which is done once an hour.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_used_at: Option<String>,
}

impl TokenJson {
    fn from_record(token: &TokenRecord, now: Timestamp) -> Self {
        let time = |at: Option<Timestamp>| at.map(|at| at.to_string());
        let any = |words: Vec<String>| (!words.is_empty()).then_some(words);
        let rights = token.limits.rights().map(|right| right.as_str().to_owned());
        Self {
            id: token.id.to_string(),
            name: token.name.clone(),
            scope: token.scope.as_str().to_owned(),
            may: any(rights.collect()),
            repositories: any(token.limits.repositories().iter().cloned().collect()),
            session: token.scope.session().map(|s| s.to_string()),
            state: state(token, now).to_owned(),
            by: token.by.clone(),
            created_at: token.created_at.to_string(),
            expires_at: time(token.expires_at),
            revoked_at: time(token.revoked_at),
            replaced_by: token.replaced_by.map(|id| id.to_string()),
            last_used_at: time(token.last_used_at),
        }
    }
}

fn state(token: &TokenRecord, now: Timestamp) -> &'static str {
    let expired = token.expires_at.is_some_and(|at| at <= now);
    match (token.revoked_at, expired, token.replaced_by) {
        (Some(_), ..) => "revoked",
        (None, true, _) => "expired",
        (None, false, Some(_)) => "replaced",
        (None, false, None) => "active",
    }
}

/// Until when a token holds, in words.
fn until(expires_at: Option<Timestamp>) -> String {
    expires_at.map_or_else(
        || "never expires".to_owned(),
        |at| format!("expires on {}", ui::when(at)),
    )
}

/// Prints the text of a token, this once.
fn reveal(cx: &Cx, secret: &Secret, message: &str) -> Result<(), CommandError> {
    cx.ui.status(message);
    cx.ui.line(secret.reveal())?;
    cx.ui
        .hint("Store it now: it is not shown again; the ledger keeps only a digest.");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_is_a_remote_or_an_id() {
        for text in [
            "github.com/acme/shop",
            "https://github.com/acme/shop.git",
            "git@github.com:acme/shop.git",
        ] {
            assert_eq!(repository(text).as_deref(), Ok("github.com/acme/shop"));
        }
        let id = "rep_019ad0000000700080000000000000ff";
        assert_eq!(repository(id).as_deref(), Ok(id));
        for text in ["", "shop", "/srv/shop", "a b/c", "rep_1"] {
            assert!(repository(text).is_err(), "{text}");
        }
    }

    #[test]
    fn limits_follow_the_scope_in_words() {
        let of = |rights: &[Right], repositories: &[&str]| {
            let repositories = repositories.iter().map(|name| (*name).to_owned());
            limits(&Limits::new(rights.iter().copied(), repositories).unwrap())
        };
        assert_eq!(of(&[], &[]), "");
        assert_eq!(
            of(&[Right::Drive, Right::Read], &["h/o/r"]),
            ", only read and drive, only in h/o/r"
        );
        assert!(right("write").unwrap_err().contains("`sync`, `read`"));
    }

    #[test]
    fn a_token_ends_after_a_while_or_never() {
        let days = |n: u64| Ok(Expiry::After(Duration::from_secs(n * 86_400)));
        assert_eq!(expiry("30d"), days(30));
        assert_eq!(expiry("2w"), days(14));
        assert_eq!(expiry("never"), Ok(Expiry::Never));
        for text in ["", "0d", "-1d", "30", "tomorrow", "Never"] {
            assert!(expiry(text).is_err(), "{text}");
        }
    }
}
