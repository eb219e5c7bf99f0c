//! OpenCode: what its plug-in says, a line of the record protocol for each; the agent itself writes no transcript.

use super::{Form, HelperPlace, Origin};
use crate::Fallible;
use crate::clock::Chance;
use crate::corpus::json::{Object, object};
use crate::corpus::sheet::Sheet;
use crate::corpus::story::{Call, Event, Helper};

pub(in crate::corpus) struct OpenCode {
    origin: Origin,
    chance: Chance,
    turn: Option<String>,
    helper: Option<String>,
}

impl OpenCode {
    pub(in crate::corpus) fn new(origin: Origin, chance: Chance) -> Self {
        Self {
            origin,
            chance,
            turn: None,
            helper: None,
        }
    }

    fn put(&self, sheet: &mut Sheet, kind: &str, id: &str, own: &Object) -> Fallible<()> {
        let mut line = object! {
            "v": 1_u64, "type": kind, "session": &self.origin.session, "cwd": &self.origin.cwd,
        };
        if let Some(turn) = &self.turn {
            line = line.field("turn", turn);
        }
        let mut line = line.field("id", id).field("at", sheet.tick()).with(own);
        if let Some(helper) = &self.helper {
            line = line.field("subagent", helper);
        }
        sheet.line(&line)
    }

    fn model(&self, sheet: &mut Sheet, text: &str) -> Fallible<()> {
        let id = format!("msg_{}", self.chance.hex(24));
        let own = object! { "message": &id, "text": text };
        self.put(sheet, "message", &format!("text:{id}"), &own)?;
        let read = 2_000 + self.chance.below(40_000) as u64;
        let own = object! {
            "message": &id, "model": "claude-opus-5-5", "input": read,
            "output": 40 + self.chance.below(900) as u64, "cache_read": read,
            "cache_write": 0_u64,
        };
        self.put(sheet, "usage", &format!("usage:{id}"), &own)
    }

    fn call(&self, sheet: &mut Sheet, call: &Call) -> Fallible<()> {
        let absolute = |path: &str| format!("{}/{path}", self.origin.cwd);
        let (names, input, result) = match call {
            Call::Read { path, content } => {
                let names = object! { "tool": "read", "kind": "other" };
                let input = object! { "filePath": absolute(path) };
                (names, input, object! { "outcome": "ok", "output": content })
            }
            Call::Shell {
                command,
                output,
                failed,
            } => {
                let outcome = if *failed { "failed" } else { "ok" };
                let names = object! { "tool": "bash", "kind": "shell" };
                let input = object! { "command": command };
                (
                    names,
                    input,
                    object! { "outcome": outcome, "output": output },
                )
            }
            Call::Edit {
                path,
                original,
                old,
                new,
            } => {
                let path = absolute(path);
                let paths = vec![path.as_str()];
                let names = object! { "tool": "edit", "kind": "edit", "paths": paths };
                let input = object! { "filePath": &path, "oldString": old, "newString": new };
                let result = object! {
                    "outcome": "ok", "output": "Edit applied successfully.", "before": original,
                    "after": Call::edited(original, old, new),
                };
                (names, input, result)
            }
        };
        let id = format!("call_{}", self.chance.hex(24));
        let named = object! { "call": &id }.with(&names);
        let begins = named.clone().field("input", input);
        self.put(sheet, "tool_call", &format!("call:{id}"), &begins)?;
        self.put(
            sheet,
            "tool_result",
            &format!("result:{id}"),
            &named.with(&result),
        )
    }
}

impl Form for OpenCode {
    fn begin(&mut self, sheet: &mut Sheet) -> Fallible<()> {
        let own = match &self.origin.parent {
            Some(parent) => object! { "source": "fork", "parent": &parent.session },
            None => object! { "source": "startup" },
        };
        let id = format!("start:{}", self.origin.session);
        self.put(sheet, "session_start", &id, &own)
    }

    fn event(&mut self, sheet: &mut Sheet, event: &Event) -> Fallible<()> {
        match event {
            // What a sub-agent is to do stands in the call that starts it.
            Event::Prompt { .. } if self.helper.is_some() => Ok(()),
            Event::Prompt { text, .. } => {
                let turn = format!("msg_{}", self.chance.hex(24));
                let id = format!("prompt:{turn}");
                self.turn = Some(turn);
                let own = object! { "text": text, "synthetic": false };
                self.put(sheet, "prompt", &id, &own)
            }
            Event::Message { text } => self.model(sheet, text),
            Event::Answer { text } => {
                self.model(sheet, text)?;
                let id = format!("idle:{}", self.chance.hex(24));
                self.put(sheet, "turn_end", &id, &Object::default())
            }
            Event::Call(call) => self.call(sheet, call),
            Event::Compacted { .. } => {
                let id = format!("compacted:{}", self.chance.hex(24));
                self.put(sheet, "compaction", &id, &Object::default())
            }
            Event::Resumed => {
                let id = format!("start:{}", self.chance.hex(24));
                self.turn = None;
                self.put(sheet, "session_start", &id, &object! { "source": "resume" })
            }
            Event::Helper(_) => Ok(()),
        }
    }

    fn helper_starts(&mut self, _: &mut Sheet, helper: &Helper) -> Fallible<HelperPlace> {
        self.helper = Some(helper.id.clone());
        Ok(HelperPlace::Inline)
    }

    fn helper_ends(&mut self, _: &mut Sheet, _: &Helper) -> Fallible<()> {
        self.helper = None;
        Ok(())
    }

    fn end(&mut self, sheet: &mut Sheet) -> Fallible<()> {
        self.turn = None;
        let id = format!("end:{}", self.origin.session);
        self.put(sheet, "session_end", &id, &object! { "reason": "exit" })
    }
}
