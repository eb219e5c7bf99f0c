//! A played gateway: a real ledger behind a small server, that goes wrong as it is told.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use siglum_domain::access::{Limits, Scope};
use siglum_domain::redact::Redactor;
use siglum_domain::{IdSource, LedgerId, Timestamp, TokenId};
use siglum_engine::Here;
use siglum_engine::identity::access::Caller;
use siglum_engine::share::replica::{self, ReplicaError};
use siglum_ledger::SqliteLedger;
use siglum_ledger::sqlite::Open;
use uuid::Uuid;

use super::World;

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is answered.
    Well,
    /// The connection breaks before anything is done.
    Before,
    /// It is done, and the connection breaks before the answer.
    After,
    /// The sender is killed before anything is done.
    KillBefore,
    /// It is done, and the sender is killed before the answer.
    KillAfter,
    /// It is refused with this status.
    Status(u16),
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct GatewayRequest {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl GatewayRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

#[derive(Default)]
struct State {
    requests: Vec<GatewayRequest>,
    fates: VecDeque<Fate>,
    /// Whom to kill.
    sender: Option<u32>,
    /// What is said where a request is refused.
    problem: Value,
    /// What is said of commits.
    explanations: Value,
    /// What is said of each of these commits, to whoever asks about it, in place of that.
    explained: BTreeMap<String, Value>,
    /// What else is read, by its path.
    documents: BTreeMap<String, Value>,
}

impl State {
    /// What is said to who asks about commits.
    fn explanations_for(&self, request: &GatewayRequest) -> Value {
        if self.explained.is_empty() || request.path != "/v1/commits/explain" {
            return self.explanations.clone();
        }
        let request = request.json();
        let asked = request["commits"].as_array().unwrap().iter();
        let items: Vec<&Value> = asked
            .filter_map(|commit| self.explained.get(commit.as_str().unwrap()))
            .collect();
        json!({ "items": items, "checkpoints": [], "left_off": [] })
    }
}

/// The server.
pub(crate) struct Gateway {
    pub(crate) url: String,
    home: PathBuf,
    state: Arc<Mutex<State>>,
}

struct Ids(AtomicU64);

impl IdSource for Ids {
    fn fresh(&self) -> Uuid {
        let n = self.0.fetch_add(1, Ordering::SeqCst);
        Uuid::from_u128(0x0193_0000_0000_7000_8000_0000_0000_0000 + u128::from(n))
    }
}

impl Gateway {
    /// A gateway with a ledger of its own.
    pub(crate) fn start(world: &World) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let home = world.root.join("gateway");
        std::fs::create_dir_all(&home).unwrap();
        let state: Arc<Mutex<State>> = Arc::default();
        let (serving, ledger) = (Arc::clone(&state), home.join("ledger.db"));
        open(&ledger);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (state, ledger) = (Arc::clone(&serving), ledger.clone());
                std::thread::spawn(move || while serve(&stream, &state, &ledger).is_some() {});
            }
        });
        Self { url, home, state }
    }

    /// What becomes of the next requests; all others are answered.
    pub(crate) fn fates(&self, fates: impl IntoIterator<Item = Fate>) {
        self.state.lock().unwrap().fates = fates.into_iter().collect();
    }

    pub(crate) fn kills(&self, sender: u32) {
        self.state.lock().unwrap().sender = Some(sender);
    }

    pub(crate) fn says(&self, problem: Value) {
        self.state.lock().unwrap().problem = problem;
    }

    /// What is said to whoever asks about commits.
    pub(crate) fn explains(&self, answers: Value) {
        self.state.lock().unwrap().explanations = answers;
    }

    /// What is said of each commit to whoever asks about it; of others it has no record.
    pub(crate) fn explains_each(&self, answers: impl IntoIterator<Item = Value>) {
        let commit = |answer: &Value| answer["commit"].as_str().unwrap().to_owned();
        let answers = answers.into_iter().map(|answer| (commit(&answer), answer));
        self.state.lock().unwrap().explained = answers.collect();
    }

    /// What is said to whoever reads a path.
    pub(crate) fn serves(&self, path: &str, document: Value) {
        let mut state = self.state.lock().unwrap();
        state.documents.insert(path.to_owned(), document);
    }

    /// The requests that came, in order.
    pub(crate) fn requests(&self) -> Vec<GatewayRequest> {
        self.state.lock().unwrap().requests.clone()
    }

    /// How many requests became of what they were told to.
    pub(crate) fn pending_fates(&self) -> usize {
        self.state.lock().unwrap().fates.len()
    }

    /// The ledger that it has.
    pub(crate) fn ledger(&self) -> SqliteLedger {
        open(&self.home.join("ledger.db"))
    }

    /// The directory of that ledger, as a home of Siglum.
    pub(crate) fn home(&self) -> &Path {
        &self.home
    }
}

/// Whoever asks: tokens are looked at by the tests of the real gateway.
fn launcher() -> Caller {
    Caller {
        token: TokenId::from_uuid(Uuid::from_u128(0x70)),
        name: "played".to_owned(),
        scope: Scope::Launcher,
        limits: Limits::default(),
        note_due: false,
    }
}

fn open(path: &Path) -> SqliteLedger {
    let how = Open::Command {
        id: LedgerId::from_uuid(Uuid::from_u128(0x6a7e)),
        key: [6; 32],
    };
    SqliteLedger::open(path, how).unwrap()
}

fn serve(mut stream: &TcpStream, state: &Mutex<State>, ledger: &Path) -> Option<()> {
    let request = read(&mut BufReader::new(stream))?;
    let (fate, sender, problem, explanations, document) = {
        let mut state = state.lock().unwrap();
        state.requests.push(request.clone());
        let fate = state.fates.pop_front().unwrap_or(Fate::Well);
        let explanations = state.explanations_for(&request);
        let path = request.path.split('?').next().unwrap_or_default();
        let document = state.documents.get(path).cloned();
        let problem = state.problem.clone();
        (fate, state.sender, problem, explanations, document)
    };
    let end = || stream.shutdown(std::net::Shutdown::Both).ok();
    match fate {
        Fate::Before => return end().and(None),
        Fate::KillBefore => {
            super::kill(sender.unwrap());
            return end().and(None);
        }
        _ => {}
    }
    let (status, body) = match (fate, document) {
        (Fate::Status(status), _) => (status, problem),
        (_, Some(document)) => (200, document),
        _ if request.path == "/v1/commits/explain" => (200, explanations),
        _ => answer(&request, ledger),
    };
    match fate {
        Fate::After => return end().and(None),
        Fate::KillAfter => {
            super::kill(sender.unwrap());
            return end().and(None);
        }
        _ => {}
    }
    let body = body.to_string();
    let kind = if status < 300 { "json" } else { "problem+json" };
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/{kind}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).ok()
}

pub(super) fn read(stream: &mut BufReader<&TcpStream>) -> Option<GatewayRequest> {
    let mut line = String::new();
    stream.read_line(&mut line).ok().filter(|n| *n > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(n, _)| n == "content-length");
    let length = length.map_or(Some(0), |(_, length)| length.parse().ok())?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some(GatewayRequest {
        path,
        headers,
        body,
    })
}

/// What the gateway's route does.
fn answer(request: &GatewayRequest, ledger: &Path) -> (u16, Value) {
    if request.path != "/v1/replicas" {
        return (201, json!({}));
    }
    let problem = |status: u16, error: &ReplicaError| {
        let field = match error {
            ReplicaError::Refused { document, .. } | ReplicaError::Forbidden { document, .. } => {
                Some(document.to_string())
            }
            _ => None,
        };
        let body = json!({"title": "not taken", "detail": error.to_string(), "code": error.code(), "field": field});
        (status, body)
    };
    let batch = match replica::decode(&request.body, &mut Vec::new()) {
        Ok(batch) => batch,
        Err(error) => return problem(400, &error),
    };
    let ids = Ids(AtomicU64::new(1));
    let here = Here {
        ids: &ids,
        clock: &|| Timestamp::from_seconds(1_800_000_000),
        alive: &|_| None,
        redactor: Redactor::shared(),
    };
    // Several requests may be under way.
    let done = (0..200).find_map(|_| {
        match replica::apply(&here, &mut open(ledger), &launcher(), &batch) {
            Err(ReplicaError::Ledger(_)) => {
                std::thread::sleep(std::time::Duration::from_millis(10));
                None
            }
            done => Some(done),
        }
    });
    match done.unwrap() {
        Ok(positions) => (200, json!({"positions": positions})),
        Err(error) => problem(422, &error),
    }
}
