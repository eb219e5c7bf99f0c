//! Letting requests in that come with the token of an issuer: who that is, and what a grant gives them.
//!
//! Nothing is stored of them. In the audit they have an id of their own, with their name, what their issuer calls them, and
//! the issuer.

use std::net::IpAddr;

use serde_json::{Value, json};
use siglum_domain::access::Right;
use siglum_domain::audit::Action;
use siglum_domain::digest::Hasher;
use siglum_engine::identity::audit::Entry;
use siglum_engine::identity::issuers::{Identity, Issuer, SignedToken, TokenRefusal};
use siglum_platform::clock;

use crate::app::App;
use crate::audit_note::note_entry;
use crate::caller::Caller;
use crate::issuer_keys::Unverified;
use crate::problem::Problem;

/// Whoever comes with the token of an issuer, if they may.
pub(crate) async fn let_in(app: &App, text: &str, from: IpAddr) -> Result<Caller, Problem> {
    let now = clock::now();
    let mut digest = Hasher::new();
    digest.update(text.as_bytes());
    let digest = digest.hex();
    if let Some(caller) = app.remembered().get(&digest)
        && caller.is_current(now)
    {
        return Ok(Caller { from, ..caller });
    }
    let token = match SignedToken::parse(text) {
        Ok(token) => token,
        Err(refusal) => return Err(refused(app, from, None, refusal.into())),
    };
    let Some(issuer) = app.issuer_keys().named_by(&token) else {
        return Err(refused(app, from, None, TokenRefusal::UnknownIssuer.into()));
    };
    let claims = app.issuer_keys().verified(token).await;
    let identity = claims.and_then(|claims| {
        let identity = issuer.identity(&claims, now);
        identity.map_err(Unverified::from)
    });
    let identity = match identity {
        Ok(identity) => identity,
        Err(unverified) => return Err(refused(app, from, Some(&issuer), unverified)),
    };
    let caller = Caller {
        tenant: issuer.tenant().clone(),
        from,
        known: identity.caller(),
        until: Some(identity.expires_at),
    };
    if app.rates().identity(&caller).is_ok() {
        let entry = Entry::done(&caller.by(), Action::TokenUsed);
        note_entry(
            app,
            &caller.tenant,
            entry.with(details(&issuer, &identity, from)),
        );
    }
    app.remembered().put(digest, &caller);
    Ok(caller)
}

/// What the audit has of somebody's token.
fn details(issuer: &Issuer, identity: &Identity, from: IpAddr) -> Value {
    let rights: Vec<&str> = identity.limits.rights().map(Right::as_str).collect();
    json!({
        "expires_at": identity.expires_at.to_string(),
        "from": from.to_string(),
        "issuer": issuer.url(),
        "may": rights,
        "repositories": identity.limits.repositories(),
        "scope": identity.scope.as_str(),
        "subject": identity.subject,
    })
}

/// Somebody came with a token that does not hold: that goes into the audit of the tenant of its issuer, for the first ones
/// from one address.
fn refused(app: &App, from: IpAddr, issuer: Option<&Issuer>, unverified: Unverified) -> Problem {
    if let Err(problem) = app.rates().stranger(from) {
        return problem;
    }
    let name = issuer.map_or("", Issuer::name);
    let refusal = match unverified {
        Unverified::Refused(refusal) => refusal,
        Unverified::Away => {
            let detail = format!("the keys of the issuer {name} cannot be read now");
            return Problem::unavailable("issuer-unavailable", detail);
        }
    };
    let detail = refusal.to_string();
    if let Some(issuer) = issuer
        && app.ledgers().serves(issuer.tenant())
    {
        let entry = Entry::refused("unknown", Action::TokenRefused, &detail, Some("token"));
        let more = json!({ "from": from.to_string(), "issuer": issuer.url() });
        note_entry(app, issuer.tenant(), entry.with(more));
    }
    match refusal {
        TokenRefusal::Malformed(_) => Problem::unauthorized("token-malformed", detail),
        TokenRefusal::UnknownIssuer => Problem::unauthorized("token-unknown", detail),
        TokenRefusal::Invalid(_) => Problem::unauthorized("token-invalid", detail),
        TokenRefusal::Expired { .. } => Problem::unauthorized("token-expired", detail),
        TokenRefusal::NoGrant { .. } => Problem::forbidden(detail),
    }
}
