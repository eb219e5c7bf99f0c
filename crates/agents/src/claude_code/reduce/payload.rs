//! One payload.
//!
//! The payload stays where it is: fields are looked at only if they are kept, and those above
//! [`BODY_LIMIT`](crate::hook::BODY_LIMIT) not even then.

use std::borrow::Cow;

use siglum_domain::NativeId;
use siglum_domain::observation::{
    Fact, Observation, Outcome, Side, Source, StartKind, ToolClass, event,
};

use crate::claude_code::wire::{Hook, Named};
use crate::claude_code::{path, prompt, tools};
use crate::hook::{Boundary, Declined, EditHint, HookCall, ReduceError, Reduced};
use crate::json::Field;

/// Longest word (a tool's name, a model, a reason) that is kept, in characters.
const WORD_LIMIT: usize = 200;
/// Most background tasks that are kept.
const TASK_LIMIT: usize = 64;

/// Reads one payload.
pub(in crate::claude_code) fn reduce(call: &HookCall<'_>) -> Result<Reduced, ReduceError> {
    let not_json = || ReduceError::NotJson {
        bytes: call.payload.len(),
    };
    let text = std::str::from_utf8(call.payload).map_err(|_| not_json())?;
    let hook: Hook<'_> = match serde_json::from_str(text) {
        Ok(hook) => hook,
        Err(error) if error.is_data() => return Err(ReduceError::NoSession),
        Err(_) => return Err(not_json()),
    };
    let native = hook
        .session_id
        .text()
        .filter(|id| !id.trim().is_empty())
        .ok_or(ReduceError::NoSession)?;
    let native = NativeId::new(native).map_err(ReduceError::BadSessionId)?;
    let mut reduction = Reduction::new(call, hook, native);
    reduction.place();
    reduction.event();
    Ok(reduction.out)
}

pub(super) struct Reduction<'a> {
    pub(super) call: &'a HookCall<'a>,
    pub(super) hook: Hook<'a>,
    event: Cow<'a, str>,
    turn: Option<String>,
    subagent: Option<String>,
    out: Reduced,
}

impl<'a> Reduction<'a> {
    fn new(call: &'a HookCall<'a>, hook: Hook<'a>, native: NativeId) -> Self {
        let out = Reduced {
            native,
            parent: None,
            cwd: None,
            transcript: None,
            declines: Vec::new(),
            observations: Vec::new(),
            edits: Vec::new(),
            head: None,
            boundary: Boundary::Within,
        };
        let event = hook.event.text().unwrap_or_default();
        let mut this = Self {
            call,
            hook,
            event,
            turn: None,
            subagent: None,
            out,
        };
        this.turn = this.id(hook.prompt_id, "bad_prompt_id");
        this.subagent = this.id(hook.agent_id, "bad_agent_id");
        this
    }

    /// An id of the agent's, which follows the grammar of ids or is dropped.
    fn id(&mut self, field: Field<'_>, reason: &'static str) -> Option<String> {
        let text = field.text().filter(|text| !text.is_empty())?;
        match NativeId::new(text) {
            Ok(id) => Some(id.as_str().to_owned()),
            Err(error) => {
                self.out.declines.push(Declined {
                    reason,
                    detail: error.to_string(),
                });
                None
            }
        }
    }

    fn decline(&mut self, reason: &'static str, detail: &str) {
        let detail: String = detail
            .chars()
            .filter(|c| !c.is_control())
            .take(300)
            .collect();
        let detail = self.call.redactor.redact_cow(&detail).into_owned();
        self.out.declines.push(Declined { reason, detail });
    }

    fn place(&mut self) {
        if let Some(cwd) = self.hook.cwd.text() {
            let usable = cwd.starts_with('/') || cwd.get(1..3) == Some(":\\");
            if usable && cwd.len() <= 4096 && !cwd.chars().any(char::is_control) {
                self.out.cwd = Some(cwd.into_owned());
            } else {
                self.decline("bad_cwd", &cwd);
            }
        }
        if let Some(text) = self
            .hook
            .transcript_path
            .text()
            .filter(|text| !text.is_empty())
        {
            self.out.transcript = path::accept_transcript(self.call.agent_dir, &text);
            if self.out.transcript.is_none() {
                self.decline("transcript_outside", &text);
            }
        }
    }

    fn event(&mut self) {
        match &*self.event {
            "SessionStart" => self.session_start(),
            "SessionEnd" => self.session_end(),
            "UserPromptSubmit" => self.prompt(),
            "PreToolUse" => self.tool_started(),
            "PostToolUse" => self.tool_ended(Outcome::Ok),
            "PostToolUseFailure" => self.tool_ended(Outcome::Failed),
            "PermissionDenied" => self.tool_ended(Outcome::Denied),
            "Stop" | "StopFailure" => self.stop(),
            "SubagentStart" => self.subagent_start(),
            "SubagentStop" => self.subagent_stop(),
            "PostCompact" => self.compacted(),
            _ => {}
        }
    }

    fn push(&mut self, key: String, event: String, fact: Fact) {
        self.out.observations.push(Observation {
            source: Source::Hook,
            key,
            event,
            at: self.call.now,
            turn: self.turn.clone(),
            subagent: self.subagent.clone(),
            fact,
        });
    }

    /// The key of an event that has no name of its own.
    fn delivery_key(&self) -> String {
        format!("hook:{}:{}", self.call.delivery, word(&self.event))
    }

    fn session_start(&mut self) {
        let how = match self.word(self.hook.source).unwrap_or_default().as_str() {
            "startup" => StartKind::Startup,
            "resume" => StartKind::Resume,
            "fork" => StartKind::Fork,
            "compact" => StartKind::Compact,
            "clear" => StartKind::Clear,
            other => StartKind::Other(other.to_owned()),
        };
        let model = self.word(self.hook.model);
        self.out.boundary = Boundary::SessionStart;
        self.push(
            self.delivery_key(),
            self.delivery_key(),
            Fact::SessionStarted { how, model },
        );
    }

    fn session_end(&mut self) {
        let reason = self.word(self.hook.reason).unwrap_or_default();
        self.out.boundary = Boundary::SessionEnd;
        self.push(
            self.delivery_key(),
            self.delivery_key(),
            Fact::SessionEnded { reason },
        );
    }

    fn prompt(&mut self) {
        self.out.boundary = Boundary::TurnStart;
        let Some(text) = self.body(self.hook.prompt) else {
            return self.decline("no_prompt", "UserPromptSubmit");
        };
        let synthetic = text.text().is_some_and(prompt::is_synthetic);
        let event = self
            .turn
            .as_deref()
            .map_or_else(|| self.delivery_key(), event::prompt);
        self.push(event.clone(), event, Fact::Prompt { text, synthetic });
    }

    fn stop(&mut self) {
        self.out.boundary = Boundary::TurnEnd;
        let tasks = self.hook.background.items();
        let ids = tasks
            .into_iter()
            .filter_map(|task| self.word(task.object::<Named<'_>>().id));
        let background = ids.take(TASK_LIMIT).collect();
        let event = self
            .turn
            .as_deref()
            .map_or_else(|| self.delivery_key(), event::stop);
        let last_message = self.body(self.hook.last_message);
        self.push(
            self.delivery_key(),
            event,
            Fact::Stopped {
                last_message,
                background,
            },
        );
    }

    fn subagent_start(&mut self) {
        let agent_type = self.word(self.hook.agent_type).unwrap_or_default();
        self.subagent_event(Fact::SubagentStarted { agent_type });
    }

    /// The helper that compacts the context stops without having started, and has no type.
    fn subagent_stop(&mut self) {
        if self
            .hook
            .agent_type
            .text()
            .is_some_and(|kind| kind.is_empty())
        {
            return;
        }
        let last_message = self.body(self.hook.last_message);
        self.subagent_event(Fact::SubagentStopped { last_message });
    }

    fn subagent_event(&mut self, fact: Fact) {
        let event = self
            .subagent
            .as_deref()
            .map_or_else(|| self.delivery_key(), event::subagent);
        self.push(self.delivery_key(), event, fact);
    }

    fn compacted(&mut self) {
        let trigger = self.word(self.hook.trigger).unwrap_or_default();
        let summary = self.body(self.hook.summary);
        let event = self
            .turn
            .as_deref()
            .map_or_else(|| self.delivery_key(), compact_event);
        self.push(
            self.delivery_key(),
            event,
            Fact::Compacted { trigger, summary },
        );
    }

    /// The key and the event of a tool call.
    fn tool_keys(&mut self, prefix: &str) -> (String, String) {
        match self.id(self.hook.tool_use_id, "bad_tool_use_id") {
            Some(id) => (format!("{prefix}:{id}"), event::tool(&id)),
            None => (self.delivery_key(), self.delivery_key()),
        }
    }

    fn tool_started(&mut self) {
        let tool = self.word(self.hook.tool).unwrap_or_default();
        let class = tools::class(&tool);
        let (key, event) = self.tool_keys("pre");
        let input = self.input(class);
        let path = self.touch(class, &event, Side::Before);
        self.push(
            key,
            event,
            Fact::ToolStarted {
                tool,
                class,
                input,
                path,
            },
        );
    }

    fn tool_ended(&mut self, outcome: Outcome) {
        let tool = self.word(self.hook.tool).unwrap_or_default();
        let class = tools::class(&tool);
        if outcome == Outcome::Denied && self.hook.tool_use_id.text().is_none() {
            return;
        }
        let (key, event) = self.tool_keys(if outcome == Outcome::Denied {
            "denied"
        } else {
            "post"
        });
        let output = self.output(class, outcome);
        if outcome != Outcome::Denied {
            self.touch(class, &event, Side::After);
        }
        let duration_ms = self.hook.duration_ms.number();
        self.push(
            key,
            event,
            Fact::ToolEnded {
                tool,
                class,
                outcome,
                output,
                duration_ms,
            },
        );
    }

    /// Notes what is to be captured around a call; returns the path that the call names.
    fn touch(&mut self, class: ToolClass, event: &str, side: Side) -> Option<String> {
        if class == ToolClass::Shell {
            self.out.head = Some((event.to_owned(), side));
        }
        if class != ToolClass::Edit {
            return None;
        }
        let path = tools::edited(self.hook.tool_input, self.out.cwd.as_deref())?;
        let path = tools::relative(&path, self.call.worktree);
        let shown = self
            .call
            .redactor
            .redact_cow(&path.to_string_lossy())
            .into_owned();
        self.out.edits.push(EditHint {
            event: event.to_owned(),
            path,
            side,
        });
        Some(shown)
    }
}

/// The name of the event that the context was compacted in the course of a turn.
pub(in crate::claude_code) fn compact_event(turn: &str) -> String {
    format!("compact:{turn}")
}

pub(super) fn word(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control())
        .take(WORD_LIMIT)
        .collect()
}
