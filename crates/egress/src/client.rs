//! The gateway's routes, as a client calls them.

use std::time::Duration;

use serde_json::Value;
use ureq::http::{Response, StatusCode};
use ureq::{Agent, Body, RequestBuilder};

use crate::address::Address;
use crate::agent::{ANSWER_MOST, Timeouts, agent};
use crate::problem::Problem;
use crate::retry::Waits;
use crate::token::Token;

/// Why a request came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EgressError {
    /// Nobody answers, or not in time: it may have arrived, or not.
    #[error("cannot connect to {address}: {why}")]
    Unreachable { address: String, why: String },
    /// The server does not want it.
    #[error("{address} refused the request: {problem}")]
    Refused {
        address: String,
        problem: Box<Problem>,
    },
    /// The server cannot now: it may be asked again.
    #[error("{address} is temporarily unavailable: {problem}")]
    Busy {
        address: String,
        problem: Box<Problem>,
        /// It wants to be left alone for so long.
        after: Option<Duration>,
    },
    /// It answers, and not as a gateway does.
    #[error("{address} does not respond like a Siglum gateway: {why}")]
    Strange {
        address: String,
        /// What it does, in words.
        why: String,
    },
}

/// An answer that was taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
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
        Self {
            agent: agent(&address, timeouts),
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
    pub fn register_session(
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

    /// Says that a session goes on: `POST /v1/sessions/{id}/keep-alive`.
    ///
    /// # Errors
    /// What the server says, or why there is no answer.
    pub fn keep_alive(&self, id: &str, waits: &dyn Waits) -> Result<Answer, EgressError> {
        let nothing = Value::Object(serde_json::Map::new());
        self.post(
            &format!("/v1/sessions/{id}/keep-alive"),
            Sent::Json(&nothing),
            waits,
        )
    }

    /// Runs something now that is run on a schedule: `POST /v1/heartbeats/{name}/run`.
    ///
    /// # Errors
    /// What the server says, or why there is no answer.
    pub fn run_heartbeat(&self, name: &str, waits: &dyn Waits) -> Result<Answer, EgressError> {
        let nothing = Value::Object(serde_json::Map::new());
        let path = format!("/v1/heartbeats/{name}/run");
        self.post(&path, Sent::Json(&nothing), waits)
    }

    /// Asks which sessions made commits: `POST /v1/commits/explain`. Gives the answers as they come.
    ///
    /// # Errors
    /// What the server says, or why there is no answer.
    pub fn explain_commits(
        &self,
        request: &Value,
        waits: &dyn Waits,
    ) -> Result<Value, EgressError> {
        let answer = self.post("/v1/commits/explain", Sent::Json(request), waits)?;
        Ok(answer.body)
    }

    /// Reads what a route answers to a `GET` request with these parameters; one try.
    ///
    /// # Errors
    /// What the server says, or why there is no answer.
    pub fn get(&self, path: &str, parameters: &[(&str, String)]) -> Result<Value, EgressError> {
        let request = self.agent.get(self.address.join(path));
        let request = parameters
            .iter()
            .fold(request, |request, (name, value)| request.query(name, value));
        let answer = self.answer(self.identified(request).call())?;
        Ok(answer.body)
    }

    /// Hands over a batch, JSON in a zstd frame: `POST /v1/replicas`. Gives the positions of the answer.
    ///
    /// # Errors
    /// What the server says, or why there is no answer.
    pub fn send_replica(&self, batch: &[u8], waits: &dyn Waits) -> Result<Value, EgressError> {
        let mut answer = self.post("/v1/replicas", Sent::Packed(batch), waits)?;
        match answer.body.get_mut("positions") {
            Some(positions) => Ok(positions.take()),
            None => Err(self.strange("the response has no positions")),
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
        let request = self.identified(self.agent.post(self.address.join(path)));
        let json = "application/json";
        self.answer(match sent {
            Sent::Json(value) => request.content_type(json).send(value.to_string()),
            Sent::Packed(bytes) => request
                .content_type(json)
                .header("content-encoding", "zstd")
                .send(bytes),
        })
    }

    fn answer(&self, sent: Result<Response<Body>, ureq::Error>) -> Result<Answer, EgressError> {
        let unreachable = |error: &ureq::Error| EgressError::Unreachable {
            address: self.address.to_string(),
            why: crate::problem::cause(error),
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

    /// A request that says which answers it takes, and by which token the gateway knows us.
    fn identified<B>(&self, request: RequestBuilder<B>) -> RequestBuilder<B> {
        let request = request.header("accept", "application/json, application/problem+json");
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
                    .map_err(|_| self.strange("the response is not JSON"))?,
            };
            return Ok(Answer { status: code, body });
        }
        if status.is_redirection() {
            return Err(self.strange("it redirects to another address; redirects are not followed"));
        }
        let problem = Box::new(Problem::read(code, body));
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

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

    use serde_json::json;

    use super::*;
    use crate::address::Plain;
    use crate::retry::Once;

    /// A server that gives these answers, one for each request, and then what it was asked.
    fn server(answers: Vec<String>) -> (Address, thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let text = format!("http://{}/base/", listener.local_addr().unwrap());
        let serving = thread::spawn(move || {
            let mut requests = Vec::new();
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let mut reader = BufReader::new(stream.try_clone().unwrap());
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") {
                    assert!(reader.read_line(&mut head).unwrap() > 0);
                }
                let lower = head.to_ascii_lowercase();
                let length = lower.split("content-length: ").nth(1).unwrap();
                let length = length.lines().next().unwrap().parse().unwrap();
                let mut body = vec![0; length];
                reader.read_exact(&mut body).unwrap();
                requests.push(head + &String::from_utf8_lossy(&body));
                stream.write_all(answer.as_bytes()).unwrap();
            }
            requests
        });
        (Address::parse(&text, Plain::Loopback).unwrap(), serving)
    }

    fn answer(status: &str, more: &str, body: &str) -> String {
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n{more}\r\n{body}"
        )
    }

    fn client(address: Address) -> GatewayClient {
        let token = Token::new("sgl_secret").unwrap();
        GatewayClient::new(address, Some(token), Timeouts::default())
    }

    struct Counted(Cell<u32>, Cell<Option<Duration>>);

    impl Waits for Counted {
        fn wait(&self, after: u32, least: Option<Duration>) -> bool {
            self.0.set(after);
            self.1.set(least.or(self.1.get()));
            after < 3
        }
    }

    #[test]
    fn the_token_is_in_one_header_and_shown_nowhere() {
        let (address, serving) = server(vec![answer("200 OK", "", r#"{"positions": {"n": 1}}"#)]);
        let client = client(address);
        let positions = client.send_replica(b"xyz", &Once).unwrap();
        assert_eq!(positions, json!({"n": 1}));
        let request = serving.join().unwrap().remove(0);
        assert!(
            request.starts_with("POST /base/v1/replicas HTTP/1.1"),
            "{request}"
        );
        assert_eq!(request.matches("sgl_secret").count(), 1);
        assert!(
            request
                .to_ascii_lowercase()
                .contains("authorization: bearer sgl_secret"),
            "{request}"
        );
        assert!(request.ends_with("xyz"));
        assert!(!format!("{client:?}").contains("sgl_secret"));
    }

    #[test]
    fn a_refusal_keeps_its_reason_and_is_not_tried_again() {
        let body = r#"{"title":"bad","detail":"no","code":"c","field":"links.phase"}"#;
        let (address, serving) = server(vec![answer("422 X", "", body)]);
        let error =
            client(address).register_session(&json!({}), &Counted(Cell::new(0), Cell::new(None)));
        let Err(EgressError::Refused { problem, .. }) = error else {
            panic!("{error:?}");
        };
        assert_eq!(
            (problem.field.as_deref(), problem.code.as_deref()),
            (Some("links.phase"), Some("c"))
        );
        assert_eq!(serving.join().unwrap().len(), 1);
    }

    #[test]
    fn what_may_pass_is_tried_again_as_the_caller_waits() {
        let busy = answer("503 X", "retry-after: 2\r\n", "later");
        let (address, serving) = server(vec![busy.clone(), busy, answer("201 X", "", "")]);
        let waits = Counted(Cell::new(0), Cell::new(None));
        let done = client(address)
            .end_session("ses_x", &json!({}), &waits)
            .unwrap();
        assert_eq!((done.status, done.body), (201, Value::Null));
        assert_eq!(
            (waits.0.get(), waits.1.get()),
            (2, Some(Duration::from_secs(2)))
        );
        assert_eq!(serving.join().unwrap().len(), 3);
    }

    #[test]
    fn no_other_server_is_contacted() {
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        other.set_nonblocking(true).unwrap();
        let location = format!("location: http://{}/\r\n", other.local_addr().unwrap());
        let (address, serving) = server(vec![answer("307 X", &location, "")]);
        let error = client(address).keep_alive("ses_x", &Once);
        assert!(
            matches!(error, Err(EgressError::Strange { .. })),
            "{error:?}"
        );
        assert!(other.accept().is_err());
        assert_eq!(serving.join().unwrap().len(), 1);
        let free = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let nobody = Address::parse(&format!("http://{free}"), Plain::Loopback).unwrap();
        let error = client(nobody).keep_alive("ses_x", &Once);
        assert!(
            matches!(error, Err(EgressError::Unreachable { .. })),
            "{error:?}"
        );
    }
}
