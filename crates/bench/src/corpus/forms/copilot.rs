//! Copilot CLI: events in one file, those of sub-agents among them.

use super::{Form, HelperPlace, Origin};
use crate::Fallible;
use crate::clock::Chance;
use crate::corpus::json::{Object, object};
use crate::corpus::sheet::Sheet;
use crate::corpus::story::{Call, Event, Helper};
use crate::payload::uuid;

pub(in crate::corpus) struct Copilot {
    origin: Origin,
    chance: Chance,
    parent: Option<String>,
    /// The sub-agent that is at work, and the call that started it.
    helper: Option<(String, String)>,
}

impl Copilot {
    pub(in crate::corpus) fn new(origin: Origin, chance: Chance) -> Self {
        Self {
            origin,
            chance,
            parent: None,
            helper: None,
        }
    }

    fn put(&mut self, sheet: &mut Sheet, kind: &str, data: Object) -> Fallible<()> {
        let id = uuid(&self.chance);
        let mut line = object! {
            "type": kind, "data": data, "id": &id, "timestamp": sheet.tick(),
            "parentId": self.parent.as_deref(),
        };
        if let Some((helper, _)) = &self.helper {
            line = line.field("agentId", helper);
        }
        self.parent = Some(id);
        sheet.line(&line)
    }

    fn model(&mut self, sheet: &mut Sheet, text: &str) -> Fallible<()> {
        let call = format!("chatcmpl-{}", self.chance.hex(24));
        let read = 4_000 + self.chance.below(90_000) as u64;
        let written = 40 + self.chance.below(900) as u64;
        let data = object! {
            "messageId": format!("m-{call}"), "model": "claude-sonnet-4.5", "content": text,
            "outputTokens": written, "apiCallId": &call, "turnId": "0",
        };
        self.put(sheet, "assistant.message", data)?;
        let usage = object! {
            "model": "claude-sonnet-4.5", "inputTokens": read, "outputTokens": written,
            "cacheReadTokens": read / 2, "cacheWriteTokens": 0_u64, "apiCallId": &call,
        };
        self.put(sheet, "session.usage_record", object! { "usage": usage })
    }

    fn starts(&mut self, sheet: &mut Sheet, tool: &str, input: Object) -> Fallible<String> {
        let id = format!("call_{}", self.chance.hex(24));
        let data = object! { "toolCallId": &id, "toolName": tool, "arguments": input };
        self.put(sheet, "tool.execution_start", data)?;
        Ok(id)
    }

    fn returns(&mut self, sheet: &mut Sheet, id: &str, output: &str) -> Fallible<()> {
        let result = object! { "content": output, "detailedContent": output };
        let data = object! { "toolCallId": id, "success": true, "result": result };
        self.put(sheet, "tool.execution_complete", data)
    }

    fn call(&mut self, sheet: &mut Sheet, call: &Call) -> Fallible<()> {
        let cwd = self.origin.cwd.clone();
        match call {
            Call::Read { path, content } => {
                let input = object! { "path": format!("{cwd}/{path}") };
                let id = self.starts(sheet, "view", input)?;
                self.returns(sheet, &id, content)
            }
            Call::Shell {
                command,
                output,
                failed,
            } => {
                let input = object! { "command": command, "description": "Look" };
                let id = self.starts(sheet, "bash", input)?;
                let code = u64::from(*failed);
                let output = format!("{output}\n<shellId: 1 completed with exit code {code}>");
                self.returns(sheet, &id, &output)
            }
            Call::Edit { path, old, new, .. } => {
                let path = format!("{cwd}/{path}");
                let input = object! { "path": &path, "old_str": old, "new_str": new };
                let id = self.starts(sheet, "edit", input)?;
                let output = format!("File {path} updated with changes.");
                self.returns(sheet, &id, &output)
            }
        }
    }
}

impl Form for Copilot {
    fn begin(&mut self, sheet: &mut Sheet) -> Fallible<()> {
        let context = object! {
            "cwd": &self.origin.cwd, "gitRoot": &self.origin.cwd, "branch": "main",
        };
        let data = object! {
            "sessionId": &self.origin.session, "version": 1_u64, "producer": "copilot-agent",
            "copilotVersion": "1.0.102", "startTime": self.origin.began.to_string(),
            "context": context,
        };
        self.put(sheet, "session.start", data)
    }

    fn event(&mut self, sheet: &mut Sheet, event: &Event) -> Fallible<()> {
        match event {
            Event::Prompt { text, image } => {
                let image = image.as_ref().map(|image| {
                    object! { "type": "image", "mimeType": "image/png", "data": image }
                });
                let attachments: Vec<Object> = image.into_iter().collect();
                let data = object! { "content": text, "attachments": attachments };
                self.put(sheet, "user.message", data)
            }
            Event::Message { text } | Event::Answer { text } => self.model(sheet, text),
            Event::Call(call) => self.call(sheet, call),
            Event::Compacted { summary, kept } => {
                let data = object! {
                    "success": true, "summaryContent": format!("{summary}\n\n{kept}"),
                    "trigger": "auto",
                };
                self.put(sheet, "session.compaction_complete", data)
            }
            Event::Resumed => {
                let data = object! { "resumeTime": sheet.at().to_string() };
                self.put(sheet, "session.resume", data)
            }
            Event::Helper(_) => Ok(()),
        }
    }

    fn helper_starts(&mut self, sheet: &mut Sheet, helper: &Helper) -> Fallible<HelperPlace> {
        let input = object! {
            "description": "look into it", "agent_type": "general-purpose", "name": "writer",
            "prompt": &helper.task,
        };
        let id = self.starts(sheet, "task", input)?;
        self.helper = Some((helper.id.clone(), id.clone()));
        let data = object! {
            "toolCallId": &id, "agentName": "general-purpose", "agentDisplayName": "General",
        };
        self.put(sheet, "subagent.started", data)?;
        Ok(HelperPlace::Inline)
    }

    fn helper_ends(&mut self, sheet: &mut Sheet, helper: &Helper) -> Fallible<()> {
        let Some((_, call)) = self.helper.clone() else {
            return Ok(());
        };
        let data = object! {
            "toolCallId": &call, "agentName": "general-purpose", "agentDisplayName": "General",
        };
        self.put(sheet, "subagent.completed", data)?;
        self.helper = None;
        self.returns(sheet, &call, &helper.report)
    }
}
