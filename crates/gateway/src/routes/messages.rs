//! Messages: sent to an agent, followed while it answers, and read afterwards.

use std::path::PathBuf;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use siglum_domain::audit::Action;
use siglum_domain::context::RouteKey;
use siglum_domain::{AgentName, TurnId, TurnKey};
use siglum_ledger::SessionRecord;
use siglum_platform::clock;

#[cfg(test)]
use super::path::OfConversation;
use super::path::Path;
#[cfg(test)]
use super::trace_context::InTrace;
use super::trace_context::Traced;
use crate::addressed::{self, Address};
use crate::admission::{Launcher, refused};
use crate::app::App;
use crate::body::Body;
use crate::caller::Caller;
use crate::messages::prompt;
use crate::naming::{Name, one};
use crate::problem::Problem;
#[cfg(test)]
use crate::problem_responses::{AgentProblems, Problems};
use crate::query::Query;
use crate::run_answer::{Form, answer};
use crate::runner;
use crate::runs::{Ask, Owned, Resume, RunLimits, Target, Under};
#[cfg(test)]
use crate::wire::RunResult;
use crate::wire::{self, IgnoredName, SendMessages, without_secret};

/// The header with the key of a request that may be made twice.
const KEY: &str = "idempotency-key";
const KEY_RULE: &str = "1 to 200 of the characters A-Z a-z 0-9 . _ : -";

/// Send messages to an agent
///
/// The response is the result of the run when it has ended, or a stream of its events if `format` or the header
/// `accept` requests one. The whole request is validated before anything is started. A run with a conversation id
/// belongs to its session and continues when the client disconnects; a run without one is cancelled then.
#[cfg_attr(test, utoipa::path(post, path = "/v1/messages", tag = "messages", operation_id = "sendMessages",
    security(("launcher" = [])),
    params(
        ("siglum-conversation-id" = Option<String>, Header, description = "Conversation id, if the body has none",
            pattern = r"^(\s*|(?!.*\.\.)[A-Za-z0-9._:-]{1,128})$"),
        ("idempotency-key" = Option<String>, Header, description = "Turn key, if the body has none",
            pattern = r"^[A-Za-z0-9._:-]{1,200}$"),
        ("format" = Option<String>, Query, description = "`json`: one result. `events`: server-sent events of this gateway. `ui-messages`: a UI message stream of the AI SDK, version 1. Default: `events` if `accept` names `text/event-stream`, else `json`",
            pattern = "^(json|events|ui-messages)$"),
        InTrace,
    ),
    request_body = SendMessages,
    responses(
        (status = 200, description = "The result, or a stream. The headers `siglum-conversation-id`, `siglum-session-id`, `siglum-trace-id` and `traceparent` contain its ids", content(
            (RunResult = "application/json"),
            (String = "text/event-stream"),
        )),
        AgentProblems,
        Problems)))]
pub(crate) async fn send(
    State(app): State<App>,
    Launcher(caller): Launcher,
    traced: Traced,
    query: Query,
    headers: HeaderMap,
    new: Result<Body<SendMessages>, Problem>,
) -> Result<Response, Problem> {
    let sent = sent(&app, &caller, None, traced, query, &headers, new).await;
    sent.inspect_err(|problem| refused(&app, &caller, Action::SessionRefused, problem))
}

/// Send messages to the agent of the conversation in the path
///
/// Works like `POST /v1/messages`. A session token can send to its own session.
#[cfg_attr(test, utoipa::path(post, path = "/v1/sessions/{session}/messages", tag = "messages", operation_id = "sendSessionMessages",
    security(("launcher" = []), ("session" = [])),
    params(
        OfConversation,
        ("siglum-conversation-id" = Option<String>, Header, description = "Conversation id; ignored in favour of the path, and reported as such",
            pattern = r"^(\s*|(?!.*\.\.)[A-Za-z0-9._:-]{1,128})$"),
        ("idempotency-key" = Option<String>, Header, description = "Turn key, if the body has none",
            pattern = r"^[A-Za-z0-9._:-]{1,200}$"),
        ("format" = Option<String>, Query, description = "As in `POST /v1/messages`", pattern = "^(json|events|ui-messages)$"),
        InTrace,
    ),
    request_body = SendMessages,
    responses(
        (status = 200, description = "As for `POST /v1/messages`", content(
            (RunResult = "application/json"),
            (String = "text/event-stream"),
        )),
        AgentProblems,
        Problems)))]
pub(crate) async fn send_to(
    State(app): State<App>,
    caller: Caller,
    path: Path,
    traced: Traced,
    query: Query,
    headers: HeaderMap,
    new: Result<Body<SendMessages>, Problem>,
) -> Result<Response, Problem> {
    let address = path.address()?;
    let sent = sent(&app, &caller, Some(address), traced, query, &headers, new).await;
    sent.inspect_err(|problem| refused(&app, &caller, Action::SessionRefused, problem))
}

async fn sent(
    app: &App,
    caller: &Caller,
    address: Option<Address>,
    traced: Traced,
    mut query: Query,
    headers: &HeaderMap,
    new: Result<Body<SendMessages>, Problem>,
) -> Result<Response, Problem> {
    let form = Form::requested(&mut query, headers)?;
    query.end()?;
    let Body(new) = new?;
    let request = UnresolvedRequest::new(caller, headers, address, traced, &new)?;
    let (ask, ignored) = request.resolved(app, caller).await?;
    let running = runner::start(app, ask).await?;
    Ok(answer(app, &running, ignored, form, 0).await)
}

/// A request, checked as far as that goes without a ledger.
struct UnresolvedRequest {
    address: Option<Address>,
    name: Name,
    agent: Option<AgentName>,
    /// The rest of what is asked; its session and agent are found next.
    ask: Ask,
}

impl UnresolvedRequest {
    fn new(
        caller: &Caller,
        headers: &HeaderMap,
        address: Option<Address>,
        traced: Traced,
        new: &SendMessages,
    ) -> Result<Self, Problem> {
        let path = match &address {
            Some(Address::Conversation(name)) => Some(name.clone()),
            _ => None,
        };
        let name = Name::behind(
            path,
            headers,
            "conversation_id",
            new.conversation_id.as_deref(),
        )?;
        let model = new.parameters.as_ref().and_then(|p| p.model.as_deref());
        let agent = new.agent.clone();
        let ask = Ask {
            tenant: caller.tenant.clone(),
            session: Target::Unnamed,
            under: under(new)?,
            // Until it is found, this is never read.
            agent: AgentName::key(agent.as_ref()),
            prompt: prompt(&new.messages, new.inputs.as_ref())?,
            cwd: new.cwd.as_deref().map(directory).transpose()?,
            links: new.links()?,
            model: model.map(model_name).transpose()?,
            resume: match new.resume {
                Some(true) => Resume::Native,
                _ => Resume::Fresh,
            },
            if_busy: new.if_busy.map(Into::into).unwrap_or_default(),
            limits: limits(new.limits.unwrap_or_default())?,
            permissions: new.permissions.map(Into::into).unwrap_or_default(),
            traced: traced.0,
            key: key(headers, new)?,
            by: caller.by(),
            owned: Owned::BySession,
            environment: Vec::new(),
        };
        Ok(Self {
            address,
            name,
            agent,
            ask,
        })
    }

    /// What is asked of the runner, once it is known which session is meant.
    async fn resolved(
        self,
        app: &App,
        caller: &Caller,
    ) -> Result<(Ask, Vec<IgnoredName>), Problem> {
        let Self {
            address,
            name,
            agent,
            mut ask,
        } = self;
        let ignored = match &address {
            // The path named the session itself, so that each name of the conversation lost.
            Some(Address::Session(_)) => name.lost(),
            _ => name.ignored.clone(),
        };
        let named = name.named.clone().map(Address::Conversation);
        let wanted = address.or(named);
        let known = match wanted.clone() {
            Some(wanted) => addressed::known(app, caller, wanted, agent.clone()).await?,
            None => None,
        };
        owned(app, caller, known.as_ref())?;
        ask.agent = match (agent, &known) {
            (Some(agent), None) => agent,
            (Some(agent), Some(known)) if agent == known.agent_key() => agent,
            (Some(_), Some(known)) => {
                let (id, agent) = (known.id, known.agent_word());
                let detail = format!("session {id} belongs to agent {agent}");
                return Err(Problem::conflict("taken", detail));
            }
            (None, Some(known)) => known.agent_key(),
            (None, None) => {
                let rule = "is required, because the session does not exist yet";
                return Err(Problem::invalid("agent", rule));
            }
        };
        ask.session = match (wanted, known) {
            (Some(address @ Address::Session(_)), None) => {
                return Err(addressed::missing(&address));
            }
            (Some(Address::Session(_)), Some(known)) => Target::Session(known.id),
            (Some(Address::Conversation(named)), _) => Target::Named(named, name.by),
            (None, _) => Target::Unnamed,
        };
        if ask.session == Target::Unnamed {
            ask.owned = Owned::ByClient;
        }
        Ok((ask, ignored))
    }
}

/// A session's token sends to that session and to no other, whether or not there is another.
fn owned(app: &App, caller: &Caller, known: Option<&SessionRecord>) -> Result<(), Problem> {
    match (caller.own(), known) {
        (None, _) => Ok(()),
        (Some(_), Some(known)) => caller.for_session(app, known.id),
        (Some(_), None) => Err(Problem::forbidden(
            "a session token acts for its session only",
        )),
    }
}

fn under(new: &SendMessages) -> Result<Under, Problem> {
    let isolated = new.isolated.unwrap_or_default();
    let Some(route) = &new.route_key else {
        return match isolated {
            true => Err(Problem::invalid("isolated", "requires `route_key`")),
            false => Ok(Under::Session),
        };
    };
    let route = RouteKey::new(route).map_err(|e| Problem::invalid("route_key", e.rule))?;
    without_secret("route_key", route.as_str())?;
    Ok(match isolated {
        true => Under::Isolated(route),
        false => Under::Route(route),
    })
}

fn directory(text: &str) -> Result<PathBuf, Problem> {
    let length = text.chars().count();
    if !(1..=4096).contains(&length) || text.chars().any(char::is_control) {
        return Err(Problem::invalid(
            "cwd",
            "1 to 4096 characters, no control characters",
        ));
    }
    without_secret("cwd", text)?;
    Ok(PathBuf::from(text))
}

fn model_name(text: &str) -> Result<String, Problem> {
    let plain = (1..=200).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
    if !plain {
        return Err(Problem::invalid(
            "parameters.model",
            "1 to 200 printable ASCII characters without blanks",
        ));
    }
    without_secret("parameters.model", text)?;
    Ok(text.to_owned())
}

fn limits(requested: wire::RunLimits) -> Result<RunLimits, Problem> {
    let fields = [
        ("limits.wall_ms", requested.wall_ms),
        ("limits.silent_ms", requested.silent_ms),
        ("limits.tokens", requested.tokens),
        ("limits.nano_usd", requested.nano_usd),
    ];
    match fields.iter().find(|(_, value)| *value == Some(0)) {
        Some((field, _)) => Err(Problem::invalid(*field, "a whole number from 1")),
        None => Ok(RunLimits {
            wall: requested.wall_ms.map(Duration::from_millis),
            silent: requested.silent_ms.map(Duration::from_millis),
            tokens: requested.tokens,
            nano_usd: requested.nano_usd,
        }),
    }
}

/// What the turn is called: by the body, a header, or by nobody, so that it is called by an id.
fn key(headers: &HeaderMap, new: &SendMessages) -> Result<TurnKey, Problem> {
    let header = one(headers, KEY)?;
    let (field, text) = match (&new.turn_key, header) {
        (Some(key), _) => ("turn_key", key.clone()),
        (None, Some(key)) => (KEY, key),
        (None, None) => ("turn_key", TurnId::mint(&clock::Ids).to_string()),
    };
    without_secret(field, &text)?;
    TurnKey::new(text).map_err(|_| Problem::invalid(field, KEY_RULE))
}
