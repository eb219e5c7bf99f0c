//! An agent that runs: its process, the connection to it, and the native session in it.

use std::io;
use std::time::Duration;

use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Agent as Peer, Client, Error, Lines, UntypedMessage};
use futures_util::sink::unfold as sink;
use futures_util::stream::unfold as stream;
use serde_json::{Value, json};
use siglum_domain::NativeId;
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};

use super::process::{Process, Start, Tail, bounded_line};

/// The longest message of an agent, in bytes.
const LINE_MOST: usize = 64 << 20;
/// Messages of an agent that wait to be looked at; then it waits, too.
const WAITING: usize = 1_024;
/// How long an agent may take to begin, and to open a native session.
const BEGIN: Duration = Duration::from_secs(90);

/// What an agent says by itself.
pub(super) enum Heard {
    /// Something of the turn, as the protocol has it.
    Update(Value),
    /// It wants to be allowed something, and waits.
    Permission(Value, Box<Responder<Value>>),
}

/// An agent that runs.
pub(super) struct Agent {
    process: Process,
    connection: ConnectionTo<Peer>,
    pub(super) heard: mpsc::Receiver<Heard>,
    said: std::sync::Arc<Tail>,
    /// What it can do, by its own word.
    able: Value,
    native: Option<Native>,
    /// How often it was asked something in its native session.
    pub(super) turns: u32,
    /// What it says that its process cost by now, in billionths of a dollar.
    pub(super) cost: u64,
    /// The connection ends with it.
    _stay: oneshot::Sender<()>,
}

/// The native session that an agent has open.
#[derive(Debug, Clone)]
pub(super) struct Native {
    pub(super) id: NativeId,
    /// What it said when it was opened.
    pub(super) opened: Value,
}

/// Why an agent does not do what it should.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{text}")]
pub(super) struct AgentError {
    /// A word for programs.
    pub(super) code: &'static str,
    pub(super) text: String,
}

impl AgentError {
    pub(super) fn new(code: &'static str, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { code, text }
    }
}

impl Agent {
    /// Starts an agent, and agrees with it on the protocol.
    pub(super) async fn start(start: Start<'_>) -> Result<Self, AgentError> {
        let program = start.program.to_owned();
        let (process, stdin, stdout) = Process::start(start).map_err(|error| {
            let code = match error.kind() {
                io::ErrorKind::NotFound => "agent-not-installed",
                _ => "agent-not-started",
            };
            let text = format!("{} could not be started: {error}", program.display());
            AgentError::new(code, text)
        })?;
        let said = process.said();
        let (tell, heard) = mpsc::channel(WAITING);
        let (stay, leave) = oneshot::channel();
        let (connected, connection) = oneshot::channel();
        let tail = process.said();
        tokio::spawn(connect(stdin, stdout, tail, tell, connected, leave));
        let gone = || AgentError::new("agent-not-started", "the agent could not be reached");
        let mut agent = Self {
            process,
            connection: connection.await.map_err(|_| gone())?,
            heard,
            said,
            able: Value::Null,
            native: None,
            turns: 0,
            cost: 0,
            _stay: stay,
        };
        let params = json!({
            "protocolVersion": 1,
            "clientCapabilities": { "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false },
            "clientInfo": { "name": "siglum", "title": "Siglum", "version": env!("CARGO_PKG_VERSION") },
        });
        agent.able = agent.setup("initialize", &params).await?;
        Ok(agent)
    }

    pub(super) const fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// The native session that is open.
    pub(super) const fn native(&self) -> Option<&Native> {
        self.native.as_ref()
    }

    /// Whether its process is there, as far as that can be told.
    pub(super) fn lives(&self) -> bool {
        !self.heard.is_closed() && siglum_platform::process(self.pid()).is_some()
    }

    /// Asks for something that is no turn. What the agent says by itself meanwhile is of before, and is dropped.
    pub(super) async fn setup(
        &mut self,
        method: &str,
        params: &Value,
    ) -> Result<Value, AgentError> {
        let answer = self.ask(method, params)?;
        let mut answer = std::pin::pin!(tokio::time::timeout(BEGIN, answer));
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => {
                    while self.heard.try_recv().is_ok() {}
                    return match answer {
                        Ok(Ok(answer)) => Ok(answer),
                        Ok(Err(error)) => {
                            self.process.hear_out().await;
                            Err(self.failed(method, &error))
                        }
                        Err(_) => Err(AgentError::new("agent-not-ready", self.with_said(&format!(
                            "the agent did not answer `{method}` in {} s", BEGIN.as_secs())))),
                    };
                }
                Some(heard) = self.heard.recv() => if let Heard::Permission(_, responder) = heard {
                    let _ = responder.respond(cancelled());
                },
            }
        }
    }

    /// Opens a native session of its own.
    pub(super) async fn begin(&mut self, cwd: &str) -> Result<NativeId, AgentError> {
        let params = json!({ "cwd": cwd, "mcpServers": [] });
        let opened = self.setup("session/new", &params).await?;
        let told = opened.get("sessionId").and_then(Value::as_str);
        let id = told.and_then(|id| NativeId::new(id).ok());
        let Some(id) = id else {
            let text = "the agent gave its session no id that can be used";
            return Err(AgentError::new("agent-not-ready", text));
        };
        self.turns = 0;
        self.native = Some(Native {
            id: id.clone(),
            opened,
        });
        Ok(id)
    }

    /// Goes on with a native session that another process had. What the agent says of before is dropped.
    pub(super) async fn reopen(
        &mut self,
        id: &NativeId,
        cwd: &str,
    ) -> Result<NativeId, AgentError> {
        let able = &self.able["agentCapabilities"];
        let method = if able["sessionCapabilities"]["resume"].is_object() {
            "session/resume"
        } else if able["loadSession"] == json!(true) {
            "session/load"
        } else {
            let text = "this agent cannot go on with a session of before";
            return Err(AgentError::new("cannot-resume", text));
        };
        let params = json!({ "sessionId": id.as_str(), "cwd": cwd, "mcpServers": [] });
        let opened = self.setup(method, &params).await;
        let opened = opened.map_err(|e| AgentError::new("cannot-resume", e.text))?;
        // Some go on under another name.
        let told = opened.get("sessionId").and_then(Value::as_str);
        let now = told.and_then(|id| NativeId::new(id).ok());
        let now = now.unwrap_or_else(|| id.clone());
        self.turns = 0;
        self.native = Some(Native {
            id: now.clone(),
            opened,
        });
        Ok(now)
    }

    /// Sends a request; the answer comes when it comes.
    pub(super) fn ask(
        &self,
        method: &str,
        params: &Value,
    ) -> Result<impl Future<Output = Result<Value, Error>> + Send + use<>, AgentError> {
        let message = UntypedMessage::new(method, params);
        let message = message.map_err(|error| self.failed(method, &error))?;
        Ok(self.connection.send_request(message).block_task())
    }

    /// Tells the agent something.
    pub(super) fn tell(&self, method: &str, params: &Value) {
        if let Ok(message) = UntypedMessage::new(method, params) {
            // An agent that is gone is found out otherwise.
            let _ = self.connection.send_notification(message);
        }
    }

    /// Waits for the last words of an agent that is gone.
    pub(super) async fn hear_out(&mut self) {
        if !self.lives() {
            self.process.hear_out().await;
        }
    }

    /// What a refusal of the agent comes to, redacted.
    pub(super) fn failed(&self, method: &str, error: &Error) -> AgentError {
        let detail = error.data.as_ref().and_then(|data| {
            let told = data
                .get("details")
                .or_else(|| data.get("message"))
                .unwrap_or(data);
            told.as_str().map(|text| format!(": {text}"))
        });
        let text = format!(
            "`{method}`: {}{}",
            error.message,
            detail.unwrap_or_default()
        );
        let text: String = text.chars().take(600).collect();
        let text = siglum_domain::redact::Redactor::shared()
            .redact(&text)
            .into_string();
        let code = match method {
            "session/prompt" if self.lives() => "agent-failed",
            "session/prompt" => "agent-died",
            _ => "agent-not-ready",
        };
        AgentError::new(code, self.with_said(&text))
    }

    fn with_said(&self, text: &str) -> String {
        match self.said.told() {
            Some(said) => format!("{text} (it wrote: {said})"),
            None => text.to_owned(),
        }
    }
}

/// What is answered to a permission request of a run that was cancelled.
pub(super) fn cancelled() -> Value {
    json!({ "outcome": { "outcome": "cancelled" } })
}

/// What is answered to one for which something was chosen.
pub(super) fn selected(option: &str) -> Value {
    json!({ "outcome": { "outcome": "selected", "optionId": option } })
}

/// Keeps the connection until the agent, or whoever has it, is gone.
async fn connect(
    stdin: ChildStdin,
    stdout: ChildStdout,
    tail: std::sync::Arc<Tail>,
    tell: mpsc::Sender<Heard>,
    connected: oneshot::Sender<ConnectionTo<Peer>>,
    leave: oneshot::Receiver<()>,
) {
    let asked = tell.clone();
    let outgoing = sink(stdin, |mut stdin, line: String| async move {
        stdin.write_all(line.as_bytes()).await?;
        stdin.write_all(b"\n").await?;
        stdin.flush().await?;
        Ok::<_, io::Error>(stdin)
    });
    let incoming = stream(
        (BufReader::new(stdout), tail),
        |(mut from, tail)| async move {
            next_message(&mut from, &tail)
                .await
                .map(|line| (line, (from, tail)))
        },
    );
    let ended = Client
        .v1()
        .on_receive_notification(
            async move |message: UntypedMessage, _| {
                if message.method() == "session/update" {
                    // Whoever listened may have gone.
                    let _ = tell.send(Heard::Update(message.params().clone())).await;
                }
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async move |message: UntypedMessage, responder: Responder<Value>, _| {
                if message.method() != "session/request_permission" {
                    return responder.respond_with_error(Error::method_not_found());
                }
                let heard = Heard::Permission(message.params().clone(), Box::new(responder));
                let _ = asked.send(heard).await;
                Ok(())
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(Lines::new(outgoing, incoming), async move |connection| {
            let _ = connected.send(connection);
            let _ = leave.await;
            Ok(())
        })
        .await;
    if let Err(error) = ended {
        tracing::debug!("the connection to an agent ended: {}", error.message);
    }
}

/// The next line that may be a message; programs write other things there, too.
async fn next_message(
    from: &mut BufReader<ChildStdout>,
    tail: &Tail,
) -> Option<io::Result<String>> {
    let mut line = Vec::new();
    loop {
        line.clear();
        match bounded_line(from, &mut line, LINE_MOST).await {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => return Some(Err(error)),
        }
        let text = String::from_utf8_lossy(&line);
        if text.trim_start().starts_with('{') {
            return Some(Ok(text.into_owned()));
        }
        tail.take(&text);
    }
}
