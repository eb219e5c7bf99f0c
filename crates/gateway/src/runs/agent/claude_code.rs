//! What Claude Code writes in `--output-format stream-json`, put as the Agent Client Protocol has it.

use std::collections::{BTreeMap, HashSet};
use std::mem;

use serde_json::{Value, json};
use siglum_domain::NativeId;
use siglum_domain::observation::Tokens;

use super::error::Refused;
use super::native_id;

/// A message that is not the model's, such as an error that the program puts in its place.
const SYNTHETIC: &str = "<synthetic>";

/// The records of one run of the program.
#[derive(Default)]
pub(super) struct Records {
    native: Option<NativeId>,
    model: Option<String>,
    /// The message that comes in parts now.
    message: Option<String>,
    /// The messages that came in parts.
    in_parts: HashSet<String>,
    /// What was used for each message, as long as no result says it.
    used: BTreeMap<String, Tokens>,
    results: Option<Results>,
}

/// What the program says in the end. It does so once for each time that it came to a stop.
#[derive(Default)]
struct Results {
    tokens: Tokens,
    stop: String,
    error: Option<String>,
}

impl Records {
    /// What the program calls its session; nothing before its first record.
    pub(super) const fn native(&self) -> Option<&NativeId> {
        self.native.as_ref()
    }

    /// The model of the newest message.
    pub(super) fn model(&self) -> Option<String> {
        self.model.clone()
    }

    /// Whether it told how it ended.
    pub(super) const fn has_result(&self) -> bool {
        self.results.is_some()
    }

    /// Takes a record; gives what it says.
    pub(super) fn take(&mut self, record: &Value) -> Vec<Value> {
        let updates = match (record["type"].as_str(), record["subtype"].as_str()) {
            (Some("system"), Some("init")) => self.begun(record),
            (Some("system"), Some("task_started")) => started(record),
            (Some("stream_event"), _) => self.part(&record["event"], parent(record)),
            (Some("assistant"), _) => self.message(record),
            (Some("user"), _) => returned(record),
            (Some("result"), _) => self.result(record),
            _ => Vec::new(),
        };
        let native = self.native.as_ref().map(NativeId::as_str);
        let of_session = |update| json!({ "sessionId": native, "update": update });
        updates.into_iter().map(of_session).collect()
    }

    fn begun(&mut self, record: &Value) -> Vec<Value> {
        // It begins again when something that it left running wakes it.
        if self.native.is_none() {
            let native = record["session_id"].as_str();
            self.native = native.and_then(native_id);
            self.model = record["model"].as_str().map(str::to_owned);
        }
        Vec::new()
    }

    /// A part of a message that grows.
    fn part(&mut self, event: &Value, parent: Option<&str>) -> Vec<Value> {
        match event["type"].as_str() {
            Some("message_start") => {
                let message = &event["message"];
                self.message = message["id"].as_str().map(str::to_owned);
                self.uses(message, parent)
            }
            Some("message_delta") => {
                let id = self.message.clone();
                let output = event["usage"]["output_tokens"].as_u64();
                if let (Some(id), Some(output)) = (id, output)
                    && let Some(used) = self.used.get_mut(&id)
                {
                    used.output = output;
                }
                Vec::new()
            }
            Some("content_block_delta") => {
                let (delta, id) = (&event["delta"], self.message.clone());
                let (kind, text) = match delta["type"].as_str() {
                    Some("text_delta") => ("agent_message_chunk", &delta["text"]),
                    Some("thinking_delta") => ("agent_thought_chunk", &delta["thinking"]),
                    _ => return Vec::new(),
                };
                self.in_parts.extend(id.clone());
                chunk(kind, text, id.as_deref(), parent)
            }
            _ => Vec::new(),
        }
    }

    /// A message that is whole, or a block of it.
    fn message(&mut self, record: &Value) -> Vec<Value> {
        let (message, parent) = (&record["message"], parent(record));
        if message["model"] == SYNTHETIC {
            return Vec::new();
        }
        let id = message["id"].as_str();
        let is_streamed = id.is_some_and(|id| self.in_parts.contains(id));
        let mut updates = self.uses(message, parent);
        for block in blocks(message) {
            updates.extend(match block["type"].as_str() {
                Some("text") if !is_streamed => {
                    chunk("agent_message_chunk", &block["text"], id, parent)
                }
                Some("thinking") if !is_streamed => {
                    chunk("agent_thought_chunk", &block["thinking"], id, parent)
                }
                Some("tool_use") => vec![called(block, parent)],
                _ => Vec::new(),
            });
        }
        updates
    }

    /// Says what was used by now, which is not told otherwise before the end. Sub-agents are told apart there.
    fn uses(&mut self, message: &Value, parent: Option<&str>) -> Vec<Value> {
        let (Some(id), None) = (message["id"].as_str(), parent) else {
            return Vec::new();
        };
        if let Some(model) = message["model"].as_str() {
            self.model = Some(model.to_owned());
        }
        if self.used.contains_key(id) || !message["usage"].is_object() {
            return Vec::new();
        }
        self.used.insert(id.to_owned(), tokens(&message["usage"]));
        let all = self.used();
        let used = all.input + all.output + all.cache_read + all.cache_write;
        vec![
            json!({ "sessionUpdate": "usage_update", "used": used, "_meta": { "_claude/model": self.model } }),
        ]
    }

    fn used(&self) -> Tokens {
        let mut all = Tokens::default();
        self.used.values().for_each(|used| all += *used);
        all
    }

    fn result(&mut self, record: &Value) -> Vec<Value> {
        let results = self.results.get_or_insert_default();
        results.tokens += tokens(&record["usage"]);
        let text = |field: &str| record[field].as_str().unwrap_or_default();
        results.stop = match text("subtype") {
            "error_max_turns" => "max_turn_requests",
            _ => text("stop_reason"),
        }
        .to_owned();
        let is_limit = results.stop == "max_turn_requests";
        let failed = record["is_error"] == true && !is_limit;
        results.error = failed.then(|| {
            let errors = record["errors"].as_array().into_iter().flatten();
            let errors: Vec<&str> = errors.filter_map(Value::as_str).collect();
            match (text("result"), errors.join(" / ")) {
                ("", none) if none.is_empty() => text("subtype").to_owned(),
                ("", errors) => errors,
                (result, _) => result.to_owned(),
            }
        });
        Vec::new()
    }

    /// The program ended, as it was told to.
    pub(super) fn cancelled(&self) -> Value {
        self.answer("cancelled", self.used())
    }

    /// The program ended by itself.
    pub(super) fn ended(&mut self) -> Result<Value, Refused> {
        let Some(results) = mem::take(&mut self.results) else {
            return Err(Refused {
                code: Some("agent-died"),
                answer: self.answer("", self.used()),
                ..Refused::new("the agent exited before it finished")
            });
        };
        match &results.error {
            None => Ok(self.answer(&results.stop, results.tokens)),
            Some(error) => Err(Refused {
                code: Some("agent-failed"),
                answer: self.answer("", results.tokens),
                ..Refused::new(error)
            }),
        }
    }

    fn answer(&self, stop: &str, used: Tokens) -> Value {
        json!({
            "stopReason": stop,
            "usage": {
                "inputTokens": used.input,
                "outputTokens": used.output,
                "cachedReadTokens": used.cache_read,
                "cachedWriteTokens": used.cache_write,
            },
            "_meta": { "model": self.model },
        })
    }
}

/// The call whose sub-agent says something.
fn parent(record: &Value) -> Option<&str> {
    record["parent_tool_use_id"].as_str()
}

fn blocks(message: &Value) -> impl Iterator<Item = &Value> {
    message["content"].as_array().into_iter().flatten()
}

fn tokens(usage: &Value) -> Tokens {
    let of = |field: &str| usage[field].as_u64().unwrap_or(0);
    Tokens {
        input: of("input_tokens"),
        output: of("output_tokens"),
        cache_read: of("cache_read_input_tokens"),
        cache_write: of("cache_creation_input_tokens"),
    }
}

fn chunk(kind: &str, text: &Value, id: Option<&str>, parent: Option<&str>) -> Vec<Value> {
    vec![json!({
        "sessionUpdate": kind,
        "messageId": id,
        "content": { "type": "text", "text": text },
        "_meta": { "claudeCode": { "parentToolUseId": parent } },
    })]
}

fn called(block: &Value, parent: Option<&str>) -> Value {
    let (name, input) = (block["name"].as_str().unwrap_or("tool"), &block["input"]);
    let (kind, about) = match name {
        "Bash" => ("execute", "command"),
        "Write" | "Edit" | "MultiEdit" => ("edit", "file_path"),
        "NotebookEdit" => ("edit", "notebook_path"),
        "Read" => ("read", "file_path"),
        "Agent" | "Task" => ("think", "description"),
        _ => ("other", ""),
    };
    let title = match (kind, input[about].as_str()) {
        ("execute" | "think", Some(about)) => about.to_owned(),
        (_, Some(about)) => format!("{name} {about}"),
        _ => name.to_owned(),
    };
    json!({
        "sessionUpdate": "tool_call",
        "toolCallId": block["id"],
        "name": name,
        "title": title,
        "kind": kind,
        "status": "in_progress",
        "rawInput": input,
        "_meta": { "claudeCode": { "parentToolUseId": parent } },
    })
}

/// A sub-agent was started; it is told its own name before it does anything.
fn started(record: &Value) -> Vec<Value> {
    if !record["tool_use_id"].is_string() || record["task_type"] != "local_agent" {
        return Vec::new();
    }
    vec![json!({
        "sessionUpdate": "tool_call_update",
        "toolCallId": record["tool_use_id"],
        "_meta": { "claudeCode": { "toolResponse": { "agentId": record["task_id"] } } },
    })]
}

fn returned(record: &Value) -> Vec<Value> {
    let result =
        |block: &&Value| block["type"] == "tool_result" && block["tool_use_id"].is_string();
    let metas = || record["tool_result_meta"].as_array().into_iter().flatten();
    let update = |block: &Value| {
        let meta = metas().find(|meta| meta["id"] == block["tool_use_id"]);
        let status = match block["is_error"] == true {
            true => "failed",
            false => "completed",
        };
        json!({
            "sessionUpdate": "tool_call_update",
            "toolCallId": block["tool_use_id"],
            "status": status,
            "rawOutput": text(&block["content"]),
            "_meta": { "claudeCode": {
                "parentToolUseId": parent(record),
                "nonExecutionKind": meta.map(|meta| &meta["non_execution_kind"]),
            } },
        })
    };
    let content = blocks(&record["message"]);
    content.filter(result).map(update).collect()
}

/// The text of what a tool gave.
fn text(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let parts = content.as_array().into_iter().flatten();
    let parts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
    parts.join("\n")
}
