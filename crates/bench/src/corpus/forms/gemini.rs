//! Gemini CLI: messages that are written again with what became of their calls; a summary takes the place of everything.

use super::{Form, HelperPlace, Origin};
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
}

impl Gemini {
    pub(in crate::corpus) fn new(origin: Origin, chance: Chance) -> Self {
        Self {
            origin,
            chance,
            message: String::new(),
        }
    }

    fn head(&mut self, sheet: &mut Sheet) -> Fallible<()> {
        let at = sheet.tick();
        // A sub-agent has an id of its own; which session it is of, its directory says.
        let (id, kind) = match &self.origin.helper {
            Some(helper) => (helper, "subagent"),
            None => (&self.origin.session, "main"),
        };
        sheet.line(&object! {
            "sessionId": id, "projectHash": self.chance.hex(64), "startTime": &at,
            "lastUpdated": &at, "kind": kind,
        })?;
        if self.origin.helper.is_some() {
            return Ok(());
        }
        let context = format!(
            "<session_context>\nThis is the Gemini CLI. We are setting up the context for our chat.\n- **Workspace Directories:**\n  - {}\n</session_context>",
            self.origin.cwd
        );
        let message = object! {
            "id": self.chance.hex(32), "timestamp": &at, "type": "user",
            "content": vec![object! { "text": context }],
        };
        let set = object! { "messages": vec![message], "lastUpdated": &at };
        sheet.line(&object! { "$set": set })
    }

    /// Writes a message, and when the file was written last.
    fn put(sheet: &mut Sheet, message: &Object, at: &str) -> Fallible<()> {
        sheet.line(message)?;
        sheet.line(&object! { "$set": object! { "lastUpdated": at } })
    }

    fn user(&self, sheet: &mut Sheet, content: Vec<Object>) -> Fallible<()> {
        let at = sheet.tick();
        let message = object! {
            "id": uuid(&self.chance), "timestamp": &at, "type": "user", "content": content,
        };
        Self::put(sheet, &message, &at)
    }

    /// A message of the model, once alone and once with its call, if it has one.
    fn model(&self, sheet: &mut Sheet, text: &str, call: Option<Object>) -> Fallible<()> {
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
        Self::put(sheet, &message, &at)?;
        match call {
            Some(call) => sheet.line(&message.field("toolCalls", vec![call])),
            None => Ok(()),
        }
    }

    fn called(
        &mut self,
        sheet: &mut Sheet,
        (tool, input): (&str, Object),
        output: &str,
        (shown, failed): (Json, bool),
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
            "resultDisplay": shown, "displayName": tool, "renderOutputAsMarkdown": true,
        };
        let text = std::mem::take(&mut self.message);
        self.model(sheet, &text, Some(call))?;
        self.user(sheet, vec![part])
    }

    fn call(&mut self, sheet: &mut Sheet, call: &Call) -> Fallible<()> {
        let cwd = self.origin.cwd.clone();
        match call {
            Call::Read { path, content } => {
                let input = object! { "file_path": format!("{cwd}/{path}") };
                self.called(sheet, ("read_file", input), content, ("".into(), false))
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
                self.called(
                    sheet,
                    ("run_shell_command", input),
                    &text,
                    (output.into(), *failed),
                )
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
                self.called(sheet, ("replace", input), &text, (shown.into(), false))
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
            Event::Prompt { text, image } => {
                let mut content = vec![object! { "text": text }];
                content.extend(image.as_ref().map(|image| {
                    let data = object! { "mimeType": "image/png", "data": image };
                    object! { "inlineData": data }
                }));
                self.user(sheet, content)
            }
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
                let messages = vec![
                    message("user", summary),
                    message("gemini", got),
                    message("user", kept),
                ];
                let set = object! { "messages": messages, "lastUpdated": &at };
                sheet.line(&object! { "$set": set })
            }
            Event::Resumed => self.head(sheet),
            Event::Helper(_) => Ok(()),
        }
    }

    fn helper_starts(&mut self, sheet: &mut Sheet, helper: &Helper) -> Fallible<HelperPlace> {
        let input = object! { "objective": &helper.task };
        let tool = "codebase_investigator";
        self.called(sheet, (tool, input), &helper.report, ("".into(), false))?;
        let id = uuid(&self.chance);
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
