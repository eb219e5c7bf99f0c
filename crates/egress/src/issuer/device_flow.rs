//! Logging in where no browser is (RFC 8628): the issuer gives a code, which a person enters at its page, and tokens once
//! that is done. And the same tokens anew, when they expire (RFC 6749, section 6).

use std::time::Duration;

use serde_json::Value;

use super::{Endpoint, IssuerError, Provider, read_reply, refusal, strange};
use crate::address::Address;
use crate::agent::{Timeouts, agent};
use crate::problem::shown;
use crate::token::Token;

/// How long is waited between two questions where the issuer does not say it.
const INTERVAL: Duration = Duration::from_secs(5);
/// The longest that is waited between two questions, and for a person.
const INTERVAL_MOST: Duration = Duration::from_mins(1);
const EXPIRY_MOST: Duration = Duration::from_mins(30);
/// The longest address of a page, and the longest code, in bytes.
const PAGE_MOST: usize = 2_000;
const CODE_MOST: usize = 100;

/// As what a person logs in.
#[derive(Debug, Clone, Copy)]
pub struct DeviceClient<'a> {
    /// The client that the issuer knows.
    pub id: &'a str,
    /// What the tokens are to be good for, in the words of the issuer.
    pub scopes: &'a [String],
    /// For whom the tokens are to be, where that is not the client itself.
    pub audience: Option<&'a str>,
}

/// What a person is to do.
#[derive(Debug)]
pub struct DeviceAuthorization {
    /// What the person enters.
    pub user_code: String,
    /// Where.
    pub page: String,
    /// The same page, with the code in it.
    pub page_with_code: Option<String>,
    /// How long that may take.
    pub expires_in: Duration,
    /// How long to wait between two questions.
    pub interval: Duration,
    device_code: Token,
}

/// What an issuer issued. None of it is shown.
#[derive(Debug, Clone)]
pub struct IssuedTokens {
    pub access: Token,
    /// Who the person is, for the client.
    pub id: Option<Token>,
    /// By which the same is issued anew.
    pub refresh: Option<Token>,
    /// How long the access token holds.
    pub expires_in: Option<Duration>,
}

/// Whether the person has done it.
#[derive(Debug)]
pub enum DevicePoll {
    Pending,
    /// Not yet, and the issuer is asked too often.
    SlowDown,
    Granted(Box<IssuedTokens>),
}

impl Provider {
    /// Begins.
    ///
    /// # Errors
    /// Why the issuer gives no code.
    pub fn authorize_device(
        &self,
        client: DeviceClient<'_>,
        timeouts: Timeouts,
    ) -> Result<DeviceAuthorization, IssuerError> {
        let endpoint = self.device.as_ref();
        let endpoint = endpoint
            .ok_or_else(|| strange(&self.address, "it has no `device_authorization_endpoint`"))?;
        let scope = client.scopes.join(" ");
        let mut form = vec![("client_id", client.id), ("scope", scope.as_str())];
        form.extend(client.audience.map(|audience| ("audience", audience)));
        match posted(endpoint, &form, timeouts)? {
            (200, document) => DeviceAuthorization::read(&endpoint.address, &document),
            (status, document) => Err(refusal(&endpoint.address, status, &document)),
        }
    }

    /// Asks whether the person has done it.
    ///
    /// # Errors
    /// That it was refused or took too long, or why the issuer cannot be asked.
    pub fn poll_device(
        &self,
        client: DeviceClient<'_>,
        authorization: &DeviceAuthorization,
        timeouts: Timeouts,
    ) -> Result<DevicePoll, IssuerError> {
        let endpoint = self.token_endpoint()?;
        let form = [
            ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
            ("device_code", authorization.device_code.reveal()),
            ("client_id", client.id),
        ];
        let (status, document) = posted(endpoint, &form, timeouts)?;
        if status == 200 {
            let tokens = IssuedTokens::read(&endpoint.address, &document)?;
            return Ok(DevicePoll::Granted(Box::new(tokens)));
        }
        match document["error"].as_str() {
            Some("authorization_pending") => Ok(DevicePoll::Pending),
            Some("slow_down") => Ok(DevicePoll::SlowDown),
            _ => Err(refusal(&endpoint.address, status, &document)),
        }
    }

    /// Asks for new tokens in the place of those that expire.
    ///
    /// # Errors
    /// That the person has to log in again, or why the issuer cannot be asked.
    pub fn refresh(
        &self,
        client: &str,
        refresh: &Token,
        timeouts: Timeouts,
    ) -> Result<IssuedTokens, IssuerError> {
        let endpoint = self.token_endpoint()?;
        let form = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh.reveal()),
            ("client_id", client),
        ];
        match posted(endpoint, &form, timeouts)? {
            (200, document) => IssuedTokens::read(&endpoint.address, &document),
            (status, document) => Err(refusal(&endpoint.address, status, &document)),
        }
    }

    fn token_endpoint(&self) -> Result<&Endpoint, IssuerError> {
        let endpoint = self.token.as_ref();
        endpoint.ok_or_else(|| strange(&self.address, "it has no `token_endpoint`"))
    }
}

impl DeviceAuthorization {
    fn read(address: &Address, document: &Value) -> Result<Self, IssuerError> {
        let lacks = |name: &str| strange(address, format!("its response has no valid `{name}`"));
        let code = document["user_code"].as_str().map(shown);
        let code = code.filter(|code| (1..=CODE_MOST).contains(&code.len()));
        let device_code = document["device_code"].as_str();
        let device_code = device_code.and_then(|code| Token::new(code).ok());
        let seconds = |name: &str| document[name].as_u64().map(Duration::from_secs);
        let interval = seconds("interval").unwrap_or(INTERVAL);
        let uri = page(&document["verification_uri"]);
        Ok(Self {
            user_code: code.ok_or_else(|| lacks("user_code"))?,
            page: uri.ok_or_else(|| lacks("verification_uri"))?,
            page_with_code: page(&document["verification_uri_complete"]),
            expires_in: seconds("expires_in")
                .unwrap_or(EXPIRY_MOST)
                .min(EXPIRY_MOST),
            interval: interval.clamp(Duration::from_secs(1), INTERVAL_MOST),
            device_code: device_code.ok_or_else(|| lacks("device_code"))?,
        })
    }
}

/// The address of a page for people, which is shown and not asked for.
fn page(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| text.len() <= PAGE_MOST)?;
    let is_page = ["https://", "http://"].iter().any(|s| text.starts_with(s));
    let is_plain = text.bytes().all(|b| b.is_ascii_graphic());
    (is_page && is_plain).then(|| text.to_owned())
}

impl IssuedTokens {
    fn read(address: &Address, document: &Value) -> Result<Self, IssuerError> {
        let token = |name: &str| match document[name].as_str() {
            None => Ok(None),
            Some(text) => Token::new(text).map(Some).map_err(|error| {
                let why = format!("its `{name}` cannot be used: {error}");
                strange(address, why)
            }),
        };
        let access = token("access_token")?;
        Ok(Self {
            access: access.ok_or_else(|| strange(address, "its response has no `access_token`"))?,
            id: token("id_token")?,
            refresh: token("refresh_token")?,
            expires_in: document["expires_in"].as_u64().map(Duration::from_secs),
        })
    }
}

fn posted(
    endpoint: &Endpoint,
    form: &[(&str, &str)],
    timeouts: Timeouts,
) -> Result<(u16, Value), IssuerError> {
    let sent = agent(&endpoint.address, timeouts)
        .post(endpoint.url.as_str())
        .header("accept", "application/json")
        .send_form(form.iter().copied());
    read_reply(&endpoint.address, sent)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{discovery, played};
    use super::*;

    const CLIENT: DeviceClient<'static> = DeviceClient {
        id: "cli",
        scopes: &[],
        audience: None,
    };

    #[test]
    fn a_person_enters_a_code_and_tokens_are_issued() {
        let device = json!({ "device_code": "d", "user_code": "AB CD", "interval": 0, "expires_in": 9,
            "verification_uri": "https://i.example/go" });
        let issued = json!({ "access_token": "a", "refresh_token": "r", "expires_in": 60 });
        let error = |code: &str| json!({ "error": code }).to_string();
        let (url, serving) = played(vec![
            (200, discovery()),
            (200, device.to_string()),
            (400, error("authorization_pending")),
            (400, error("slow_down")),
            (400, error("access_denied")),
            (200, issued.to_string()),
            (400, error("invalid_grant")),
        ]);
        let timeouts = Timeouts::default();
        let provider = Provider::discover(&url, timeouts).unwrap();
        let begun = provider.authorize_device(CLIENT, timeouts).unwrap();
        assert_eq!(
            (begun.user_code.as_str(), begun.page.as_str()),
            ("AB CD", "https://i.example/go")
        );
        assert_eq!(begun.interval, Duration::from_secs(1), "never at once");
        let poll = || provider.poll_device(CLIENT, &begun, timeouts);
        assert!(matches!(poll(), Ok(DevicePoll::Pending)));
        assert!(matches!(poll(), Ok(DevicePoll::SlowDown)));
        let denied = poll().unwrap_err();
        assert!(
            matches!(&denied, IssuerError::Refused { code, .. } if code == "access_denied"),
            "{denied}"
        );
        let Ok(DevicePoll::Granted(tokens)) = poll() else {
            panic!("nothing was issued");
        };
        assert_eq!(tokens.access.reveal(), "a");
        assert!(!format!("{tokens:?}").contains("\"r\""));
        let refresh = tokens.refresh.unwrap();
        let again = provider.refresh("cli", &refresh, timeouts);
        assert!(
            matches!(again, Err(IssuerError::Refused { .. })),
            "{again:?}"
        );
        let requests = serving.join().unwrap();
        assert!(
            requests[2].ends_with("device_code=d&client_id=cli"),
            "{requests:?}"
        );
    }

    #[test]
    fn an_answer_without_a_page_or_with_one_that_is_none_is_strange() {
        for page in [
            "",
            "javascript:alert(1)",
            "https://i.example/\u{1b}[2J",
            "https://a b",
        ] {
            let device = json!({ "device_code": "d", "user_code": "AB", "verification_uri": page });
            let (url, serving) = played(vec![(200, discovery()), (200, device.to_string())]);
            let provider = Provider::discover(&url, Timeouts::default()).unwrap();
            let error = provider.authorize_device(CLIENT, Timeouts::default());
            assert!(
                matches!(error, Err(IssuerError::Strange { .. })),
                "{page}: {error:?}"
            );
            serving.join().unwrap();
        }
    }
}
