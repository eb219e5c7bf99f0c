//! An agent that speaks the Agent Client Protocol: its process, the connection to it, and the native session in it.

use std::io;
use std::sync::Arc;

use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Agent as Peer, Client, Error, Lines, UntypedMessage};
use futures_util::sink::unfold as sink;
use futures_util::stream::unfold as stream;
use serde_json::{Value, json};
use siglum_domain::NativeId;
use siglum_engine::driven::run::Choosing;
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};

use super::error::{AgentError, Refused};
use super::lines::next_message;
use super::{AgentMessage, Answer, BEGIN, Opening, WAITING, native_id};
use crate::runs::Permissions;
use crate::runs::process::{Process, Start, Tail};

/// An agent that speaks the protocol.
pub(crate) struct Acp {
    process: Process,
    connection: ConnectionTo<Peer>,
    pub(super) messages: mpsc::Receiver<AgentMessage>,
    tail: Arc<Tail>,
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
struct Native {
    id: NativeId,
    /// What it said when it was opened.
    opened: Value,
}

impl Acp {
    /// Starts an agent, and agrees with it on the protocol.
    pub(super) async fn start(start: Start<'_>) -> Result<Self, AgentError> {
        let program = start.program.to_owned();
        let (process, stdin, stdout) =
            Process::start(start).map_err(|error| AgentError::not_started(&program, &error))?;
        let (tell, messages) = mpsc::channel(WAITING);
        let (stay, leave) = oneshot::channel();
        let (connected, connection) = oneshot::channel();
        let tail = process.stderr_tail();
        tokio::spawn(connect(stdin, stdout, tail, tell, connected, leave));
        let gone = || AgentError::new("agent-not-started", "cannot connect to the agent");
        let mut agent = Self {
            tail: process.stderr_tail(),
            process,
            connection: connection.await.map_err(|_| gone())?,
            messages,
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

    /// What it calls the session that is open.
    pub(super) fn native(&self) -> Option<&NativeId> {
        self.native.as_ref().map(|native| &native.id)
    }

    /// The model of the native session, by its own word.
    pub(super) fn model(&self) -> Option<String> {
        let options = self.native.as_ref()?.opened["configOptions"].as_array()?;
        let of_model = |option: &Value| {
            let model = option["currentValue"]
                .as_str()
                .filter(|_| option["id"] == "model")?;
            Some(model.to_owned())
        };
        let model = options.iter().find_map(of_model);
        // What it calls its default is no name of a model.
        model.filter(|model| model != "default")
    }

    /// Whether its process is there, as far as that can be told.
    pub(super) fn lives(&self) -> bool {
        !self.tail.is_closed()
            && !self.messages.is_closed()
            && siglum_platform::process(self.pid()).is_some()
    }

    /// Opens the native session, and has the agent ask as it should.
    pub(super) async fn open(&mut self, opening: &Opening<'_>) -> Result<(), AgentError> {
        match opening.native {
            Some(native) => self.reopen(native, opening.cwd).await?,
            None => self.begin(opening.cwd).await?,
        }
        self.set_up(opening).await
    }

    /// The native session goes on in the same process.
    pub(super) async fn again(&mut self, opening: &Opening<'_>) -> Result<(), AgentError> {
        while self.messages.try_recv().is_ok() {}
        self.set_up(opening).await
    }

    /// Tells it the prompt.
    pub(super) fn prompt(&mut self, blocks: &[String], parent: &str) -> Result<Answer, AgentError> {
        let text = |text: &String| json!({ "type": "text", "text": text });
        let blocks: Vec<Value> = blocks.iter().map(text).collect();
        let params = json!({
            "sessionId": self.native().map(NativeId::as_str),
            "prompt": blocks,
            "_meta": { "traceparent": parent },
        });
        let answer = self.ask("session/prompt", &params)?;
        self.turns += 1;
        Ok(Box::pin(async move {
            answer
                .await
                .map_err(|error| Refused::from_error("session/prompt", &error))
        }))
    }

    /// Has it stop.
    pub(super) fn cancel(&self) {
        let native = self.native().map(NativeId::as_str);
        self.tell("session/cancel", &json!({ "sessionId": native }));
    }

    /// Asks for something that is no turn. What the agent says by itself meanwhile is of before, and is dropped.
    async fn setup(&mut self, method: &str, params: &Value) -> Result<Value, AgentError> {
        self.replay(method, params, &mut |_| {}).await
    }

    /// Asks for something that is no turn. Each update before the answer is handed over; permissions are refused.
    pub(super) async fn replay(
        &mut self,
        method: &str,
        params: &Value,
        update: &mut (dyn FnMut(&Value) + Send),
    ) -> Result<Value, AgentError> {
        let mut take = |message| match message {
            AgentMessage::Update(params) => update(&params),
            AgentMessage::Permission(_, responder) => {
                let _ = responder.respond(cancelled());
            }
        };
        let answer = self.ask(method, params)?;
        let mut answer = std::pin::pin!(tokio::time::timeout(BEGIN, answer));
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut answer => break answer,
                Some(message) = self.messages.recv() => take(message),
            }
        };
        while let Ok(message) = self.messages.try_recv() {
            take(message);
        }
        match answer {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => {
                self.process.hear_out().await;
                Err(self.failed(method, &error))
            }
            Err(_) => {
                let text = format!(
                    "the agent did not answer `{method}` in {} s",
                    BEGIN.as_secs()
                );
                Err(AgentError::new("agent-not-ready", self.tail.after(&text)))
            }
        }
    }

    /// What it can do, by its own word.
    pub(super) const fn able(&self) -> &Value {
        &self.able
    }

    /// Opens a native session of its own.
    async fn begin(&mut self, cwd: &str) -> Result<(), AgentError> {
        let params = json!({ "cwd": cwd, "mcpServers": [] });
        let opened = self.setup("session/new", &params).await?;
        let session = opened.get("sessionId").and_then(Value::as_str);
        let id = session.and_then(native_id);
        let Some(id) = id else {
            let text = "the agent returned no valid session id";
            return Err(AgentError::new("agent-not-ready", text));
        };
        self.native = Some(Native { id, opened });
        Ok(())
    }

    /// Goes on with a native session that another process had. What the agent says of before is dropped.
    async fn reopen(&mut self, id: &NativeId, cwd: &str) -> Result<(), AgentError> {
        let able = &self.able["agentCapabilities"];
        let method = if able["sessionCapabilities"]["resume"].is_object() {
            "session/resume"
        } else if able["loadSession"] == json!(true) {
            "session/load"
        } else {
            let text = "this agent cannot resume a previous session";
            return Err(AgentError::new("cannot-resume", text));
        };
        let params = json!({ "sessionId": id.as_str(), "cwd": cwd, "mcpServers": [] });
        let opened = self.setup(method, &params).await;
        let opened = opened.map_err(|e| AgentError::new("cannot-resume", e.text))?;
        // Some go on under another name.
        let session = opened.get("sessionId").and_then(Value::as_str);
        let now = session.and_then(native_id);
        let id = now.unwrap_or_else(|| id.clone());
        self.native = Some(Native { id, opened });
        Ok(())
    }

    /// Sends a request; the answer comes when it comes.
    fn ask(
        &self,
        method: &str,
        params: &Value,
    ) -> Result<impl Future<Output = Result<Value, Error>> + Send + use<>, AgentError> {
        let message = UntypedMessage::new(method, params);
        let message = message.map_err(|error| self.failed(method, &error))?;
        Ok(self.connection.send_request(message).block_task())
    }

    fn tell(&self, method: &str, params: &Value) {
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

    /// What a refusal of something that is no turn comes to.
    fn failed(&self, method: &str, error: &Error) -> AgentError {
        self.refused("agent-not-ready", &Refused::from_error(method, error))
    }

    /// What a refusal comes to, with what the agent wrote last.
    pub(super) fn refused(&self, code: &'static str, refused: &Refused) -> AgentError {
        AgentError::new(code, self.tail.after(&refused.text))
    }

    /// Has it ask as it should, with the model that it should use.
    async fn set_up(&mut self, opening: &Opening<'_>) -> Result<(), AgentError> {
        self.set_mode(opening).await?;
        match opening.model {
            Some(model) => self.set_model(opening.spec.model, model).await,
            None => Ok(()),
        }
    }

    async fn set_mode(&mut self, opening: &Opening<'_>) -> Result<(), AgentError> {
        let Some((native, modes)) = self.native.clone().zip(opening.spec.modes) else {
            return Ok(());
        };
        let mode = match opening.permissions {
            Permissions::Allow => modes.allowing,
            Permissions::Ask | Permissions::Refuse => modes.asking,
        };
        let known = native.opened["modes"]["availableModes"].as_array();
        let has = |modes: &Vec<Value>| modes.iter().any(|known| known["id"] == mode);
        if !known.is_none_or(has) {
            return Ok(());
        }
        let params = json!({ "sessionId": native.id.as_str(), "modeId": mode });
        let set = self.setup("session/set_mode", &params).await;
        // A session that is resumed may leave out what it can do.
        match known {
            Some(_) => set.map(drop),
            None => Ok(()),
        }
    }

    async fn set_model(&mut self, choosing: Choosing, model: &str) -> Result<(), AgentError> {
        let id = self.native().map(NativeId::as_str);
        let (method, params) = match choosing {
            Choosing::Option(option) => (
                "session/set_config_option",
                json!({ "sessionId": id, "configId": option, "value": model }),
            ),
            Choosing::Request => (
                "session/set_model",
                json!({ "sessionId": id, "modelId": model }),
            ),
            Choosing::Never => {
                let text = "this agent does not support choosing a model";
                return Err(AgentError::new("invalid-model", text));
            }
        };
        let set = self.setup(method, &params).await;
        set.map_err(|error| AgentError::new("invalid-model", error.text))?;
        Ok(())
    }
}

/// What is answered to a permission request of a run that was cancelled.
pub(crate) fn cancelled() -> Value {
    json!({ "outcome": { "outcome": "cancelled" } })
}

/// What is answered to one for which something was chosen.
pub(crate) fn selected(option: &str) -> Value {
    json!({ "outcome": { "outcome": "selected", "optionId": option } })
}

/// Keeps the connection until the agent, or whoever has it, is gone.
async fn connect(
    stdin: ChildStdin,
    stdout: ChildStdout,
    tail: Arc<Tail>,
    tell: mpsc::Sender<AgentMessage>,
    connected: oneshot::Sender<ConnectionTo<Peer>>,
    leave: oneshot::Receiver<()>,
) {
    let requests = tell.clone();
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
                    let _ = tell
                        .send(AgentMessage::Update(message.params().clone()))
                        .await;
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
                let event = AgentMessage::Permission(message.params().clone(), Box::new(responder));
                let _ = requests.send(event).await;
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
