//! A played conversation: what the agent's hooks see, and what it writes into its transcript, with the tokens of each
//! answer of the model.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use siglum_domain::observation::Tokens;
use siglum_platform::clock;

use super::agent::Agent;
use super::repo::Repo;

/// The model that answers.
pub(crate) const MODEL: &str = "claude-opus-4-5";

/// A conversation under way, and what a person who counts along has counted.
pub(crate) struct Talk<'w> {
    pub(crate) agent: Agent,
    repo: Repo<'w>,
    /// What everybody else calls it, whatever the agent calls it by now.
    pub(crate) conversation: String,
    /// All tokens of all answers, each once.
    pub(crate) used: Tokens,
    /// How many answers the model gave.
    pub(crate) answers: u32,
    pub(crate) turns: u32,
    pub(crate) tools: u32,
}

/// A sub-agent under way.
pub(crate) struct Helper {
    id: String,
    call: Value,
}

impl<'w> Talk<'w> {
    /// A process that begins a session.
    #[track_caller]
    pub(crate) fn start(repo: &Repo<'w>, native: &str) -> Self {
        Self::begun(repo, native, "startup")
    }

    /// The same conversation goes on in a new process, which calls it so.
    #[track_caller]
    pub(crate) fn resumed(self, native: &str) -> Self {
        let mut next = Self::begun(&self.repo, native, "resume");
        next.conversation.clone_from(&self.conversation);
        // No prompt has the name of an earlier one.
        next.agent.turn = self.agent.turn;
        next.used = self.used;
        next.answers = self.answers;
        next.turns = self.turns;
        next.tools = self.tools;
        self.agent.kill();
        next
    }

    /// A copy of this conversation goes on by itself. Its transcript begins with all lines of this one.
    #[track_caller]
    pub(crate) fn forked(&self, native: &str) -> Self {
        let fork = Self::begun(&self.repo, native, "fork");
        let text = fs::read_to_string(self.agent.transcript()).unwrap();
        for line in text.lines() {
            let mut line: Value = serde_json::from_str(line).unwrap();
            line["sessionId"] = json!(native);
            if line["type"] == "assistant" {
                line["requestSessionId"] = json!(self.agent.native);
            }
            append(&fork.agent.transcript(), &line);
        }
        fork
    }

    #[track_caller]
    fn begun(repo: &Repo<'w>, native: &str, source: &str) -> Self {
        let mut agent = Agent::process(repo, native, &Agent::program());
        agent.hook("SessionStart", json!({ "source": source }));
        Self {
            agent,
            repo: repo.clone(),
            conversation: native.to_owned(),
            used: Tokens::default(),
            answers: 0,
            turns: 0,
            tools: 0,
        }
    }

    /// A turn with an answer, two tools and another answer; much of the input is read from a cache.
    #[track_caller]
    pub(crate) fn turn(&mut self, text: &str) {
        self.ask(text);
        self.work();
        self.stop();
    }

    /// What an agent does in a turn.
    #[track_caller]
    pub(crate) fn work(&mut self) {
        let n = u64::from(self.turns);
        self.answer(tokens(90 + n, 40 + n, 12_000 + n, 700 + n));
        self.agent.write(&format!("file{n}.txt"), &format!("{n}\n"));
        self.agent.sh("true");
        self.tools += 2;
        self.answer(tokens(10 + n, 200 + n, 13_000 + n, n));
    }

    /// A prompt.
    #[track_caller]
    pub(crate) fn ask(&mut self, text: &str) {
        self.turns += 1;
        self.agent.prompt(text);
        let prompt = self.agent.payload("", json!({}))["prompt_id"].take();
        let message = json!({ "role": "user", "content": text });
        let line = json!({ "type": "user", "promptId": prompt, "message": message });
        self.line(&self.agent.transcript(), line, "prompt");
    }

    /// An answer of the model. The agent writes a line for each part of it, and each has the tokens of the whole.
    #[track_caller]
    pub(crate) fn answer(&mut self, used: Tokens) {
        self.answer_in(&self.agent.transcript(), used, &json!({}));
    }

    fn answer_in(&mut self, transcript: &Path, used: Tokens, more: &Value) {
        self.answers += 1;
        self.used += used;
        let name = format!("{}_{}", self.agent.native, self.answers);
        let usage = json!({
            "input_tokens": used.input, "output_tokens": used.output,
            "cache_read_input_tokens": used.cache_read, "cache_creation_input_tokens": used.cache_write,
        });
        for part in ["I will look.", "I have looked."] {
            let message = json!({
                "id": format!("msg_{name}"), "type": "message", "role": "assistant", "model": MODEL,
                "content": [{ "type": "text", "text": part }], "usage": usage,
            });
            let mut line = json!({
                "type": "assistant", "requestId": format!("req_{name}"), "message": message,
            });
            if let (Some(line), Some(more)) = (line.as_object_mut(), more.as_object()) {
                line.extend(more.clone());
            }
            self.line(transcript, line, part);
        }
    }

    /// The turn stops; its transcript is read then.
    #[track_caller]
    pub(crate) fn stop(&mut self) {
        self.agent.stop();
    }

    /// The agent calls a tool that starts another one.
    #[track_caller]
    pub(crate) fn help(&mut self, id: &str) -> Helper {
        let input =
            json!({ "description": "look", "prompt": "Look.", "subagent_type": "general-purpose" });
        let call = json!({ "tool_name": "Agent", "tool_input": input, "tool_use_id": format!("toolu_{id}") });
        self.agent.hook("PreToolUse", call.clone());
        self.tools += 1;
        let helper = Helper {
            id: id.to_owned(),
            call,
        };
        let meta =
            json!({ "agentType": "general-purpose", "toolUseId": helper.call["tool_use_id"] });
        let path = self.transcript_of(&helper).with_extension("meta.json");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, meta.to_string()).unwrap();
        self.agent.hook("SubagentStart", helper.signed(json!({})));
        let prompt = self.agent.payload("", json!({}))["prompt_id"].take();
        let message = json!({ "role": "user", "content": "Look." });
        let line = json!({
            "type": "user", "promptId": prompt, "message": message, "isSidechain": true, "agentId": id,
        });
        self.line(&self.transcript_of(&helper), line, "prompt");
        helper
    }

    /// What it does: an answer and a tool.
    #[track_caller]
    pub(crate) fn help_on(&mut self, helper: &Helper, used: Tokens) {
        let sidechain = json!({ "isSidechain": true, "agentId": helper.id });
        let transcript = self.transcript_of(helper);
        self.answer_in(&transcript, used, &sidechain);
        let call = json!({
            "tool_name": "Bash", "tool_input": { "command": "true" },
            "tool_use_id": format!("toolu_{}_{}", helper.id, self.answers),
        });
        self.tools += 1;
        self.agent.hook("PreToolUse", helper.signed(call.clone()));
        let mut returned = call;
        returned["tool_response"] =
            json!({ "stdout": "", "stderr": "", "interrupted": false, "isImage": false });
        self.agent.hook("PostToolUse", helper.signed(returned));
    }

    /// It is done, and the call returns.
    #[track_caller]
    pub(crate) fn helped(&mut self, helper: Helper) {
        let transcript = self.transcript_of(&helper);
        let stop = json!({
            "agent_transcript_path": transcript, "stop_hook_active": false, "last_assistant_message": "Looked.",
        });
        self.agent.hook("SubagentStop", helper.signed(stop));
        let mut returned = helper.call;
        returned["tool_response"] = json!({ "status": "completed", "agentId": helper.id });
        self.agent.hook("PostToolUse", returned);
    }

    fn transcript_of(&self, helper: &Helper) -> PathBuf {
        let folder = self.agent.transcript().with_extension("").join("subagents");
        folder.join(format!("agent-{}.jsonl", helper.id))
    }

    /// Writes a line: what all lines have, and what is its own.
    fn line(&self, path: &Path, mut line: Value, part: &str) {
        let now = clock::now();
        let own = json!({
            "uuid": format!("{}-{}-{part}", self.agent.native, now.nanos()), "timestamp": now.to_string(),
            "sessionId": self.agent.native, "cwd": self.repo.dir, "version": "2.1.329",
        });
        if let (Some(line), Value::Object(own)) = (line.as_object_mut(), own) {
            line.extend(own);
            line.entry("isSidechain").or_insert(json!(false));
        }
        append(path, &line);
    }
}

impl Helper {
    /// What its hooks see has its name on it.
    fn signed(&self, mut payload: Value) -> Value {
        payload["agent_id"] = json!(self.id);
        payload["agent_type"] = json!("general-purpose");
        payload
    }
}

/// Tokens that the model took.
pub(crate) const fn tokens(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Tokens {
    Tokens {
        input,
        output,
        cache_read,
        cache_write,
    }
}

fn append(path: &Path, line: &Value) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut options = fs::OpenOptions::new();
    let mut file = options.create(true).append(true).open(path).unwrap();
    writeln!(file, "{line}").unwrap();
}
