//! Claude Code without a screen.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::lab::Lab;
use super::programs::{succeeded, wait_for};

/// How a session begins.
#[derive(Debug, Clone, Copy)]
pub(super) enum Start<'a> {
    /// A new one.
    New,
    /// A new one with an id from outside.
    Named(&'a str),
    /// An earlier one goes on.
    Resume(&'a str),
    /// The last one of this directory goes on.
    Continue,
    /// A new one with the history of an earlier one.
    Fork(&'a str),
}

/// A Claude Code that runs; it is killed with this value.
pub(super) struct Running {
    child: Child,
    said: PathBuf,
    what: String,
}

impl Lab {
    /// What keeps the agent on loopback, quiet, and willing to run as root.
    pub(super) fn agent_environment(&self) -> Vec<(&'static str, String)> {
        let mut variables = self.environment();
        variables.push(("ANTHROPIC_BASE_URL", self.model.url()));
        variables.push(("ANTHROPIC_API_KEY", "dummy".to_owned()));
        for name in [
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "DISABLE_AUTOUPDATER",
            "DISABLE_TELEMETRY",
            "DISABLE_ERROR_REPORTING",
            "IS_SANDBOX",
        ] {
            variables.push((name, "1".to_owned()));
        }
        variables
    }

    /// The prompt that makes the model follow a script.
    pub(super) fn prompt(&self, scenario: &str) -> String {
        let run = self.dir_name();
        let work = self.work();
        format!(
            "Please do the work. [[scenario:{scenario}]] [[cwd:{}]] [[run:{run}]]",
            work.display()
        )
    }

    fn dir_name(&self) -> String {
        let work = self.work();
        let dir = work.parent().and_then(|d| d.file_name());
        dir.unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The agent with a prompt, not started yet.
    pub(super) fn agent(&self, start: Start<'_>, prompt: &str) -> Command {
        let mut command = self.command(self.claude());
        command.envs(self.agent_environment()).args([
            "-p",
            prompt,
            "--dangerously-skip-permissions",
            "--output-format",
            "json",
        ]);
        match start {
            Start::New => &mut command,
            Start::Named(id) => command.args(["--session-id", id]),
            Start::Resume(id) => command.args(["--resume", id]),
            Start::Continue => command.arg("--continue"),
            Start::Fork(id) => command.args(["--resume", id, "--fork-session"]),
        };
        command
    }

    /// What the agent has written of a session so far.
    pub(super) fn transcript(&self, session: &str) -> Option<String> {
        let projects = fs::read_dir(self.home().join(".claude/projects")).ok()?;
        let name = format!("{session}.jsonl");
        let files = projects.flatten().map(|p| p.path().join(&name));
        files.into_iter().find_map(|f| fs::read_to_string(f).ok())
    }

    /// Starts the agent on a script.
    pub(super) fn start(&self, start: Start<'_>, scenario: &str) -> Running {
        self.start_with(start, &self.prompt(scenario))
    }

    /// Starts the agent with a prompt as it is.
    pub(super) fn start_with(&self, start: Start<'_>, prompt: &str) -> Running {
        static RUNS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let run = RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let said = self.beside(&format!("log/claude-{run}"));
        let out = File::create(&said).expect("a file for what the agent says");
        let err = out.try_clone().expect("the same file again");
        let mut command = self.agent(start, prompt);
        let command = command.stdin(Stdio::null()).stdout(out).stderr(err);
        Running {
            child: command.spawn().expect("Claude Code starts"),
            said,
            what: format!("{start:?} {prompt}"),
        }
    }

    /// Runs the agent on a script; returns the id of its session.
    #[track_caller]
    pub(super) fn run(&self, start: Start<'_>, scenario: &str) -> String {
        self.start(start, scenario).finish()
    }
}

impl Running {
    /// Waits for its end; returns the id of its session.
    #[track_caller]
    pub(super) fn finish(mut self) -> String {
        let what = format!("the end of Claude Code: {}", self.what);
        let status = wait_for(&what, || self.child.try_wait().expect("a status"));
        let said = std::fs::read_to_string(&self.said).expect("what the agent said");
        let output = std::process::Output {
            status,
            stdout: said.clone().into_bytes(),
            stderr: Vec::new(),
        };
        succeeded(&self.what, &output);
        let answer = said
            .lines()
            .find_map(|l| serde_json::from_str::<Value>(l).ok());
        let session = answer.and_then(|a| Some(a["session_id"].as_str()?.to_owned()));
        session.unwrap_or_else(|| panic!("Claude Code names no session: {said}"))
    }

    /// Kills it as the kernel does when memory is short.
    pub(super) fn kill(mut self) {
        self.child.kill().expect("the agent runs");
        self.child.wait().expect("the agent ends");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
