//! What stands in paths.

use std::str::FromStr;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use siglum_domain::{CheckpointId, InteractionId, SessionId};

use crate::addressed::Address;
use crate::app::App;
use crate::problem::Problem;
use crate::query::SESSION_RULE;
use crate::wire::without_secret;

/// The session in a path, for the document.
#[cfg(test)]
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(
    dead_code,
    reason = "the document alone reads it; `Path` gives the session"
)]
pub(crate) struct OfSession {
    /// Session id
    #[param(pattern = r"^ses_[0-9a-f]{32}$")]
    session: String,
}

/// The session in a path that may be said in two ways, for the document.
#[cfg(test)]
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(
    dead_code,
    reason = "the document alone reads it; `Path` gives the address"
)]
pub(crate) struct OfConversation {
    /// Session id or conversation id
    #[param(pattern = r"^(?!.*\.\.)[A-Za-z0-9._:-]{1,128}$")]
    session: String,
}

/// The parameters of a path, decoded.
pub(crate) struct Path(Vec<(String, String)>);

impl FromRequestParts<App> for Path {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let params = RawPathParams::from_request_parts(parts, app).await;
        let params =
            params.map_err(|_| Problem::invalid("path", "must be percent-encoded UTF-8"))?;
        let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Ok(Self(params.iter().map(own).collect()))
    }
}

impl Path {
    /// A parameter as text. Nothing is called by a secret, and an answer that nothing is would repeat it.
    pub(crate) fn text(&self, name: &str) -> Result<&str, Problem> {
        let found = self.0.iter().find(|(key, _)| key == name);
        let found = found.map(|(_, value)| value.as_str());
        let text = found.ok_or_else(|| Problem::invalid(name, "a part of the path"))?;
        without_secret(name, text)?;
        Ok(text)
    }

    fn id<T: FromStr>(&self, name: &str, rule: &str) -> Result<T, Problem> {
        let text = self.text(name)?;
        text.parse().map_err(|_| Problem::invalid(name, rule))
    }

    /// Session id.
    pub(crate) fn session(&self) -> Result<SessionId, Problem> {
        self.id("session", SESSION_RULE)
    }

    /// The session, by its id or by the name of its conversation.
    pub(crate) fn address(&self) -> Result<Address, Problem> {
        Address::parse(self.text("session")?)
    }

    /// Interaction id.
    pub(crate) fn interaction(&self) -> Result<InteractionId, Problem> {
        self.id("interaction", "`int_` and 32 hexadecimal digits")
    }

    /// Checkpoint id.
    pub(crate) fn checkpoint(&self) -> Result<CheckpointId, Problem> {
        self.id("checkpoint", "`chk_` and 32 hexadecimal digits")
    }
}
