//! Who asks: the token of a request, and what it allows.

use std::collections::{BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use siglum_domain::access::{Scope, Secret};
use siglum_domain::{SessionId, Tenant};
use siglum_engine::access::{self, Caller as Known};

use crate::app::App;
use crate::problem::Problem;

/// How long a token that was let in is not asked for again: so long it may still be let in after it was revoked.
const REMEMBERED: Duration = Duration::from_secs(1);
/// How many are remembered.
const MOST: usize = 10_000;

/// Where a request comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Whoever has a valid token.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    /// Whose ledger.
    pub(crate) tenant: Tenant,
    known: Known,
}

impl Caller {
    /// The name under which things are written down.
    pub(crate) fn by(&self) -> String {
        let id = self.known.token.short();
        match self.known.scope {
            Scope::Launcher => format!("launcher {} (token {id})", self.known.name),
            Scope::Session(_) => format!("session (token {id})"),
        }
    }

    /// What tells callers apart for limits.
    pub(crate) fn key(&self) -> String {
        self.known.token.to_string()
    }

    /// The session of a token that is a session's.
    pub(crate) const fn own(&self) -> Option<SessionId> {
        self.known.scope.session()
    }

    /// A launcher may act for each session of its tenant, a session for itself alone.
    pub(crate) fn for_session(&self, session: SessionId) -> Result<(), Problem> {
        match self.known.may_act_for(session) {
            true => Ok(()),
            false => Err(Problem::forbidden(
                "a session's token acts for that session alone",
            )),
        }
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let secret = token(parts)?;
        let caller = let_in(app, &secret).await.map_err(|problem| {
            let peer = parts.extensions.get::<Peer>();
            let from = peer.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |p| p.0);
            match problem.status().as_u16() {
                401 => app.rates().stranger(from).err().unwrap_or(problem),
                _ => problem,
            }
        })?;
        app.rates().request(&caller)?;
        Ok(caller)
    }
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
            Some(_) => Err(Problem::forbidden("this needs a launcher's token")),
        }
    }
}

fn token(parts: &Parts) -> Result<Secret, Problem> {
    let mut values = parts.headers.get_all(AUTHORIZATION).iter();
    let missing = || Problem::unauthorized("token_missing", "send `authorization: Bearer <token>`");
    let malformed = || Problem::unauthorized("token_malformed", "the token has another form");
    let value = values.next().ok_or_else(missing)?;
    if values.next().is_some() {
        return Err(malformed());
    }
    let value = value.to_str().map_err(|_| malformed())?;
    let (scheme, secret) = value.split_once(' ').ok_or_else(malformed)?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(malformed());
    }
    Secret::parse(secret.trim()).map_err(|_| malformed())
}

async fn let_in(app: &App, secret: &Secret) -> Result<Caller, Problem> {
    let digest = secret.digest();
    if let Some(caller) = app.remembered().get(&digest) {
        return Ok(caller);
    }
    let tenant = secret.tenant();
    if !app.ledgers().serves(tenant) {
        return Err(Problem::unauthorized(
            "token_unknown",
            "this token is not known",
        ));
    }
    let asked = digest.clone();
    let known = app
        .ledgers()
        .read(tenant, move |here, ledger| {
            access::authenticate(here, ledger, &asked)
        })
        .await??;
    let caller = Caller {
        tenant: tenant.clone(),
        known,
    };
    if caller.known.note_due {
        note(app, &caller);
    }
    app.remembered().put(digest, &caller);
    Ok(caller)
}

/// Notes the use of a token; nobody waits for that.
fn note(app: &App, caller: &Caller) {
    let (ledgers, caller) = (app.ledgers().clone(), caller.clone());
    tokio::spawn(async move {
        let known = caller.known;
        let noted = ledgers
            .write(&caller.tenant, move |here, ledger| {
                access::note_use(here, ledger, &known)
            })
            .await;
        if !matches!(noted, Ok(Ok(()))) {
            tracing::warn!("the use of a token could not be noted");
        }
    });
}

/// Who was let in a moment ago, by the digest of the token, and the tenants that anybody was let in to.
#[derive(Default)]
pub(crate) struct Remembered(
    Mutex<HashMap<String, (Instant, Caller)>>,
    Mutex<BTreeSet<Tenant>>,
);

impl Remembered {
    fn get(&self, digest: &str) -> Option<Caller> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, caller) = known.get(digest)?;
        (since.elapsed() < REMEMBERED).then(|| caller.clone())
    }

    /// The tenants that anybody was let in to since the gateway started.
    pub(crate) fn tenants(&self) -> BTreeSet<Tenant> {
        self.1
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn put(&self, digest: String, caller: &Caller) {
        let mut tenants = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        if !tenants.contains(&caller.tenant) {
            tenants.insert(caller.tenant.clone());
        }
        drop(tenants);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.retain(|_, (since, _)| since.elapsed() < REMEMBERED);
        }
        if known.len() < MOST {
            known.insert(digest, (Instant::now(), caller.clone()));
        }
    }
}
