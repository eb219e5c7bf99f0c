//! Hook payloads → observations.

use siglum_domain::observation::{Body, Fact, Outcome, Side, StartKind, ToolClass, event};

use super::output::output;
use super::path;
use super::wire::{AgentInput, Hook, Named};
use crate::draft::{self, Draft};
use crate::gemini::tools;
use crate::gemini::wire::{EditDisplay, Response, ToolInput};
use crate::hook::{BODY_LIMIT, Boundary, HookCall, ReduceError, Reduced, WriteHint};

/// Most background tasks that are kept.
const TASK_LIMIT: usize = 64;
/// Events that are known and say nothing that other events, or the transcript, do not.
const SILENT: &[&str] = &[
    "InstructionsLoaded",
    "MessageDisplay",
    "Notification",
    "PermissionDenied",
    "PermissionRequest",
    "PostCompact",
    "PostToolBatch",
    "PreCompact",
    "SessionDelete",
    "TodoCompleted",
    "TodoCreated",
    "UserPromptExpansion",
];
/// Openings of prompts that the agent writes itself.
const SYNTHETIC: &[&str] = &["<task-notification>", "<system-reminder>"];

pub(super) fn reduce(call: &HookCall<'_>) -> Result<Reduced, ReduceError> {
    let hook: Hook<'_> = draft::parse(call.payload)?;
    let mut draft = Draft::new(call, hook.session_id, hook.event)?;
    // After a clear, the name of the turn is still one of the session before.
    let turn = draft.id(hook.prompt_id, "bad_prompt_id");
    let own = format!("{}#", draft.out.native);
    draft.turn = turn.filter(|turn| turn.starts_with(&own));
    draft.subagent = draft.id(hook.agent_id, "bad_agent_id");
    let root = path::projects(call.agent_dir);
    draft.place(hook.cwd, hook.transcript_path, (&root, "jsonl"));
    let mut reduction = Reduction { hook, draft };
    reduction.event();
    Ok(reduction.draft.out)
}

struct Reduction<'a> {
    hook: Hook<'a>,
    draft: Draft<'a>,
}

impl Reduction<'_> {
    fn event(&mut self) {
        match &*self.draft.event {
            "SessionStart" => self.session_start(),
            "SessionEnd" => self.session_end(),
            "UserPromptSubmit" => self.prompt(),
            "PreToolUse" => self.tool_started(),
            "PostToolUse" => self.tool_ended(Outcome::Ok),
            "PostToolUseFailure" => self.tool_ended(Outcome::Failed),
            "Stop" | "StopFailure" => self.stop(),
            "SubagentStart" => self.subagent_start(),
            "SubagentStop" => self.subagent_stop(),
            name if SILENT.contains(&name) => {}
            _ => self.draft.push_other(),
        }
    }

    /// Adds what is told by this delivery alone, of an event that may have a name of its own.
    fn push_delivered(&mut self, event: Option<String>, fact: Fact) {
        let key = self.draft.delivery_key();
        self.draft.push(key.clone(), event.unwrap_or(key), fact);
    }

    fn session_start(&mut self) {
        let source = self.draft.word(self.hook.source).unwrap_or_default();
        let how = match source.as_str() {
            "startup" => StartKind::Startup,
            "resume" => StartKind::Resume,
            "compact" => StartKind::Compact,
            "clear" => StartKind::Clear,
            _ => StartKind::Other(source),
        };
        let model = self.draft.word(self.hook.model);
        self.draft.out.boundary = Boundary::SessionStart;
        self.push_delivered(None, Fact::SessionStarted { how, model });
    }

    fn session_end(&mut self) {
        let reason = self.draft.word(self.hook.reason).unwrap_or_default();
        self.draft.out.boundary = Boundary::SessionEnd;
        self.push_delivered(None, Fact::SessionEnded { reason });
    }

    /// A prompt. The agent tells an empty one after each batch of tools, which is none.
    fn prompt(&mut self) {
        if self.hook.prompt.text().is_some_and(|text| text.is_empty()) {
            return;
        }
        self.draft.out.boundary = Boundary::TurnStart;
        let Some(text) = self.draft.body(self.hook.prompt) else {
            return self.draft.decline("no_prompt", "UserPromptSubmit");
        };
        let synthetic = text.text().is_some_and(is_synthetic);
        let turn = self.draft.turn.as_deref();
        let event = turn.map_or_else(|| self.draft.delivery_key(), event::prompt);
        let fact = Fact::Prompt { text, synthetic };
        self.draft.push(event.clone(), event, fact);
    }

    fn stop(&mut self) {
        self.draft.out.boundary = Boundary::TurnEnd;
        let tasks = self.hook.background.items().into_iter();
        let ids = tasks.filter_map(|task| self.draft.word(task.object::<Named<'_>>().id));
        let background = ids.take(TASK_LIMIT).collect();
        let event = self.draft.turn.as_deref().map(event::stop);
        let last_message = self.draft.body(self.hook.last_message);
        let is_failure = self.draft.event == "StopFailure";
        let failure = self.draft.word(self.hook.error).filter(|_| is_failure);
        let fact = Fact::Stopped {
            last_message,
            background,
            failure,
        };
        self.push_delivered(event, fact);
    }

    /// A sub-agent is called after its kind and the call that started it.
    fn subagent_start(&mut self) {
        let agent_type = self.draft.word(self.hook.agent_type).unwrap_or_default();
        let agent = self.draft.subagent.as_deref();
        let call = agent.and_then(|agent| agent.strip_prefix(&agent_type)?.strip_prefix('-'));
        let fact = Fact::SubagentStarted {
            call: call.map(str::to_owned),
            agent_type,
        };
        let event = agent.map(event::subagent);
        self.push_delivered(event, fact);
    }

    fn subagent_stop(&mut self) {
        let last_message = self.draft.body(self.hook.last_message);
        let event = self.draft.subagent.as_deref().map(event::subagent);
        self.push_delivered(event, Fact::SubagentStopped { last_message });
    }

    /// The key and the event of a tool call, by the name that the model gave it.
    fn tool_keys(&mut self, prefix: &str) -> (String, String) {
        let named = [self.hook.tool_call_id, self.hook.tool_use_id];
        let id = named.into_iter().find(|field| field.raw().is_some());
        match id.and_then(|id| self.draft.id(id, "bad_tool_call_id")) {
            Some(id) => (format!("{prefix}:{id}"), event::tool(&id)),
            None => (self.draft.delivery_key(), self.draft.delivery_key()),
        }
    }

    fn tool_started(&mut self) {
        let tool = self.draft.word(self.hook.tool).unwrap_or_default();
        let class = tools::class(&tool);
        let (key, event) = self.tool_keys("pre");
        let input = self.input(class);
        let path = self.touch(class, &event, Side::Before);
        let fact = Fact::ToolStarted {
            tool,
            class,
            input,
            path,
        };
        self.draft.push(key, event, fact);
    }

    fn tool_ended(&mut self, outcome: Outcome) {
        let tool = self.draft.word(self.hook.tool).unwrap_or_default();
        let class = tools::class(&tool);
        let (key, event) = self.tool_keys("post");
        let output = match outcome {
            Outcome::Ok => self.output(class),
            Outcome::Failed | Outcome::Denied => self.failure(),
        };
        if self.touch(class, &event, Side::After).is_some() && outcome == Outcome::Ok {
            self.draft.note_write(self.written());
        }
        if class == ToolClass::Agent {
            self.spawned(&event);
        }
        let duration_ms = self.hook.duration_ms.number();
        let fact = Fact::ToolEnded {
            tool,
            class,
            outcome,
            output,
            duration_ms,
        };
        self.draft.push(key, event, fact);
    }

    fn input(&self, class: ToolClass) -> Body {
        let field = self.hook.tool_input;
        let kept = match class {
            ToolClass::Edit => Some(self.draft.text(&tools::summary(class, field))),
            ToolClass::Shell => self.draft.body(field.object::<ToolInput<'_>>().command),
            ToolClass::Agent | ToolClass::Other => None,
        };
        kept.or_else(|| self.draft.body(field))
            .unwrap_or_else(|| self.draft.text(""))
    }

    /// What a tool said. An edit that went well says nothing but the file's content.
    fn output(&self, class: ToolClass) -> Option<Body> {
        if class == ToolClass::Edit {
            return None;
        }
        let raw = self.hook.tool_response.raw().unwrap_or_default();
        if raw.len() > BODY_LIMIT {
            return Some(self.draft.withheld(raw));
        }
        let response: Response<'_> = self.hook.tool_response.object();
        match response.content.text() {
            Some(content) if class == ToolClass::Shell => {
                Some(self.draft.text(output(&content).text))
            }
            _ => self.draft.body(response.content),
        }
    }

    /// Why a tool failed: a command by what it printed.
    fn failure(&self) -> Option<Body> {
        let error = self.hook.error;
        match error.text() {
            Some(text) if text.len() <= BODY_LIMIT => Some(self.draft.text(output(&text).text)),
            _ => self.draft.body(error),
        }
    }

    /// What an edit tool says it wrote: the result has both sides, the call at least the new lines.
    fn written(&self) -> Option<WriteHint> {
        let response: Response<'_> = self.hook.tool_response.object();
        let shown: EditDisplay<'_> = response.display.object();
        if let Some(after) = shown.after.exact().filter(|_| !shown.truncated.is_true()) {
            // A new file and an empty one are told alike.
            let before = shown.before.exact().filter(|text| !text.is_empty());
            return Some(WriteHint::Whole {
                base: before.map(|text| text.into_owned().into_bytes()),
                written: after.into_owned().into_bytes(),
            });
        }
        let input: ToolInput<'_> = self.hook.tool_input.object();
        let added = input.content.exact().or_else(|| input.new.exact())?;
        Some(WriteHint::Added(added.into_owned().into_bytes()))
    }

    /// The sub-agent that a call started: it is called after its kind and the call.
    fn spawned(&mut self, event: &str) {
        let input: AgentInput<'_> = self.hook.tool_input.object();
        let kind = self.draft.word(input.kind).unwrap_or_default();
        if let Some(call) = event::call_of(event).filter(|_| !kind.is_empty()) {
            self.draft.spawned(format!("{kind}-{call}"), kind, event);
        }
    }

    /// Notes what is to be captured around a call; returns the path that the call names.
    fn touch(&mut self, class: ToolClass, event: &str, side: Side) -> Option<String> {
        if class == ToolClass::Shell {
            self.draft.out.head = Some((event.to_owned(), side));
        }
        if class != ToolClass::Edit {
            return None;
        }
        let path = tools::edited(self.hook.tool_input, self.draft.out.cwd.as_deref())?;
        Some(self.draft.capture(event, &path, side))
    }
}

/// Tells whether the agent wrote this prompt itself.
pub(super) fn is_synthetic(text: &str) -> bool {
    let text = text.trim_start();
    SYNTHETIC.iter().any(|opening| text.starts_with(opening))
}

#[cfg(test)]
mod tests;
