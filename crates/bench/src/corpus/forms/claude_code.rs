//! Claude Code: a line for each message, its result twice; sub-agents beside it; forks copy what they share.

use super::{Form, HelperPlace, Origin};
use crate::Fallible;
use crate::clock::Chance;
use crate::corpus::json::{Json, Object, object};
use crate::corpus::sheet::Sheet;
use crate::corpus::story::{Call, Event, Helper};
use crate::payload::uuid;

/// What the agent adds to a conversation, and nobody said.
const ATTACHMENTS: &[&str] = &["environment", "session_context", "skill_listing"];

pub(in crate::corpus) struct ClaudeCode {
    origin: Origin,
    chance: Chance,
    turn: String,
    prompt: String,
    parent: Option<String>,
    copies: bool,
}

impl ClaudeCode {
    pub(in crate::corpus) fn new(origin: Origin, chance: Chance) -> Self {
        Self {
            copies: origin.parent.is_some(),
            origin,
            chance,
            turn: String::new(),
            prompt: String::new(),
            parent: None,
        }
    }

    /// Writes a line of the chain of messages: what all of them have, with what is its own, in front and at the end.
    fn chained(&mut self, sheet: &mut Sheet, own: &Object, last: &Object) -> Fallible<()> {
        let id = uuid(&self.chance);
        let mut line = object! {
            "parentUuid": self.parent.as_deref(),
            "isSidechain": self.origin.helper.is_some(),
        };
        if let Some(helper) = &self.origin.helper {
            line = line.field("agentId", helper);
        }
        let line = line.with(own).with(&object! {
            "uuid": id.as_str(),
            "timestamp": sheet.tick(),
            "userType": "external",
            "entrypoint": "cli",
            "cwd": &self.origin.cwd,
            "sessionId": &self.origin.session,
            "version": "2.1.329",
            "gitBranch": "main",
        });
        self.parent = Some(id);
        sheet.line(&line.with(last))
    }

    fn user(&mut self, sheet: &mut Sheet, content: Json, more: &Object) -> Fallible<()> {
        let message = object! { "role": "user", "content": content };
        let own = object! { "promptId": &self.turn, "type": "user", "message": message };
        self.chained(sheet, &own.with(more), &Object::default())
    }

    fn assistant(&mut self, sheet: &mut Sheet, block: Object, stop: &str) -> Fallible<()> {
        let usage = object! {
            "input_tokens": 4_u64,
            "cache_creation_input_tokens": self.chance.below(4_000) as u64,
            "cache_read_input_tokens": 20_000 + self.chance.below(90_000) as u64,
            "output_tokens": 80 + self.chance.below(900) as u64,
            "service_tier": "standard",
        };
        let message = object! {
            "id": format!("msg_{}", self.chance.hex(24)),
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5-5",
            "content": vec![block],
            "stop_reason": stop,
            "stop_sequence": None::<&str>,
            "usage": usage,
        };
        let request = format!("req_{}", self.chance.hex(24));
        let own = object! {
            "message": message, "apiBlockIndex": 0_u64, "requestId": request, "type": "assistant",
            "effort": "medium", "madeBy": "model",
        };
        // Of what is copied, answers alone name the session that they are of.
        let last = match self.origin.parent.as_ref().filter(|_| self.copies) {
            Some(parent) => object! { "requestSessionId": &parent.session },
            None => Object::default(),
        };
        self.chained(sheet, &own, &last)
    }

    fn text_block(text: &str) -> Object {
        object! { "type": "text", "text": text }
    }

    /// A call and its result, which stands in the line twice: for the model and for people.
    fn called(
        &mut self,
        sheet: &mut Sheet,
        (tool, input): (&str, Object),
        content: &str,
        (shown, failed): (Object, bool),
    ) -> Fallible<()> {
        let id = format!("toolu_{}", self.chance.hex(24));
        let block = object! { "type": "tool_use", "id": &id, "name": tool, "input": input };
        self.assistant(sheet, block, "tool_use")?;
        let result = object! {
            "tool_use_id": &id, "type": "tool_result", "content": content, "is_error": failed,
        };
        let more = object! { "toolUseResult": shown };
        self.user(sheet, vec![result].into(), &more)
    }

    fn call(&mut self, sheet: &mut Sheet, call: &Call) -> Fallible<()> {
        let absolute = |path: &str| format!("{}/{path}", self.origin.cwd);
        match call {
            Call::Read { path, content } => {
                let path = absolute(path);
                let lines = content.lines().enumerate();
                let numbered: Vec<String> =
                    lines.map(|(n, l)| format!("{:>6}→{l}", n + 1)).collect();
                let count = numbered.len() as u64;
                let file = object! {
                    "filePath": &path, "content": content, "numLines": count,
                    "startLine": 1_u64, "totalLines": count,
                };
                let shown = object! { "type": "text", "file": file };
                let input = object! { "file_path": &path };
                self.called(sheet, ("Read", input), &numbered.join("\n"), (shown, false))
            }
            Call::Shell {
                command,
                output,
                failed,
            } => {
                let (out, err) = match failed {
                    true => ("", output.as_str()),
                    false => (output.as_str(), ""),
                };
                let shown = object! {
                    "stdout": out, "stderr": err, "interrupted": false, "isImage": false,
                };
                let input = object! { "command": command, "description": "Look" };
                self.called(sheet, ("Bash", input), output, (shown, *failed))
            }
            Call::Edit {
                path,
                original,
                old,
                new,
            } => {
                let path = absolute(path);
                let shown = object! {
                    "filePath": &path, "oldString": old, "newString": new,
                    "originalFile": original, "structuredPatch": Vec::<Object>::new(),
                    "userModified": false, "replaceAll": false,
                };
                let content = format!("The file {path} has been updated successfully.");
                let input = object! { "file_path": &path, "old_string": old, "new_string": new };
                self.called(sheet, ("Edit", input), &content, (shown, false))
            }
        }
    }
}

impl Form for ClaudeCode {
    fn begin(&mut self, _: &mut Sheet) -> Fallible<()> {
        Ok(())
    }

    fn event(&mut self, sheet: &mut Sheet, event: &Event) -> Fallible<()> {
        match event {
            Event::Prompt { text, image } => {
                // A sub-agent works in the turn of its session.
                if self.origin.helper.is_none() {
                    self.turn = uuid(&self.chance);
                }
                self.prompt.clone_from(text);
                let content: Json = match image {
                    None => text.into(),
                    Some(image) => {
                        let source = object! {
                            "type": "base64", "media_type": "image/png", "data": image,
                        };
                        let image = object! { "type": "image", "source": source };
                        vec![Self::text_block(text), image].into()
                    }
                };
                self.user(sheet, content, &object! { "permissionMode": "default" })?;
                for kind in ATTACHMENTS {
                    let attachment = object! { "type": *kind };
                    let own = object! { "attachment": attachment, "type": "attachment" };
                    self.chained(sheet, &own, &Object::default())?;
                }
                Ok(())
            }
            Event::Message { text } => self.assistant(sheet, Self::text_block(text), "tool_use"),
            Event::Answer { text } => self.assistant(sheet, Self::text_block(text), "end_turn"),
            Event::Call(call) => self.call(sheet, call),
            Event::Compacted { summary, kept } => {
                let metadata = object! { "trigger": "auto", "preTokens": 180_000_u64 };
                let own = object! {
                    "type": "system", "subtype": "compact_boundary",
                    "content": "Conversation compacted", "compactMetadata": metadata,
                };
                self.parent = None;
                self.chained(sheet, &own, &Object::default())?;
                let summary = format!(
                    "This session is being continued from a previous conversation that ran out of context.\nSummary:\n{summary}\n\n{kept}"
                );
                let more = object! { "isCompactSummary": true, "isVisibleInTranscriptOnly": true };
                self.user(sheet, summary.into(), &more)
            }
            Event::Resumed => {
                let session = &self.origin.session;
                sheet.line(&object! {
                    "type": "last-prompt", "lastPrompt": &self.prompt,
                    "leafUuid": self.parent.as_deref(), "sessionId": session,
                })?;
                sheet.line(&object! { "type": "mode", "mode": "normal", "sessionId": session })
            }
            Event::Helper(_) => Ok(()),
        }
    }

    fn helper_starts(&mut self, sheet: &mut Sheet, helper: &Helper) -> Fallible<HelperPlace> {
        let input = object! {
            "description": "look into it", "subagent_type": "general-purpose",
            "prompt": &helper.task,
        };
        let shown = object! {
            "isAsync": true, "status": "async_launched", "agentId": &helper.id,
            "description": "look into it", "prompt": &helper.task,
        };
        let content = format!("Async agent launched successfully.\nagentId: {}", helper.id);
        self.called(sheet, ("Agent", input), &content, (shown, false))?;
        let inner = sheet.path().with_extension("").join("subagents");
        let origin = Origin {
            parent: None,
            helper: Some(helper.id.clone()),
            ..self.origin.clone()
        };
        let mut form = Self::new(origin, Chance::new(self.chance.next()));
        form.turn.clone_from(&self.turn);
        let path = inner.join(format!("agent-{}.jsonl", helper.id));
        Ok(HelperPlace::File(path, Box::new(form)))
    }

    fn end_copy(&mut self, chance: Chance) {
        self.chance = chance;
        self.copies = false;
    }
}
