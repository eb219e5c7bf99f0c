//! Gemini CLI: messages that are written again with what became of their calls, and all of them when it goes on; a summary
//! takes the place of everything.

use super::{Form, HelperPlace, Origin, prompt_parts};
use crate::Fallible;
use crate::clock::Chance;
use crate::corpus::json::{Json, Object, object};
use crate::corpus::sheet::Sheet;
use crate::corpus::story::{Call, Event, Helper};
use crate::payload::uuid;

pub(in crate::corpus) struct Gemini {
    origin: Origin,
    chance: Chance,
    /// What the model said last, until its calls are there.
    message: String,
    /// All messages so far.
    history: Vec<Object>,
}

impl Gemini {
    pub(in crate::corpus) fn new(origin: Origin, chance: Chance) -> Self {
        Self {
            origin,
            chance,
            message: String::new(),
            history: Vec::new(),
        }
    }

    fn head(&mut self, sheet: &mut Sheet) -> Fallible<()> {
        let at = sheet.tick();
        // A sub-agent has an id of its own; which session it is of, its directory says.
        let (id, kind) = match &self.origin.helper {
            Some(helper) => (helper, "subagent"),
            None => (&self.origin.session, "main"),
        };
        let project = blake3::hash(self.origin.cwd.as_bytes()).to_hex();
        let head = object! {
            "sessionId": id, "projectHash": project.as_str(), "startTime": &at,
            "lastUpdated": &at, "kind": kind,
        };
        if self.origin.helper.is_some() {
            return sheet.line(&head.field("directories", vec![self.origin.cwd.as_str()]));
        }
        sheet.line(&head)?;
        let context = format!(
            "<session_context>\nThis is the Gemini CLI. We are setting up the context for our chat.\n- **Workspace Directories:**\n  - {}\n</session_context>",
            self.origin.cwd
        );
        let id = blake3::hash(context.as_bytes()).to_hex();
        let message = object! {
            "id": &id[..32], "timestamp": &at, "type": "user",
            "content": vec![object! { "text": context }],
        };
        let set = object! { "messages": vec![message.clone()], "lastUpdated": &at };
        sheet.line(&object! { "$set": set })?;
        if self.history.is_empty() {
            self.history.push(message);
            return Ok(());
        }
        let set = object! { "sessionId": &self.origin.session };
        sheet.line(&object! { "$set": set })?;
        let set = object! { "messages": self.history.clone(), "lastUpdated": &at };
        sheet.line(&object! { "$set": set })
    }

    /// Writes a message, and when the file was written last.
    fn put(&mut self, sheet: &mut Sheet, message: Object, at: &str) -> Fallible<()> {
        sheet.line(&message)?;
        self.history.push(message);
        sheet.line(&object! { "$set": object! { "lastUpdated": at } })
    }

    fn user(&mut self, sheet: &mut Sheet, content: Vec<Object>) -> Fallible<()> {
        let at = sheet.tick();
        let message = object! {
            "id": uuid(&self.chance), "timestamp": &at, "type": "user", "content": content,
        };
        self.put(sheet, message, &at)
    }

    /// A message of the model, once alone and once with its call, if it has one.
    fn model(&mut self, sheet: &mut Sheet, text: &str, call: Option<Object>) -> Fallible<()> {
        let at = sheet.tick();
        let (read, written) = (
            4_000 + self.chance.below(90_000) as u64,
            40 + self.chance.below(900) as u64,
        );
        let tokens = object! {
            "input": read, "output": written, "cached": read / 2, "thoughts": 0_u64,
            "tool": 0_u64, "total": read + written,
        };
        let message = object! {
            "id": uuid(&self.chance), "timestamp": &at, "type": "gemini", "content": text,
            "thoughts": Vec::<Object>::new(), "tokens": tokens, "model": "gemini-2.5-flash",
        };
        self.put(sheet, message.clone(), &at)?;
        if let Some(call) = call {
            let message = message.field("toolCalls", vec![call]);
            sheet.line(&message)?;
            self.history.push(message);
        }
        Ok(())
    }

    /// Writes a call with its result, and what else stands in it.
    fn called(
        &mut self,
        sheet: &mut Sheet,
        (tool, input): (&str, Object),
        output: &str,
        (shown, failed): (Json, bool),
        more: &Object,
    ) -> Fallible<()> {
        let id = format!("{tool}__fc-{}", self.chance.hex(24));
        let response = match failed {
            true => object! { "error": output },
            false => object! { "output": output },
        };
        let response = object! { "id": &id, "name": tool, "response": response };
        let part = object! { "functionResponse": response };
        let call = object! {
            "id": &id, "name": tool, "args": input, "result": vec![part.clone()],
            "status": if failed { "error" } else { "success" }, "timestamp": sheet.at().to_string(),
        };
        let call = call.with(more).with(&object! {
            "resultDisplay": shown, "displayName": tool, "renderOutputAsMarkdown": true,
        });
        let text = std::mem::take(&mut self.message);
        self.model(sheet, &text, Some(call))?;
        self.user(sheet, vec![part])
    }

    fn call(&mut self, sheet: &mut Sheet, call: &Call) -> Fallible<()> {
        let (cwd, no_more) = (self.origin.cwd.clone(), Object::default());
        match call {
            Call::Read { path, content } => {
                let input = object! { "file_path": format!("{cwd}/{path}") };
                let shown = ("".into(), false);
                self.called(sheet, ("read_file", input), content, shown, &no_more)
            }
            Call::Shell {
                command,
                output,
                failed,
            } => {
                let input = object! { "command": command, "description": "Look" };
                let text = format!(
                    "<untrusted_context>\nOutput: {output}\nProcess Group PGID: 1806\n</untrusted_context>"
                );
                let (tool, shown) = ("run_shell_command", (output.into(), *failed));
                self.called(sheet, (tool, input), &text, shown, &no_more)
            }
            Call::Edit {
                path,
                original,
                old,
                new,
            } => {
                let whole = Call::edited(original, old, new);
                let absolute = format!("{cwd}/{path}");
                let input = object! {
                    "file_path": &absolute, "old_string": old, "new_string": new, "instruction": "x",
                };
                let shown = object! {
                    "fileDiff": format!("Index: {path}\n@@ -1 +1 @@\n{}", Call::patch(old, new)),
                    "fileName": path, "filePath": &absolute, "originalContent": original,
                    "newContent": whole, "isNewFile": false,
                };
                let text = format!("Successfully modified file: {absolute} (1 replacements).");
                let shown = (shown.into(), false);
                self.called(sheet, ("replace", input), &text, shown, &no_more)
            }
        }
    }
}

impl Form for Gemini {
    fn begin(&mut self, sheet: &mut Sheet) -> Fallible<()> {
        self.head(sheet)
    }

    fn event(&mut self, sheet: &mut Sheet, event: &Event) -> Fallible<()> {
        match event {
            Event::Prompt { text, image } => self.user(sheet, prompt_parts(text, image.as_deref())),
            Event::Message { text } => {
                self.message.clone_from(text);
                Ok(())
            }
            Event::Answer { text } => self.model(sheet, text, None),
            Event::Call(call) => self.call(sheet, call),
            Event::Compacted { summary, kept } => {
                let at = sheet.tick();
                let message = |kind: &str, text: &str| {
                    object! {
                        "id": uuid(&self.chance), "timestamp": &at, "type": kind,
                        "content": vec![object! { "text": text }],
                    }
                };
                let got = "Got it. Thanks for the additional context!";
                // What stands in front of the conversation stays.
                let mut messages: Vec<Object> = self.history.iter().take(1).cloned().collect();
                messages.extend([
                    message("user", summary),
                    message("gemini", got),
                    message("user", kept),
                ]);
                self.history.clone_from(&messages);
                let set = object! { "messages": messages, "lastUpdated": &at };
                sheet.line(&object! { "$set": set })
            }
            Event::Resumed => self.head(sheet),
            Event::Helper(_) => Ok(()),
        }
    }

    fn helper_starts(&mut self, sheet: &mut Sheet, helper: &Helper) -> Fallible<HelperPlace> {
        let id = uuid(&self.chance);
        let input = object! { "agent_name": "generalist", "prompt": &helper.task };
        let output = format!(
            "Subagent 'generalist' finished.\nTermination Reason: GOAL\nResult:\n{}",
            helper.report
        );
        let shown = object! {
            "isSubagentProgress": true, "agentName": "generalist", "state": "completed",
            "result": &helper.report,
        };
        let of_helper = object! { "agentId": &id };
        let (call, shown) = (("invoke_agent", input), (shown.into(), false));
        self.called(sheet, call, &output, shown, &of_helper)?;
        let inner = sheet.path().with_file_name(&self.origin.session);
        let path = inner.join(format!("{id}.jsonl"));
        let origin = Origin {
            helper: Some(id),
            ..self.origin.clone()
        };
        let form = Self::new(origin, Chance::new(self.chance.next()));
        Ok(HelperPlace::File(path, Box::new(form)))
    }
}
