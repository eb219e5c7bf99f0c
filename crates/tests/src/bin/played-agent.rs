//! Plays Claude Code towards hooks and shells, step by step.
//!
//! It is a process of its own, so that its children have a real ancestor. It reads one step per
//! line, and answers each with one line:
//!
//! - `{"hook": payload}` runs the hooks that the settings name for the payload's event;
//! - `{"sh": command}` runs a shell command as the shell tool does;
//! - `{"start": command}` starts one and does not wait for it.
//!
//! A step may name its own `cwd`. The answer has `code`, `stdout` and `stderr`.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a program for tests, which speaks on standard output and stops at the first surprise"
)]

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

fn main() {
    let mut player = Player {
        session: String::new(),
        children: Vec::new(),
    };
    for line in std::io::stdin().lock().lines() {
        let step: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let answer = player.play(&step);
        println!("{answer}");
        std::io::stdout().flush().unwrap();
    }
}

struct Player {
    session: String,
    children: Vec<Child>,
}

impl Player {
    fn play(&mut self, step: &Value) -> Value {
        let cwd = step["cwd"].as_str().map(Path::new);
        if let Some(payload) = step.get("hook") {
            if let Some(session) = payload["session_id"].as_str() {
                session.clone_into(&mut self.session);
            }
            return self.hooks(payload, cwd);
        }
        if let Some(command) = step["sh"].as_str() {
            let mut shell = self.shell(command, "agent", cwd);
            return answer(shell.stdin(Stdio::null()), b"");
        }
        if let Some(command) = step["start"].as_str() {
            let child = self.shell(command, "agent", cwd).spawn().unwrap();
            let pid = child.id();
            self.children.push(child);
            return json!({ "pid": pid });
        }
        panic!("no such step: {step}");
    }

    fn shell(&self, command: &str, role: &str, cwd: Option<&Path>) -> Command {
        let mut shell = Command::new("/bin/sh");
        shell.arg("-c").arg(command);
        shell
            .env("AI_AGENT", format!("claude-code_2-1-329_{role}"))
            .env("CLAUDECODE", "1")
            .env("CLAUDE_CODE_ENTRYPOINT", "sdk-cli")
            .env("CLAUDE_CODE_CHILD_SESSION", "1")
            .env("CLAUDE_CODE_SESSION_ID", &self.session)
            .env("CLAUDE_PID", std::process::id().to_string());
        if !self.session.is_empty() {
            // What git itself then says of a commit, the tests compare with what Siglum says.
            shell.env("GIT_COMMITTER_NAME", &self.session);
            shell.env("GIT_AUTHOR_NAME", &self.session);
        }
        if let Some(cwd) = cwd {
            shell.current_dir(cwd);
        }
        shell
    }

    /// Runs every hook of the settings whose event and matcher fit.
    fn hooks(&self, payload: &Value, cwd: Option<&Path>) -> Value {
        let commands = commands(payload);
        let mut last = json!({ "code": 0, "stdout": "", "stderr": "" });
        for command in &commands {
            let mut shell = self.shell(command, "harness", cwd);
            last = answer(&mut shell, payload.to_string().as_bytes());
        }
        last["ran"] = json!(commands.len());
        last
    }
}

fn commands(payload: &Value) -> Vec<String> {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap());
    let Ok(text) = std::fs::read_to_string(home.join(".claude/settings.json")) else {
        return Vec::new();
    };
    let settings: Value = serde_json::from_str(&text).unwrap();
    let event = payload["hook_event_name"].as_str().unwrap_or_default();
    let tool = payload["tool_name"].as_str();
    let mut commands = Vec::new();
    for group in settings["hooks"][event].as_array().into_iter().flatten() {
        let matcher = group["matcher"].as_str().unwrap_or_default();
        let fits = tool.is_none()
            || matches!(matcher, "" | "*")
            || matcher.split('|').any(|m| Some(m) == tool);
        for hook in group["hooks"].as_array().into_iter().flatten() {
            commands.extend(hook["command"].as_str().filter(|_| fits).map(str::to_owned));
        }
    }
    commands
}

fn answer(command: &mut Command, stdin: &[u8]) -> Value {
    if !stdin.is_empty() {
        command.stdin(Stdio::piped());
    }
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    if let Some(mut pipe) = child.stdin.take() {
        // A hook that died does not read; that is its business.
        let _ = pipe.write_all(stdin);
    }
    let output = child.wait_with_output().unwrap();
    json!({
        "code": output.status.code(),
        "stdout": String::from_utf8_lossy(&output.stdout),
        "stderr": String::from_utf8_lossy(&output.stderr),
    })
}
