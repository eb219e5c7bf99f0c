//! One payload.

use siglum_domain::observation::{Fact, Outcome, Side, StartKind, ToolClass, event};

use crate::claude_code::transcript::edits;
use crate::claude_code::wire::{Hook, Named, Replacement, Spawned, ToolInput};
use crate::claude_code::{path, prompt, tools};
use crate::draft::{self, Draft};
use crate::hook::{Boundary, HookCall, ReduceError, Reduced, WriteHint};

/// Most background tasks that are kept.
const TASK_LIMIT: usize = 64;
/// Events that are known and say nothing that other events do not.
const SILENT: &[&str] = &[
    "ConfigChange",
    "DirectoryAdded",
    "Elicitation",
    "ElicitationResult",
    "FileChanged",
    "InstructionsLoaded",
    "MessageDisplay",
    "Notification",
    "PermissionRequest",
    "PostModelSwitch",
    "PostToolBatch",
    "PreCompact",
    "PreModelSwitch",
    "Setup",
    "TaskCompleted",
    "TaskCreated",
    "TeammateIdle",
    "UserPromptExpansion",
    "WorktreeCreate",
    "WorktreeRemove",
];

pub(in crate::claude_code) fn reduce(call: &HookCall<'_>) -> Result<Reduced, ReduceError> {
    let hook: Hook<'_> = draft::parse(call.payload)?;
    let mut draft = Draft::new(call, hook.session_id, hook.event)?;
    draft.turn = draft.id(hook.prompt_id, "bad_prompt_id");
    draft.subagent = draft.id(hook.agent_id, "bad_agent_id");
    let root = path::projects(call.agent_dir);
    draft.place(hook.cwd, hook.transcript_path, (&root, "jsonl"));
    let mut reduction = Reduction { hook, draft };
    reduction.event();
    Ok(reduction.draft.out)
}

pub(super) struct Reduction<'a> {
    pub(super) hook: Hook<'a>,
    pub(super) draft: Draft<'a>,
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
            "PermissionDenied" => self.tool_ended(Outcome::Denied),
            "Stop" | "StopFailure" => self.stop(),
            "SubagentStart" => self.subagent_start(),
            "SubagentStop" => self.subagent_stop(),
            "PostCompact" => self.compacted(),
            name if SILENT.contains(&name) => {}
            _ => self.draft.push_other(),
        }
    }

    fn session_start(&mut self) {
        let how = match self
            .draft
            .word(self.hook.source)
            .unwrap_or_default()
            .as_str()
        {
            "startup" => StartKind::Startup,
            "resume" => StartKind::Resume,
            "fork" => StartKind::Fork,
            "compact" => StartKind::Compact,
            "clear" => StartKind::Clear,
            other => StartKind::Other(other.to_owned()),
        };
        let model = self.draft.word(self.hook.model);
        self.draft.out.boundary = Boundary::SessionStart;
        self.draft.push(
            self.draft.delivery_key(),
            self.draft.delivery_key(),
            Fact::SessionStarted { how, model },
        );
    }

    fn session_end(&mut self) {
        let reason = self.draft.word(self.hook.reason).unwrap_or_default();
        self.draft.out.boundary = Boundary::SessionEnd;
        self.draft.push(
            self.draft.delivery_key(),
            self.draft.delivery_key(),
            Fact::SessionEnded { reason },
        );
    }

    fn prompt(&mut self) {
        self.draft.out.boundary = Boundary::TurnStart;
        let Some(text) = self.draft.body(self.hook.prompt) else {
            return self.draft.decline("no_prompt", "UserPromptSubmit");
        };
        let synthetic = text.text().is_some_and(prompt::is_synthetic);
        let event = self
            .draft
            .turn
            .as_deref()
            .map_or_else(|| self.draft.delivery_key(), event::prompt);
        self.draft
            .push(event.clone(), event, Fact::Prompt { text, synthetic });
    }

    fn stop(&mut self) {
        self.draft.out.boundary = Boundary::TurnEnd;
        let tasks = self.hook.background.items();
        let ids = tasks
            .into_iter()
            .filter_map(|task| self.draft.word(task.object::<Named<'_>>().id));
        let background = ids.take(TASK_LIMIT).collect();
        let event = self
            .draft
            .turn
            .as_deref()
            .map_or_else(|| self.draft.delivery_key(), event::stop);
        let last_message = self.draft.body(self.hook.last_message);
        let is_failure = self.draft.event == "StopFailure";
        let failure = self.draft.word(self.hook.error).filter(|_| is_failure);
        self.draft.push(
            self.draft.delivery_key(),
            event,
            Fact::Stopped {
                last_message,
                background,
                failure,
            },
        );
    }

    fn subagent_start(&mut self) {
        let agent_type = self.draft.word(self.hook.agent_type).unwrap_or_default();
        self.subagent_event(Fact::SubagentStarted {
            agent_type,
            call: None,
        });
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
        let last_message = self.draft.body(self.hook.last_message);
        self.subagent_event(Fact::SubagentStopped { last_message });
    }

    fn subagent_event(&mut self, fact: Fact) {
        let event = self
            .draft
            .subagent
            .as_deref()
            .map_or_else(|| self.draft.delivery_key(), event::subagent);
        self.draft.push(self.draft.delivery_key(), event, fact);
    }

    fn compacted(&mut self) {
        let trigger = self.draft.word(self.hook.trigger).unwrap_or_default();
        let summary = self.draft.body(self.hook.summary);
        let event = self
            .draft
            .turn
            .as_deref()
            .map_or_else(|| self.draft.delivery_key(), event::compaction);
        self.draft.push(
            self.draft.delivery_key(),
            event,
            Fact::Compacted { trigger, summary },
        );
    }

    /// The key and the event of a tool call.
    fn tool_keys(&mut self, prefix: &str) -> (String, String) {
        match self.draft.id(self.hook.tool_use_id, "bad_tool_use_id") {
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
        self.draft.push(
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
        let tool = self.draft.word(self.hook.tool).unwrap_or_default();
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
            let touched = self.touch(class, &event, Side::After);
            if touched.is_some() && outcome == Outcome::Ok {
                self.draft.note_write(self.written());
            }
        }
        if class == ToolClass::Agent {
            self.spawned(&event);
        }
        let duration_ms = self.hook.duration_ms.number();
        self.draft.push(
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

    /// What an edit tool says it wrote: the result has both sides, the call at least the new lines.
    fn written(&self) -> Option<WriteHint> {
        if let Some(change) = edits::change(self.hook.tool_response) {
            return Some(WriteHint::Whole {
                base: change.before,
                written: change.after,
            });
        }
        let input: ToolInput<'_> = self.hook.tool_input.object();
        let mut added = String::new();
        let items = input.edits.items().into_iter();
        let steps = items.map(|item| item.object::<Replacement<'_>>().new);
        for field in [input.content, input.new].into_iter().chain(steps) {
            added.push_str(&field.exact().unwrap_or_default());
            added.push('\n');
        }
        let has_content = !added.trim_end_matches('\n').is_empty();
        has_content.then(|| WriteHint::Added(added.into_bytes()))
    }

    /// The sub-agent that a call started, as its result names it.
    fn spawned(&mut self, event: &str) {
        let spawn: Spawned<'_> = self.hook.tool_response.object();
        let input: ToolInput<'_> = self.hook.tool_input.object();
        let agent_type = self.draft.word(input.subagent_type).unwrap_or_default();
        if let Some(agent) = self.draft.id(spawn.agent_id, "bad_agent_id") {
            self.draft.spawned(agent, agent_type, event);
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
