//! Hook payloads → observations.
//!
//! Nothing in a payload names the turn or the call, nor the sub-agent that a call was made in.

use siglum_domain::observation::{Body, Fact, Outcome, Side, StartKind, ToolClass, event};

use super::output::{self, Output};
use super::wire::{EditDisplay, Hook, Response, ToolInput};
use super::{path, tools};
use crate::draft::{self, Draft};
use crate::hook::{BODY_LIMIT, Boundary, HookCall, ReduceError, Reduced, WriteHint};

/// Events that are known and say nothing that other events do not.
const SILENT: &[&str] = &[
    "AfterModel",
    "BeforeModel",
    "BeforeToolSelection",
    "Notification",
    "PreCompress",
];

pub(super) fn reduce(call: &HookCall<'_>) -> Result<Reduced, ReduceError> {
    let hook: Hook<'_> = draft::parse(call.payload)?;
    let mut draft = Draft::new(call, hook.session_id, hook.event)?;
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

/// A tool call, as far as a payload tells of it.
struct Called {
    tool: String,
    class: ToolClass,
    likeness: String,
    event: String,
}

impl Reduction<'_> {
    fn event(&mut self) {
        match &*self.draft.event {
            "SessionStart" => self.session_start(),
            "SessionEnd" => self.session_end(),
            "BeforeAgent" => self.prompt(),
            "AfterAgent" => self.stop(),
            "BeforeTool" => self.tool_started(),
            "AfterTool" => self.tool_ended(),
            name if SILENT.contains(&name) => {}
            _ => self.draft.push_other(),
        }
    }

    fn push(&mut self, fact: Fact) {
        let key = self.draft.delivery_key();
        self.draft.push(key.clone(), key, fact);
    }

    fn session_start(&mut self) {
        let source = self.draft.word(self.hook.source).unwrap_or_default();
        let how = match source.as_str() {
            "startup" => StartKind::Startup,
            "resume" => StartKind::Resume,
            "clear" => StartKind::Clear,
            _ => StartKind::Other(source),
        };
        self.draft.out.boundary = Boundary::SessionStart;
        self.push(Fact::SessionStarted { how, model: None });
    }

    fn session_end(&mut self) {
        let reason = self.draft.word(self.hook.reason).unwrap_or_default();
        self.draft.out.boundary = Boundary::SessionEnd;
        self.push(Fact::SessionEnded { reason });
    }

    fn prompt(&mut self) {
        self.draft.out.boundary = Boundary::TurnStart;
        match self.draft.body(self.hook.prompt) {
            Some(text) => self.push(Fact::Prompt {
                text,
                synthetic: false,
            }),
            None => self.draft.decline("no_prompt", "BeforeAgent"),
        }
    }

    fn stop(&mut self) {
        self.draft.out.boundary = Boundary::TurnEnd;
        let last_message = self.draft.body(self.hook.prompt_response);
        self.push(Fact::Stopped {
            last_message,
            background: Vec::new(),
            failure: None,
        });
    }

    fn called(&self) -> Called {
        let tool = self.draft.word(self.hook.tool).unwrap_or_default();
        let class = tools::class(&tool);
        let redactor = self.draft.call.redactor;
        let likeness = tools::likeness(&tool, class, self.hook.tool_input, redactor);
        Called {
            event: event::unnamed(&likeness),
            tool,
            class,
            likeness,
        }
    }

    fn tool_started(&mut self) {
        let call = self.called();
        let input = self.input(call.class);
        let path = self.touch(&call, Side::Before);
        let fact = Fact::ToolStarted {
            tool: call.tool,
            class: call.class,
            input,
            path,
        };
        self.draft
            .push(format!("pre:{}", call.likeness), call.event, fact);
    }

    fn tool_ended(&mut self) {
        let call = self.called();
        let (outcome, output) = self.outcome(call.class);
        if self.touch(&call, Side::After).is_some() && outcome == Outcome::Ok {
            self.draft.note_write(self.written());
        }
        let fact = Fact::ToolEnded {
            tool: call.tool,
            class: call.class,
            outcome,
            output,
            duration_ms: None,
        };
        self.draft
            .push(format!("post:{}", call.likeness), call.event, fact);
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

    /// How a call ended and what the tool said. An edit that went well says nothing but the file's
    /// content.
    fn outcome(&self, class: ToolClass) -> (Outcome, Option<Body>) {
        let raw = self.hook.tool_response.raw().unwrap_or_default();
        if raw.len() > BODY_LIMIT {
            return (Outcome::Ok, Some(self.draft.withheld(raw)));
        }
        let response: Response<'_> = self.hook.tool_response.object();
        let content = response.content.text();
        let Output { text, failed } = match (class, content.as_deref()) {
            (ToolClass::Shell, Some(content)) => output::output(content),
            (_, content) => Output {
                text: content.unwrap_or_default(),
                failed: false,
            },
        };
        if failed || response.error.raw().is_some() {
            return (Outcome::Failed, Some(self.draft.text(text)));
        }
        let output = match class {
            ToolClass::Edit => None,
            _ if content.is_some() => Some(self.draft.text(text)),
            _ => self.draft.body(response.content),
        };
        (Outcome::Ok, output)
    }

    /// What an edit tool says it wrote: the result has both sides, the call at least the new lines.
    fn written(&self) -> Option<WriteHint> {
        let response: Response<'_> = self.hook.tool_response.object();
        let shown: EditDisplay<'_> = response.display.object();
        let readable = |text: &std::borrow::Cow<'_, str>| !text.contains('\u{fffd}');
        let before = match shown.is_new.is_true() {
            true => Some(None),
            false => shown.before.exact().filter(readable).map(Some),
        };
        if let (Some(before), Some(after)) = (before, shown.after.exact()) {
            return Some(WriteHint::Whole {
                base: before.map(|text| text.into_owned().into_bytes()),
                written: after.into_owned().into_bytes(),
            });
        }
        let input: ToolInput<'_> = self.hook.tool_input.object();
        let added = input.content.exact().or_else(|| input.new.exact())?;
        Some(WriteHint::Added(added.into_owned().into_bytes()))
    }

    /// Notes what is to be captured around a call; returns the path that the call names.
    fn touch(&mut self, call: &Called, side: Side) -> Option<String> {
        if matches!(call.class, ToolClass::Shell) {
            self.draft.out.head = Some((call.event.clone(), side));
        }
        if call.class != ToolClass::Edit {
            return None;
        }
        let path = tools::edited(self.hook.tool_input, self.draft.out.cwd.as_deref())?;
        Some(self.draft.capture(&call.event, &path, side))
    }
}

#[cfg(test)]
mod tests;
