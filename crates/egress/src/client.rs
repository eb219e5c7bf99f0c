//! The gateway's routes, as a client calls them.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use ureq::http::StatusCode;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::typestate::WithBody;
use ureq::{Agent, RequestBuilder};

use crate::address::Address;
use crate::problem::Problem;
use crate::retry::Waits;
use crate::token::Token;

/// The largest answer that is read, in bytes.
const ANSWER_MOST: u64 = 4 << 20;

/// How long anything may take.
#[derive(Debug, Clone, Copy)]
pub struct Timeouts {
    /// Until there is a connection.
    pub connect: Duration,
    /// For a request and its answer as a whole.
    pub whole: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            whole: Duration::from_secs(60),
        }
    }
}

/// Why a request came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    /// Nobody answers, or not in time: it may have arrived, or not.
    #[error("{address} cannot be reached: {why}")]
    Unreachable {
        /// Where.
        address: String,
        /// Why, in words.
        why: String,
    },
    /// The server does not want it.
    #[error("{address} refused it: {problem}")]
    Refused {
        /// Where.
        address: String,
        /// What it says.
        problem: Problem,
    },
    /// The server cannot now: it may be asked again.
    #[error("{address} cannot take it now: {problem}")]
    Busy {
        /// Where.
        address: String,
        /// What it says.
        problem: Problem,
        /// It wants to be left alone for so long.
        after: Option<Duration>,
    },
    /// It answers, and not as a gateway does.
    #[error("{address} does not answer as a gateway: {why}")]
    Strange {
        /// Where.
        address: String,
        /// What it does, in words.
        why: String,
    },
}

/// An answer that was taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The body; null where there is none.
    pub body: Value,
}

/// A client of one gateway.
#[derive(Debug)]
pub struct GatewayClient {
    agent: Agent,
    address: Address,
    token: Option<Token>,
}

/// Whom a gateway may be signed by: those whom the system trusts, where it has any.
fn tls(address: &Address) -> TlsConfig {
    let config = TlsConfig::builder();
    if !address.as_str().starts_with("https:") {
        return config.build();
    }
    let known = rustls_native_certs::load_native_certs().certs;
    let known: Vec<Certificate<'static>> = known
        .iter()
        .map(|c| Certificate::from_der(c.as_ref()).to_owned())
        .collect();
    match known.is_empty() {
        true => config.build(),
        false => config
            .root_certs(RootCerts::Specific(Arc::new(known)))
            .build(),
    }
}

/// What is sent, and how it is packed.
#[derive(Debug, Clone, Copy)]
enum Sent<'a> {
    Json(&'a Value),
    /// JSON in a zstd frame.
    Packed(&'a [u8]),
}

impl GatewayClient {
    /// A client of the gateway at an address. No other host is ever asked: a server that sends elsewhere is refused.
    #[must_use]
    pub fn new(address: Address, token: Option<Token>, timeouts: Timeouts) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .timeout_connect(Some(timeouts.connect))
            .timeout_global(Some(timeouts.whole))
            .user_agent(concat!("siglum/", env!("CARGO_PKG_VERSION")))
            .max_idle_connections(1)
            .tls_config(tls(&address))
            .build();
        Self {
            agent: Agent::new_with_config(config),
            address,
            token,
        }
    }

    /// Whether another client has the same token.
    #[must_use]
    pub fn has_token_of(&self, other: &Self) -> bool {
        self.token == other.token
    }

    /// By which token the gateway knows us, if by any.
    #[must_use]
    pub const fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    /// The address.
    #[must_use]
    pub const fn address(&self) -> &Address {
        &self.address
    }

    /// Registers a session: `POST /v1/sessions`.
    ///
    /// # Errors
    /// What the server says, or why there is no answer.
    pub fn create_session(
        &self,
        session: &Value,
        waits: &dyn Waits,
    ) -> Result<Answer, EgressError> {
        self.post("/v1/sessions", Sent::Json(session), waits)
    }

    /// Says that a session ended: `POST /v1/sessions/{id}/end`.
    ///
    /// # Errors
    /// What the server says, or why there is no answer.
    pub fn end_session(
        &self,
        id: &str,
        end: &Value,
        waits: &dyn Waits,
    ) -> Result<Answer, EgressError> {
        self.post(&format!("/v1/sessions/{id}/end"), Sent::Json(end), waits)
    }

    /// Says that a session goes on: `POST /v1/sessions/{id}/heartbeat`.
    ///
    /// # Errors
    /// What the server says, or why there is no answer.
    pub fn heartbeat(&self, id: &str, waits: &dyn Waits) -> Result<Answer, EgressError> {
        let nothing = Value::Object(serde_json::Map::new());
        self.post(
            &format!("/v1/sessions/{id}/heartbeat"),
            Sent::Json(&nothing),
            waits,
        )
    }

    /// Hands over a batch, JSON in a zstd frame: `POST /v1/replicas`. Gives the positions of the answer.
    ///
    /// # Errors
    /// What the server says, or why there is no answer.
    pub fn send_replica(&self, batch: &[u8], waits: &dyn Waits) -> Result<Value, EgressError> {
        let mut answer = self.post("/v1/replicas", Sent::Packed(batch), waits)?;
        match answer.body.get_mut("positions") {
            Some(positions) => Ok(positions.take()),
            None => Err(self.strange("its answer has no positions")),
        }
    }

    fn post(&self, path: &str, sent: Sent<'_>, waits: &dyn Waits) -> Result<Answer, EgressError> {
        let mut failed = 0;
        loop {
            let error = match self.once(path, sent) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            failed += 1;
            let least = match &error {
                EgressError::Unreachable { .. } => None,
                EgressError::Busy { after, .. } => *after,
                EgressError::Refused { .. } | EgressError::Strange { .. } => return Err(error),
            };
            if !waits.wait(failed, least) {
                return Err(error);
            }
        }
    }

    fn once(&self, path: &str, sent: Sent<'_>) -> Result<Answer, EgressError> {
        let request = self.request(path);
        let json = "application/json";
        let sent = match sent {
            Sent::Json(value) => request.content_type(json).send(value.to_string()),
            Sent::Packed(bytes) => request
                .content_type(json)
                .header("content-encoding", "zstd")
                .send(bytes),
        };
        let unreachable = |error: &ureq::Error| EgressError::Unreachable {
            address: self.address.to_string(),
            why: error.to_string(),
        };
        let mut response = sent.map_err(|e| unreachable(&e))?;
        let status = response.status();
        let header = response.headers().get("retry-after");
        let after = header.and_then(|v| v.to_str().ok()?.parse().ok());
        let body = response
            .body_mut()
            .with_config()
            .limit(ANSWER_MOST)
            .read_to_vec();
        let body = body.map_err(|e| unreachable(&e))?;
        self.read(status, &body, after.map(Duration::from_secs))
    }

    fn request(&self, path: &str) -> RequestBuilder<WithBody> {
        let request = self
            .agent
            .post(self.address.join(path))
            .header("accept", "application/json, application/problem+json");
        match &self.token {
            Some(token) => request.header("authorization", token.header()),
            None => request,
        }
    }

    fn read(
        &self,
        status: StatusCode,
        body: &[u8],
        after: Option<Duration>,
    ) -> Result<Answer, EgressError> {
        let code = status.as_u16();
        if status.is_success() {
            let body = match body.is_empty() {
                true => Value::Null,
                false => serde_json::from_slice(body)
                    .map_err(|_| self.strange("its answer is no JSON"))?,
            };
            return Ok(Answer { status: code, body });
        }
        if status.is_redirection() {
            return Err(self.strange("it sends to another address, and no other is asked"));
        }
        let problem = Problem::read(code, body);
        let address = self.address.to_string();
        Err(match code {
            408 | 425 | 429 | 500..=599 => EgressError::Busy {
                address,
                problem,
                after,
            },
            _ => EgressError::Refused { address, problem },
        })
    }

    fn strange(&self, why: &str) -> EgressError {
        EgressError::Strange {
            address: self.address.to_string(),
            why: why.to_owned(),
        }
    }
}
