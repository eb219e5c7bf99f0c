//! The payloads of the hooks, in the shapes that Claude Code gives them.

use std::path::Path;

use serde_json::{Map, Value, json};

/// What all payloads of a session have in common.
#[derive(Debug, Clone)]
pub struct Session {
    /// The native id.
    pub id: String,
    /// Where its transcript would be.
    pub transcript: String,
    /// The repository.
    pub cwd: String,
    /// The id of the prompt that is worked on.
    pub prompt: Option<String>,
}

/// A tool call: the tool, its input, its id.
#[derive(Debug, Clone)]
pub struct Call {
    pub tool: &'static str,
    pub input: Value,
    pub id: String,
}

impl Session {
    fn payload(&self, event: &str, more: Value) -> Value {
        let mut all = Map::new();
        let mut put = |name: &str, value: &str| all.insert(name.to_owned(), value.into());
        put("session_id", &self.id);
        put("transcript_path", &self.transcript);
        put("cwd", &self.cwd);
        if let Some(prompt) = &self.prompt {
            put("prompt_id", prompt);
        }
        put("hook_event_name", event);
        if let Value::Object(more) = more {
            all.extend(more);
        }
        Value::Object(all)
    }

    pub fn start(&self) -> Value {
        self.payload("SessionStart", json!({"source": "startup"}))
    }

    pub fn prompt(&self, text: &str) -> Value {
        let more = json!({"permission_mode": "acceptEdits", "prompt": text});
        self.payload("UserPromptSubmit", more)
    }

    pub fn before(&self, call: &Call) -> Value {
        self.payload("PreToolUse", about(call))
    }

    pub fn after(&self, call: &Call, response: &Value, duration_ms: u64) -> Value {
        let mut more = about(call);
        more["tool_response"] = response.clone();
        more["duration_ms"] = duration_ms.into();
        self.payload("PostToolUse", more)
    }

    pub fn stop(&self, words: &str) -> Value {
        let more = json!({
            "permission_mode": "acceptEdits",
            "effort": {"level": "medium"},
            "stop_hook_active": false,
            "last_assistant_message": words,
            "background_tasks": [],
            "session_crons": [],
        });
        self.payload("Stop", more)
    }

    pub fn end(&self) -> Value {
        self.payload("SessionEnd", json!({"reason": "other"}))
    }
}

fn about(call: &Call) -> Value {
    json!({
        "permission_mode": "acceptEdits",
        "effort": {"level": "medium"},
        "tool_name": call.tool,
        "tool_input": call.input,
        "tool_use_id": call.id,
    })
}

/// The input of the tool that writes a file.
pub fn write_input(path: &Path, content: &str) -> Value {
    json!({"file_path": path, "content": content})
}

/// What that tool returns.
pub fn write_response(path: &Path, content: &str) -> Value {
    json!({
        "type": "create",
        "filePath": path,
        "content": content,
        "structuredPatch": [],
        "originalFile": null,
        "userModified": false,
    })
}

/// The input of the tool that changes a file.
pub fn edit_input(path: &Path, old: &str, new: &str) -> Value {
    json!({"file_path": path, "old_string": old, "new_string": new, "replace_all": false})
}

/// What that tool returns. Nobody reads the patch.
pub fn edit_response(path: &Path, old: &str, new: &str, original: &str) -> Value {
    json!({
        "filePath": path,
        "oldString": old,
        "newString": new,
        "originalFile": original,
        "structuredPatch": [],
        "userModified": false,
        "replaceAll": false,
    })
}

/// The input of the shell tool.
pub fn bash_input(command: &str) -> Value {
    json!({"command": command, "description": "Work with git"})
}

/// What the shell tool returns.
pub fn bash_response(stdout: &str, stderr: &str) -> Value {
    json!({
        "stdout": stdout.trim_end(),
        "stderr": stderr.trim_end(),
        "interrupted": false,
        "isImage": false,
        "noOutputExpected": false,
    })
}

/// The hook commands that settings register for an event, and for a tool if the event is about one.
pub fn commands(settings: &Value, event: &str, tool: Option<&str>) -> Vec<String> {
    let matches = |group: &&Value| match (group["matcher"].as_str(), tool) {
        (None | Some("" | "*"), _) | (_, None) => true,
        (Some(matcher), Some(tool)) => matcher.split('|').any(|name| name == tool),
    };
    settings["hooks"][event]
        .as_array()
        .into_iter()
        .flatten()
        .filter(matches)
        .flat_map(|group| group["hooks"].as_array().into_iter().flatten())
        .filter_map(|hook| hook["command"].as_str().map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const RECORDED: &str =
        include_str!("../../../../agents/src/claude_code/fixtures/2.1.329/hooks.jsonl");

    /// The names in an object and in the objects in it, one level down.
    fn names(value: &Value) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for (name, inner) in value.as_object().into_iter().flatten() {
            names.insert(name.clone());
            for inner in inner.as_object().into_iter().flat_map(Map::keys) {
                names.insert(format!("{name}.{inner}"));
            }
        }
        names
    }

    /// The first payload that Claude Code itself gave of this kind.
    fn recorded(event: &str, tool: Option<&str>) -> Value {
        let of = |line: &str| -> Value { serde_json::from_str(line).unwrap() };
        let wanted = |p: &Value| p["hook_event_name"] == event && p["tool_name"].as_str() == tool;
        let mut payloads = RECORDED.lines().map(|l| of(l)["stdin"].clone());
        payloads.find(wanted).unwrap()
    }

    #[track_caller]
    fn check(ours: &Value, event: &str, tool: Option<&str>) {
        assert_eq!(
            names(ours),
            names(&recorded(event, tool)),
            "{event} {tool:?}"
        );
    }

    #[test]
    fn payloads_have_the_recorded_shapes() {
        let mut session = Session {
            id: "s".into(),
            transcript: "/t.jsonl".into(),
            cwd: "/repo".into(),
            prompt: None,
        };
        check(&session.start(), "SessionStart", None);
        session.prompt = Some("p".into());
        check(&session.prompt("x"), "UserPromptSubmit", None);
        check(&session.stop("x"), "Stop", None);
        check(&session.end(), "SessionEnd", None);
        let path = Path::new("/repo/a");
        let calls = [
            ("Write", write_input(path, "x"), write_response(path, "x")),
            (
                "Edit",
                edit_input(path, "x", "y"),
                edit_response(path, "x", "y", "x"),
            ),
            ("Bash", bash_input("true"), bash_response("", "")),
        ];
        for (tool, input, response) in calls {
            let id = "toolu_1".to_owned();
            let call = Call { tool, input, id };
            check(&session.before(&call), "PreToolUse", Some(tool));
            check(
                &session.after(&call, &response, 1),
                "PostToolUse",
                Some(tool),
            );
        }
    }

    #[test]
    fn hooks_are_chosen_by_event_and_tool() {
        let hook = |command: &str| json!([{"type": "command", "command": command}]);
        let settings = json!({"hooks": {
            "Stop": [{"hooks": hook("s")}],
            "PreToolUse": [
                {"matcher": "Bash|Write", "hooks": hook("a")},
                {"matcher": "Edit", "hooks": hook("b")},
                {"matcher": "*", "hooks": hook("c")},
            ],
        }});
        assert_eq!(commands(&settings, "Stop", None), ["s"]);
        assert_eq!(commands(&settings, "PreToolUse", Some("Bash")), ["a", "c"]);
        assert_eq!(commands(&settings, "PreToolUse", Some("Edit")), ["b", "c"]);
        assert!(commands(&settings, "SessionEnd", None).is_empty());
    }
}
