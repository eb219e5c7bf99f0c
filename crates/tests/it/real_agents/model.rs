//! The scripted model and its log.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::Value;

use super::programs::{program, wait_for};

/// A running `fake_model.py`; it ends with this value.
pub(super) struct Model {
    server: Child,
    log: PathBuf,
    port: u16,
}

/// One answer of the model.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    /// The agent's id of the session that asked.
    pub(super) session: String,
    /// The tools that it called.
    pub(super) calls: Vec<String>,
    pub(super) tokens: Tokens,
    /// Why this was the answer: `turn` for a step of the script.
    pub(super) why: String,
}

/// The session of answers to an agent that names none.
pub(super) const NAMELESS: &str = "nameless";

/// Tokens by kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    pub(super) input: u64,
    pub(super) output: u64,
    pub(super) cache_read: u64,
    pub(super) cache_write: u64,
}

impl std::ops::Add for Tokens {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input: self.input + other.input,
            output: self.output + other.output,
            cache_read: self.cache_read + other.cache_read,
            cache_write: self.cache_write + other.cache_write,
        }
    }
}

/// What the answers to one session amount to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sum {
    pub(super) calls: BTreeMap<String, usize>,
    pub(super) tokens: Tokens,
}

impl Model {
    /// Starts it; it logs into `dir`.
    pub(super) fn start(lab: &Path, dir: &Path) -> Self {
        let port_file = dir.join("port");
        let server = program("python3")
            .arg(lab.join("fake_model.py"))
            .env("LAB_PORT_FILE", &port_file)
            .env("LAB_LOG_DIR", dir)
            .env("LAB_SCENARIOS", dir)
            .env("LAB_LOG_BODIES", "1")
            .stdout(Stdio::null())
            .spawn()
            .expect("python3 starts");
        let mut model = Self {
            server,
            log: dir.join("requests.jsonl"),
            port: 0,
        };
        model.port = wait_for("the model's port", || {
            fs::read_to_string(&port_file).ok()?.parse().ok()
        });
        model
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What the model was sent last by a session that follows a script.
    pub(super) fn last_body(&self) -> String {
        let mut turns = self
            .requests()
            .into_iter()
            .filter(|line| line["why"] == "turn");
        let last = turns.next_back().expect("the model was asked");
        let number = last["seq"].as_u64().expect("requests are numbered");
        let body = self.log.with_file_name(format!("body-{number:04}.json"));
        fs::read_to_string(body).expect("the body of the request")
    }

    /// The log so far, refused requests left out.
    pub(super) fn requests(&self) -> Vec<Value> {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines = log.lines().map(serde_json::from_str::<Value>);
        lines
            .map(|line| line.expect("the log is JSON"))
            .filter(|line| line["status"] == 200)
            .collect()
    }

    /// All answers so far that reached a session, refused requests left out.
    pub(super) fn answers(&self) -> Vec<Answer> {
        self.requests().iter().map(answer).collect()
    }

    /// The agent's ids of all sessions that asked.
    pub(super) fn sessions(&self) -> BTreeSet<String> {
        self.answers().into_iter().map(|a| a.session).collect()
    }

    /// What is to be counted for a session: the answers that are steps of a script.
    pub(super) fn counted(&self, session: &str) -> Sum {
        let mut sum = Sum::default();
        let answers = self.answers();
        for answer in answers
            .iter()
            .filter(|a| a.session == session && a.why == "turn")
        {
            sum.tokens = sum.tokens + answer.tokens;
            for call in &answer.calls {
                *sum.calls.entry(call.clone()).or_default() += 1;
            }
        }
        sum
    }

    /// What all answers cost that were given for these reasons, whoever asked.
    pub(super) fn all_counted(&self, why: &[&str]) -> Tokens {
        let answers = self.answers();
        let counted = answers.iter().filter(|a| why.contains(&a.why.as_str()));
        counted.fold(Tokens::default(), |sum, a| sum + a.tokens)
    }

    /// How many summaries a session asked for.
    pub(super) fn summaries(&self, session: &str) -> usize {
        let answers = self.answers();
        let is_summary_of_session = |a: &&Answer| a.session == session && a.why == "summary";
        answers.iter().filter(is_summary_of_session).count()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

fn answer(line: &Value) -> Answer {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let number = |name: &str| line["tokens"][name].as_u64().expect("tokens are complete");
    let calls = line["calls"].as_array().expect("calls are listed");
    let header = |name: &str| line["headers"][name].as_str();
    let named = header("x-claude-code-session-id")
        .or_else(|| header("session-id"))
        .or_else(|| header("x-session-id"));
    Answer {
        // Gemini CLI does not tell its model which session asks: it has one name for all.
        session: named.unwrap_or(NAMELESS).to_owned(),
        calls: calls.iter().map(text).collect(),
        tokens: Tokens {
            input: number("input"),
            output: number("output"),
            cache_read: number("cache_read"),
            cache_write: number("cache_write"),
        },
        why: text(&line["why"]),
    }
}
