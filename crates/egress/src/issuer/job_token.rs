//! The token of a job of GitHub Actions: the runner hands out an address, and a token to ask there for one that says which
//! job this is.

use super::{Endpoint, IssuerError, read_reply, refusal, strange};
use crate::agent::{Timeouts, agent};
use crate::token::Token;

/// Asks a runner for the token of the job that this is, for an audience.
///
/// # Errors
/// Why there is none.
pub fn request_job_token(
    url: &str,
    bearer: &Token,
    audience: &str,
    timeouts: Timeouts,
) -> Result<Token, IssuerError> {
    // It has a query, which says which version of the service is meant.
    let Endpoint { address, url } = Endpoint::parse(url)?;
    let sent = agent(&address, timeouts)
        .get(url.as_str())
        .query("audience", audience)
        .header("accept", "application/json")
        .header("authorization", bearer.header())
        .call();
    let (status, document) = read_reply(&address, sent)?;
    if status != 200 {
        return Err(refusal(&address, status, &document));
    }
    let token = document["value"].as_str();
    let token = token.and_then(|text| Token::new(text).ok());
    token.ok_or_else(|| strange(&address, "its response has no token"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::played;
    use super::*;

    #[test]
    fn the_runner_is_asked_for_the_audience_with_its_own_token() {
        let (url, serving) = played(vec![(200, r#"{"value": "a.b.c"}"#.to_owned())]);
        let bearer = Token::new("runner").unwrap();
        let url = format!("{url}/token?api-version=2.0");
        let token = request_job_token(&url, &bearer, "https://g.example", Timeouts::default());
        assert_eq!(token.unwrap().reveal(), "a.b.c");
        let request = serving.join().unwrap().remove(0);
        let line = request.lines().next().unwrap();
        assert!(
            line.contains("/token?api-version=2.0&audience=https"),
            "{line}"
        );
        assert!(
            request
                .to_ascii_lowercase()
                .contains("authorization: bearer runner"),
            "{request}"
        );
    }
}
