//! A gateway that runs agents, and what is seen of it from outside.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::symlink;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::OtlpSink;
use crate::real_agents::agents::Agent;
use crate::real_agents::lab::Lab;
use crate::real_agents::programs::{self, wait_for, wait_until};
use crate::real_agents::telemetry::name;
use crate::real_sinks::phoenix::Phoenix;
use crate::real_sinks::sinks::fresh;

/// Whether the agents have hooks, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hooks {
    Installed,
    None,
}

/// A gateway that may run agents, and two servers of traces that it exports to.
pub(super) struct Bench {
    pub(super) lab: Lab,
    pub(super) phoenix: Phoenix,
    pub(super) sink: OtlpSink,
    agents: Vec<Agent>,
    serving: Child,
    address: String,
    token: String,
}

/// What the gateway answered.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Value,
}

impl Answer {
    /// A text of what the run is known by.
    #[track_caller]
    pub(super) fn run(&self, field: &str) -> &str {
        let value = self.body["run"][field].as_str();
        value.unwrap_or_else(|| panic!("no {field}: {self:#?}"))
    }

    /// How the run ended.
    pub(super) fn status_of_run(&self) -> &str {
        self.body["end"]["status"].as_str().unwrap_or_default()
    }

    /// The code of a refusal.
    pub(super) fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.serving.kill();
        let _ = self.serving.wait();
    }
}

impl Bench {
    /// A fresh one, or nothing where real agents are not to be driven.
    pub(super) fn open(agents: &[Agent], hooks: Hooks) -> Option<Self> {
        Self::finding(agents, hooks, SPEAKING)
    }

    /// The same, where none of the programs that speak the protocol is installed, but the agents themselves are.
    pub(super) fn headless(agents: &[Agent], hooks: Hooks) -> Option<Self> {
        Self::finding(agents, hooks, THEMSELVES)
    }

    fn finding(agents: &[Agent], hooks: Hooks, programs: &[(&str, &str)]) -> Option<Self> {
        let lab = match hooks {
            Hooks::Installed => Lab::open_for(agents)?,
            Hooks::None => {
                let lab = Lab::bare()?;
                agents.iter().for_each(|agent| agent.set_up(&lab));
                lab
            }
        };
        let project = fresh("runs");
        let (phoenix, sink) = (Phoenix::new(&project), OtlpSink::start());
        let (to, header) = (
            format!("http://{}/v1/traces", phoenix.host()),
            format!("x-project-name={project}"),
        );
        let all = "--all-repositories";
        lab.siglum(&["otel", "add", "phoenix", &to, "--header", &header, all]);
        lab.siglum(&["otel", "add", "sink", &sink.url, all]);
        on_path(&lab, programs);
        let token = lab.siglum(&["token", "create"]).trim().to_owned();
        let (serving, address) = serve(&lab, agents);
        Some(Self {
            lab,
            phoenix,
            sink,
            agents: agents.to_vec(),
            serving,
            address,
            token,
        })
    }

    /// Kills the gateway as the kernel does when memory is short, and starts another one.
    pub(super) fn killed_and_again(&mut self) {
        self.serving.kill().expect("it runs");
        self.serving.wait().expect("it ends");
        (self.serving, self.address) = serve(&self.lab, &self.agents);
    }

    /// What the gateway answers.
    #[track_caller]
    pub(super) fn call(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Answer {
        call(&self.address, &self.token, method, path, headers, body)
    }

    /// What it answers to a question that can be answered.
    #[track_caller]
    pub(super) fn get(&self, path: &str) -> Value {
        let answer = self.call("GET", path, &[], None);
        assert_eq!(answer.status, 200, "{path}: {answer:#?}");
        answer.body
    }

    /// Sends messages to an agent.
    #[track_caller]
    pub(super) fn send(&self, headers: &[(&str, &str)], body: &Value) -> Answer {
        self.call("POST", "/v1/messages", headers, Some(body))
    }

    /// Has an agent follow a script in a conversation of this name; it comes to its stop.
    #[track_caller]
    pub(super) fn run(&self, agent: Agent, conversation: &str, scenario: &str) -> Answer {
        self.done(&self.body(agent, Some(conversation), scenario))
    }

    /// The agent comes to its stop.
    #[track_caller]
    pub(super) fn done(&self, body: &Value) -> Answer {
        let answer = self.send(&[], body);
        assert_eq!(answer.status, 200, "{body}: {answer:#?}");
        assert_eq!(answer.status_of_run(), "done", "{body}: {answer:#?}");
        answer
    }

    /// What is sent to have an agent follow a script.
    pub(super) fn body(&self, agent: Agent, conversation: Option<&str>, scenario: &str) -> Value {
        let mut body = json!({
            "agent": name(agent),
            "messages": [{ "role": "user", "content": self.lab.prompt(scenario) }],
            "permissions": "allow",
        });
        if let Some(conversation) = conversation {
            body["conversation_id"] = json!(conversation);
        }
        body
    }

    /// The same, sent by somebody else while this one goes on.
    pub(super) fn beside(&self, body: Value) -> std::thread::JoinHandle<Answer> {
        let (address, token) = (self.address.clone(), self.token.clone());
        std::thread::spawn(move || call(&address, &token, "POST", "/v1/messages", &[], Some(&body)))
    }

    /// Waits until both servers of traces have the turns of these runs, their first spans among them.
    #[track_caller]
    pub(super) fn exported(&self, runs: &[&Answer]) {
        let of = |attributes: &Value| attributes["siglum.turn.id"].as_str().map(str::to_owned);
        let is_there = |turns: BTreeSet<String>| runs.iter().all(|a| turns.contains(a.run("turn")));
        wait_until("Phoenix has them", || {
            let spans = self.phoenix.spans();
            is_there(spans.iter().filter_map(|s| of(&s["attributes"])).collect())
        });
        wait_until("the sink has them", || {
            let spans = self.sink.spans();
            let first = spans.iter().filter(|s| is_first(s));
            is_there(first.filter_map(|s| of(&s["attributes"])).collect())
        });
    }

    /// The spans of a trace, each once.
    pub(super) fn spans_of(&self, trace: &str) -> Vec<Value> {
        let mut spans = self.sink.spans();
        spans.retain(|span| span["traceId"] == trace);
        spans
    }

    /// The spans of a run: others may be in the same trace.
    pub(super) fn own_spans(&self, answer: &Answer) -> Vec<Value> {
        let mut spans = self.spans_of(answer.run("trace_id"));
        spans.retain(|s| s["attributes"]["siglum.turn.id"] == answer.run("turn"));
        assert!(!spans.is_empty(), "no span of {answer:#?}");
        spans
    }

    /// Checks that one name stands everywhere: in the body, in the headers, on every span at both servers, and in the
    /// ledger.
    #[track_caller]
    pub(super) fn is_everywhere(&self, answer: &Answer, conversation: &str) {
        self.is_recorded(answer, conversation);
        let trace = answer.run("trace_id");
        wait_until("Phoenix shows it in its conversation", || {
            let shown = self.phoenix.sessions();
            let traces = shown.get(conversation).map(|seen| &seen.traces);
            traces.is_some_and(|traces| traces.contains(trace))
        });
    }

    /// The same, where the trace is not one conversation's alone: Phoenix shows a trace in one of them.
    #[track_caller]
    pub(super) fn is_recorded(&self, answer: &Answer, conversation: &str) {
        assert_eq!(answer.run("conversation_id"), conversation, "{answer:#?}");
        let header = |name: &str| answer.headers.get(name).map(String::as_str);
        assert_eq!(header("siglum-conversation-id"), Some(conversation));
        let (session, trace) = (answer.run("session"), answer.run("trace_id"));
        assert_eq!(header("siglum-session-id"), Some(session));
        assert_eq!(header("siglum-trace-id"), Some(trace));
        self.exported(&[answer]);
        for span in self.own_spans(answer) {
            for key in ["session.id", "gen_ai.conversation.id"] {
                assert_eq!(span["attributes"][key], *conversation, "{span:#}");
            }
            assert_eq!(
                span["attributes"]["siglum.session.id"], *session,
                "{span:#}"
            );
        }
        let recorded = self.get(&format!("/v1/sessions/{session}"));
        assert_eq!(recorded["conversation_id"], *conversation, "{recorded:#}");
    }
}

/// Whether a span is the first of its turn: whoever asked may have one above it.
pub(super) fn is_first(span: &Value) -> bool {
    let kind = &span["attributes"]["gen_ai.operation.name"];
    *kind == "invoke_agent" && span["attributes"]["siglum.agent.id"].is_null()
}

/// What speaks the protocol, by the names that the published packages give, and which program of the lab it is.
const SPEAKING: &[(&str, &str)] = &[
    ("claude-agent-acp", "SIGLUM_LAB_CLAUDE_ACP"),
    ("codex-acp", "SIGLUM_LAB_CODEX_ACP"),
    ("gemini", "SIGLUM_LAB_GEMINI"),
    ("opencode", "SIGLUM_LAB_OPENCODE"),
    ("pi-acp", "SIGLUM_LAB_PI_ACP"),
    ("pi", "SIGLUM_LAB_PI"),
];

/// Agents that have a headless mode of their own which is known.
const THEMSELVES: &[(&str, &str)] = &[("claude", "SIGLUM_LAB_CLAUDE")];

/// Puts programs where the gateway looks for them.
fn on_path(lab: &Lab, programs: &[(&str, &str)]) {
    let dir = lab.beside("path");
    fs::create_dir(&dir).expect("a directory");
    for (program, variable) in programs {
        symlink(programs::path(variable), dir.join(program)).expect("a link");
    }
}

/// Starts the gateway; says where it listens.
fn serve(lab: &Lab, agents: &[Agent]) -> (Child, String) {
    let mut command: Command = lab.command(programs::path("SIGLUM_BIN"));
    let environment = lab.environment();
    let path = environment.iter().find(|(name, _)| *name == "PATH");
    let path = path.map_or("", |(_, value)| value);
    command.env("PATH", format!("{}:{path}", lab.beside("path").display()));
    command.arg("serve");
    for agent in agents {
        command.envs(agent.environment(&lab.model.url()));
        command.args(["--run", name(*agent)]);
    }
    // The adapters have agents of their own along; here it is those of the lab that run.
    for (name, variable) in [
        ("CLAUDE_CODE_EXECUTABLE", "SIGLUM_LAB_CLAUDE"),
        ("CODEX_PATH", "SIGLUM_LAB_CODEX"),
    ] {
        command.env(name, programs::path(variable));
    }
    command.env("GEMINI_MODEL", "gemini-2.5-flash");
    command.arg("--workdir").arg(lab.work());
    command.args(["--listen", "127.0.0.1:0", "--json"]);
    let log = fs::File::options()
        .create(true)
        .append(true)
        .open(lab.beside("log/serve.err"))
        .expect("a file");
    let mut serving = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .expect("the gateway starts");
    let mut line = String::new();
    let out = serving.stdout.take().expect("its output");
    BufReader::new(out).read_line(&mut line).expect("a line");
    let ready: Value = serde_json::from_str(&line).unwrap_or_else(|e| {
        let stderr = fs::read_to_string(lab.beside("log/serve.err")).unwrap_or_default();
        panic!("{e}: {line}\n{stderr}")
    });
    let address = ready["data"]["address"].as_str().expect("its address");
    (serving, address.to_owned())
}

#[track_caller]
fn call(
    address: &str,
    token: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&Value>,
) -> Answer {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(180)))
        .build();
    let mut request = ureq::http::Request::builder()
        .method(method)
        .uri(format!("{address}{path}"))
        .header("authorization", format!("Bearer {token}"));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let agent = ureq::Agent::from(config);
    let answer = match body {
        Some(body) => {
            let request = request.header("content-type", "application/json");
            agent.run(request.body(body.to_string()).expect("a request"))
        }
        None => agent.run(request.body(()).expect("a request")),
    };
    let mut answer = answer.unwrap_or_else(|e| panic!("{method} {path}: {e}"));
    let text = answer.body_mut().read_to_string().expect("a text");
    let header = |(name, value): (&ureq::http::HeaderName, &ureq::http::HeaderValue)| {
        let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
        (name.as_str().to_owned(), value)
    };
    Answer {
        status: answer.status().as_u16(),
        headers: answer.headers().iter().map(header).collect(),
        body: serde_json::from_str(&text).unwrap_or(Value::String(text)),
    }
}

impl Bench {
    /// Says of what a turn that was broken off had begun, that it failed: nobody else knows.
    #[track_caller]
    pub(super) fn settle(&self, conversation: &str) {
        let settle = ["session", "recover", conversation, "--mark-failed", "--yes"];
        wait_until("the turn can be settled", || {
            let mut siglum = self.lab.command(programs::path("SIGLUM_BIN"));
            siglum
                .args(settle)
                .output()
                .is_ok_and(|done| done.status.success())
        });
    }

    /// Waits until a run of this conversation is under way, and has called a tool.
    #[track_caller]
    pub(super) fn under_way(&self, file: &str) {
        let path = self.lab.work().join(file);
        wait_until("the agent has written its file", || path.exists());
    }

    /// The interaction that waits for an answer.
    #[track_caller]
    pub(super) fn open_interaction(&self, session: &str) -> Value {
        let path = format!("/v1/sessions/{session}/interactions?state=open");
        wait_for("a question", || {
            let answer = self.call("GET", &path, &[], None);
            let found = answer.body["items"][0].clone();
            (answer.status == 200 && found.is_object()).then_some(found)
        })
    }
}
