//! Codex: rollouts by day, each thing told twice; a sub-agent is a thread of its own; forks point to where they came from.

use super::{Form, HelperPlace, Origin};
use crate::Fallible;
use crate::clock::Chance;
use crate::corpus::json::{Object, object};
use crate::corpus::sheet::Sheet;
use crate::corpus::story::{Call, Event, Helper};
use crate::payload::uuid;

/// What the model is told in the first line, which is long.
const INSTRUCTIONS: &str = "You are a coding agent. Keep going until the task is done. ";

pub(in crate::corpus) struct Codex {
    origin: Origin,
    chance: Chance,
    ordinal: u64,
    turn: String,
    /// The turn of the session, where this is a sub-agent.
    root_turn: String,
    /// What all answers of the thread cost so far: read and written.
    spent: (u64, u64),
}

impl Codex {
    pub(in crate::corpus) fn new(origin: Origin, chance: Chance) -> Self {
        Self {
            origin,
            chance,
            ordinal: 0,
            turn: String::new(),
            root_turn: String::new(),
            spent: (0, 0),
        }
    }

    /// The thread that writes the file.
    fn thread(&self) -> &str {
        self.origin
            .helper
            .as_deref()
            .unwrap_or(&self.origin.session)
    }

    fn put(&mut self, sheet: &mut Sheet, kind: &str, payload: Object) -> Fallible<()> {
        let line = object! {
            "timestamp": sheet.tick(), "ordinal": self.ordinal, "type": kind, "payload": payload,
        };
        self.ordinal += 1;
        sheet.line(&line)
    }

    fn item(&mut self, sheet: &mut Sheet, item: Object) -> Fallible<()> {
        let payload = object! {
            "type": "item_completed", "thread_id": self.thread(), "turn_id": &self.turn,
            "item": item,
        };
        self.put(sheet, "event_msg", payload)
    }

    fn begin_turn(&mut self, sheet: &mut Sheet) -> Fallible<()> {
        self.turn = uuid(&self.chance);
        if self.origin.helper.is_none() {
            self.root_turn.clone_from(&self.turn);
        }
        let started = object! {
            "type": "task_started", "turn_id": &self.turn, "root_turn_id": &self.root_turn,
            "model_context_window": 258_400_u64,
        };
        self.put(sheet, "event_msg", started)?;
        let context = object! {
            "turn_id": &self.turn, "root_turn_id": &self.root_turn, "cwd": &self.origin.cwd,
            "approval_policy": "never", "model": "gpt-6.1-sol", "summary": "none",
        };
        self.put(sheet, "turn_context", context)
    }

    /// What somebody says to the model, or it to somebody.
    fn message(&mut self, sheet: &mut Sheet, role: &str, content: Vec<Object>) -> Fallible<()> {
        let passed = object! { "turn_id": &self.turn };
        let payload = object! {
            "type": "message", "id": format!("msg_{}", uuid(&self.chance)), "role": role,
            "content": content, "internal_chat_message_metadata_passthrough": passed,
        };
        self.put(sheet, "response_item", payload)
    }

    fn answer(&mut self, sheet: &mut Sheet, text: &str) -> Fallible<()> {
        let shown = object! { "type": "Text", "text": text };
        let item = object! {
            "type": "AgentMessage", "id": format!("msg_{}", self.chance.hex(24)),
            "content": vec![shown],
        };
        self.item(sheet, item)?;
        let output = object! {
            "type": "output_text", "text": text, "annotations": Vec::<Object>::new(),
        };
        self.message(sheet, "assistant", vec![output])?;
        self.cost(sheet)
    }

    /// What an answer cost, in two lines.
    fn cost(&mut self, sheet: &mut Sheet) -> Fallible<()> {
        let read = 4_000 + self.chance.below(90_000) as u64;
        let written = 40 + self.chance.below(900) as u64;
        self.spent = (self.spent.0 + read, self.spent.1 + written);
        let usage = |(read, written): (u64, u64)| {
            object! {
                "input_tokens": read, "cached_input_tokens": read / 2,
                "cache_write_input_tokens": 0_u64, "output_tokens": written,
                "reasoning_output_tokens": 0_u64, "total_tokens": read + written,
            }
        };
        let record = object! {
            "thread_id": self.thread(), "turn_id": &self.turn,
            "session_id": &self.origin.session,
            "response_id": format!("resp_{}", self.chance.hex(24)),
            "usage": usage((read, written)), "thread_token_usage": usage(self.spent),
        };
        self.put(sheet, "token_usage_record", record)?;
        let info = object! {
            "total_token_usage": usage(self.spent), "last_token_usage": usage((read, written)),
            "model_context_window": 258_400_u64,
        };
        self.put(
            sheet,
            "event_msg",
            object! { "type": "token_count", "info": info },
        )
    }

    fn ran(
        &mut self,
        sheet: &mut Sheet,
        command: &str,
        (output, failed): (&str, bool),
    ) -> Fallible<()> {
        let id = format!("call_{}", self.chance.hex(24));
        let arguments = object! { "cmd": command }.text();
        let call = object! {
            "type": "function_call", "status": "completed",
            "id": format!("fc_{}", self.chance.hex(24)), "name": "exec_command",
            "arguments": arguments, "call_id": &id,
        };
        self.put(sheet, "response_item", call)?;
        self.cost(sheet)?;
        let code = u64::from(failed);
        let item = object! {
            "type": "CommandExecution", "id": &id, "command": vec!["/bin/bash", "-lc", command],
            "cwd": format!("file://{}", self.origin.cwd), "source": "unified_exec_startup",
            "status": "completed", "aggregated_output": output, "exit_code": code,
        };
        self.item(sheet, item)?;
        let chunk = self.chance.hex(6);
        let output = format!(
            "Chunk ID: {chunk}\nWall time: 0.1000 seconds\nProcess exited with code {code}\nOriginal token count: {}\nOutput:\n{output}",
            output.len() / 4
        );
        let returned = object! {
            "type": "function_call_output", "id": format!("fco_{}", uuid(&self.chance)),
            "call_id": &id, "output": output,
        };
        self.put(sheet, "response_item", returned)
    }

    fn patched(&mut self, sheet: &mut Sheet, path: &str, patch: &str) -> Fallible<()> {
        let id = format!("call_{}", self.chance.hex(24));
        let input = format!("*** Begin Patch\n*** Update File: {path}\n@@\n{patch}*** End Patch\n");
        let call = object! {
            "type": "custom_tool_call", "id": format!("ctc_{}", self.chance.hex(24)),
            "status": "completed", "call_id": &id, "name": "apply_patch", "input": input,
        };
        self.put(sheet, "response_item", call)?;
        self.cost(sheet)?;
        let change = object! {
            "type": "update", "unified_diff": format!("@@ -1,3 +1,3 @@\n{patch}"),
            "move_path": None::<&str>,
        };
        // The name of the field is a path: letters, digits and the like.
        let changes = Object::default().field(&format!("{}/{path}", self.origin.cwd), change);
        let done = format!("Success. Updated the following files:\nM {path}\n");
        let item = object! {
            "type": "FileChange", "id": &id, "changes": changes, "status": "completed",
            "stdout": &done, "stderr": "",
        };
        self.item(sheet, item)?;
        let returned = object! {
            "type": "custom_tool_call_output", "id": format!("ctco_{}", uuid(&self.chance)),
            "call_id": &id, "output": format!("Exit code: 0\nWall time: 0 seconds\nOutput:\n{done}"),
        };
        self.put(sheet, "response_item", returned)
    }
}

impl Form for Codex {
    fn begin(&mut self, sheet: &mut Sheet) -> Fallible<()> {
        let mut payload = object! {
            "session_id": &self.origin.session, "id": self.thread(),
        };
        if self.origin.helper.is_some() {
            payload = payload.field("parent_thread_id", &self.origin.session);
        }
        if let Some(parent) = &self.origin.parent {
            payload = payload.field("forked_from_id", &parent.session);
        }
        let instructions = object! { "text": INSTRUCTIONS.repeat(120) };
        let git = object! { "commit_hash": self.chance.hex(40), "branch": "main" };
        let payload = payload.with(&object! {
            "timestamp": sheet.at().to_string(), "cwd": &self.origin.cwd,
            "originator": "codex_exec", "cli_version": "0.169.0", "source": "exec",
            "model_provider": "openai", "base_instructions": instructions, "git": git,
        });
        self.put(sheet, "session_meta", payload)
    }

    fn event(&mut self, sheet: &mut Sheet, event: &Event) -> Fallible<()> {
        match event {
            Event::Prompt { text, image } => {
                self.begin_turn(sheet)?;
                let mut content = vec![object! { "type": "input_text", "text": text }];
                content.extend(image.as_ref().map(|image| {
                    let url = format!("data:image/png;base64,{image}");
                    object! { "type": "input_image", "image_url": url }
                }));
                self.message(sheet, "user", content)?;
                let shown = object! { "type": "text", "text": text };
                let item = object! {
                    "type": "UserMessage", "id": uuid(&self.chance), "content": vec![shown],
                };
                self.item(sheet, item)
            }
            Event::Message { text } => self.answer(sheet, text),
            Event::Answer { text } => {
                self.answer(sheet, text)?;
                let done = object! {
                    "type": "task_complete", "root_turn_id": &self.root_turn,
                    "turn_id": &self.turn, "last_agent_message": text,
                };
                self.put(sheet, "event_msg", done)
            }
            Event::Call(Call::Read { path, content }) => self.ran(
                sheet,
                &format!("sed -n '1,400p' {path}"),
                (content.as_str(), false),
            ),
            Event::Call(Call::Shell {
                command,
                output,
                failed,
            }) => self.ran(sheet, command, (output.as_str(), *failed)),
            Event::Call(Call::Edit { path, old, new, .. }) => {
                self.patched(sheet, path, &Call::patch(old, new))
            }
            Event::Compacted { summary, kept } => {
                let content = object! { "type": "input_text", "text": kept };
                let copy = object! { "type": "message", "role": "user", "content": vec![content] };
                let payload = object! { "message": summary, "replacement_history": vec![copy] };
                self.put(sheet, "compacted", payload)
            }
            Event::Resumed | Event::Helper(_) => Ok(()),
        }
    }

    fn helper_starts(&mut self, sheet: &mut Sheet, helper: &Helper) -> Fallible<HelperPlace> {
        let (call, thread) = (self.chance.hex(24), uuid(&self.chance));
        let id = format!("call_{call}");
        let arguments = object! { "message": &helper.task }.text();
        let spawn = object! {
            "type": "function_call", "status": "completed", "id": format!("fc_{call}"),
            "name": "spawn_agent", "namespace": "multi_agent_v1", "arguments": arguments,
            "call_id": &id,
        };
        self.put(sheet, "response_item", spawn)?;
        self.cost(sheet)?;
        let item = object! {
            "type": "CollabAgentToolCall", "id": &id, "tool": "spawn_agent",
            "status": "completed", "sender_thread_id": self.thread(),
            "receiver_thread_ids": vec![thread.as_str()], "prompt": &helper.task,
        };
        self.item(sheet, item)?;
        let output = object! { "agent_id": &thread, "nickname": "Hypatia" }.text();
        let returned = object! {
            "type": "function_call_output", "id": format!("fco_{}", uuid(&self.chance)),
            "call_id": &id, "output": output,
        };
        self.put(sheet, "response_item", returned)?;
        let stamp = file_stamp(&sheet.at().to_string());
        let path = sheet
            .path()
            .with_file_name(format!("rollout-{stamp}-{thread}.jsonl"));
        let origin = Origin {
            parent: None,
            helper: Some(thread),
            ..self.origin.clone()
        };
        let mut form = Self::new(origin, Chance::new(self.chance.next()));
        form.root_turn.clone_from(&self.root_turn);
        Ok(HelperPlace::File(path, Box::new(form)))
    }

    fn end_copy(&mut self, chance: Chance) {
        self.chance = chance;
    }
}

/// A time to the second, as names of rollouts have it.
pub(in crate::corpus) fn file_stamp(time: &str) -> String {
    time.chars().take(19).collect::<String>().replace(':', "-")
}
