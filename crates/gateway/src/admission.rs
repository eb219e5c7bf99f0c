//! Letting requests in: the token that comes with one, and what it allows.

use std::net::{IpAddr, Ipv4Addr};

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use serde_json::json;
use siglum_domain::access::{Right, Scope, Secret};
use siglum_domain::audit::Action;
use siglum_domain::{SessionId, Tenant};
use siglum_engine::driven::turn::TurnError;
use siglum_engine::identity::access::{self, AccessError};
use siglum_engine::identity::audit::Entry;
use tracing::Instrument as _;

use crate::app::App;
use crate::audit_note::note_entry;
use crate::caller::Caller;
use crate::connection::{Connection, Peer};
use crate::identities;
use crate::ledgers::Unavailable;
use crate::problem::Problem;
use crate::query::SESSION_RULE;
use crate::reach;
use crate::request_log::RequestLog;
use crate::rights::{Needs, Reach};
use crate::shares::Slot;

/// The word of the audit for a request that the token does not allow.
const FORBIDDEN: &str = "request.refused";
/// What is said to a token for reading that asks for anything else.
const ONLY_READS: &str = "this token can only read who made commits";
/// What is said to a token that is limited to repositories where an operation knows none.
const NOT_BY_REPOSITORY: &str = "this requires a token that is not limited to repositories";

impl Caller {
    /// A launcher may act for each session of its tenant, a session for itself alone.
    pub(crate) fn for_session(&self, app: &App, session: SessionId) -> Result<(), Problem> {
        if self.credential().may_act_for(session) {
            return Ok(());
        }
        Err(forbidden(
            app,
            self,
            "a session token acts for its session only",
        ))
    }

    /// Whether a session works in one of the repositories that the token is limited to, if it is.
    pub(crate) async fn reaches(&self, app: &App, session: SessionId) -> Result<bool, Problem> {
        let limits = self.limits().clone();
        let reached = app.ledgers().read(&self.tenant, move |_, ledger| {
            reach::reaches(ledger, &limits, session)
        });
        Ok(reached.await??)
    }

    /// Writes a refusal into the audit, if the reason is what the caller may not do.
    pub(crate) fn note_forbidden(&self, app: &App, problem: &Problem) {
        if problem.is_forbidden() {
            refused(app, self, Action::Other(FORBIDDEN.to_owned()), problem);
        }
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = Problem;

    /// Tokens for telemetry and for reading are refused here, so that every route refuses them that does not ask for a
    /// [`Sender`] or a [`Reader`].
    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let caller = come(parts, app).await?;
        app.rates().request(&caller)?;
        match caller.credential().scope {
            Scope::Launcher | Scope::Attester | Scope::Session(_) => {
                within_limits(parts, app, caller).await
            }
            Scope::Telemetry => Err(forbidden(
                app,
                &caller,
                "this token can only export telemetry",
            )),
            Scope::Read => Err(forbidden(app, &caller, ONLY_READS)),
        }
    }
}

/// Whoever may hand over telemetry: everybody with a token that is not for reading alone. One of a session speaks of that
/// session alone. Their requests are counted by themselves.
#[derive(Debug, Clone)]
pub(crate) struct Sender(pub(crate) Caller);

impl FromRequestParts<App> for Sender {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let caller = come(parts, app).await?;
        app.rates().export(&caller)?;
        match caller.credential().scope {
            Scope::Launcher | Scope::Attester | Scope::Session(_) | Scope::Telemetry => {
                within_limits(parts, app, caller).await.map(Self)
            }
            Scope::Read => Err(forbidden(app, &caller, ONLY_READS)),
        }
    }
}

/// Whoever may read who made which commit: a launcher, and who may do that alone.
#[derive(Debug, Clone)]
pub(crate) struct Reader(pub(crate) Caller);

impl FromRequestParts<App> for Reader {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let caller = come(parts, app).await?;
        app.rates().request(&caller)?;
        match caller.credential().scope {
            Scope::Launcher | Scope::Attester | Scope::Read => {
                within_limits(parts, app, caller).await.map(Self)
            }
            Scope::Session(_) | Scope::Telemetry => Err(forbidden(
                app,
                &caller,
                "this requires a launcher token or a read token",
            )),
        }
    }
}

/// The caller, if the limits of the token allow what is asked. A session that works in none of its repositories is not
/// there for it.
async fn within_limits(parts: &mut Parts, app: &App, caller: Caller) -> Result<Caller, Problem> {
    let limits = caller.limits();
    if limits.is_none() {
        return Ok(caller);
    }
    let needs = parts.extensions.get::<Needs>().copied();
    let allowed = needs.filter(|needs| limits.allows(needs.right));
    let Some(Needs { right, reach }) = allowed else {
        let rule = needs.map_or_else(
            || "this requires a token without limits".to_owned(),
            |needs| format!("this requires the right `{}`", needs.right.as_str()),
        );
        return Err(forbidden(app, &caller, &rule));
    };
    if limits.repositories().is_empty() {
        return Ok(caller);
    }
    match (reach, caller.own()) {
        (Reach::Own, _) | (Reach::Session, Some(_)) => Ok(caller),
        // There it speaks of its own session, but an agent is held in no repository.
        (Reach::Tenant, Some(_)) if right != Right::Run => Ok(caller),
        (Reach::Tenant, _) => Err(forbidden(app, &caller, NOT_BY_REPOSITORY)),
        (Reach::Session, None) => {
            let session = session_of_path(parts, app).await?;
            match caller.reaches(app, session).await? {
                true => Ok(caller),
                false => Err(TurnError::NoSession(session).into()),
            }
        }
    }
}

async fn session_of_path(parts: &mut Parts, app: &App) -> Result<SessionId, Problem> {
    let params = RawPathParams::from_request_parts(parts, app).await.ok();
    let session = params.and_then(|params| {
        let (_, text) = params.iter().find(|(name, _)| *name == "session")?;
        text.parse().ok()
    });
    session.ok_or_else(|| Problem::invalid("session", SESSION_RULE))
}

/// Refuses what a token does not allow, and writes that into the audit.
fn forbidden(app: &App, caller: &Caller, rule: &str) -> Problem {
    let problem = Problem::forbidden(rule);
    refused(app, caller, Action::Other(FORBIDDEN.to_owned()), &problem);
    problem
}

/// Whoever comes with this request, if they may.
async fn come(parts: &Parts, app: &App) -> Result<Caller, Problem> {
    let credential = credential(parts, app)?;
    let peer = parts.extensions.get::<Peer>();
    let from = peer.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |p| p.0);
    let caller = match credential {
        Credential::Own(secret) => let_in(app, &secret, from).await?,
        Credential::Issued(text) => identities::let_in(app, text, from).await?,
    };
    if let Some(log) = RequestLog::current() {
        log.note_caller(&caller.tenant, caller.known.token);
    }
    if let Some(connection) = parts.extensions.get::<Connection>() {
        connection.count_for(app.token_connections(), &caller.key())?;
    }
    if let Some(slot) = parts.extensions.get::<Slot>() {
        slot.take(app.shares(), caller.key())?;
    }
    Ok(caller)
}

/// Whoever has a launcher's token.
#[derive(Debug, Clone)]
pub(crate) struct Launcher(pub(crate) Caller);

impl FromRequestParts<App> for Launcher {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, app).await?;
        match caller.own() {
            None => Ok(Self(caller)),
            Some(_) => Err(forbidden(app, &caller, "this requires a launcher token")),
        }
    }
}

/// Whoever may attest that a session made a commit: a launcher whose token was made for that. A session never may.
#[derive(Debug, Clone)]
pub(crate) struct Attester(pub(crate) Caller);

impl FromRequestParts<App> for Attester {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let caller = Caller::from_request_parts(parts, app).await?;
        match caller.credential().scope {
            Scope::Attester => Ok(Self(caller)),
            Scope::Launcher | Scope::Session(_) | Scope::Telemetry | Scope::Read => Err(forbidden(
                app,
                &caller,
                "this requires a token that may attest (`siglum token create --attests`)",
            )),
        }
    }
}

/// What a request comes with.
enum Credential<'p> {
    /// A token of the store.
    Own(Secret),
    /// What an issuer may have signed.
    Issued(&'p str),
}

fn credential<'p>(parts: &'p Parts, app: &App) -> Result<Credential<'p>, Problem> {
    let mut values = parts.headers.get_all(AUTHORIZATION).iter();
    let missing = || Problem::unauthorized("token-missing", "send `authorization: Bearer <token>`");
    let malformed = || Problem::unauthorized("token-malformed", "the token is malformed");
    let value = values.next().ok_or_else(missing)?;
    if values.next().is_some() {
        return Err(malformed());
    }
    let value = value.to_str().map_err(|_| malformed())?;
    let (scheme, secret) = value.split_once(' ').ok_or_else(malformed)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(malformed());
    }
    let secret = secret.trim();
    match Secret::parse(secret) {
        Ok(secret) => Ok(Credential::Own(secret)),
        Err(_) if app.issuer_keys().is_empty() || Secret::is_meant(secret) => Err(malformed()),
        Err(_) => Ok(Credential::Issued(secret)),
    }
}

async fn let_in(app: &App, secret: &Secret, from: IpAddr) -> Result<Caller, Problem> {
    let digest = secret.digest();
    if let Some(caller) = app.remembered().get(&digest) {
        return Ok(Caller { from, ..caller });
    }
    let tenant = secret.tenant();
    if !app.ledgers().serves(tenant) {
        // As often as of one that is served: how often may be asked does not tell which there are.
        app.rates().stranger(from)?;
        return Err(Problem::unauthorized(
            "token-unknown",
            "this token is unknown",
        ));
    }
    let presented = digest.clone();
    let known = app.ledgers().read(tenant, move |here, ledger| {
        access::authenticate(here, ledger, &presented)
    });
    let known = match known.await {
        Ok(Ok(known)) => known,
        Ok(Err(AccessError::Ledger(error))) => return Err(error.into()),
        Ok(Err(refusal)) => return Err(stranger(app, tenant, digest, refusal, from)),
        Err(Unavailable::NoTenant) => {
            app.rates().stranger(from)?;
            return Err(Unavailable::NoTenant.into());
        }
        Err(error) => return Err(error.into()),
    };
    let caller = Caller {
        tenant: tenant.clone(),
        from,
        known,
        until: None,
    };
    if caller.known.note_due {
        note(app, &caller);
    }
    app.remembered().put(digest, &caller);
    Ok(caller)
}

/// Somebody came with a token that does not hold: that goes into the audit, for the first ones from one address.
fn stranger(
    app: &App,
    tenant: &Tenant,
    digest: String,
    refusal: AccessError,
    from: IpAddr,
) -> Problem {
    if let Err(problem) = app.rates().stranger(from) {
        return problem;
    }
    let (ledgers, tenant) = (app.ledgers().clone(), tenant.clone());
    let (code, detail) = (refusal.code(), refusal.to_string());
    let more = json!({ "from": from.to_string() });
    let noting = async move {
        let noted = ledgers.write(&tenant, move |here, ledger| {
            access::note_refusal(here, ledger, &digest, &refusal, &more)
        });
        if !matches!(noted.await, Ok(Ok(_))) {
            tracing::warn!("cannot record the refusal of a token");
        }
    };
    tokio::spawn(noting.in_current_span());
    Problem::unauthorized(code, detail)
}

/// Writes a refusal into the audit; nobody waits for that. Of one that asks again and again the first ones are enough.
pub(crate) fn refused(app: &App, caller: &Caller, action: Action, problem: &Problem) {
    if app.rates().refusal(caller).is_err() {
        return;
    }
    let entry = Entry::refused(&caller.by(), action, problem.detail(), problem.field());
    let mut entry = entry.with(json!({ "code": problem.code(), "from": caller.from.to_string() }));
    entry.session = caller.own();
    note_entry(app, &caller.tenant, entry);
}

/// Writes into the audit that somebody read what was said in a session: once in a while, for each who reads.
pub(crate) fn read(app: &App, caller: &Caller, session: SessionId) {
    if caller.own() == Some(session) || app.rates().reading(caller, session).is_err() {
        return;
    }
    let entry = Entry::done(&caller.by(), Action::TranscriptRead).for_session(session);
    let entry = entry.with(json!({ "from": caller.from.to_string() }));
    note_entry(app, &caller.tenant, entry);
}

/// Notes the use of a token; nobody waits for that.
fn note(app: &App, caller: &Caller) {
    let (ledgers, caller) = (app.ledgers().clone(), caller.clone());
    let noting = async move {
        let known = caller.known;
        let noted = ledgers
            .write(&caller.tenant, move |here, ledger| {
                access::note_use(here, ledger, &known)
            })
            .await;
        if !matches!(noted, Ok(Ok(()))) {
            tracing::warn!("cannot record the use of a token");
        }
    };
    tokio::spawn(noting.in_current_span());
}
