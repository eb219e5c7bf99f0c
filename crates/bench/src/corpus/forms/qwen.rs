//! Qwen Code: a chain of messages in parts; forks copy lines and say of each where it came from.

use super::{Form, HelperPlace, Origin, prompt_parts};
use crate::Fallible;
use crate::clock::Chance;
use crate::corpus::json::{Json, Object, object};
use crate::corpus::sheet::Sheet;
use crate::corpus::story::{Call, Event, Helper};
use crate::payload::uuid;

pub(in crate::corpus) struct Qwen {
    origin: Origin,
    chance: Chance,
    parent: Option<String>,
    /// What the model said last, until its call is there.
    message: Option<String>,
    calls: Vec<String>,
    copies: bool,
}

impl Qwen {
    pub(in crate::corpus) fn new(origin: Origin, chance: Chance) -> Self {
        Self {
            copies: origin.parent.is_some(),
            origin,
            chance,
            parent: None,
            message: None,
            calls: Vec::new(),
        }
    }

    /// Writes a line of the chain of messages: what all of them have, and what is its own.
    fn put(
        &mut self,
        sheet: &mut Sheet,
        (kind, provenance): (&str, &str),
        own: &Object,
    ) -> Fallible<()> {
        let id = uuid(&self.chance);
        let mut line = object! {
            "uuid": &id, "parentUuid": self.parent.as_deref(), "sessionId": &self.origin.session,
            "timestamp": sheet.tick(), "type": kind,
        };
        if self.origin.helper.is_none() {
            line = line.field("provenance", provenance);
        }
        let mut line = line.with(&object! {
            "cwd": &self.origin.cwd, "version": "0.24.4", "gitBranch": "main",
        });
        if let Some(helper) = &self.origin.helper {
            line = line.with(&object! {
                "agentId": helper, "agentName": "general-purpose", "isSidechain": true,
            });
        }
        let mut line = line.with(own);
        if let Some(parent) = self.origin.parent.as_ref().filter(|_| self.copies) {
            let from = object! { "sessionId": &parent.session, "messageUuid": &id };
            line = line.field("forkedFrom", from);
        }
        self.parent = Some(id);
        sheet.line(&line)
    }

    fn user(&mut self, sheet: &mut Sheet, parts: Vec<Object>) -> Fallible<()> {
        let message = object! { "role": "user", "parts": parts };
        self.put(
            sheet,
            ("user", "real_user"),
            &object! { "message": message },
        )
    }

    fn model(&mut self, sheet: &mut Sheet, parts: Vec<Object>) -> Fallible<()> {
        let read = 4_000 + self.chance.below(90_000) as u64;
        let written = 40 + self.chance.below(900) as u64;
        let message = object! { "role": "model", "parts": parts };
        let usage = object! {
            "promptTokenCount": read, "candidatesTokenCount": written, "thoughtsTokenCount": 0_u64,
            "totalTokenCount": read + written, "cachedContentTokenCount": read / 2,
        };
        let own = object! {
            "model": "qwen3-coder-plus", "message": message, "usageMetadata": usage,
            "contextWindowSize": 200_000_u64,
        };
        self.put(sheet, ("assistant", "assistant_output"), &own)
    }

    fn called(
        &mut self,
        sheet: &mut Sheet,
        (tool, input): (&str, Object),
        output: &str,
        (shown, failed): (Json, bool),
    ) -> Fallible<()> {
        let id = format!("call_{}", self.chance.hex(24));
        let text = self.message.take().map(|text| object! { "text": text });
        let call = object! { "id": &id, "name": tool, "args": input };
        let call = object! { "functionCall": call };
        self.model(sheet, text.into_iter().chain([call]).collect())?;
        let response = match failed {
            true => object! { "error": output },
            false => object! { "output": output },
        };
        let response = object! { "id": &id, "name": tool, "response": response };
        let part = object! { "functionResponse": response };
        let result = object! {
            "callId": &id, "status": if failed { "error" } else { "success" },
            "resultDisplay": shown,
        };
        let message = object! { "role": "user", "parts": vec![part] };
        let own = object! { "message": message, "toolCallResult": result };
        self.calls.push(id);
        self.put(sheet, ("tool_result", "tool_result"), &own)
    }

    fn call(&mut self, sheet: &mut Sheet, call: &Call) -> Fallible<()> {
        let cwd = self.origin.cwd.clone();
        match call {
            Call::Read { path, content } => {
                let input = object! { "absolute_path": format!("{cwd}/{path}") };
                self.called(sheet, ("read_file", input), content, ("".into(), false))
            }
            Call::Shell {
                command,
                output,
                failed,
            } => {
                let input = object! { "command": command, "description": "Look" };
                let code = u64::from(*failed);
                let text = format!(
                    "Command: {command}\nDirectory: (root)\nOutput: {output}\nError: (none)\nExit Code: {code}\nSignal: (none)"
                );
                let shown = output.into();
                self.called(sheet, ("run_shell_command", input), &text, (shown, *failed))
            }
            Call::Edit {
                path,
                original,
                old,
                new,
            } => {
                let absolute = format!("{cwd}/{path}");
                let input = object! {
                    "file_path": &absolute, "old_string": old, "new_string": new,
                };
                let shown = object! {
                    "fileDiff": format!("Index: {path}\n@@ -1 +1 @@\n{}", Call::patch(old, new)),
                    "fileName": path, "filePath": &absolute, "originalContent": original,
                    "newContent": Call::edited(original, old, new),
                };
                let text = "The file has been updated.";
                self.called(sheet, ("edit", input), text, (shown.into(), false))
            }
        }
    }
}

impl Form for Qwen {
    fn begin(&mut self, _: &mut Sheet) -> Fallible<()> {
        Ok(())
    }

    fn event(&mut self, sheet: &mut Sheet, event: &Event) -> Fallible<()> {
        match event {
            Event::Prompt { text, image } => self.user(sheet, prompt_parts(text, image.as_deref())),
            Event::Message { text } => {
                self.message = Some(text.clone());
                Ok(())
            }
            Event::Answer { text } => self.model(sheet, vec![object! { "text": text }]),
            Event::Call(call) => self.call(sheet, call),
            Event::Compacted { summary, kept } => {
                let history = |role: &str, text: &str| {
                    object! { "role": role, "parts": vec![object! { "text": text }] }
                };
                let info = object! {
                    "originalTokenCount": 180_000_u64, "newTokenCount": 3_000_u64,
                    "compressionStatus": 1_u64, "triggerReason": "auto",
                };
                let payload = object! {
                    "info": info,
                    "compressedHistory": vec![history("user", summary), history("model", kept)],
                    "completedToolCallIds": std::mem::take(&mut self.calls),
                };
                let own = object! { "subtype": "chat_compression", "systemPayload": payload };
                self.put(sheet, ("system", "system"), &own)
            }
            Event::Resumed | Event::Helper(_) => Ok(()),
        }
    }

    fn helper_starts(&mut self, sheet: &mut Sheet, helper: &Helper) -> Fallible<HelperPlace> {
        let input = object! {
            "description": "look into it", "subagent_type": "general-purpose",
            "prompt": &helper.task,
        };
        let shown = object! {
            "type": "task_execution", "subagentName": "general-purpose",
            "taskPrompt": &helper.task, "status": "background",
        };
        let text = "Background agent launched successfully.";
        self.called(sheet, ("agent", input), text, (shown.into(), false))?;
        let call = self.calls.last().cloned().unwrap_or_default();
        let id = format!("general-purpose-{call}");
        let project = sheet.path().ancestors().nth(2).unwrap_or(sheet.path());
        let inner = project.join("subagents").join(&self.origin.session);
        let path = inner.join(format!("agent-{id}.jsonl"));
        let origin = Origin {
            parent: None,
            helper: Some(id),
            ..self.origin.clone()
        };
        let form = Self::new(origin, Chance::new(self.chance.next()));
        Ok(HelperPlace::File(path, Box::new(form)))
    }

    fn end_copy(&mut self, chance: Chance) {
        self.chance = chance;
        self.copies = false;
    }
}
