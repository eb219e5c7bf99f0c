//! Issuers of tokens (OpenID Connect): where they answer, and by which keys they sign.
//!
//! No issuer is asked whose address is neither encrypted nor this machine's, whatever it says of itself. Nothing that one
//! says is believed here: whoever reads its keys verifies tokens with them.

mod device_flow;
mod job_token;

use serde_json::Value;
use ureq::Body;
use ureq::http::Response;

use crate::address::{Address, AddressError, Plain};
use crate::agent::{Timeouts, agent};
use crate::problem::shown;

pub use device_flow::{DeviceAuthorization, DeviceClient, DevicePoll, IssuedTokens};
pub use job_token::request_job_token;

/// The largest document of an issuer, in bytes.
const DOCUMENT_MOST: u64 = 512 << 10;
/// Where an issuer says what there is of it.
const DISCOVERY: &str = "/.well-known/openid-configuration";

/// Why an issuer gave nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IssuerError {
    /// Nobody answers, or not now: it may be asked again.
    #[error("cannot reach {address}: {why}")]
    Unreachable { address: String, why: String },
    /// It answers, and not as an issuer does.
    #[error("{address} does not respond like an issuer of tokens: {why}")]
    Strange { address: String, why: String },
    /// It does not give what is asked for.
    #[error("{address} refused the request: {reason}")]
    Refused {
        address: String,
        /// Its stable word for the reason, such as `access_denied`; empty where it has none.
        code: String,
        reason: String,
    },
}

/// What an issuer says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    keys: Endpoint,
    device: Option<Endpoint>,
    token: Option<Endpoint>,
    address: Address,
}

/// Where requests of one kind go. A slash at its end and a query belong to it: an [`Address`] has neither.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Endpoint {
    address: Address,
    url: String,
}

impl Endpoint {
    fn parse(url: &str) -> Result<Self, IssuerError> {
        let base = url.split('?').next().unwrap_or_default();
        Ok(Self {
            address: Address::parse(base, Plain::Loopback).map_err(bad_address)?,
            url: url.to_owned(),
        })
    }
}

impl Provider {
    /// Asks an issuer what it has: its discovery document, which must name it as it is named here.
    ///
    /// # Errors
    /// Why there is no such document, or what is wrong with it.
    pub fn discover(issuer: &str, timeouts: Timeouts) -> Result<Self, IssuerError> {
        let address = Address::parse(issuer, Plain::Loopback).map_err(bad_address)?;
        let sent = agent(&address, timeouts)
            .get(address.join(DISCOVERY))
            .header("accept", "application/json")
            .call();
        let (status, document) = read_reply(&address, sent)?;
        if status != 200 {
            let why = format!("it responds to {DISCOVERY} with {status}");
            return Err(strange(&address, why));
        }
        if document["issuer"].as_str() != Some(issuer) {
            return Err(strange(&address, "it names itself otherwise"));
        }
        let endpoint = |name: &str| document[name].as_str().map(Endpoint::parse).transpose();
        let keys = endpoint("jwks_uri")?;
        Ok(Self {
            keys: keys.ok_or_else(|| strange(&address, "it has no `jwks_uri`"))?,
            device: endpoint("device_authorization_endpoint")?,
            token: endpoint("token_endpoint")?,
            address,
        })
    }

    /// The keys by which it signs, as a JSON Web Key Set.
    ///
    /// # Errors
    /// Why there are none.
    pub fn key_set(&self, timeouts: Timeouts) -> Result<Value, IssuerError> {
        let Endpoint { address, url } = &self.keys;
        let sent = agent(address, timeouts)
            .get(url.as_str())
            .header("accept", "application/json")
            .call();
        match read_reply(address, sent)? {
            (200, document) if document["keys"].is_array() => Ok(document),
            (200, _) => Err(strange(address, "its response has no keys")),
            (status, _) => Err(strange(address, format!("it responds with {status}"))),
        }
    }
}

fn bad_address(error: AddressError) -> IssuerError {
    IssuerError::Strange {
        address: error.text,
        why: error.rule.to_owned(),
    }
}

fn strange(address: &Address, why: impl Into<String>) -> IssuerError {
    IssuerError::Strange {
        address: address.to_string(),
        why: why.into(),
    }
}

/// The status and the JSON of an answer.
fn read_reply(
    address: &Address,
    sent: Result<Response<Body>, ureq::Error>,
) -> Result<(u16, Value), IssuerError> {
    let unreachable = |why: String| IssuerError::Unreachable {
        address: address.to_string(),
        why,
    };
    let mut response = sent.map_err(|error| unreachable(error.to_string()))?;
    let status = response.status().as_u16();
    if matches!(status, 408 | 425 | 429 | 500..=599) {
        return Err(unreachable(format!("it responds with {status}")));
    }
    let body = response.body_mut().with_config().limit(DOCUMENT_MOST);
    let body = body
        .read_to_vec()
        .map_err(|error| unreachable(error.to_string()))?;
    let document = serde_json::from_slice(&body);
    let document = document.map_err(|_| {
        let why = format!("its response, with status {status}, is not JSON");
        strange(address, why)
    })?;
    Ok((status, document))
}

/// What an endpoint says that does not give what is asked for (RFC 6749, section 5.2).
fn refusal(address: &Address, status: u16, document: &Value) -> IssuerError {
    let word = |name: &str| document[name].as_str().map(shown).unwrap_or_default();
    let (code, description) = (word("error"), word("error_description"));
    let reason = match (code.as_str(), description.as_str()) {
        ("", _) => format!("status {status}, without a reason"),
        (code, "") => code.to_owned(),
        (code, description) => format!("{description} ({code})"),
    };
    IssuerError::Refused {
        address: address.to_string(),
        code,
        reason,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use serde_json::json;

    use super::*;

    /// A server with these answers, one for each request, and then what it was asked. `ISSUER` in an answer is its address.
    pub(super) fn played(answers: Vec<(u16, String)>) -> (String, thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let own = url.clone();
        let serving = thread::spawn(move || {
            let mut requests = Vec::new();
            for (status, answer) in answers {
                let answer = answer.replace("ISSUER", &own);
                let (mut stream, _) = listener.accept().unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") {
                    assert!(reader.read_line(&mut head).unwrap() > 0);
                }
                let lower = head.to_ascii_lowercase();
                let length = lower.split("content-length: ").nth(1);
                let length = length.map_or(0, |l| l.lines().next().unwrap().parse().unwrap());
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                requests.push(head + &String::from_utf8_lossy(&body));
                let length = answer.len();
                let reply = format!(
                    "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{answer}"
                );
                stream.write_all(reply.as_bytes()).unwrap();
            }
            requests
        });
        (url, serving)
    }

    /// What an issuer says of itself that has everything.
    pub(super) fn discovery() -> String {
        json!({
            "issuer": "ISSUER",
            "jwks_uri": "ISSUER/keys",
            "device_authorization_endpoint": "ISSUER/device",
            "token_endpoint": "ISSUER/token",
        })
        .to_string()
    }

    #[test]
    fn an_issuer_is_found_by_its_document_and_gives_its_keys() {
        let keys = r#"{"keys": [{"kid": "a"}]}"#;
        // Some end their endpoints with a slash, without which nothing is there.
        let document = discovery().replace("ISSUER/keys", "ISSUER/keys/?v=1");
        let (url, serving) = played(vec![(200, document), (200, keys.to_owned())]);
        let provider = Provider::discover(&url, Timeouts::default()).unwrap();
        let keys = provider.key_set(Timeouts::default()).unwrap();
        assert_eq!(keys["keys"][0]["kid"], "a");
        let requests = serving.join().unwrap();
        assert!(requests[0].starts_with("GET /.well-known/openid-configuration "));
        let is_asked = requests[1].starts_with("GET /keys/?v=1 ");
        assert!(is_asked, "{requests:?}");
    }

    #[test]
    fn a_document_of_somebody_else_is_refused_and_so_are_addresses_that_all_can_read() {
        for (status, document) in [
            (
                200,
                discovery().replace("\"ISSUER\"", "\"https://other.example\""),
            ),
            (
                200,
                discovery().replace("ISSUER/keys", "http://other.example/keys"),
            ),
            (200, discovery().replace("jwks_uri", "other_uri")),
            (200, "[1]".to_owned()),
            (200, "no".to_owned()),
            (404, "{}".to_owned()),
            (302, "{}".to_owned()),
        ] {
            let (url, serving) = played(vec![(status, document.clone())]);
            let error = Provider::discover(&url, Timeouts::default());
            let is_strange = matches!(error, Err(IssuerError::Strange { .. }));
            assert!(is_strange, "{document}: {error:?}");
            serving.join().unwrap();
        }
        let error = Provider::discover("http://issuer.example", Timeouts::default());
        assert!(
            matches!(error, Err(IssuerError::Strange { .. })),
            "{error:?}"
        );
        let (url, serving) = played(vec![(503, "{}".to_owned())]);
        let error = Provider::discover(&url, Timeouts::default());
        assert!(
            matches!(error, Err(IssuerError::Unreachable { .. })),
            "{error:?}"
        );
        serving.join().unwrap();
    }
}
