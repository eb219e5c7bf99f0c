//! Hook payloads → observations.
//!
//! Nothing in a payload names the turn or the call. What a sub-agent does is told under its own id in the place of the
//! session's, beside the id of who started it.

use std::borrow::Cow;

use siglum_domain::NativeId;
use siglum_domain::observation::{Body, Fact, Outcome, Side, StartKind, ToolClass, event};

use super::output::output;
use super::wire::{Hook, ToolInput, ToolResult, either};
use super::{path, tools};
use crate::draft::{self, Draft};
use crate::hook::{BODY_LIMIT, Boundary, HookCall, ReduceError, Reduced, WriteHint};
use crate::json::Field;

/// Events that are known and say nothing that other events, or the transcript, do not.
const SILENT: &[&str] = &[
    "ErrorOccurred",
    "Notification",
    "PermissionRequest",
    "PreCompact",
    "PreMcpToolCall",
    "UserPromptTransformed",
    "permissionRequest",
];

pub(super) fn reduce(call: &HookCall<'_>) -> Result<Reduced, ReduceError> {
    let hook: Hook<'_> = draft::parse(call.payload)?;
    // Only what a sub-agent does names who started it. Where that was a sub-agent, its id is one of the session's names.
    let parent = either(hook.parent, hook.other_parent);
    let named = either(hook.session_id, hook.other_session_id);
    let event = either(hook.event, hook.other_event);
    let mut draft = Draft::new(call, either(parent, named), event)?;
    let agent = either(hook.agent_id, hook.other_agent_id);
    draft.subagent = draft.id(agent, "bad_agent_id");
    if draft.event.is_empty() {
        draft.event = Cow::Borrowed(event_by_shape(&hook));
    }
    let root = path::sessions(call.agent_dir);
    let transcript = either(hook.transcript_path, hook.other_transcript_path);
    draft.place(hook.cwd, transcript, (&root, "jsonl"));
    if draft.subagent.is_some()
        && let Some(session) = draft.out.transcript.as_deref().and_then(path::session_of)
    {
        draft.out.native = session;
    }
    let mut reduction = Reduction { hook, draft };
    reduction.event();
    Ok(reduction.draft.out)
}

/// The event of a payload that does not name it, by what only such a payload tells.
fn event_by_shape(hook: &Hook<'_>) -> &'static str {
    let is_there = |one: Field<'_>, other: Field<'_>| either(one, other).raw().is_some();
    let stops = is_there(hook.stop_reason, hook.other_stop_reason);
    if is_there(hook.tool, hook.other_tool) {
        return match (
            is_there(hook.tool_result, hook.other_tool_result),
            hook.error.raw(),
        ) {
            (true, _) => "PostToolUse",
            (false, Some(_)) => "PostToolUseFailure",
            (false, None) => "PreToolUse",
        };
    }
    match (is_there(hook.agent_name, hook.other_agent_name), stops) {
        (true, true) => "SubagentStop",
        (true, false) => "SubagentStart",
        (false, true) => "Stop",
        (false, false) if hook.reason.raw().is_some() => "SessionEnd",
        (false, false) if hook.source.raw().is_some() => "SessionStart",
        (false, false) if hook.prompt.raw().is_some() => "UserPromptSubmit",
        (false, false) => "",
    }
}

struct Reduction<'a> {
    hook: Hook<'a>,
    draft: Draft<'a>,
}

/// A tool call, as far as a payload tells of it.
struct Called<'a> {
    tool: String,
    class: ToolClass,
    input: Field<'a>,
    likeness: String,
    event: String,
}

impl<'a> Reduction<'a> {
    fn event(&mut self) {
        match &*self.draft.event {
            "SessionStart" => self.session_start(),
            "SessionEnd" => self.session_end(),
            "UserPromptSubmit" => self.prompt(),
            "PreToolUse" => self.tool_started(),
            "PostToolUse" => self.tool_ended(Outcome::Ok),
            "PostToolUseFailure" => self.tool_ended(Outcome::Failed),
            "Stop" => self.stop(),
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

    /// A session that begins after a clear is told as any new one.
    fn session_start(&mut self) {
        let source = self.draft.word(self.hook.source).unwrap_or_default();
        let how = match source.as_str() {
            "new" | "startup" => StartKind::Startup,
            "resume" => StartKind::Resume,
            _ => StartKind::Other(source),
        };
        self.draft.out.boundary = Boundary::SessionStart;
        self.push_delivered(None, Fact::SessionStarted { how, model: None });
    }

    fn session_end(&mut self) {
        let reason = self.draft.word(self.hook.reason).unwrap_or_default();
        self.draft.out.boundary = Boundary::SessionEnd;
        self.push_delivered(None, Fact::SessionEnded { reason });
    }

    /// A prompt. What a sub-agent is asked to do is none.
    fn prompt(&mut self) {
        if self.draft.subagent.is_some() {
            return;
        }
        self.draft.out.boundary = Boundary::TurnStart;
        let Some(text) = self.draft.body(self.hook.prompt) else {
            return self.draft.decline("no_prompt", "UserPromptSubmit");
        };
        let synthetic = false;
        self.push_delivered(None, Fact::Prompt { text, synthetic });
    }

    /// The end of a turn. That a sub-agent stops is told once more, with what it said.
    fn stop(&mut self) {
        if self.draft.subagent.is_some() {
            return;
        }
        self.draft.out.boundary = Boundary::TurnEnd;
        let fact = Fact::Stopped {
            last_message: None,
            background: Vec::new(),
            failure: None,
        };
        self.push_delivered(None, fact);
    }

    fn subagent_start(&mut self) {
        let agent = self.draft.subagent.clone();
        let thread = agent.as_deref().and_then(|id| NativeId::new(id).ok());
        let own = &self.draft.out.native;
        self.draft.out.thread = thread.filter(|thread| thread != own);
        let kind = either(self.hook.agent_type, self.hook.other_agent_type);
        let kind = either(
            kind,
            either(self.hook.agent_name, self.hook.other_agent_name),
        );
        let agent_type = self.draft.word(kind).unwrap_or_default();
        let call = None;
        let event = agent.as_deref().map(event::subagent);
        self.push_delivered(event, Fact::SubagentStarted { agent_type, call });
    }

    fn subagent_stop(&mut self) {
        let event = self.draft.subagent.as_deref().map(event::subagent);
        let said = either(self.hook.last_message, self.hook.other_last_message);
        let last_message = self.draft.body(said);
        self.push_delivered(event, Fact::SubagentStopped { last_message });
    }

    fn called(&self) -> Called<'a> {
        let name = either(self.hook.tool, self.hook.other_tool);
        let tool = self.draft.word(name).unwrap_or_default();
        let class = tools::class(&tool);
        let input = either(self.hook.tool_input, self.hook.other_tool_input);
        let likeness = tools::likeness(&tool, class, input, self.draft.call.redactor);
        Called {
            event: event::unnamed(&likeness),
            tool,
            class,
            input,
            likeness,
        }
    }

    fn tool_started(&mut self) {
        let call = self.called();
        let input = self.input(&call);
        let path = self.touch(&call, Side::Before);
        let fact = Fact::ToolStarted {
            tool: call.tool,
            class: call.class,
            input,
            path,
        };
        let key = format!("pre:{}", call.likeness);
        self.draft.push(key, call.event, fact);
    }

    fn tool_ended(&mut self, outcome: Outcome) {
        let call = self.called();
        let (outcome, output) = self.outcome(call.class, outcome);
        if self.touch(&call, Side::After).is_some() && outcome == Outcome::Ok {
            self.draft.note_write(written(&call));
        }
        let fact = Fact::ToolEnded {
            tool: call.tool,
            class: call.class,
            outcome,
            output,
            duration_ms: None,
        };
        let key = format!("post:{}", call.likeness);
        self.draft.push(key, call.event, fact);
    }

    fn input(&self, call: &Called<'_>) -> Body {
        let field = call.input;
        let kept = match call.class {
            ToolClass::Edit => Some(self.draft.text(&tools::summary(call.class, field))),
            ToolClass::Shell => self.draft.body(field.object::<ToolInput<'_>>().command),
            ToolClass::Agent | ToolClass::Other => None,
        };
        kept.or_else(|| self.draft.body(field))
            .unwrap_or_else(|| self.draft.text(""))
    }

    /// How a call ended and what the tool said. An edit that went well says nothing but the file's content.
    fn outcome(&self, class: ToolClass, told: Outcome) -> (Outcome, Option<Body>) {
        if told != Outcome::Ok {
            return (told, self.draft.body(self.hook.error));
        }
        let field = either(self.hook.tool_result, self.hook.other_tool_result);
        let raw = field.raw().unwrap_or_default();
        if raw.len() > BODY_LIMIT {
            return (Outcome::Ok, Some(self.draft.withheld(raw)));
        }
        let result: ToolResult<'_> = field.object();
        let text = either(result.text, result.other_text);
        let printed = text.text().unwrap_or_default();
        let printed = output(&printed);
        let outcome = match either(result.kind, result.other_kind).text().as_deref() {
            Some("denied" | "rejected") => Outcome::Denied,
            Some("failure" | "error" | "timeout") => Outcome::Failed,
            _ if class == ToolClass::Shell && printed.failed => Outcome::Failed,
            _ => Outcome::Ok,
        };
        let output = match class {
            ToolClass::Edit if outcome == Outcome::Ok => None,
            ToolClass::Shell => Some(self.draft.text(printed.text)),
            _ => self.draft.body(text),
        };
        (outcome, output)
    }

    /// Notes what is to be captured around a call; returns the path that the call names.
    fn touch(&mut self, call: &Called<'_>, side: Side) -> Option<String> {
        if call.class == ToolClass::Shell {
            self.draft.out.head = Some((call.event.clone(), side));
        }
        if call.class != ToolClass::Edit {
            return None;
        }
        let path = tools::edited(call.input, self.draft.out.cwd.as_deref())?;
        Some(self.draft.capture(&call.event, &path, side))
    }
}

/// What an edit tool says it wrote: a new file whole, else the new lines.
fn written(call: &Called<'_>) -> Option<WriteHint> {
    let input: ToolInput<'_> = call.input.object();
    if let Some(whole) = input.content.exact() {
        return Some(WriteHint::Whole {
            base: None,
            written: whole.into_owned().into_bytes(),
        });
    }
    let added = input.new.exact()?;
    Some(WriteHint::Added(added.into_owned().into_bytes()))
}

#[cfg(test)]
mod tests;
