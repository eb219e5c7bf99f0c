//! Tool calls as agents tell them over the protocol. They fill in what they say of one call bit by bit, and each leaves
//! out something else.

use serde_json::{Value, json};
use siglum_domain::observation::{Outcome, ToolClass};

/// The most bytes of what a tool was given, or gave, that are kept.
const TEXT_MOST: usize = 1 << 20;

/// What is known of a call so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Call {
    pub(crate) id: String,
    name: Option<String>,
    title: String,
    kind: String,
    status: String,
    input: Option<Value>,
    content: Value,
    output: Option<Value>,
    /// What a terminal showed, as some tell it.
    shown: String,
    exit: Option<i64>,
    /// The call whose sub-agent made this one.
    pub(crate) parent: Option<String>,
    /// The sub-agent that it started, by the agent's own name for it.
    helper: Option<String>,
    pub(crate) refused: bool,
}

impl Call {
    pub(crate) fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            ..Self::default()
        }
    }

    /// Takes what an update says of it.
    pub(crate) fn take(&mut self, update: &Value) {
        let text = |field: &str| update[field].as_str().filter(|t| !t.is_empty());
        let meta = &update["_meta"];
        let claude = &meta["claudeCode"];
        let name = text("name")
            .or_else(|| claude["toolName"].as_str())
            .or_else(|| meta["toolName"].as_str());
        if let Some(name) = name {
            self.name = Some(name.to_owned());
        }
        if let Some(title) = text("title") {
            title.clone_into(&mut self.title);
        }
        if let Some(kind) = text("kind") {
            kind.clone_into(&mut self.kind);
        }
        if let Some(status) = text("status") {
            status.clone_into(&mut self.status);
        }
        if is_something(&update["rawInput"]) {
            self.input = Some(update["rawInput"].clone());
        }
        if is_something(&update["rawOutput"]) {
            self.output = Some(update["rawOutput"].clone());
        }
        if is_something(&update["content"]) {
            self.content = update["content"].clone();
        }
        if let Some(parent) = claude["parentToolUseId"].as_str() {
            self.parent = Some(parent.to_owned());
        }
        if let Some(helper) = claude["toolResponse"]["agentId"].as_str() {
            self.helper = Some(helper.to_owned()).filter(|id| !id.is_empty() && id.len() <= 128);
        }
        self.refused |= claude["nonExecutionKind"].as_str() == Some("user-rejected");
        for field in ["terminal_output", "terminal_output_delta"] {
            let Some(data) = meta[field]["data"].as_str() else {
                continue;
            };
            if field == "terminal_output" {
                self.shown.clear();
            }
            if self.shown.len() < TEXT_MOST {
                self.shown.push_str(data);
            }
        }
        self.exit = meta["terminal_exit"]["exit_code"].as_i64().or(self.exit);
    }

    /// What the sub-agent is called that it started, and its kind; where the agent does not say, it is called as the call.
    pub(crate) fn helper(&self) -> (&str, &str) {
        let kind = self
            .input
            .as_ref()
            .and_then(|input| input["subagent_type"].as_str());
        (
            self.helper.as_deref().unwrap_or(&self.id),
            kind.unwrap_or_default(),
        )
    }

    /// Whether it is known to run, so that it is told at once.
    pub(crate) fn runs(&self) -> bool {
        self.status == "in_progress" || self.is_over()
    }

    /// Whether it returned.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.status.as_str(), "completed" | "failed")
    }

    /// The tool's own name, else the word for what it does.
    pub(crate) fn name(&self) -> String {
        let plain = |text: &&str| {
            let fits = (1..=64).contains(&text.len());
            fits && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
        };
        let named = self
            .name
            .as_deref()
            .filter(|name| name.chars().count() <= 256);
        let named = named.or_else(|| Some(self.title.as_str()).filter(plain));
        let kind = Some(self.kind.as_str()).filter(|kind| !kind.is_empty());
        named.or(kind).unwrap_or("tool").to_owned()
    }

    /// Human-readable text.
    pub(crate) fn title(&self) -> String {
        match self.title.is_empty() {
            true => self.name(),
            false => self.title.chars().take(500).collect(),
        }
    }

    pub(crate) fn class(&self) -> ToolClass {
        if matches!(
            self.name.as_deref(),
            Some("Agent" | "Task" | "task" | "invoke_agent")
        ) {
            return ToolClass::Agent;
        }
        match self.kind.as_str() {
            "execute" => ToolClass::Shell,
            "edit" | "delete" | "move" => ToolClass::Edit,
            _ => ToolClass::Other,
        }
    }

    /// What it was given. Some say it in the title or the content alone.
    pub(crate) fn input(&self) -> Value {
        if let Some(input) = &self.input {
            return input.clone();
        }
        let paths: Vec<&str> = parts(&self.content)
            .filter_map(|part| part["path"].as_str())
            .collect();
        match (self.class(), paths.first()) {
            (ToolClass::Shell, _) => json!({ "command": self.title }),
            (ToolClass::Edit, Some(path)) => json!({ "path": path }),
            _ => json!({ "title": self.title }),
        }
    }

    /// What it gave.
    pub(crate) fn output(&self) -> String {
        let mut text = match &self.output {
            Some(Value::String(text)) => text.clone(),
            Some(output) => match output["output"].as_str() {
                Some(text) => text.to_owned(),
                None => output.to_string(),
            },
            None => String::new(),
        };
        if text.is_empty() {
            text.clone_from(&self.shown);
        }
        if text.is_empty() {
            let part = |part: &Value| match part["type"].as_str() {
                Some("content") => part["content"]["text"].as_str().map(str::to_owned),
                Some("diff") => part["path"].as_str().map(|path| format!("changed {path}")),
                _ => None,
            };
            text = parts(&self.content)
                .filter_map(part)
                .collect::<Vec<_>>()
                .join("\n");
        }
        cut(text)
    }

    /// The first file that it changes.
    pub(crate) fn path(&self) -> Option<&str> {
        let input = self.input.as_ref();
        let named = |field: &str| input.and_then(|input| input[field].as_str());
        let shown = parts(&self.content).find_map(|part| part["path"].as_str());
        shown.or_else(|| {
            ["path", "file_path", "filePath"]
                .into_iter()
                .find_map(named)
        })
    }

    /// What it changed, as lines with `-` and `+` in front below the name of each file; nothing where it shows no change.
    /// What both sides begin and end with is left out.
    pub(crate) fn diff(&self) -> Option<String> {
        let diffs = parts(&self.content).filter(|part| part["type"] == "diff");
        let mut text = String::new();
        for part in diffs {
            let side = |field: &str| part[field].as_str().unwrap_or_default();
            let (old, new) = (side("oldText"), side("newText"));
            let (mut old, mut new): (Vec<_>, Vec<_>) =
                (old.lines().collect(), new.lines().collect());
            let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
            old.drain(..same);
            new.drain(..same);
            while old.last().is_some() && old.last() == new.last() {
                old.pop();
                new.pop();
            }
            text += &format!("{}\n", side("path"));
            old.iter().for_each(|line| text += &format!("-{line}\n"));
            new.iter().for_each(|line| text += &format!("+{line}\n"));
        }
        (!text.is_empty()).then(|| cut(text))
    }

    pub(crate) fn outcome(&self) -> Outcome {
        match (self.refused, self.status.as_str(), self.exit) {
            (true, ..) => Outcome::Denied,
            (_, "failed", _) | (_, _, Some(1..)) => Outcome::Failed,
            _ => Outcome::Ok,
        }
    }
}

fn parts(content: &Value) -> impl Iterator<Item = &Value> {
    content.as_array().into_iter().flatten()
}

fn is_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}

/// What is too long is cut, and says so.
pub(crate) fn cut(mut text: String) -> String {
    if text.len() > TEXT_MOST {
        let end = (0..=TEXT_MOST).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or(0));
        text.push_str("\n… (cut)");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(updates: &[Value]) -> Call {
        let mut call = Call::new("c1");
        updates.iter().for_each(|update| call.take(update));
        call
    }

    #[test]
    fn what_is_filled_in_bit_by_bit_is_one_call() {
        let call = call(&[
            json!({"title": "Terminal", "kind": "execute", "status": "pending", "rawInput": {}, "name": "Bash"}),
            json!({"rawInput": {"command": "l"}}),
            json!({"rawInput": {"command": "ls"}, "title": "ls"}),
            json!({"status": "completed", "rawOutput": "a\nb"}),
        ]);
        assert_eq!(
            (call.name().as_str(), call.title().as_str()),
            ("Bash", "ls")
        );
        assert_eq!(call.input(), json!({"command": "ls"}));
        assert_eq!(
            (call.class(), call.outcome()),
            (ToolClass::Shell, Outcome::Ok)
        );
        assert_eq!(call.output(), "a\nb");
    }

    #[test]
    fn what_an_agent_leaves_out_is_taken_from_elsewhere() {
        let shell = call(&[
            json!({"title": "git status", "kind": "execute", "status": "in_progress", "content": [{"type": "terminal", "terminalId": "t"}]}),
            json!({"_meta": {"terminal_output": {"data": "clean"}, "terminal_exit": {"exit_code": 1}}, "status": "completed"}),
        ]);
        assert_eq!(shell.name(), "execute");
        assert_eq!(shell.input(), json!({"command": "git status"}));
        assert_eq!(
            (shell.output().as_str(), shell.outcome()),
            ("clean", Outcome::Failed)
        );
        let edit = call(&[
            json!({"kind": "edit", "title": "Editing files", "status": "completed",
            "content": [{"type": "diff", "path": "/w/a.txt", "oldText": null, "newText": "x"}]}),
        ]);
        assert_eq!(edit.input(), json!({"path": "/w/a.txt"}));
        assert_eq!(edit.output(), "changed /w/a.txt");
        let parts = call(&[
            json!({"kind": "execute", "_meta": {"terminal_output_delta": {"data": "a"}}}),
            json!({"_meta": {"terminal_output_delta": {"data": "b"}}, "status": "completed"}),
        ]);
        assert_eq!(parts.output(), "ab");
        let refused = call(&[
            json!({"status": "failed", "_meta": {"claudeCode": {"nonExecutionKind": "user-rejected"}}}),
        ]);
        assert_eq!(refused.outcome(), Outcome::Denied);
        let named = call(&[
            json!({"title": "bash", "rawOutput": {"output": "x", "metadata": {"exit": 0}}}),
        ]);
        assert_eq!(
            (named.name().as_str(), named.output().as_str()),
            ("bash", "x")
        );
    }

    #[test]
    fn a_change_is_shown_without_what_stayed() {
        let edit = call(&[json!({"kind": "edit", "content": [
            {"type": "diff", "path": "/w/a", "oldText": "1\n2\n3\n", "newText": "1\nzwei\n3\n"},
            {"type": "diff", "path": "/w/b", "oldText": null, "newText": "x"},
            {"type": "content", "content": {"type": "text", "text": "ok"}},
        ]})]);
        let diff = edit.diff();
        assert_eq!(diff.as_deref(), Some("/w/a\n-2\n+zwei\n/w/b\n+x\n"));
        assert_eq!(edit.path(), Some("/w/a"));
        let bare = call(&[json!({"kind": "edit", "rawInput": {"file_path": "/w/c"}})]);
        assert_eq!((bare.diff(), bare.path()), (None, Some("/w/c")));
    }

    #[test]
    fn what_is_too_long_is_cut_between_characters() {
        let text = cut("é".repeat(TEXT_MOST));
        assert!(text.len() < TEXT_MOST + 20 && text.ends_with("(cut)"));
    }
}
