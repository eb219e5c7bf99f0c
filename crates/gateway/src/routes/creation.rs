//! Sessions are created, and get tokens of their own.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use siglum_domain::access::{Scope, Secret};
use siglum_domain::audit::Action;
use siglum_domain::digest::Hasher;
use siglum_domain::link::Link;
use siglum_domain::redact::Redactor;
use siglum_domain::{LedgerId, SessionId, Timestamp, TokenId, TokenName};
use siglum_engine::Here;
use siglum_engine::driven::remote::{self, RemoteError};
use siglum_engine::driven::turn::TurnError;
use siglum_engine::identity::access::{self, NewToken};
use siglum_engine::identity::audit;
use siglum_engine::views::session::SessionJson;
use siglum_ledger::{Ledger, Mode, RequestRecord, TokenRecord, Transaction};
use siglum_platform::clock;

#[cfg(test)]
use super::path::OfSession;
use super::path::Path;
use super::representation::Elsewhere;
use super::responses;
use super::transaction::refusable;
use crate::admission::{Launcher, refused};
use crate::app::App;
use crate::body::Body;
use crate::caller::Caller;
use crate::ledgers::seeing;
use crate::naming::{Name, one};
use crate::problem::Problem;
#[cfg(test)]
use crate::problem_responses::Problems;
use crate::reach::{is_within, may_name};
use crate::runs::NameSource;
use crate::wire::{CreateSession, CreatedSession, IgnoredName, SessionToken, without_secret};

/// The header with the key of a request that may be made twice.
const KEY: &str = "idempotency-key";
/// How long a session's token holds, in seconds.
const TOKEN_SECONDS: u32 = 24 * 60 * 60;
/// What is said to a token that is limited to repositories where the request names none, or another one.
const OTHER_REPOSITORIES: &str =
    "repositories: name only repositories that the token is limited to, and at least one";
const TAKEN: &str = "the id, conversation id or native id belongs to another session";
const TOKEN_RULE: &str = "60 to 2592000 seconds";
/// How long the tokens before stay valid when another one is asked for.
const GRACE: Duration = Duration::from_secs(60);
/// How many tokens of a session hold at once: whoever finds it again and again gets one each time.
const TOKENS_MOST: usize = 16;

/// Create a session, or find the one that the claims identify, and issue its token
///
/// The whole request is validated before anything is written. A repeated `id`, a repeated `idempotency-key`, or the
/// same agent and conversation id refer to the same session; its links are attached in either case.
#[cfg_attr(test, utoipa::path(post, path = "/v1/sessions", tag = "sessions", operation_id = "createSession",
    security(("launcher" = [])),
    params(
        ("siglum-conversation-id" = Option<String>, Header, description = "Conversation id, if the body has none",
            pattern = r"^(\s*|(?!.*\.\.)[A-Za-z0-9._:-]{1,128})$"),
        ("idempotency-key" = Option<String>, Header, description = "Idempotency key: a repeated request with the same key has no further effect for a day",
            pattern = r"^[!-~]{1,200}$"),
    ),
    request_body = CreateSession,
    responses(
        (status = 201, description = "The session was created", body = CreatedSession),
        (status = 200, description = "The session already existed", body = CreatedSession),
        Problems)))]
pub(crate) async fn create(
    State(app): State<App>,
    Launcher(caller): Launcher,
    headers: HeaderMap,
    new: Result<Body<CreateSession>, Problem>,
) -> Result<(StatusCode, Json<CreatedSession>), Problem> {
    app.rates().creation(&caller)?;
    let created = created(&app, &caller, &headers, new).await;
    created.inspect_err(|problem| refused(&app, &caller, Action::SessionRefused, problem))
}

async fn created(
    app: &App,
    caller: &Caller,
    headers: &HeaderMap,
    new: Result<Body<CreateSession>, Problem>,
) -> Result<(StatusCode, Json<CreatedSession>), Problem> {
    let Body(new) = new?;
    let wanted = Wanted::new(caller, headers, &new)?;
    let secret = Secret::mint(&caller.tenant, &clock::secret());
    let digest = secret.digest();
    let (named_by, ignored) = (wanted.named_by, wanted.ignored.clone());
    let done = app.ledgers().write(&caller.tenant, move |here, ledger| {
        wanted.create(here, ledger, &digest)
    });
    let (session, already, token) = done.await??;
    if !already {
        app.metrics().sessions.inc();
    }
    let created = CreatedSession {
        session,
        already,
        token: SessionToken {
            id: token.0,
            secret: secret.reveal().to_owned(),
            expires_at: token.1.to_string(),
        },
        named_by,
        ignored,
    };
    Ok(responses::created(created, already))
}

/// A request for a session, checked.
struct Wanted {
    new: remote::NewSession,
    named_by: NameSource,
    ignored: Vec<IgnoredName>,
    /// What the caller calls the request, and a digest of what it asks for.
    key: Option<(String, String)>,
    token_seconds: u32,
    credential: access::Caller,
    from: String,
}

impl Wanted {
    fn new(caller: &Caller, headers: &HeaderMap, new: &CreateSession) -> Result<Self, Problem> {
        let name = Name::new(headers, "conversation_id", new.conversation_id.as_deref())?;
        let named_by = match (&name.named, &new.native_id) {
            (None, Some(_)) => NameSource::Agent,
            _ => name.by,
        };
        if let Some(native) = &new.native_id {
            without_secret("native_id", native.as_str())?;
        }
        let links = new.links()?;
        let names = new.repositories.iter().flatten();
        if new.repositories.as_ref().map_or(0, Vec::len) > remote::REPOSITORIES_MOST {
            return Err(Problem::invalid("repositories", "at most 32"));
        }
        let mut repositories: Vec<String> = Vec::new();
        for (at, name) in names.enumerate() {
            let name = name.checked(&format!("repositories.{at}"))?;
            if !repositories.contains(&name) {
                repositories.push(name);
            }
        }
        if let Some(id) = new.id
            && id.uuid().get_version_num() != 7
        {
            return Err(Problem::invalid("id", "`ses_` and a UUID of version 7"));
        }
        let token_seconds = new.token_seconds.unwrap_or(TOKEN_SECONDS);
        if !(60..=2_592_000).contains(&token_seconds) {
            return Err(Problem::invalid("token_seconds", TOKEN_RULE));
        }
        let mode: Mode = new.mode.unwrap_or_default().into();
        Ok(Self {
            key: key(headers, &links, &repositories, new)?,
            new: remote::NewSession {
                id: new.id,
                home: new.home,
                agent: new.agent.clone(),
                conversation: name.named,
                native: new.native_id.clone(),
                name: None,
                mode,
                cwd: new.cwd.as_deref().map(directory).transpose()?,
                links,
                repositories,
                from: None,
                by: caller.by(),
            },
            named_by,
            ignored: name.ignored,
            token_seconds,
            credential: caller.credential().clone(),
            from: caller.from.to_string(),
        })
    }

    fn create(
        &self,
        here: &Here<'_>,
        ledger: &mut dyn Ledger,
        digest: &str,
    ) -> Result<(SessionJson, bool, (TokenId, Timestamp)), Problem> {
        let id = ledger.id();
        if self.new.mode == Mode::Driven && self.new.home.is_some_and(|home| home != id) {
            let detail = "home: the home of a session driven at this gateway must be its ledger";
            return Err(Problem::conflict("home-elsewhere", detail));
        }
        refusable(ledger, |tx| {
            let new = match self.known(tx)? {
                Some(known) => remote::NewSession {
                    id: Some(known),
                    ..self.new.clone()
                },
                None => self.new.clone(),
            };
            self.keep_within_limits(here, tx, id, &new)?;
            let created = remote::create(here, tx, id, &new)?;
            let session = created.record.id;
            // One that was there may be at home elsewhere, whatever the request says of it.
            let home = created.record.home;
            let home = Elsewhere::of_home(here, tx, &self.credential, id, home)?;
            self.note(here, tx, session)?;
            let response = match created.already {
                true => responses::session(&seeing(here), tx, session)?,
                false => responses::new_session(tx, &created.record)?,
            };
            let response = response.ok_or_else(Problem::internal)?;
            // What goes into the audit comes last: until the end of the transaction nobody else writes there.
            let (seconds, of) = (self.token_seconds, &self.credential);
            let earlier = match created.already {
                true => Earlier::Kept,
                false => Earlier::None,
            };
            let pipeline = created.links.as_deref().and_then(audit::pipeline);
            let of_session = (session, pipeline);
            let token = token(here, tx, of_session, seconds, digest, of, earlier)?;
            if !created.already {
                remote::created(here, tx, &new, &created, &self.from)?;
            }
            home.note(here, tx, &self.credential)?;
            Ok((response, created.already, token))
        })
    }

    /// A token that is limited to repositories creates sessions that work in these alone, and finds no others.
    fn keep_within_limits(
        &self,
        here: &Here<'_>,
        tx: &mut dyn Transaction,
        ledger: LedgerId,
        new: &remote::NewSession,
    ) -> Result<(), Problem> {
        let limits = &self.credential.limits;
        if limits.repositories().is_empty() {
            return Ok(());
        }
        let mut inside = !new.repositories.is_empty();
        for name in &new.repositories {
            inside = inside && may_name(tx, limits, name)?;
        }
        if !inside {
            return Err(Problem::forbidden(OTHER_REPOSITORIES));
        }
        let known = match remote::known_session(here, tx, ledger, new) {
            Ok(known) => known,
            // Whose it is would say that there is one.
            Err(RemoteError::Taken { .. }) => return Err(Problem::conflict("taken", TAKEN)),
            Err(error) => return Err(error.into()),
        };
        match known {
            Some(known) if !is_within(tx, limits, known.id)? => {
                Err(Problem::conflict("taken", TAKEN))
            }
            _ => Ok(()),
        }
    }

    /// The session that the same request gave before.
    fn known(&self, tx: &mut dyn Transaction) -> Result<Option<SessionId>, Problem> {
        let Some((key, content)) = &self.key else {
            return Ok(None);
        };
        let Some(before) = tx.request(key)? else {
            return Ok(None);
        };
        if before.content != *content {
            let detail = "the idempotency key was used for a different request";
            return Err(Problem::conflict("key-reused", detail));
        }
        let session = before.outcome.parse();
        session.map(Some).map_err(|_| Problem::internal())
    }

    fn note(
        &self,
        here: &Here<'_>,
        tx: &mut dyn Transaction,
        session: SessionId,
    ) -> Result<(), Problem> {
        let Some((key, content)) = &self.key else {
            return Ok(());
        };
        tx.put_request(&RequestRecord {
            key: key.clone(),
            content: content.clone(),
            outcome: session.to_string(),
            at: here.now(),
        })?;
        Ok(())
    }
}

fn key(
    headers: &HeaderMap,
    links: &[Link],
    repositories: &[String],
    new: &CreateSession,
) -> Result<Option<(String, String)>, Problem> {
    let Some(key) = one(headers, KEY)? else {
        return Ok(None);
    };
    let plain = (1..=200).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_graphic());
    if !plain {
        let rule = "1 to 200 printable ASCII characters without blanks";
        return Err(Problem::invalid(KEY, rule));
    }
    without_secret(KEY, &key)?;
    Ok(Some((
        format!("session:{key}"),
        content(links, repositories, new),
    )))
}

/// What tells whether two requests ask for the same. It is stored: the same request has the same bytes in every version.
fn content(links: &[Link], repositories: &[String], new: &CreateSession) -> String {
    let mut hasher = Hasher::new();
    let mut field = |text: Option<String>| hasher.field(text.unwrap_or_default().as_bytes());
    field(new.id.map(|id| id.to_string()));
    field(new.home.map(|home| home.to_string()));
    field(Some(new.agent.to_string()));
    field(new.conversation_id.as_ref().map(ToString::to_string));
    field(new.native_id.as_ref().map(ToString::to_string));
    field(new.mode.map(|mode| Mode::from(mode).as_str().to_owned()));
    field(new.cwd.clone());
    field(Some(links.len().to_string()));
    for link in links {
        field(Some(link.field().to_owned()));
        field(Some(link.value()));
    }
    for repository in repositories {
        field(Some(repository.clone()));
    }
    hasher.hex()
}

fn directory(text: &str) -> Result<String, Problem> {
    let length = text.chars().count();
    let plain = (1..=4096).contains(&length) && !text.chars().any(char::is_control);
    match plain {
        true => Ok(Redactor::shared().redact(text).into_string()),
        false => Err(Problem::invalid(
            "cwd",
            "1 to 4096 characters, no control characters",
        )),
    }
}

/// What becomes of the tokens that a session has when it gets another one.
#[derive(Debug, Clone, Copy)]
enum Earlier {
    /// A session that is new has none.
    None,
    /// Whoever drives it by one of them goes on.
    Kept,
    Replaced,
}

/// Gives a session a token, with the limits of the one that asks for it. The audit looks up its pipeline, unless it is named.
fn token(
    here: &Here<'_>,
    tx: &mut dyn Transaction,
    (session, pipeline): (SessionId, Option<String>),
    seconds: u32,
    digest: &str,
    of: &access::Caller,
    earlier: Earlier,
) -> Result<(TokenId, Timestamp), Problem> {
    let now = here.now();
    let expires_at = now.plus_millis(i64::from(seconds) * 1000);
    let id = TokenId::mint(here.ids);
    let mut replaced = match earlier {
        Earlier::None => Vec::new(),
        Earlier::Kept => surplus(tx.tokens(Some(session), None, 0)?, now),
        Earlier::Replaced => tx.tokens(Some(session), None, 0)?,
    };
    // Two that lock the same ones in another order would wait for each other.
    replaced.sort_by_key(|token| token.id);
    for before in replaced {
        let grace = i64::try_from(GRACE.as_millis()).unwrap_or(i64::MAX);
        tx.replace_token(before.id, id, now.plus_millis(grace))?;
    }
    let name = format!("session {}", session.short());
    let new = NewToken {
        id,
        digest: digest.to_owned(),
        scope: Scope::Session(session),
        limits: of.limits.clone(),
        name: TokenName::new(name).map_err(|_| Problem::internal())?,
        by: audit::bearer(of.token, &of.name),
        expires_at: Some(expires_at),
    };
    access::issue_in(tx, here, &new, pipeline)?;
    Ok((id, expires_at))
}

/// The tokens that go so that there is room for another one. A driver uses its own: first go those that nobody used, then
/// those that were used longest ago.
fn surplus(tokens: Vec<TokenRecord>, now: Timestamp) -> Vec<TokenRecord> {
    let holds = |token: &TokenRecord| {
        let is_over = token.expires_at.is_some_and(|at| at <= now);
        token.revoked_at.is_none() && token.replaced_by.is_none() && !is_over
    };
    let mut held: Vec<TokenRecord> = tokens.into_iter().filter(holds).collect();
    held.sort_by_key(|token| (token.last_used_at, token.id));
    let surplus = (held.len() + 1).saturating_sub(TOKENS_MOST);
    held.truncate(surplus);
    held
}

/// Rotate the token of a session; the previous ones stay valid for a minute
#[cfg_attr(test, utoipa::path(post, path = "/v1/sessions/{session}/token", tag = "sessions", operation_id = "rotateSessionToken",
    security(("launcher" = [])),
    params(OfSession),
    responses((status = 201, description = "The token", body = SessionToken), Problems)))]
pub(crate) async fn token_of(
    State(app): State<App>,
    Launcher(caller): Launcher,
    path: Path,
) -> Result<(StatusCode, Json<SessionToken>), Problem> {
    let session = path.session()?;
    let secret = Secret::mint(&caller.tenant, &clock::secret());
    let digest = secret.digest();
    let credential = caller.credential().clone();
    let made = app.ledgers().write(&caller.tenant, move |here, ledger| {
        let own = ledger.id();
        refusable(ledger, |tx| {
            let Some(record) = tx.session(session)? else {
                return Err(TurnError::NoSession(session).into());
            };
            // Whoever has a token of a session speaks for it in the name of its home.
            let home = Elsewhere::of_home(here, tx, &credential, own, record.home)?;
            let earlier = Earlier::Replaced;
            let made = token(
                here,
                tx,
                (session, None),
                TOKEN_SECONDS,
                &digest,
                &credential,
                earlier,
            )?;
            home.note(here, tx, &credential)?;
            Ok(made)
        })
    });
    let made = made.await?.inspect_err(|problem| {
        refused(&app, &caller, Action::TokenRefused, problem);
    });
    let (id, expires_at) = made?;
    let token = SessionToken {
        id,
        secret: secret.reveal().to_owned(),
        expires_at: expires_at.to_string(),
    };
    Ok((StatusCode::CREATED, Json(token)))
}

#[cfg(test)]
mod tests {
    use siglum_domain::access::Limits;

    use super::*;

    #[test]
    fn a_token_that_is_used_stays_when_others_are_too_many() {
        let now = Timestamp::from_nanos(1_000);
        let named = |n: u16| -> TokenId {
            let text = format!("tok_0192000000007000800000000000{n:04x}");
            text.parse().unwrap()
        };
        let one = |n: u16| TokenRecord {
            id: named(n),
            digest: n.to_string(),
            scope: Scope::Launcher,
            limits: Limits::default(),
            name: "one".to_owned(),
            by: "tests".to_owned(),
            created_at: now,
            expires_at: Some(now.plus_millis(1)),
            revoked_at: None,
            replaced_by: None,
            last_used_at: None,
        };
        let go = |tokens: &[TokenRecord]| -> Vec<TokenId> {
            let gone = surplus(tokens.to_vec(), now);
            gone.into_iter().map(|token| token.id).collect()
        };
        let mut tokens: Vec<TokenRecord> = (1..=15).map(one).collect();
        assert!(go(&tokens).is_empty());
        tokens[0].last_used_at = Some(now);
        tokens.extend([one(16), one(17)]);
        assert_eq!(go(&tokens), [named(2), named(3)]);
        // What holds no more takes no room.
        tokens[4].revoked_at = Some(now);
        tokens[5].replaced_by = Some(named(17));
        assert!(go(&tokens).is_empty());
    }

    /// A request that an older version answered is repeated: what is stored of it keeps its bytes.
    #[test]
    fn the_bytes_of_what_a_request_asks_for_are_pinned() {
        let new = serde_json::json!({
            "agent": "one", "conversation_id": "chat-1", "native_id": "n-1", "mode": "observed", "cwd": "/home/dev/main",
            "id": "ses_01920000000070009000000000000001",
        });
        let new: CreateSession = serde_json::from_value(new).unwrap();
        let links = [Link::IssueNumber(4), Link::PipelineId("p".to_owned())];
        let repositories = ["acme/widgets".to_owned()];
        assert_eq!(
            &content(&links, &repositories, &new)[..16],
            "0319c0ed69f09323"
        );
        assert_ne!(
            content(&links, &[], &new),
            content(&[], &repositories, &new)
        );
    }
}
