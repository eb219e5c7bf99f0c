//! Conversations that an agent tells again: its sessions are listed and loaded, and never go on. Nobody prompts it, and what
//! it asks permission for is refused.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::path::Path;

use serde_json::{Value, json};
use siglum_domain::observation::ToolClass;
use siglum_domain::{NativeId, Timestamp};
use siglum_engine::record::import::{ReplayedCall, ReplayedSession, ReplayedStep};
use tokio::runtime::{Builder, Runtime};

use super::acp::Acp;
use super::error::AgentError;
use super::native_id;
use crate::runs::process::Start;
use crate::runs::tools::{Call, cut};
use crate::settings::Over;
use crate::stop_signals::StopSignals;

/// How many sessions are listed, in how many pages.
const SESSIONS_MOST: usize = 10_000;
const PAGES_MOST: usize = 1_000;
/// What of one history is read, in bytes and in steps.
const HISTORY_MOST: usize = 64 << 20;
const STEPS_MOST: usize = 100_000;
/// Longest directory, longest id of a call, and longest title, in characters.
const PATH_MOST: usize = 4096;
const ID_MOST: usize = 1_000;
const TITLE_MOST: usize = 1_000;

/// Why an agent does not tell its sessions.
#[derive(Debug, thiserror::Error)]
pub enum AcpHistoryError {
    /// The runtime does not start.
    #[error("cannot run the agent")]
    Runtime(#[source] io::Error),
    /// It does not start, does not answer, or refuses.
    #[error("{0}")]
    Agent(String),
    /// It cannot do this, by its own word.
    #[error("the agent does not support `{0}`")]
    Unable(&'static str),
    /// It tells more of one session than is read.
    #[error("its history is larger than {most} MiB", most = HISTORY_MOST >> 20)]
    TooLarge,
    /// Somebody wants to stop.
    #[error("interrupted")]
    Interrupted,
}

impl From<AgentError> for AcpHistoryError {
    fn from(error: AgentError) -> Self {
        Self::Agent(error.text)
    }
}

/// An agent that runs to tell what its sessions were. It is ended with this, and all below it.
pub struct AcpHistory {
    agent: Acp,
    signals: StopSignals,
    runtime: Runtime,
}

impl AcpHistory {
    /// Starts an agent that speaks the Agent Client Protocol on its standard input and output. A variable without a value
    /// is taken from its environment.
    ///
    /// # Errors
    /// It does not start, or cannot list and load its sessions.
    pub fn start(
        program: &Path,
        arguments: Vec<OsString>,
        cwd: &Path,
        variables: Vec<(OsString, Option<OsString>)>,
    ) -> Result<Self, AcpHistoryError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(AcpHistoryError::Runtime)?;
        let start = Start {
            program,
            arguments,
            cwd,
            variables,
            over: Over(None),
        };
        let (agent, signals) = runtime.block_on(async {
            let mut signals = StopSignals::listen().map_err(AcpHistoryError::Runtime)?;
            let agent = unless_stopped(&mut signals, Acp::start(start)).await?;
            Ok::<_, AcpHistoryError>((agent, signals))
        })?;
        let able = &agent.able()["agentCapabilities"];
        if !able["sessionCapabilities"]["list"].is_object() {
            return Err(AcpHistoryError::Unable("session/list"));
        }
        if able["loadSession"] != json!(true) {
            return Err(AcpHistoryError::Unable("session/load"));
        }
        Ok(Self {
            agent,
            signals,
            runtime,
        })
    }

    /// What the agent calls itself.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.agent.able()["agentInfo"]["name"].as_str()
    }

    /// Whether the agent is there to be asked more.
    #[must_use]
    pub fn lives(&self) -> bool {
        self.agent.lives()
    }

    /// The sessions that the agent has, of one directory or of all; those that it describes in another form are left out.
    ///
    /// # Errors
    /// It does not answer, or refuses.
    pub fn sessions(&mut self, cwd: Option<&str>) -> Result<Vec<ReplayedSession>, AcpHistoryError> {
        let mut all: BTreeMap<NativeId, ReplayedSession> = BTreeMap::new();
        let mut cursors = HashSet::new();
        let mut params = json!({});
        if let Some(cwd) = cwd {
            params["cwd"] = json!(cwd);
        }
        let mut ignore = |_: &Value| {};
        for _ in 0..PAGES_MOST {
            let request = self.agent.replay("session/list", &params, &mut ignore);
            let page = unless_stopped(&mut self.signals, request);
            let page = self.runtime.block_on(page)?;
            let sessions = page["sessions"].as_array().into_iter().flatten();
            for session in sessions.filter_map(listed) {
                all.entry(session.native.clone()).or_insert(session);
            }
            let next = page["nextCursor"].as_str().filter(|c| !c.is_empty());
            match next {
                Some(next) if all.len() < SESSIONS_MOST && cursors.insert(next.to_owned()) => {
                    params["cursor"] = json!(next);
                }
                _ => break,
            }
        }
        Ok(all.into_values().take(SESSIONS_MOST).collect())
    }

    /// What the agent tells of one of its sessions when it loads it.
    ///
    /// # Errors
    /// It does not answer, refuses, or tells more than is read.
    pub fn load(
        &mut self,
        session: &ReplayedSession,
    ) -> Result<Vec<ReplayedStep>, AcpHistoryError> {
        let params = json!({
            "sessionId": session.native.as_str(), "cwd": session.cwd, "mcpServers": [],
        });
        let mut replay = Replay::new(session.native.as_str());
        let mut take = |update: &Value| replay.take(update);
        let request = self.agent.replay("session/load", &params, &mut take);
        let answer = unless_stopped(&mut self.signals, request);
        self.runtime.block_on(answer)?;
        replay.steps()
    }
}

/// What an agent answers, unless somebody wants to stop before: it is in a group of its own, and gets no signal.
async fn unless_stopped<T>(
    signals: &mut StopSignals,
    answer: impl Future<Output = Result<T, AgentError>>,
) -> Result<T, AcpHistoryError> {
    tokio::select! {
        () = signals.next() => Err(AcpHistoryError::Interrupted),
        answer = answer => answer.map_err(AcpHistoryError::from),
    }
}

/// A session as it is listed, if it keeps to the form.
fn listed(session: &Value) -> Option<ReplayedSession> {
    let cwd = session["cwd"].as_str()?;
    let is_path = cwd.starts_with('/') && !cwd.chars().any(char::is_control);
    if !is_path || cwd.chars().count() > PATH_MOST {
        return None;
    }
    let title = session["title"].as_str().map(|title| title.chars());
    let at = session["updatedAt"].as_str();
    Some(ReplayedSession {
        native: native_id(session["sessionId"].as_str()?)?,
        cwd: cwd.to_owned(),
        title: title.map(|title| title.take(TITLE_MOST).collect()),
        updated_at: at.and_then(|at| at.parse::<Timestamp>().ok()),
    })
}

/// Who says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    User,
    Agent,
}

/// A text that comes in chunks.
struct OpenText {
    by: Speaker,
    /// What the agent calls it.
    id: Option<String>,
    text: String,
}

/// One step, as far as it was told.
enum Step {
    Text(Speaker, String),
    Call(Box<Call>),
}

/// What is told of one session.
struct Replay<'a> {
    native: &'a str,
    steps: Vec<Step>,
    /// Where the last call of each name is among the steps, and how many had that name.
    calls: BTreeMap<String, (usize, u32)>,
    open: Option<OpenText>,
    bytes: usize,
}

impl<'a> Replay<'a> {
    const fn new(native: &'a str) -> Self {
        Self {
            native,
            steps: Vec::new(),
            calls: BTreeMap::new(),
            open: None,
            bytes: 0,
        }
    }

    const fn is_too_large(&self) -> bool {
        self.bytes > HISTORY_MOST || self.steps.len() > STEPS_MOST
    }

    fn take(&mut self, params: &Value) {
        if self.is_too_large() || params["sessionId"].as_str() != Some(self.native) {
            return;
        }
        let update = &params["update"];
        self.bytes += update.to_string().len();
        match update["sessionUpdate"].as_str() {
            Some("user_message_chunk") => self.chunk(Speaker::User, update),
            Some("agent_message_chunk") => self.chunk(Speaker::Agent, update),
            Some(kind @ ("tool_call" | "tool_call_update")) => {
                self.end_text();
                self.call(update, kind == "tool_call");
            }
            // It thought between two messages.
            Some("agent_thought_chunk") => self.end_text(),
            _ => {}
        }
    }

    fn chunk(&mut self, by: Speaker, update: &Value) {
        let content = &update["content"];
        let text = match content["type"].as_str() {
            Some("text") => content["text"].as_str().unwrap_or_default().to_owned(),
            Some(kind @ ("image" | "audio" | "resource" | "resource_link")) => format!("[{kind}]"),
            _ => return,
        };
        let id = update["messageId"].as_str();
        let goes_on = |text: &OpenText| text.by == by && text.id.as_deref() == id;
        if !self.open.as_ref().is_some_and(goes_on) {
            self.end_text();
        }
        let id = id.map(str::to_owned);
        let open = self.open.get_or_insert_with(|| OpenText {
            by,
            id,
            text: String::new(),
        });
        open.text.push_str(&text);
    }

    fn end_text(&mut self) {
        let open = self.open.take();
        if let Some(open) = open.filter(|open| !open.text.trim().is_empty()) {
            self.steps.push(Step::Text(open.by, open.text));
        }
    }

    fn call(&mut self, update: &Value, begins: bool) {
        let Some(id) = update["toolCallId"].as_str() else {
            return;
        };
        let plain = |c: char| if c.is_ascii_graphic() { c } else { '-' };
        let id: String = id.chars().map(plain).take(ID_MOST).collect();
        let known = self.calls.get(&id).copied();
        let is_over = |at: usize| matches!(&self.steps[at], Step::Call(call) if call.is_over());
        let at = match known {
            Some((at, _)) if !(begins && is_over(at)) => at,
            // Some count their calls anew in each turn.
            _ => {
                let times = known.map_or(1, |(_, times)| times + 1);
                let name = match times {
                    1 => id.clone(),
                    times => format!("{id}.{times}"),
                };
                self.steps.push(Step::Call(Box::new(Call::new(&name))));
                let at = self.steps.len() - 1;
                self.calls.insert(id, (at, times));
                at
            }
        };
        if let Step::Call(call) = &mut self.steps[at] {
            call.take(update);
        }
    }

    /// All that was told.
    fn steps(mut self) -> Result<Vec<ReplayedStep>, AcpHistoryError> {
        self.end_text();
        if self.is_too_large() {
            return Err(AcpHistoryError::TooLarge);
        }
        let step = |step| match step {
            Step::Text(Speaker::User, text) => ReplayedStep::Prompt(cut(text)),
            Step::Text(Speaker::Agent, text) => ReplayedStep::Message(cut(text)),
            Step::Call(call) => ReplayedStep::Call(replayed(&call)),
        };
        Ok(self.steps.into_iter().map(step).collect())
    }
}

/// A call with what came of it. Of an edit, what it was given holds the same as the change that it shows.
fn replayed(call: &Call) -> ReplayedCall {
    let (class, diff, input) = (call.class(), call.diff(), call.input());
    let is_edit = class == ToolClass::Edit;
    let input = match (class, &input["command"]) {
        (ToolClass::Shell, Value::String(command)) => command.clone(),
        _ if is_edit => json!({ "path": call.path() }).to_string(),
        _ => input.to_string(),
    };
    let output = || diff.clone().unwrap_or_else(|| call.output());
    ReplayedCall {
        id: call.id.clone(),
        tool: call.name(),
        class,
        input: cut(input),
        path: call.path().filter(|_| is_edit).map(str::to_owned),
        result: call.is_over().then(|| (call.outcome(), output())),
    }
}

#[cfg(test)]
mod tests {
    use siglum_domain::observation::Outcome;

    use super::*;

    fn replayed_steps(updates: &[Value]) -> Result<Vec<ReplayedStep>, AcpHistoryError> {
        let mut replay = Replay::new("s1");
        for update in updates {
            replay.take(&json!({ "sessionId": "s1", "update": update }));
            replay.take(&json!({ "sessionId": "other", "update": update }));
        }
        replay.steps()
    }

    fn text(kind: &str, id: Option<&str>, text: &str) -> Value {
        let content = json!({ "type": "text", "text": text });
        json!({ "sessionUpdate": kind, "messageId": id, "content": content })
    }

    #[test]
    fn chunks_of_one_message_are_one_and_thoughts_are_left_out() {
        let steps = replayed_steps(&[
            text("user_message_chunk", None, "Do "),
            text("user_message_chunk", None, "it"),
            text("agent_message_chunk", Some("1"), "Yes"),
            text("agent_message_chunk", Some("2"), "Done"),
            text("agent_thought_chunk", None, "hm"),
            text("agent_message_chunk", Some("2"), "indeed"),
            json!({ "sessionUpdate": "plan", "entries": [] }),
        ]);
        let texts: Vec<String> = steps.unwrap().iter().map(|s| format!("{s:?}")).collect();
        let expected = [
            r#"Prompt("Do it")"#,
            r#"Message("Yes")"#,
            r#"Message("Done")"#,
            r#"Message("indeed")"#,
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn a_call_has_its_result_its_change_and_a_name_of_its_own() {
        let begun = json!({
            "sessionUpdate": "tool_call", "toolCallId": "1", "kind": "edit", "title": "Edit", "status": "pending",
            "content": [{ "type": "diff", "path": "/w/a", "oldText": null, "newText": "x" }],
        });
        let over = |status: &str| json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "status": status });
        let updates = [begun.clone(), over("completed"), begun, over("failed")];
        let steps = replayed_steps(&updates).unwrap();
        let calls: Vec<&ReplayedCall> = steps
            .iter()
            .filter_map(|step| match step {
                ReplayedStep::Call(call) => Some(call),
                _ => None,
            })
            .collect();
        let [first, second] = calls[..] else {
            panic!("{calls:?}");
        };
        assert_eq!((first.id.as_str(), second.id.as_str()), ("1", "1.2"));
        assert_eq!(first.path.as_deref(), Some("/w/a"));
        assert_eq!(first.result, Some((Outcome::Ok, "/w/a\n+x\n".to_owned())));
        assert_eq!(second.result.as_ref().map(|r| r.0), Some(Outcome::Failed));
        assert!(!first.input.contains("newText"), "{}", first.input);
    }

    #[test]
    fn what_is_too_large_is_refused_and_not_kept() {
        let chunk = text("agent_message_chunk", None, &"x".repeat(1 << 20));
        let mut replay = Replay::new("s1");
        for _ in 0..200 {
            replay.take(&json!({ "sessionId": "s1", "update": chunk }));
        }
        assert!(replay.bytes < HISTORY_MOST + (2 << 20));
        assert!(matches!(replay.steps(), Err(AcpHistoryError::TooLarge)));
    }

    #[test]
    fn a_session_that_is_listed_in_another_form_is_left_out() {
        let good = json!({ "sessionId": "s1", "cwd": "/w", "title": "T", "updatedAt": "2026-11-20T21:18:59Z" });
        let session = listed(&good).unwrap();
        assert_eq!(session.title.as_deref(), Some("T"));
        assert!(session.updated_at.is_some());
        for bad in [
            json!({ "cwd": "/w" }),
            json!({ "sessionId": "s1" }),
            json!({ "sessionId": "../x", "cwd": "/w" }),
            json!({ "sessionId": "s1", "cwd": "w" }),
            json!({ "sessionId": "s1", "cwd": "/w\n" }),
            json!(7),
        ] {
            assert!(listed(&bad).is_none(), "{bad}");
        }
    }
}
