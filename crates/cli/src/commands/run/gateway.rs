//! The gateway of a launch: it knows the session before anything is made, and how it ended.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use siglum_domain::link::{Link, Stated};
use siglum_domain::{AgentName, SessionId};
use siglum_egress::{Address, EgressError, GatewayClient, Plain, Timeouts, Token};
use siglum_ledger::{LaunchEnd, Ledger as _, Projection};

use super::Args;
use crate::commands::sync;
use crate::cx::Cx;
use crate::env;
use crate::error::CommandError;
use crate::gateway::{self, ADDRESS, TOKEN, TOKEN_FILE, Tries};
use crate::job_token;

/// What the command of a session does not get.
pub const VARIABLES: [&str; 4] = [ADDRESS, TOKEN_FILE, TOKEN, job_token::TOKEN];

/// How often registering is tried.
const TRIES: u32 = 3;
/// How long registering may take, and telling the end.
const PATIENCE: Timeouts = Timeouts {
    connect: Duration::from_secs(2),
    whole: Duration::from_secs(5),
};
/// How long the launcher sends at the end.
const LAST: Duration = Duration::from_secs(5);

/// The gateway of a launch. Nothing of it is remembered: what a launcher that is killed had not sent stays here.
pub struct Gateway {
    address: Address,
    /// The token by which it knows the session, once it does; before, the launcher's.
    token: Option<Token>,
    /// Where `siglum sync` was told to send everything there, which this session belongs to.
    standing: Option<Projection>,
    client: GatewayClient,
}

impl Gateway {
    /// The one that a flag names, else a variable, if any does.
    pub fn named(args: &Args, cx: &Cx) -> Result<Option<Self>, CommandError> {
        let variable = || env::text(ADDRESS);
        let Some(text) = args.gateway.clone().or_else(variable) else {
            return Ok(None);
        };
        let plain = match args.allow_plain {
            true => Plain::Anywhere,
            false => Plain::Loopback,
        };
        let address = gateway::address(&text, plain)?;
        let file = args.gateway_token_file.clone();
        let file: Option<PathBuf> = file.or_else(|| env::path(TOKEN_FILE));
        let token = gateway::given_token(file.as_deref())?;
        Self::open(cx, address, token).map(Some)
    }

    fn open(cx: &Cx, address: Address, token: Option<Token>) -> Result<Self, CommandError> {
        let standing = gateway::at(&mut cx.open_ledger()?, &address)?;
        let token = match token {
            Some(token) => Some(token),
            None => {
                let name = standing.as_ref().map(|projection| projection.name.as_str());
                gateway::token_for(&cx.home, &address, name)?
            }
        };
        Ok(Self {
            client: GatewayClient::new(address.clone(), token.clone(), PATIENCE),
            address,
            token,
            standing,
        })
    }

    /// Registers the session. What the server refuses is an error, with its reason; where it cannot be reached the
    /// launch goes on.
    pub fn register(
        &mut self,
        cx: &Cx,
        session: SessionId,
        agent: Option<&AgentName>,
        links: &[Stated],
    ) -> Result<(), CommandError> {
        let ledger = cx.open_ledger()?;
        let request = session_request(cx, ledger.id(), session, agent, links);
        match self.client.register_session(&request, &Tries(TRIES)) {
            Ok(answer) => self.token = token_of(&answer.body).or_else(|| self.token.take()),
            Err(error @ EgressError::Refused { .. }) => {
                return Err(CommandError::failed(error)
                    .hint("Nothing was created, and the command was not started."));
            }
            Err(error) => {
                cx.ui.warning(error.to_string());
                cx.ui
                    .warning("the session is recorded locally and sent when the command ends");
            }
        }
        Ok(())
    }

    /// Says how the command ended. What fails now is told, and changes no exit code: the sync tells it, too.
    pub fn end(&self, cx: &Cx, session: SessionId, end: &LaunchEnd) {
        let end = match end {
            LaunchEnd::Completed => json!({"outcome": "completed"}),
            LaunchEnd::Failed { code } => json!({"outcome": "failed", "code": code}),
            LaunchEnd::Signalled { signal } => json!({"outcome": "signalled", "signal": signal}),
            LaunchEnd::NotStarted { code } => json!({"outcome": "not-started", "code": code}),
            LaunchEnd::Lost | LaunchEnd::Expired => json!({"outcome": "lost"}),
        };
        let result = self
            .client
            .end_session(&session.to_string(), &end, &Tries(1));
        if let Err(error) = result {
            cx.ui
                .warning(format!("cannot report the end of the session: {error}"));
        }
    }

    /// Sends the session and what belongs to it, for a short time; what is missing then is told.
    pub fn sync(&self, cx: &Cx, session: SessionId) {
        let until = Instant::now() + LAST;
        let token = self.token.clone();
        let outcome = sync::send_session(cx, session, (&self.address, token), Some(until));
        let left = match outcome {
            Ok(passed) => match passed.trouble {
                None => return,
                Some(trouble) => trouble.to_string(),
            },
            Err(error) => format!("{:#}", error.source),
        };
        let address = &self.address;
        cx.ui.warning(format!("{address}: {left}"));
        if self.standing.is_some() {
            cx.ui
                .hint("Unsent data is kept; the worker and the next `siglum sync` retry.");
            return cx.home.start_worker();
        }
        cx.ui.hint(format!(
            "Run `siglum sync --to {address} --session {session}` to send the session again."
        ));
    }
}

/// The token that a gateway gave to the session that it created.
fn token_of(answer: &Value) -> Option<Token> {
    Token::new(answer.get("token")?.get("secret")?.as_str()?).ok()
}

/// What the gateway is told of a session.
fn session_request(
    cx: &Cx,
    home: siglum_domain::LedgerId,
    session: SessionId,
    agent: Option<&AgentName>,
    links: &[Stated],
) -> Value {
    let repositories: Vec<String> = cx
        .find_repo()
        .and_then(|_| origin(cx))
        .into_iter()
        .collect();
    json!({
        "id": session.to_string(),
        "home": home.to_string(),
        "agent": agent.cloned().unwrap_or_else(AgentName::unnamed),
        "conversation_id": session.to_string(),
        "links": links_of(links),
        "repositories": repositories,
        "cwd": cx.dir.to_string_lossy(),
        "mode": "observed",
    })
}

/// What others call the repository: the address that it was cloned from, without a scheme, a user or a password.
fn origin(cx: &Cx) -> Option<String> {
    let address = cx.git().origin().ok().flatten()?;
    repository_name(&address)
}

fn repository_name(address: &str) -> Option<String> {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    let rest = rest.strip_suffix(".git").unwrap_or(rest);
    let name = rest.replacen(':', "/", 1);
    let plain =
        |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'/' | b'~' | b'+' | b'-');
    // A path of this machine is no name that others know.
    let is_name = !name.is_empty() && name.len() <= 512 && !name.starts_with(['/', '.']);
    (is_name && name.bytes().all(plain)).then_some(name)
}

/// The links as one object: a member for each field, and the labels in an object of their own.
fn links_of(stated: &[Stated]) -> Value {
    let mut links = Map::new();
    let mut labels = Map::new();
    for Stated { link, .. } in stated {
        let value = match link {
            Link::IssueNumber(n) | Link::PrNumber(n) => json!(n),
            Link::PipelineId(text) | Link::AgentRole(text) | Link::Phase(text) => json!(text),
            Link::Label { key, value } => {
                labels.insert(key.clone(), json!(value));
                continue;
            }
        };
        links.insert(link.field().to_owned(), value);
    }
    if !labels.is_empty() {
        links.insert("labels".to_owned(), Value::Object(labels));
    }
    Value::Object(links)
}

#[cfg(test)]
mod tests {
    use siglum_domain::link::FIELDS;

    use super::*;

    #[test]
    fn a_repository_is_named_without_credentials() {
        for (address, name) in [
            ("https://github.com/o/r.git", Some("github.com/o/r")),
            (
                "https://user:hunter2@github.com/o/r",
                Some("github.com/o/r"),
            ),
            ("git@github.com:o/r.git", Some("github.com/o/r")),
            ("ssh://git@host:22/o/r", Some("host/22/o/r")),
            ("/srv/git/r.git", None),
            ("../r", None),
            ("file:///srv/r", None),
            ("https://host/a b", None),
        ] {
            assert_eq!(repository_name(address).as_deref(), name, "{address}");
        }
    }

    /// A field that is forgotten here would never reach a gateway.
    #[test]
    fn every_field_is_sent() {
        let value = |field: &str| match field {
            "label" => "a=b",
            "issue_number" | "pr_number" => "7",
            _ => "x",
        };
        let stated = |field: &&str| Stated {
            link: Link::parse(field, value(field)).unwrap(),
            source: "flag".into(),
        };
        let stated: Vec<Stated> = FIELDS.iter().map(stated).collect();
        let links = links_of(&stated);
        for field in FIELDS {
            let found = match *field {
                "label" => &links["labels"]["a"],
                other => &links[other],
            };
            assert!(!found.is_null(), "{field}: {links}");
        }
        assert_eq!(links["issue_number"], json!(7));
    }
}
