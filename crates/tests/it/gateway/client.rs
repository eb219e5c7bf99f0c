//! Whoever asks the gateway.

use std::io::BufReader;
use std::time::Duration;

use serde_json::{Value, json};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use super::tls;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Somebody with a token, or without one.
#[derive(Clone)]
pub(crate) struct Client {
    address: String,
    token: Option<String>,
    headers: Vec<(String, String)>,
    agent: ureq::Agent,
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) text: String,
}

impl Client {
    pub(crate) fn new(address: &str, token: Option<&str>) -> Self {
        Self::trusting(tls::ONE.certificate, address, token)
    }

    /// The same, who over TLS trusts this certificate alone.
    pub(crate) fn trusting(certificate: &str, address: &str, token: Option<&str>) -> Self {
        let trusted = Certificate::from_pem(certificate.as_bytes()).unwrap();
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::new_with_certs(&[trusted]))
            .build();
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .tls_config(tls)
            .build();
        Self {
            address: address.to_owned(),
            token: token.map(str::to_owned),
            headers: Vec::new(),
            agent: config.into(),
        }
    }

    /// The same one, with a header more.
    pub(crate) fn with(&self, name: &str, value: &str) -> Self {
        let mut with = self.clone();
        with.headers.push((name.to_owned(), value.to_owned()));
        with
    }

    fn request(&self, method: &str, path: &str) -> ureq::http::request::Builder {
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.address));
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        request
    }

    /// Asks; nothing where there is no answer.
    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Option<Reply> {
        let request = self.request(method, path);
        let answered = match body {
            Some(body) => {
                let request = request.header("content-type", "application/json");
                self.agent.run(request.body(body.to_string()).unwrap())
            }
            None => self.agent.run(request.body(()).unwrap()),
        };
        let mut answer = answered.ok()?;
        let header = |(name, value): (&ureq::http::HeaderName, &ureq::http::HeaderValue)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.to_string(), value)
        };
        Some(Reply {
            status: answer.status().as_u16(),
            headers: answer.headers().iter().map(header).collect(),
            text: answer.body_mut().read_to_string().ok()?,
        })
    }

    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Reply {
        self.ask("GET", path, None).expect(path)
    }

    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &Value) -> Reply {
        self.ask("POST", path, Some(body)).expect(path)
    }

    /// Asks to do something that needs no body.
    #[track_caller]
    pub(crate) fn poke(&self, path: &str) -> Reply {
        self.ask("POST", path, None).expect(path)
    }

    /// The lines of an answer that does not end; nothing where there is none.
    pub(crate) fn lines(&self, path: &str) -> Option<BufReader<impl std::io::Read + use<>>> {
        let request = self.request("GET", path).body(()).unwrap();
        let answer = self.agent.run(request).ok()?;
        (answer.status() == 200).then(|| BufReader::new(answer.into_body().into_reader()))
    }

    /// Creates a session.
    #[track_caller]
    pub(crate) fn create(&self, body: &Value) -> Value {
        self.post("/v1/sessions", body).is(201)
    }

    /// Takes the lease of a session, and gives the epoch and where the log ends.
    #[track_caller]
    pub(crate) fn lease(&self, session: &str, nonce: &str) -> (u64, u64) {
        let body = json!({ "holder": "tests", "nonce": nonce, "term_ms": 600_000 });
        let leased = self.post(&format!("/v1/sessions/{session}/lease"), &body);
        let leased = leased.is(200);
        (
            leased["epoch"].as_u64().unwrap(),
            leased["head"].as_u64().unwrap(),
        )
    }

    /// Commits a turn; nothing where there is no answer.
    pub(crate) fn turn(&self, session: &str, key: &str, body: &Value) -> Option<Reply> {
        self.ask(
            "PUT",
            &format!("/v1/sessions/{session}/turns/{key}"),
            Some(body),
        )
    }
}

impl Reply {
    /// Its body, in JSON.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).expect(&self.text)
    }

    /// The body of one that has this status.
    #[track_caller]
    pub(crate) fn is(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.json()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }

    /// It is a problem of this status and code; gives it.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16, code: &str) -> Value {
        let problem = self.is(status);
        assert_eq!(
            self.header("content-type"),
            Some("application/problem+json"),
            "{problem}"
        );
        assert_eq!(
            (problem["code"].as_str(), problem["status"].as_u64()),
            (Some(code), Some(u64::from(status))),
            "{problem}"
        );
        assert_eq!(problem["type"], format!("urn:siglum:problem:{code}"));
        problem
    }

    /// It says that this field is wrong.
    #[track_caller]
    pub(crate) fn refuses(&self, field: &str) -> Value {
        let problem = self.problem(400, "invalid-field");
        assert_eq!(problem["field"], field, "{problem}");
        assert!(
            problem["detail"].as_str().unwrap().contains(field),
            "{problem}"
        );
        problem
    }
}

/// What is attached, as `field=value`.
pub(crate) fn links(of: &Value) -> Vec<String> {
    crate::launching::links(of)
}

/// The id of what was created.
#[track_caller]
pub(crate) fn id(created: &Value) -> String {
    created["session"]["id"].as_str().unwrap().to_owned()
}

/// The token of what was created.
#[track_caller]
pub(crate) fn secret(created: &Value) -> String {
    created["token"]["secret"].as_str().unwrap().to_owned()
}

/// A turn: somebody asks, and is answered.
pub(crate) fn turn_body(epoch: u64, head: u64, key: &str) -> Value {
    json!({ "epoch": epoch, "expected_head": head, "events": [
        { "type": "prompt", "key": format!("{key}.p"), "text": format!("do {key}") },
        { "type": "message", "key": format!("{key}.m"), "text": format!("did {key}"),
          "model": "m-1", "tokens": { "input": 10, "output": 3 } },
        { "type": "stop", "key": format!("{key}.p") },
    ] })
}
