//! An agent of the play: does what the stage tells it as Claude Code would, with a hook before and
//! after.

use std::fs;
use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use serde_json::Value;
use siglum_agents::AgentSpec;
use siglum_domain::IdSource as _;

use super::payload::{self, Call, Session};
use super::sandbox::Sandbox;
use super::wire::{Reply, Step};
use crate::clock::Ids;
use crate::cx::Cx;
use crate::env;
use crate::error::CommandError;

/// Does what standard input says, line by line, and answers each with a line.
pub fn run(cx: &Cx, root: PathBuf) -> Result<(), CommandError> {
    let mut agent = Agent::new(Sandbox::at(root))?;
    for line in std::io::stdin().lock().lines() {
        let step: Step = serde_json::from_str(&line?)?;
        let reply = match agent.act(&step) {
            Ok(()) => Reply::Done,
            Err(error) => Reply::Failed(format!("{:#}", error.source)),
        };
        cx.ui.json_line(&reply)?;
    }
    let end = agent.session.end();
    agent.hook("SessionEnd", None, &end)
}

struct Agent {
    spec: &'static AgentSpec,
    sandbox: Sandbox,
    settings: Value,
    session: Session,
}

impl Agent {
    fn new(sandbox: Sandbox) -> Result<Self, CommandError> {
        let spec = siglum_agents::find("claude-code")
            .ok_or_else(|| CommandError::failed("Claude Code is not a known agent"))?;
        let settings = env::settings(spec)
            .map_err(|error| CommandError::failed(error.to_string()))?
            .swap_remove(0);
        let settings = serde_json::from_str(settings.text.as_deref().unwrap_or_default())?;
        let session = Session {
            id: String::new(),
            transcript: String::new(),
            cwd: sandbox.repo().to_string_lossy().into_owned(),
            prompt: None,
        };
        Ok(Self {
            spec,
            sandbox,
            settings,
            session,
        })
    }

    fn act(&mut self, step: &Step) -> Result<(), CommandError> {
        match step {
            Step::Begin(id) => {
                self.session.id.clone_from(id);
                self.session.transcript = self.transcript();
                self.hook("SessionStart", None, &self.session.start())
            }
            Step::Prompt(text) => {
                self.session.prompt = Some(Ids.fresh().to_string());
                self.hook("UserPromptSubmit", None, &self.session.prompt(text))
            }
            Step::Write { path, content } => self.write(path, content),
            Step::Edit { path, old, new } => self.edit(path, old, new),
            Step::Bash { command } => self.bash(command),
            Step::Stop(words) => self.hook("Stop", None, &self.session.stop(words)),
        }
    }

    fn transcript(&self) -> String {
        let own = env::agent_dir(self.spec);
        let dir = (self.spec.project_dir)(&own, &self.session.cwd).unwrap_or(own);
        dir.join(format!("{}.jsonl", self.session.id))
            .to_string_lossy()
            .into_owned()
    }

    fn write(&self, path: &str, content: &str) -> Result<(), CommandError> {
        let path = self.sandbox.repo().join(path);
        self.tool("Write", payload::write_input(&path, content), || {
            if let Some(dir) = path.parent() {
                fs::create_dir_all(dir)?;
            }
            fs::write(&path, content)?;
            Ok(payload::write_response(&path, content))
        })
    }

    fn edit(&self, path: &str, old: &str, new: &str) -> Result<(), CommandError> {
        let path = self.sandbox.repo().join(path);
        self.tool("Edit", payload::edit_input(&path, old, new), || {
            let before = fs::read_to_string(&path)?;
            if !before.contains(old) {
                let error = format!("{} does not hold {old:?}", path.display());
                return Err(CommandError::failed(error));
            }
            fs::write(&path, before.replacen(old, new, 1))?;
            Ok(payload::edit_response(&path, old, new, &before))
        })
    }

    fn bash(&self, command: &str) -> Result<(), CommandError> {
        self.tool("Bash", payload::bash_input(command), || {
            let mut shell = self.shell(command);
            let output = shell.stdin(Stdio::null()).output()?;
            let (stdout, stderr) = texts(&output);
            if !output.status.success() {
                let error = format!("`{command}` failed: {stdout}{stderr}");
                return Err(CommandError::failed(error));
            }
            Ok(payload::bash_response(&stdout, &stderr))
        })
    }

    /// A tool call between its two hooks.
    fn tool(
        &self,
        tool: &'static str,
        input: Value,
        work: impl FnOnce() -> Result<Value, CommandError>,
    ) -> Result<(), CommandError> {
        let id = format!("toolu_{}", &Ids.fresh().simple().to_string()[8..]);
        let call = Call { tool, input, id };
        self.hook("PreToolUse", Some(tool), &self.session.before(&call))?;
        let began = Instant::now();
        let response = work()?;
        let took = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let after = self.session.after(&call, &response, took);
        self.hook("PostToolUse", Some(tool), &after)
    }

    /// Runs the hooks that the settings register. One that fails or speaks is a bug of ours.
    fn hook(&self, event: &str, tool: Option<&str>, payload: &Value) -> Result<(), CommandError> {
        let commands = payload::commands(&self.settings, event, tool);
        if commands.is_empty() {
            let error = format!("no hook is registered for {event}");
            return Err(CommandError::failed(error));
        }
        for command in commands {
            let mut hook = self
                .shell(&command)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()?;
            if let Some(mut stdin) = hook.stdin.take() {
                stdin.write_all(payload.to_string().as_bytes())?;
            }
            let output = hook.wait_with_output()?;
            let (stdout, stderr) = texts(&output);
            if !output.status.success() || !stdout.is_empty() {
                let error =
                    format!("the hook for {event} failed or printed output: {stdout}{stderr}");
                return Err(CommandError::failed(error));
            }
        }
        Ok(())
    }

    /// A shell command with the variables that Claude Code gives to what it starts.
    fn shell(&self, command: &str) -> Command {
        let mut shell = self.sandbox.command(Path::new("/bin/sh"));
        shell.arg("-c").arg(command);
        shell
            .env("CLAUDECODE", "1")
            .env("CLAUDE_CODE_SESSION_ID", &self.session.id)
            .env("CLAUDE_PID", std::process::id().to_string());
        shell
    }
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}
