//! Lines → observations.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde_json::Value;
use siglum_domain::NativeId;
use siglum_domain::observation::{
    Body, Fact, Outcome, Role, Side, StartKind, Tokens, ToolClass, event,
};
use siglum_domain::redact::Redacted;

use super::form::LineType;
use super::line::RecordLine;
use crate::draft::{Draft, word};
use crate::hook::{BODY_LIMIT, Boundary, HookCall, ReduceError, Reduced, WriteHint};
use crate::json::Field;
use crate::{paths, summary};

/// Fields of the input of an edit that are no content.
const PLAIN: &[&str] = &["path", "file", "file_path", "filePath", "filename"];

/// Reads the payload of a plug-in of ours: one line.
pub(crate) fn reduce(call: &HookCall<'_>) -> Result<Reduced, ReduceError> {
    Ok(RecordLine::parse(call.payload)?.reduce(call))
}

impl RecordLine {
    /// What the line says. The payload of the call is not looked at.
    #[must_use]
    pub fn reduce(&self, call: &HookCall<'_>) -> Reduced {
        let call = HookCall {
            now: self.at.unwrap_or(call.now),
            ..*call
        };
        let name = Cow::Borrowed(self.form.name);
        let mut draft = Draft::for_session(&call, self.session.clone(), name);
        draft.turn = self.text("turn").map(str::to_owned);
        draft.subagent = self.text("subagent").map(str::to_owned);
        draft.out.cwd = self.cwd().map(str::to_owned);
        let mut reduction = Reduction { line: self, draft };
        reduction.line();
        let mut out = reduction.draft.out;
        if !self.is_live() {
            // What is on disk now tells nothing of then.
            out.edits.clear();
            out.head = None;
        }
        out
    }
}

struct Reduction<'a> {
    line: &'a RecordLine,
    draft: Draft<'a>,
}

impl Reduction<'_> {
    fn line(&mut self) {
        match self.line.form.line_type {
            LineType::SessionStart => self.session_start(),
            LineType::SessionEnd => self.session_end(),
            LineType::Prompt => self.prompt(),
            LineType::Message => self.message(),
            LineType::Usage => self.usage(),
            LineType::ToolCall => self.tool_call(),
            LineType::ToolResult => self.tool_result(),
            LineType::Edit => self.edit(),
            LineType::TurnEnd => self.turn_end(),
            LineType::SubagentStart => self.subagent_start(),
            LineType::Compaction => self.compaction(),
            // What it links to is a statement about the session, and nothing that was seen in it.
            LineType::Link => self.push_alone(Fact::Other {
                name: "link".to_owned(),
            }),
        }
    }

    /// The name of this line among all sightings.
    fn key(&self) -> String {
        format!("record:{}", self.line.id)
    }

    /// Adds what the line says of an event.
    fn push(&mut self, event: String, fact: Fact) {
        let key = self.key();
        self.draft.push(key, event, fact);
    }

    /// Adds what the line says where nothing else speaks of the same event.
    fn push_alone(&mut self, fact: Fact) {
        let event = self.key();
        self.push(event, fact);
    }

    fn body(&self, field: &str) -> Option<Body> {
        self.line.text(field).map(|text| self.draft.text(text))
    }

    fn word(&self, field: &str) -> Option<String> {
        let redactor = self.draft.call.redactor;
        let kept = |text: &str| redactor.redact_cow(&word(text)).into_owned();
        self.line.text(field).map(kept)
    }

    fn session_start(&mut self) {
        let how = match self.line.text("source") {
            Some("resume") => StartKind::Resume,
            Some("fork") => StartKind::Fork,
            Some("clear") => StartKind::Clear,
            Some("compact") => StartKind::Compact,
            _ => StartKind::Startup,
        };
        let model = self.word("model");
        let parent = self.line.text("parent");
        self.draft.out.parent = parent.and_then(|id| NativeId::new(id).ok());
        self.draft.out.boundary = Boundary::SessionStart;
        self.push_alone(Fact::SessionStarted { how, model });
    }

    fn session_end(&mut self) {
        let reason = self.word("reason").unwrap_or_default();
        self.draft.out.boundary = Boundary::SessionEnd;
        self.push_alone(Fact::SessionEnded { reason });
    }

    fn prompt(&mut self) {
        let text = self.body("text").unwrap_or_else(|| self.draft.text(""));
        if self.draft.subagent.is_some() {
            return self.say(Role::User, text, None);
        }
        self.draft.out.boundary = Boundary::TurnStart;
        let synthetic = self.line.value("synthetic") == Some(&Value::Bool(true));
        let fact = Fact::Prompt { text, synthetic };
        match self.draft.turn.as_deref().map(event::prompt) {
            Some(event) => self.push(event, fact),
            None => self.push_alone(fact),
        }
    }

    fn message(&mut self) {
        let role = match self.line.text("role") {
            Some("user") => Role::User,
            _ => Role::Assistant,
        };
        let text = self.body("text").unwrap_or_else(|| self.draft.text(""));
        self.say(role, text, None);
    }

    fn usage(&mut self) {
        let number = |field| self.line.number(field).unwrap_or(0);
        let tokens = Tokens {
            input: number("input"),
            output: number("output"),
            cache_read: number("cache_read"),
            cache_write: number("cache_write"),
        };
        self.say(Role::Assistant, Body::Text(Redacted::empty()), Some(tokens));
    }

    fn say(&mut self, role: Role, text: Body, tokens: Option<Tokens>) {
        let id = self.line.text("message").unwrap_or(&self.line.id);
        let event = event::message(id);
        let fact = Fact::Message {
            role,
            text,
            model: self.word("model"),
            tokens,
            request: self.line.text("request").map(str::to_owned),
        };
        self.push(event, fact);
    }

    fn tool_call(&mut self) {
        let (event, class) = self.called();
        let input = self.input(class);
        let path = self.touch(&event, class, Side::Before);
        let fact = Fact::ToolStarted {
            tool: self.word("tool").unwrap_or_default(),
            class,
            input,
            path,
        };
        self.push(event, fact);
    }

    fn tool_result(&mut self) {
        let (event, class) = self.called();
        let outcome = match self.line.text("outcome") {
            Some("failed") => Outcome::Failed,
            Some("denied") => Outcome::Denied,
            _ => Outcome::Ok,
        };
        self.touch(&event, class, Side::After);
        if outcome == Outcome::Ok && self.draft.out.edits.len() == 1 {
            self.draft.note_write(self.written());
        }
        let fact = Fact::ToolEnded {
            tool: self.word("tool").unwrap_or_default(),
            class,
            outcome,
            output: self.body("output"),
            duration_ms: self.line.number("duration_ms"),
        };
        self.push(event, fact);
    }

    /// A change that no call tells of is a call of its own.
    fn edit(&mut self) {
        let event = event::tool(&self.line.id);
        let (tool, class) = ("edit".to_owned(), ToolClass::Edit);
        let named = self.resolved(self.line.text("path").unwrap_or_default());
        let path = self.draft.capture(&event, &named, Side::After);
        self.draft.note_write(self.written());
        let started = Fact::ToolStarted {
            tool: tool.clone(),
            class,
            input: self.draft.text("{}"),
            path: Some(path),
        };
        let key = format!("{}:start", self.key());
        self.draft.push(key, event.clone(), started);
        let ended = Fact::ToolEnded {
            tool,
            class,
            outcome: Outcome::Ok,
            output: None,
            duration_ms: None,
        };
        self.push(event, ended);
    }

    fn turn_end(&mut self) {
        let last_message = self.body("text");
        if let Some(subagent) = &self.draft.subagent {
            let event = event::subagent(subagent);
            return self.push(event, Fact::SubagentStopped { last_message });
        }
        self.draft.out.boundary = Boundary::TurnEnd;
        let fact = Fact::Stopped {
            last_message,
            background: Vec::new(),
            failure: None,
        };
        match self.draft.turn.as_deref().map(event::stop) {
            Some(event) => self.push(event, fact),
            None => self.push_alone(fact),
        }
    }

    fn subagent_start(&mut self) {
        let id = self.line.text("subagent").unwrap_or_default();
        let fact = Fact::SubagentStarted {
            agent_type: self.word("agent_type").unwrap_or_default(),
            call: self.line.text("call").map(str::to_owned),
        };
        self.push(event::subagent(id), fact);
    }

    fn compaction(&mut self) {
        let fact = Fact::Compacted {
            trigger: self.word("trigger").unwrap_or_default(),
            summary: self.body("summary"),
        };
        self.push_alone(fact);
    }

    fn called(&self) -> (String, ToolClass) {
        let class = match self.line.text("kind") {
            Some("edit") => ToolClass::Edit,
            Some("shell") => ToolClass::Shell,
            Some("agent") => ToolClass::Agent,
            _ => ToolClass::Other,
        };
        (
            event::tool(self.line.text("call").unwrap_or_default()),
            class,
        )
    }

    /// What a tool was given: of a shell tool the command, of an edit no content.
    fn input(&self, class: ToolClass) -> Body {
        let input = self.line.value("input").unwrap_or(&Value::Null);
        if class == ToolClass::Edit {
            let raw = serde_json::value::to_raw_value(input);
            let field = raw.as_deref().map(Field::from).unwrap_or_default();
            return self.draft.text(&summary::summarize(class, field, PLAIN));
        }
        let named = match class {
            ToolClass::Shell => input.get("command"),
            _ => None,
        };
        let text = match named.unwrap_or(input) {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        if text.len() > BODY_LIMIT {
            return self.draft.withheld(&text);
        }
        self.draft.text(&text)
    }

    /// Notes what is to be captured around a call; returns the first path that it names.
    fn touch(&mut self, event: &str, class: ToolClass, side: Side) -> Option<String> {
        if class == ToolClass::Shell {
            self.draft.out.head = Some((event.to_owned(), side));
        }
        if class != ToolClass::Edit {
            return None;
        }
        let paths = self.line.value("paths").and_then(Value::as_array);
        let named = paths.into_iter().flatten().filter_map(Value::as_str);
        let resolved: Vec<PathBuf> = named.map(|path| self.resolved(path)).collect();
        let mut first = None;
        for path in resolved {
            let shown = self.draft.capture(event, &path, side);
            first.get_or_insert(shown);
        }
        first
    }

    /// Where a path leads from the directory that the agent works in.
    fn resolved(&self, path: &str) -> PathBuf {
        let cwd = self.draft.out.cwd.as_deref().map(Path::new);
        let from = cwd.or(self.draft.call.worktree).unwrap_or(Path::new(""));
        paths::normal(&from.join(path))
    }

    /// What the tool says it wrote.
    fn written(&self) -> Option<WriteHint> {
        let after = self.line.text("after")?.as_bytes().to_vec();
        Some(match self.line.value("before") {
            None => WriteHint::Added(after),
            Some(before) => WriteHint::Whole {
                base: before.as_str().map(|text| text.as_bytes().to_vec()),
                written: after,
            },
        })
    }
}
