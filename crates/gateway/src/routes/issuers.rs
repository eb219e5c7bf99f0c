//! The issuers at which people log in: what a program needs to know to get a token for this gateway. Anybody may read it,
//! because nobody who asks has a token yet; none of it is a secret.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use siglum_engine::identity::issuers::Issuer;

use crate::app::App;
#[cfg(test)]
use crate::problem_responses::Problems;

/// The issuers at which people log in to this gateway.
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct IssuerList {
    /// The issuers, in the order of their names; those without a client are left out.
    items: Vec<LoginIssuer>,
}

/// An issuer at which people log in (OpenID Connect).
#[derive(Serialize)]
#[cfg_attr(test, derive(utoipa::ToSchema))]
pub(crate) struct LoginIssuer {
    /// What the operator of the gateway calls it.
    name: String,
    /// Its address, where its discovery document is found.
    issuer: String,
    /// The client as which people log in, by the device authorization grant (RFC 8628).
    client_id: String,
    /// The audience that a token must have. If it is the client itself, the gateway takes the ID token, else the access
    /// token.
    audience: String,
    /// The scopes to ask for.
    scopes: Vec<String>,
}

impl LoginIssuer {
    fn from_issuer(issuer: &Issuer) -> Option<Self> {
        Some(Self {
            name: issuer.name().to_owned(),
            issuer: issuer.url().to_owned(),
            client_id: issuer.client_id()?.to_owned(),
            audience: issuer.audience().to_owned(),
            scopes: issuer.scopes().to_vec(),
        })
    }
}

/// List the issuers at which people log in
#[cfg_attr(test, utoipa::path(get, path = "/v1/issuers", tag = "health", operation_id = "listIssuers",
    responses((status = 200, description = "The issuers", body = IssuerList), Problems)))]
pub(crate) async fn list(State(app): State<App>) -> Json<IssuerList> {
    let issuers = app.issuer_keys().issuers();
    Json(IssuerList {
        items: issuers.filter_map(LoginIssuer::from_issuer).collect(),
    })
}
