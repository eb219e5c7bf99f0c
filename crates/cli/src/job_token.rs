//! The token of the job that this runs in, as CI systems hand it out: GitLab in a variable, GitHub Actions at an address.
//!
//! It is never stored, and goes to gateways alone that the user named and gave no other credential for.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use siglum_egress::{Address, Timeouts, Token, request_job_token};

use crate::env;
use crate::error::CommandError;

/// The variable in which GitLab puts an id token, by `id_tokens` of a job.
pub const TOKEN: &str = "SIGLUM_ID_TOKEN";
/// The variables by which GitHub Actions tells where an id token is to be had.
const REQUEST_URL: &str = "ACTIONS_ID_TOKEN_REQUEST_URL";
const REQUEST_TOKEN: &str = "ACTIONS_ID_TOKEN_REQUEST_TOKEN";
/// The variable with the audience to ask for, where it is not the address of the gateway.
const AUDIENCE: &str = "SIGLUM_ID_TOKEN_AUDIENCE";

/// How long a token that was asked for is used: those of GitHub hold for a few minutes.
const USED: Duration = Duration::from_mins(2);
/// How long the runner may take.
const PATIENCE: Timeouts = Timeouts {
    connect: Duration::from_secs(3),
    whole: Duration::from_secs(10),
};

/// The last token that was asked for, with its audience.
static LAST: Mutex<Option<(String, Token, Instant)>> = Mutex::new(None);

/// What tells this job from others, if this runs in one that hands out tokens. It is a secret.
pub fn job() -> Option<String> {
    let requests = || env::text(REQUEST_URL).and_then(|_| env::text(REQUEST_TOKEN));
    env::text(TOKEN).or_else(requests)
}

/// The token for a gateway.
pub fn token(gateway: &Address) -> Result<Token, CommandError> {
    if let Some(text) = env::text(TOKEN) {
        return Token::new(&text).map_err(|e| CommandError::failed(format!("{TOKEN}: {e}")));
    }
    let (Some(url), Some(bearer)) = (env::text(REQUEST_URL), env::text(REQUEST_TOKEN)) else {
        return Err(CommandError::failed("this job has no ID token"));
    };
    let audience = env::text(AUDIENCE).unwrap_or_else(|| gateway.to_string());
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known, token, since)) = &*last
        && *known == audience
        && since.elapsed() < USED
    {
        return Ok(token.clone());
    }
    let bearer =
        Token::new(&bearer).map_err(|e| CommandError::failed(format!("{REQUEST_TOKEN}: {e}")))?;
    let token = request_job_token(&url, &bearer, &audience, PATIENCE)
        .map_err(|e| CommandError::failed(format!("cannot get the ID token of this job: {e}")))?;
    *last = Some((audience, token.clone(), Instant::now()));
    Ok(token)
}
