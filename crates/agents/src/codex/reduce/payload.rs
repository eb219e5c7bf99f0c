//! One payload.
//!
//! What a sub-agent does carries its id and belongs to the session of the thread above it. Its turns
//! are its own and say nothing of the session's, so they are not told.

use siglum_domain::observation::{Body, Fact, Outcome, Side, StartKind, ToolClass, event};

use crate::codex::wire::{Hook, Spawned, ToolInput};
use crate::codex::{patch, path, prompt, tools};
use crate::draft::{self, Draft};
use crate::hook::{BODY_LIMIT, Boundary, HookCall, ReduceError, Reduced, WriteHint};
use crate::paths;

/// Events that are known and say nothing that other events do not.
const SILENT: &[&str] = &["PermissionRequest", "PreCompact"];

pub(in crate::codex) fn reduce(call: &HookCall<'_>) -> Result<Reduced, ReduceError> {
    let hook: Hook<'_> = draft::parse(call.payload)?;
    let mut draft = Draft::new(call, hook.session_id, hook.event)?;
    draft.subagent = draft.id(hook.agent_id, "bad_agent_id");
    if draft.subagent.is_none() {
        draft.turn = draft.id(hook.turn_id, "bad_turn_id");
    }
    let root = path::sessions(call.agent_dir);
    let transcript = match hook.agent_transcript_path.raw() {
        Some(_) => hook.agent_transcript_path,
        None => hook.transcript_path,
    };
    draft.place(hook.cwd, transcript, (&root, "jsonl"));
    draft.out.transcript_of.clone_from(&draft.subagent);
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
            "PostToolUse" => self.tool_ended(),
            "Stop" => self.stop(),
            "Interrupt" => self.stop(),
            "SubagentStart" => self.subagent_start(),
            "SubagentStop" => self.subagent_stop(),
            "PostCompact" => self.compacted(),
            name if SILENT.contains(&name) => {}
            _ => self.draft.push_other(),
        }
    }

    fn push_delivered(&mut self, event: Option<String>, fact: Fact) {
        let key = self.draft.delivery_key();
        self.draft.push(key.clone(), event.unwrap_or(key), fact);
    }

    fn session_start(&mut self) {
        let source = self.draft.word(self.hook.source).unwrap_or_default();
        let how = match source.as_str() {
            "startup" => StartKind::Startup,
            "resume" => StartKind::Resume,
            "fork" => StartKind::Fork,
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

    /// A sub-agent is prompted by its agent; its transcript tells what with.
    fn prompt(&mut self) {
        if self.draft.subagent.is_some() {
            return;
        }
        self.draft.out.boundary = Boundary::TurnStart;
        let Some(text) = self.draft.body(self.hook.prompt) else {
            return self.draft.decline("no_prompt", "UserPromptSubmit");
        };
        let synthetic = text.text().is_some_and(prompt::is_synthetic);
        let turn = self.draft.turn.as_deref();
        let event = turn.map_or_else(|| self.draft.delivery_key(), event::prompt);
        let fact = Fact::Prompt { text, synthetic };
        self.draft.push(event.clone(), event, fact);
    }

    /// The turn came to its stop, or was stopped.
    fn stop(&mut self) {
        if self.draft.subagent.is_some() {
            return;
        }
        self.draft.out.boundary = Boundary::TurnEnd;
        let event = self.draft.turn.as_deref().map(event::stop);
        let last_message = self.draft.body(self.hook.last_message);
        let background = Vec::new();
        let fact = Fact::Stopped {
            last_message,
            background,
            failure: None,
        };
        self.push_delivered(event, fact);
    }

    fn subagent_start(&mut self) {
        let agent_type = self.draft.word(self.hook.agent_type).unwrap_or_default();
        let event = self.draft.subagent.as_deref().map(event::subagent);
        self.push_delivered(
            event,
            Fact::SubagentStarted {
                agent_type,
                call: None,
            },
        );
    }

    fn subagent_stop(&mut self) {
        let last_message = self.draft.body(self.hook.last_message);
        let event = self.draft.subagent.as_deref().map(event::subagent);
        self.push_delivered(event, Fact::SubagentStopped { last_message });
    }

    fn compacted(&mut self) {
        let trigger = self.draft.word(self.hook.trigger).unwrap_or_default();
        let event = self.draft.turn.as_deref().map(event::compaction);
        let summary = None;
        self.push_delivered(event, Fact::Compacted { trigger, summary });
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
        let mut paths = self.touch(class, &event, Side::Before);
        let input = self.input(class);
        // One name stands for the call; of several, the input tells.
        let path = paths.pop().filter(|_| paths.is_empty());
        let fact = Fact::ToolStarted {
            tool,
            class,
            input,
            path,
        };
        self.draft.push(key, event, fact);
    }

    /// The hook does not say whether a command failed; the transcript does.
    fn tool_ended(&mut self) {
        let tool = self.draft.word(self.hook.tool).unwrap_or_default();
        let class = tools::class(&tool);
        let (key, event) = self.tool_keys("post");
        self.touch(class, &event, Side::After);
        let output = match class {
            ToolClass::Edit => None,
            _ => self.draft.body(self.hook.tool_response),
        };
        if class == ToolClass::Agent {
            self.spawned(&event);
        }
        let fact = Fact::ToolEnded {
            tool,
            class,
            outcome: Outcome::Ok,
            output,
            duration_ms: None,
        };
        self.draft.push(key, event, fact);
    }

    /// The sub-agent that a call started, as its result names it.
    fn spawned(&mut self, event: &str) {
        let text = self.hook.tool_response.text().unwrap_or_default();
        let spawn: Spawned<'_> = serde_json::from_str(&text).unwrap_or_default();
        if let Some(agent) = self.draft.id(spawn.agent_id, "bad_agent_id") {
            self.draft.spawned(agent, String::new(), event);
        }
    }

    fn input(&self, class: ToolClass) -> Body {
        let field = self.hook.tool_input;
        let too_large = field.raw().is_some_and(|raw| raw.len() > BODY_LIMIT);
        let command = (!too_large).then(|| field.object::<ToolInput<'_>>().command);
        let kept = match (class, command) {
            (ToolClass::Edit, _) => {
                let patch = field.object::<ToolInput<'_>>().command.text();
                patch.map(|text| {
                    self.draft
                        .text(&tools::summary(&text, &patch::changes(&text)))
                })
            }
            (ToolClass::Shell, Some(command)) => self.draft.body(command),
            _ => None,
        };
        kept.or_else(|| self.draft.body(field))
            .unwrap_or_else(|| self.draft.text(""))
    }

    /// Notes what is to be captured around a call; returns the paths that the call names.
    fn touch(&mut self, class: ToolClass, event: &str, side: Side) -> Vec<String> {
        if class == ToolClass::Shell {
            self.draft.out.head = Some((event.to_owned(), side));
        }
        if class != ToolClass::Edit {
            return Vec::new();
        }
        let input: ToolInput<'_> = self.hook.tool_input.object();
        let text = input.command.text().unwrap_or_default();
        let cwd = self.draft.out.cwd.clone();
        let files = patch::files(&patch::changes(&text), cwd.as_deref());
        let worktree = self.draft.call.worktree;
        let mut shown = Vec::with_capacity(files.len());
        for file in files {
            shown.push(self.draft.capture(event, &file.path, side));
            if side == Side::After {
                let added = patch::added(&text).into_bytes();
                self.draft.note_write(Some(WriteHint::Added(added)));
            }
            let from = file.moved_from.filter(|_| side == Side::Before);
            if let (Some(edit), Some(from)) = (self.draft.out.edits.last_mut(), from) {
                edit.held_by = Some(paths::relative(&from, worktree));
            }
        }
        shown
    }
}
