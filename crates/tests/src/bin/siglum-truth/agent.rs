//! Played agents: processes with the names, variables and payloads of the real ones.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::parts::PART;
use crate::world::{Ran, World};

/// Which agent is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Claude,
    Codex,
    Gemini,
}

impl Kind {
    pub(crate) const fn program(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    /// What it calls the event; empty where it has none.
    const fn event(self, event: Event) -> &'static str {
        match (self, event) {
            (_, Event::Start) => "SessionStart",
            (_, Event::End) => "SessionEnd",
            (Self::Gemini, Event::Prompt) => "BeforeAgent",
            (_, Event::Prompt) => "UserPromptSubmit",
            (Self::Gemini, Event::Before) => "BeforeTool",
            (_, Event::Before) => "PreToolUse",
            (Self::Gemini, Event::After | Event::Failed) => "AfterTool",
            (Self::Claude, Event::Failed) => "PostToolUseFailure",
            (_, Event::After | Event::Failed) => "PostToolUse",
            (Self::Gemini, Event::Stop) => "AfterAgent",
            (_, Event::Stop) => "Stop",
        }
    }

    const fn shell_tool(self) -> &'static str {
        match self {
            Self::Gemini => "run_shell_command",
            _ => "Bash",
        }
    }
}

/// What hooks are run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    Start,
    Prompt,
    Before,
    After,
    Failed,
    Stop,
    End,
}

/// A tool call that was begun.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The one who made it, as an index into the cast.
    pub(crate) agent: usize,
    payload: Value,
}

/// One process that plays an agent, and the session in it.
pub(crate) struct Agent {
    pub(crate) kind: Kind,
    /// The id that the agent gives its session.
    pub(crate) native: String,
    pub(crate) pid: u64,
    pub(crate) cwd: PathBuf,
    /// Whether the session was begun and has not ended.
    pub(crate) open: bool,
    /// Whether the process lives and may be given to another case.
    pub(crate) free: bool,
    /// Who sets variables, committer and author names in its shells now.
    pub(crate) stamp: String,
    home: PathBuf,
    steps: Box<dyn Write + Send>,
    answers: Box<dyn BufRead + Send>,
    turn: u32,
    calls: u32,
}

impl Agent {
    /// Starts the process of an agent, below nobody.
    pub(crate) fn launch(world: &mut World, kind: Kind) -> Self {
        let mut command = world.detached(world.bin(kind.program()));
        Self::connect(world, kind, &mut command)
    }

    /// Starts a process by a command that becomes it.
    pub(crate) fn connect(world: &mut World, kind: Kind, command: &mut Command) -> Self {
        command.env(PART, "agent");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (steps, answers): (ChildStdin, ChildStdout) =
            (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        child.wait().unwrap();
        let answers = std::fs::File::from(OwnedFd::from(answers));
        Self::on(
            world,
            kind,
            Box::new(steps),
            Box::new(BufReader::new(answers)),
        )
    }

    /// Takes up a process that somebody else started with pipes.
    pub(crate) fn on(
        world: &mut World,
        kind: Kind,
        steps: Box<dyn Write + Send>,
        answers: Box<dyn BufRead + Send>,
    ) -> Self {
        let mut agent = Self {
            kind,
            native: world.fresh_name(kind.program()),
            pid: 0,
            cwd: world.repo.clone(),
            open: false,
            free: true,
            stamp: String::new(),
            home: world.root.join("home"),
            steps,
            answers,
            turn: 0,
            calls: 0,
        };
        agent.pid = agent.step(&json!({ "do": "hello" }))["pid"]
            .as_u64()
            .unwrap();
        agent
    }

    /// Does one step and gives the answer.
    #[track_caller]
    pub(crate) fn step(&mut self, step: &Value) -> Value {
        writeln!(self.steps, "{step}").unwrap();
        self.steps.flush().unwrap();
        let mut line = String::new();
        self.answers.read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "the agent {} died", self.native);
        serde_json::from_str(&line).unwrap()
    }

    /// What the agent sets for the commands of its shell tool.
    pub(crate) fn shell_variables(&self) -> BTreeMap<&'static str, String> {
        let mut set = BTreeMap::new();
        match self.kind {
            Kind::Claude => {
                set.insert("AI_AGENT", "claude-code_2-1-329_agent".to_owned());
                set.insert("CLAUDECODE", "1".to_owned());
                set.insert("CLAUDE_CODE_ENTRYPOINT", "sdk-cli".to_owned());
                set.insert("CLAUDE_CODE_CHILD_SESSION", "1".to_owned());
                set.insert("CLAUDE_CODE_SESSION_ID", self.native.clone());
                set.insert("CLAUDE_PID", self.pid.to_string());
            }
            Kind::Codex => {
                set.insert("CODEX_CI", "1".to_owned());
                set.insert("CODEX_SESSION_ID", self.native.clone());
                set.insert("CODEX_THREAD_ID", self.native.clone());
                set.insert("CODEX_TOOL_CALL_ID", format!("call_{}", self.calls));
            }
            Kind::Gemini => {
                set.insert("GEMINI_CLI", "1".to_owned());
                set.insert("GIT_CONFIG_NOSYSTEM", "1".to_owned());
                set.insert("GIT_CONFIG_COUNT", "1".to_owned());
                set.insert("GIT_CONFIG_KEY_0", "core.hooksPath".to_owned());
                set.insert("GIT_CONFIG_VALUE_0", String::new());
            }
        }
        if !self.stamp.is_empty() {
            set.insert("GIT_AUTHOR_NAME", self.stamp.clone());
            set.insert("GIT_COMMITTER_NAME", self.stamp.clone());
        }
        set
    }

    fn hook_variables(&self) -> BTreeMap<&'static str, String> {
        match self.kind {
            Kind::Claude => self.shell_variables(),
            Kind::Codex => BTreeMap::new(),
            Kind::Gemini => {
                let cwd = self.cwd.display().to_string();
                let mut set = BTreeMap::new();
                set.insert("GEMINI_SESSION_ID", self.native.clone());
                for name in ["GEMINI_PROJECT_DIR", "GEMINI_CWD", "CLAUDE_PROJECT_DIR"] {
                    set.insert(name, cwd.clone());
                }
                set
            }
        }
    }

    /// Runs a command as the shell tool does, without hooks.
    pub(crate) fn run(&mut self, command: &str) -> Ran {
        let step = json!({ "do": "run", "command": command, "cwd": self.cwd,
                           "env": self.shell_variables() });
        let answer = self.step(&step);
        let text = |key: &str| answer[key].as_str().unwrap().to_owned();
        Ran {
            code: answer["code"].as_i64().and_then(|c| i32::try_from(c).ok()),
            stdout: text("stdout"),
            stderr: text("stderr"),
        }
    }

    /// Starts a command of the shell tool and does not wait for it.
    pub(crate) fn start(&mut self, command: &str) {
        let step = json!({ "do": "start", "command": command, "cwd": self.cwd,
                           "env": self.shell_variables() });
        self.step(&step);
    }

    /// Runs the hooks of an event.
    #[track_caller]
    pub(crate) fn hook(&mut self, settings: &Value, event: Event, more: &Value) {
        let mut payload = self.payload(event);
        for (key, value) in more.as_object().into_iter().flatten() {
            payload[key] = value.clone();
        }
        let tool = more["tool_name"].as_str();
        for group in settings[self.kind.event(event)]
            .as_array()
            .into_iter()
            .flatten()
        {
            let matcher = group["matcher"].as_str().unwrap_or_default();
            if !fits(matcher, tool) {
                continue;
            }
            for hook in group["hooks"].as_array().into_iter().flatten() {
                let step = json!({
                    "do": "run", "hook": true, "command": hook["command"], "cwd": self.cwd,
                    "env": self.hook_variables(), "stdin": payload.to_string(),
                });
                let answer = self.step(&step);
                assert_eq!(answer["code"], 0, "{event:?}: {answer}");
            }
        }
    }

    fn payload(&self, event: Event) -> Value {
        let native = &self.native;
        let mut payload = json!({
            "session_id": native, "cwd": self.cwd, "hook_event_name": self.kind.event(event),
        });
        let transcript = match self.kind {
            Kind::Claude => format!(".claude/projects/repo/{native}.jsonl"),
            Kind::Codex => format!(".codex/sessions/2026/11/20/rollout-{native}.jsonl"),
            Kind::Gemini => format!(".gemini/tmp/repo/chats/session-{native}.jsonl"),
        };
        payload["transcript_path"] = json!(self.home.join(transcript));
        match self.kind {
            Kind::Claude if self.turn > 0 => {
                payload["prompt_id"] = json!(format!("{native}-turn-{}", self.turn));
                payload["permission_mode"] = json!("bypassPermissions");
            }
            Kind::Codex => {
                payload["model"] = json!("fake-model");
                payload["permission_mode"] = json!("bypassPermissions");
                if self.turn > 0 {
                    payload["turn_id"] = json!(format!("{native}-turn-{}", self.turn));
                }
            }
            _ => {}
        }
        payload
    }

    /// Begins the session and gets a prompt.
    pub(crate) fn begin(&mut self, settings: &Value, source: &str) {
        self.open = true;
        self.hook(settings, Event::Start, &json!({ "source": source }));
        self.prompt(settings);
    }

    /// Gets a prompt.
    pub(crate) fn prompt(&mut self, settings: &Value) {
        self.turn += 1;
        self.hook(
            settings,
            Event::Prompt,
            &json!({ "prompt": "Please do the work." }),
        );
    }

    /// The turn stops.
    pub(crate) fn stop(&mut self, settings: &Value) {
        let more = match self.kind {
            Kind::Claude => json!({
                "stop_hook_active": false, "last_assistant_message": "Done.",
                "background_tasks": [], "session_crons": [],
            }),
            Kind::Codex => json!({ "stop_hook_active": false, "last_assistant_message": "Done." }),
            Kind::Gemini => json!({
                "stop_hook_active": false, "prompt": "Please do the work.",
                "prompt_response": "Done.",
            }),
        };
        self.hook(settings, Event::Stop, &more);
    }

    /// The session ends; the process lives on.
    pub(crate) fn end(&mut self, settings: &Value, reason: &str) {
        self.open = false;
        self.hook(settings, Event::End, &json!({ "reason": reason }));
    }

    /// The session has another id from now on, as after a clear.
    pub(crate) fn rename(&mut self, native: String) {
        self.native = native;
        self.turn = 0;
    }

    /// The shell tool's call as hooks get it.
    pub(crate) fn shell_call(&mut self, index: usize, command: &str) -> Call {
        let input = match self.kind {
            Kind::Codex => json!({ "command": command }),
            _ => json!({ "command": command, "description": "Run a command" }),
        };
        self.call(index, self.kind.shell_tool(), &input)
    }

    /// Any tool's call.
    pub(crate) fn call(&mut self, index: usize, tool: &str, input: &Value) -> Call {
        self.calls += 1;
        let mut payload = json!({ "tool_name": tool, "tool_input": input });
        let id = format!("{}_{}", self.native, self.calls);
        match self.kind {
            Kind::Claude => payload["tool_use_id"] = json!(format!("toolu_{id}")),
            Kind::Codex => payload["tool_use_id"] = json!(format!("call_{id}")),
            Kind::Gemini => {}
        }
        Call {
            agent: index,
            payload,
        }
    }

    /// Runs the hooks before a call.
    pub(crate) fn begin_call(&mut self, settings: &Value, call: &Call) {
        self.hook(settings, Event::Before, &call.payload.clone());
    }

    /// Runs the hooks after a call of the shell.
    pub(crate) fn end_shell_call(&mut self, settings: &Value, call: Call, ran: &Ran) {
        let (out, err) = (ran.stdout.trim_end(), ran.stderr.trim_end());
        let both = [out, err].join(if out.is_empty() || err.is_empty() {
            ""
        } else {
            "\n"
        });
        let failed = ran.code != Some(0);
        if self.kind == Kind::Claude && failed {
            let mut payload = call.payload;
            let code = ran.code.unwrap_or(1);
            payload["error"] = json!(format!("Exit code {code}\n{both}"));
            payload["is_interrupt"] = json!(false);
            self.hook(settings, Event::Failed, &payload);
            return;
        }
        let response = match self.kind {
            Kind::Claude => json!({
                "stdout": out, "stderr": err, "interrupted": false, "isImage": false,
                "noOutputExpected": false,
            }),
            Kind::Codex => json!(both),
            Kind::Gemini => json!({
                "llmContent": format!(
                    "<untrusted_context>\nOutput: {both}\nProcess Group PGID: 13492\n</untrusted_context>"
                ),
                "returnDisplay": both,
            }),
        };
        self.end_call(settings, call, response);
    }

    /// Runs the hooks after a call.
    pub(crate) fn end_call(&mut self, settings: &Value, call: Call, response: Value) {
        let mut payload = call.payload;
        payload["tool_response"] = response;
        if self.kind == Kind::Claude {
            payload["duration_ms"] = json!(7);
        }
        self.hook(settings, Event::After, &payload);
    }

    /// Kills the process; no hook tells of it.
    pub(crate) fn kill(&mut self) {
        self.free = false;
        let pid = i32::try_from(self.pid).ok();
        if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

fn fits(matcher: &str, tool: Option<&str>) -> bool {
    let Some(tool) = tool else { return true };
    let plain = matcher.trim_start_matches("^(").trim_end_matches(")$");
    matches!(plain, "" | "*") || plain.split('|').any(|m| m == tool)
}
