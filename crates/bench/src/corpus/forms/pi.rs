//! Pi: a head with the session, then messages; forks copy lines as they are.

use super::{Form, Origin};
use crate::Fallible;
use crate::clock::Chance;
use crate::corpus::json::{Object, object};
use crate::corpus::sheet::Sheet;
use crate::corpus::story::{Call, Event};

pub(in crate::corpus) struct Pi {
    origin: Origin,
    chance: Chance,
    parent: Option<String>,
    /// What the model said last, until its call is there.
    message: Option<String>,
}

impl Pi {
    pub(in crate::corpus) fn new(origin: Origin, chance: Chance) -> Self {
        Self {
            origin,
            chance,
            parent: None,
            message: None,
        }
    }

    fn put(&mut self, sheet: &mut Sheet, kind: &str, own: &Object) -> Fallible<()> {
        let id = self.chance.hex(8);
        let line = object! {
            "type": kind, "id": &id, "parentId": self.parent.as_deref(),
            "timestamp": sheet.tick(),
        };
        self.parent = Some(id);
        sheet.line(&line.with(own))
    }

    fn message_by(
        &mut self,
        sheet: &mut Sheet,
        role: &str,
        content: Vec<Object>,
        more: &Object,
    ) -> Fallible<()> {
        let message = object! { "role": role, "content": content }.with(more);
        self.put(sheet, "message", &object! { "message": message })
    }

    fn model(&mut self, sheet: &mut Sheet, content: Vec<Object>, stop: &str) -> Fallible<()> {
        let read = 2_000 + self.chance.below(40_000) as u64;
        let written = 40 + self.chance.below(900) as u64;
        let usage = object! {
            "input": read, "output": written, "cacheRead": read, "cacheWrite": 0_u64,
            "reasoning": 0_u64, "totalTokens": 2 * read + written,
        };
        let more = object! {
            "api": "anthropic-messages", "provider": "anthropic", "model": "claude-opus-5-5",
            "usage": usage, "stopReason": stop,
        };
        self.message_by(sheet, "assistant", content, &more)
    }

    fn call(&mut self, sheet: &mut Sheet, call: &Call) -> Fallible<()> {
        let absolute = |path: &str| format!("{}/{path}", self.origin.cwd);
        let (tool, input, output, failed) = match call {
            Call::Read { path, content } => (
                "read",
                object! { "path": absolute(path) },
                content.clone(),
                false,
            ),
            Call::Shell {
                command,
                output,
                failed,
            } => {
                let input = object! { "command": command };
                ("bash", input, output.clone(), *failed)
            }
            Call::Edit { path, old, new, .. } => {
                let path = absolute(path);
                let edit = object! { "oldText": old, "newText": new };
                let input = object! { "path": &path, "edits": vec![edit] };
                let output = format!("Successfully replaced 1 block(s) in {path}.");
                ("edit", input, output, false)
            }
        };
        let id = format!("call_{}", self.chance.hex(24));
        let text = self.message.take().map(|text| text_part(&text));
        let call = object! { "type": "toolCall", "id": &id, "name": tool, "arguments": input };
        let content = text.into_iter().chain([call]).collect();
        self.model(sheet, content, "toolUse")?;
        let message = object! {
            "role": "toolResult", "toolCallId": &id, "toolName": tool,
            "content": vec![text_part(&output)], "isError": failed,
        };
        self.put(sheet, "message", &object! { "message": message })
    }
}

impl Form for Pi {
    fn begin(&mut self, sheet: &mut Sheet) -> Fallible<()> {
        let mut head = object! {
            "type": "session", "version": 3_u64, "id": &self.origin.session,
            "timestamp": self.origin.began.to_string(), "cwd": &self.origin.cwd,
        };
        if let Some(parent) = &self.origin.parent {
            head = head.field("parentSession", parent.path.to_string_lossy().into_owned());
        }
        sheet.line(&head)?;
        let model = object! { "provider": "anthropic", "modelId": "claude-opus-5-5" };
        self.put(sheet, "model_change", &model)
    }

    fn event(&mut self, sheet: &mut Sheet, event: &Event) -> Fallible<()> {
        match event {
            Event::Prompt { text, image } => {
                let mut content = vec![text_part(text)];
                content.extend(image.as_ref().map(|image| {
                    object! { "type": "image", "data": image, "mimeType": "image/png" }
                }));
                self.message_by(sheet, "user", content, &Object::default())
            }
            Event::Message { text } => {
                self.message = Some(text.clone());
                Ok(())
            }
            Event::Answer { text } => self.model(sheet, vec![text_part(text)], "stop"),
            Event::Call(call) => self.call(sheet, call),
            Event::Compacted { summary, kept } => {
                let own = object! {
                    "summary": format!("{summary}\n\n{kept}"), "tokensBefore": 180_000_u64,
                };
                self.put(sheet, "compaction", &own)
            }
            Event::Resumed | Event::Helper(_) => Ok(()),
        }
    }

    fn end_copy(&mut self, chance: Chance) {
        self.chance = chance;
    }
}

fn text_part(text: &str) -> Object {
    object! { "type": "text", "text": text }
}
