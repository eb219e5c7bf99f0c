//! What Claude Code tells its hooks, and an agent that is played with it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Instant;

use serde_json::{Value, json};

use crate::Fallible;
use crate::clock::Chance;
use crate::contest::millis;
use crate::home::Home;

/// A session of an agent, played by this process: it is what the hooks find above them.
pub(crate) struct Agent {
    home: Home,
    dir: PathBuf,
    /// The agent's id for the session.
    pub(crate) session: String,
    turn: String,
    calls: u64,
}

impl Agent {
    /// Starts a session in a directory and prompts it.
    pub(crate) fn start(home: &Home, dir: &Path, chance: &Chance) -> Fallible<Self> {
        let mut agent = Self::new(home, dir, chance);
        agent.begin()?;
        agent.prompt(chance)?;
        Ok(agent)
    }

    /// Starts another session in this process and ends it; the time of its first hook.
    pub(crate) fn start_timed(home: &Home, dir: &Path, chance: &Chance) -> Fallible<f64> {
        let agent = Self::new(home, dir, chance);
        let time = agent.begin()?;
        agent.hook(&agent.payload("SessionEnd", json!({"reason": "clear"})))?;
        Ok(time)
    }

    fn new(home: &Home, dir: &Path, chance: &Chance) -> Self {
        Self {
            home: home.clone(),
            dir: dir.to_owned(),
            session: uuid(chance),
            turn: uuid(chance),
            calls: 0,
        }
    }

    fn begin(&self) -> Fallible<f64> {
        self.hook(&self.payload("SessionStart", json!({"source": "startup"})))
    }

    /// The hook at the start of a turn.
    pub(crate) fn prompt(&mut self, chance: &Chance) -> Fallible<f64> {
        self.turn = uuid(chance);
        self.hook(&self.payload(
            "UserPromptSubmit",
            json!({"prompt": "Make the list of parts sortable and add a test for it."}),
        ))
    }

    fn payload(&self, event: &str, more: Value) -> Value {
        let mut payload = json!({
            "session_id": self.session,
            "transcript_path": self.home.transcript(&self.session),
            "cwd": self.dir,
            "prompt_id": self.turn,
            "permission_mode": "bypassPermissions",
            "effort": {"level": "medium"},
            "hook_event_name": event,
        });
        if let (Value::Object(all), Value::Object(more)) = (&mut payload, more) {
            all.extend(more);
        }
        payload
    }

    /// Calls the hook with a payload; milliseconds from start to exit.
    fn hook(&self, payload: &Value) -> Fallible<f64> {
        let text = payload.to_string();
        let mut command = self.home.command(&self.dir, &["hook", "claude-code"]);
        self.variables(&mut command);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let start = Instant::now();
        let mut child = command.spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(text.as_bytes())?;
        }
        let status = child.wait()?;
        let time = millis(start);
        if status.success() {
            Ok(time)
        } else {
            Err("a hook did not exit with 0".into())
        }
    }

    /// The variables that the agent gives to what it starts.
    pub(crate) fn variables(&self, command: &mut std::process::Command) {
        command
            .env("CLAUDECODE", "1")
            .env("CLAUDE_CODE_SESSION_ID", &self.session)
            .env("CLAUDE_PID", std::process::id().to_string());
    }

    /// The hook before a shell tool call.
    pub(crate) fn shell_begins(&mut self) -> Fallible<f64> {
        self.calls += 1;
        let input = json!({"command": "cargo test --quiet 2>&1 | tail -20", "description": "Run the tests"});
        self.hook(&self.payload(
            "PreToolUse",
            json!({"tool_name": "Bash", "tool_input": input, "tool_use_id": self.call()}),
        ))
    }

    /// The hook after it.
    pub(crate) fn shell_returns(&mut self, stdout: &str) -> Fallible<f64> {
        let input = json!({"command": "cargo test --quiet 2>&1 | tail -20", "description": "Run the tests"});
        let response =
            json!({"stdout": stdout, "stderr": "", "interrupted": false, "isImage": false});
        self.hook(&self.payload(
            "PostToolUse",
            json!({"tool_name": "Bash", "tool_input": input, "tool_response": response,
                "tool_use_id": self.call(), "duration_ms": 512}),
        ))
    }

    /// Edits a file as the agent's tool does, with the hook before and the hook after; the times of
    /// both.
    pub(crate) fn edit(&mut self, path: &Path, old: &str, new: &str) -> Fallible<(f64, f64)> {
        self.calls += 1;
        let input =
            json!({"file_path": path, "old_string": old, "new_string": new, "replace_all": false});
        let before = self.hook(&self.payload(
            "PreToolUse",
            json!({"tool_name": "Edit", "tool_input": input, "tool_use_id": self.call()}),
        ))?;
        let original = std::fs::read_to_string(path)?;
        std::fs::write(path, original.replacen(old, new, 1))?;
        let response = json!({
            "filePath": path, "oldString": old, "newString": new, "originalFile": original,
            "structuredPatch": [], "userModified": false, "replaceAll": false,
        });
        let after = self.hook(&self.payload(
            "PostToolUse",
            json!({"tool_name": "Edit", "tool_input": input, "tool_response": response,
                "tool_use_id": self.call(), "duration_ms": 7}),
        ))?;
        Ok((before, after))
    }

    /// The hook at the end of a turn.
    pub(crate) fn stop(&self) -> Fallible<f64> {
        self.hook(&self.payload(
            "Stop",
            json!({"stop_hook_active": false, "last_assistant_message": "Done: the list is sorted.",
                "background_tasks": [], "session_crons": []}),
        ))
    }

    fn call(&self) -> String {
        format!("toolu_{}_{:08}", &self.session[..8], self.calls)
    }
}

/// A random id, as agents make them.
pub(crate) fn uuid(chance: &Chance) -> String {
    let h = chance.hex(32);
    format!(
        "{}-{}-4{}-8{}-{}",
        &h[..8],
        &h[8..12],
        &h[13..16],
        &h[17..20],
        &h[20..]
    )
}
