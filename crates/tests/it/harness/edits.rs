//! The edit tools of a played agent: payloads with what the real ones say of their work.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::agent::Agent;

/// A call of an edit tool that has begun.
pub(crate) struct EditCall {
    payload: Value,
    file: PathBuf,
    work: Work,
}

enum Work {
    Write(String),
    Replace(String, String),
}

impl EditCall {
    /// The tool reads the file, and writes it in place; what it says of that waits for the end.
    #[track_caller]
    pub(crate) fn work(&mut self) {
        fs::create_dir_all(self.file.parent().unwrap()).unwrap();
        let original = fs::read_to_string(&self.file).ok();
        // The real tool reads and writes text with line feeds, and keeps the ends that the file has.
        let crlf = original.as_ref().is_some_and(|text| text.contains("\r\n"));
        let original = original.map(|text| text.replace("\r\n", "\n"));
        let before = original.clone().unwrap_or_default();
        let (after, mut response) = match &self.work {
            Work::Write(content) => {
                let kind = if original.is_some() {
                    "update"
                } else {
                    "create"
                };
                (content.clone(), json!({ "type": kind, "content": content }))
            }
            Work::Replace(old, new) => {
                assert!(before.contains(old), "{before:?} has no {old:?}");
                let response = json!({ "oldString": old, "newString": new, "replaceAll": false });
                (before.replacen(old, new, 1), response)
            }
        };
        response["filePath"] = json!(self.file);
        response["originalFile"] = json!(original);
        response["structuredPatch"] = structured_patch(&before, &after);
        response["userModified"] = json!(false);
        self.payload["tool_response"] = response;
        let text = match crlf {
            true => after.replace('\n', "\r\n"),
            false => after,
        };
        fs::write(&self.file, text).unwrap();
    }
}

/// The patch between two texts as Claude Code shows it, in one hunk.
fn structured_patch(before: &str, after: &str) -> Value {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let first = old.iter().zip(&new).take_while(same).count();
    let rest = (old[first..].iter().rev()).zip(new[first..].iter().rev());
    let last = rest.take_while(same).count();
    if first == old.len() && first == new.len() {
        return json!([]);
    }
    let (gone, added) = (&old[first..old.len() - last], &new[first..new.len() - last]);
    let lines = gone.iter().map(|line| format!("-{line}"));
    let lines: Vec<String> = lines
        .chain(added.iter().map(|line| format!("+{line}")))
        .collect();
    json!([{
        "oldStart": first + 1, "oldLines": gone.len(), "newStart": first + 1, "newLines": added.len(),
        "lines": lines,
    }])
}

impl Agent {
    /// Writes a file with a tool, in the checkout.
    #[track_caller]
    pub(crate) fn write(&mut self, path: &str, content: &str) {
        let call = self.begin_write(path, content);
        self.run_edit(call);
    }

    /// Replaces text in a file with a tool.
    #[track_caller]
    pub(crate) fn edit(&mut self, path: &str, old: &str, new: &str) {
        let call = self.begin_replace(path, old, new);
        self.run_edit(call);
    }

    /// Changes a file with a tool, whatever is in it.
    #[track_caller]
    pub(crate) fn change(&mut self, path: &str, change: impl FnOnce(String) -> String) {
        let text = fs::read_to_string(self.cwd.join(path)).unwrap_or_default();
        self.write(path, &change(text));
    }

    /// A call that writes a whole file is about to run.
    #[track_caller]
    pub(crate) fn begin_write(&mut self, path: &str, content: &str) -> EditCall {
        let input = json!({ "file_path": self.cwd.join(path), "content": content });
        self.begin_edit("Write", path, &input, Work::Write(content.to_owned()))
    }

    /// A call that replaces text in a file is about to run.
    #[track_caller]
    pub(crate) fn begin_replace(&mut self, path: &str, old: &str, new: &str) -> EditCall {
        let file = self.cwd.join(path);
        let input = json!({ "file_path": file, "old_string": old, "new_string": new, "replace_all": false });
        self.begin_edit(
            "Edit",
            path,
            &input,
            Work::Replace(old.to_owned(), new.to_owned()),
        )
    }

    #[track_caller]
    fn begin_edit(&mut self, tool: &str, path: &str, input: &Value, work: Work) -> EditCall {
        let id = self.next_call();
        let payload = json!({ "tool_name": tool, "tool_input": input, "tool_use_id": id });
        self.hook("PreToolUse", payload.clone());
        let file = self.cwd.join(path);
        EditCall {
            payload,
            file,
            work,
        }
    }

    /// The call has come to its end.
    #[track_caller]
    pub(crate) fn end_edit(&mut self, mut call: EditCall) {
        call.payload["duration_ms"] = json!(7);
        self.hook("PostToolUse", call.payload);
    }

    #[track_caller]
    fn run_edit(&mut self, mut call: EditCall) {
        if !self.dead {
            call.work();
        }
        self.end_edit(call);
    }
}
