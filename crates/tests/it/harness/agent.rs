//! A played agent: a real process that does, step by step, what Claude Code would do.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use super::repo::Repo;
use super::world::{Ran, through_pipes};

/// One process that plays an agent, and the session that it runs.
pub(crate) struct Agent {
    /// The id that the agent gave its session.
    pub(crate) native: String,
    home: PathBuf,
    pub(crate) cwd: PathBuf,
    child: Option<Child>,
    steps: Box<dyn Write + Send>,
    answers: Box<dyn BufRead + Send>,
    /// How many prompts it got.
    pub(super) turn: u32,
    call: u32,
    /// Whether hooks and the process itself may die; then what died is not complained of.
    pub(crate) mortal: bool,
    /// The process died while it was asked to do something.
    pub(crate) dead: bool,
    /// The keys of what hooks saw that ended well, as the ledger has them.
    pub(crate) acknowledged: Vec<String>,
    /// How often hooks were run and how often they ended well, by session and event.
    pub(crate) sent: BTreeMap<(String, String), (u32, u32)>,
}

impl Agent {
    /// Starts a process and a new session in a checkout, and prompts it.
    #[track_caller]
    pub(crate) fn start(repo: &Repo<'_>, native: &str) -> Self {
        let mut agent = Self::process(repo, native, &Self::program());
        agent.begin("startup");
        agent
    }

    /// The program that plays, under the name by which Siglum recognises Claude Code.
    pub(crate) fn program() -> PathBuf {
        PathBuf::from(env!("CARGO_BIN_EXE_claude"))
    }

    /// The program that plays, under another name.
    pub(crate) fn program_called(repo: &Repo<'_>, name: &str) -> PathBuf {
        let dir = repo.world.root.join("bin");
        fs::create_dir_all(&dir).unwrap();
        let program = dir.join(name);
        fs::copy(Self::program(), &program).unwrap();
        program
    }

    /// Starts a process that has said nothing yet.
    pub(crate) fn process(repo: &Repo<'_>, native: &str, program: &Path) -> Self {
        let mut command = repo.world.command(program);
        command
            .current_dir(&repo.dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let steps = Box::new(child.stdin.take().unwrap());
        let answers = Box::new(BufReader::new(child.stdout.take().unwrap()));
        Self::on(repo, native, Some(child), steps, answers)
    }

    fn on(
        repo: &Repo<'_>,
        native: &str,
        child: Option<Child>,
        steps: Box<dyn Write + Send>,
        answers: Box<dyn BufRead + Send>,
    ) -> Self {
        Self {
            native: native.to_owned(),
            home: repo.world.home(),
            cwd: repo.dir.clone(),
            child,
            steps,
            answers,
            turn: 0,
            call: 0,
            mortal: false,
            dead: false,
            acknowledged: Vec::new(),
            sent: BTreeMap::new(),
        }
    }

    /// An agent that somebody else starts with a shell command; `start` is given the command. Its
    /// process has said nothing yet.
    pub(crate) fn started_by(
        repo: &Repo<'_>,
        native: &str,
        program: &Path,
        start: impl FnOnce(&str),
    ) -> Self {
        let (steps, answers) = through_pipes(repo.world, native, |pipes| {
            start(&format!("'{}' {pipes}", program.display()));
        });
        let answers = BufReader::new(answers);
        Self::on(repo, native, None, Box::new(steps), Box::new(answers))
    }

    /// An agent that this one starts.
    pub(crate) fn nested(&mut self, repo: &Repo<'_>, native: &str, program: &Path) -> Self {
        Self::started_by(repo, native, program, |command| {
            self.step(&json!({ "start": command }));
        })
    }

    /// Does one step and gives the answer.
    #[track_caller]
    pub(crate) fn step(&mut self, step: &Value) -> Value {
        let sent = writeln!(self.steps, "{step}").and_then(|()| self.steps.flush());
        let mut line = String::new();
        let answered = sent.and_then(|()| self.answers.read_line(&mut line));
        if answered.is_err() || !line.ends_with('\n') {
            assert!(self.mortal, "the agent died");
            self.dead = true;
            return json!({ "code": null, "stdout": "", "stderr": "" });
        }
        serde_json::from_str(&line).expect("an answer")
    }

    /// Whether its process lives, as far as the one who started it can tell.
    pub(crate) fn lives(&mut self) -> bool {
        let child = self.child.as_mut();
        !self.dead && child.is_none_or(|child| child.try_wait().unwrap().is_none())
    }

    /// The session goes on in another process.
    pub(crate) fn resume(&mut self, repo: &Repo<'_>) {
        self.quit();
        let mut fresh = Self::process(repo, &self.native, &Self::program());
        std::mem::swap(&mut self.child, &mut fresh.child);
        std::mem::swap(&mut self.steps, &mut fresh.steps);
        std::mem::swap(&mut self.answers, &mut fresh.answers);
        self.dead = false;
        self.hook("SessionStart", json!({ "source": "resume" }));
    }

    /// The agent works in another directory from now on.
    pub(crate) fn move_to(&mut self, dir: impl AsRef<Path>) {
        self.cwd = dir.as_ref().to_owned();
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    /// The process is gone, and no hook tells of it.
    pub(crate) fn quit(&mut self) {
        self.dead = true;
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    fn ran(&mut self, step: &Value) -> Ran {
        let answer = self.step(step);
        let text = |key: &str| answer[key].as_str().unwrap().to_owned();
        let code = answer["code"].as_i64().and_then(|c| i32::try_from(c).ok());
        Ran {
            code,
            stdout: text("stdout"),
            stderr: text("stderr"),
        }
    }

    /// The transcript that the agent writes, as its payloads name it.
    pub(crate) fn transcript(&self) -> PathBuf {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let slug: String = self.cwd.to_str().unwrap().chars().map(plain).collect();
        let project = self.home.join(".claude/projects").join(slug);
        project.join(format!("{}.jsonl", self.native))
    }

    /// A payload of an event, with what every payload has.
    pub(crate) fn payload(&self, event: &str, more: Value) -> Value {
        let mut payload = json!({
            "session_id": self.native,
            "transcript_path": self.transcript(),
            "cwd": self.cwd,
            "hook_event_name": event,
        });
        if self.turn > 0 {
            payload["prompt_id"] = json!(format!("{}-turn-{}", self.native, self.turn));
            payload["permission_mode"] = json!("bypassPermissions");
        }
        let object = payload.as_object_mut().unwrap();
        if let Value::Object(more) = more {
            object.extend(more);
        }
        payload
    }

    /// Runs the hooks of an event. They must succeed, and say nothing.
    #[track_caller]
    pub(crate) fn hook(&mut self, event: &str, more: Value) {
        let payload = self.payload(event, more);
        if self.dead {
            return;
        }
        let counted = (self.native.clone(), event.to_owned());
        self.sent.entry(counted.clone()).or_default().0 += 1;
        let ran = self.ran(&json!({ "hook": payload }));
        if self.mortal && ran.code != Some(0) {
            return;
        }
        self.sent.entry(counted).or_default().1 += 1;
        self.acknowledged.extend(key(&payload));
        assert_eq!(
            (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
            (Some(0), "", ""),
            "{event}"
        );
    }

    /// Begins to run the session, and gets a prompt.
    #[track_caller]
    pub(crate) fn begin(&mut self, source: &str) {
        self.hook("SessionStart", json!({ "source": source }));
        self.prompt("Please do the work.");
    }

    /// Gets a prompt: a new turn.
    #[track_caller]
    pub(crate) fn prompt(&mut self, text: &str) {
        self.turn += 1;
        self.hook("UserPromptSubmit", json!({ "prompt": text }));
    }

    /// The turn stops.
    #[track_caller]
    pub(crate) fn stop(&mut self) {
        self.hook(
            "Stop",
            json!({
                "stop_hook_active": false, "last_assistant_message": "Done.",
                "background_tasks": [], "session_crons": [],
            }),
        );
    }

    /// The session ends; the process lives on until this is dropped.
    #[track_caller]
    pub(crate) fn end(&mut self, reason: &str) {
        self.hook("SessionEnd", json!({ "reason": reason }));
    }

    /// The person clears the screen: another session in the same process.
    #[track_caller]
    pub(crate) fn clear(&mut self, native: &str) {
        self.end("clear");
        native.clone_into(&mut self.native);
        self.turn = 0;
        self.begin("clear");
    }

    /// The next tool call: its id.
    pub(super) fn next_call(&mut self) -> String {
        self.call += 1;
        format!("toolu_{}_{}_{}", self.native, self.turn, self.call)
    }

    /// Runs a command with the shell tool, in the checkout.
    #[track_caller]
    pub(crate) fn sh(&mut self, command: &str) -> Ran {
        let call = self.shell_call(command);
        self.hook("PreToolUse", call.clone());
        let ran = self.bare_sh(command);
        self.shell_returned(call, &ran);
        ran
    }

    /// The shell tool's call as hooks get it.
    pub(crate) fn shell_call(&mut self, command: &str) -> Value {
        let (id, input) = (self.next_call(), json!({ "command": command }));
        json!({ "tool_name": "Bash", "tool_input": input, "tool_use_id": id })
    }

    /// Reports what a call of the shell tool gave.
    #[track_caller]
    pub(crate) fn shell_returned(&mut self, mut call: Value, ran: &Ran) {
        if ran.code == Some(0) {
            call["tool_response"] = json!({
                "stdout": ran.stdout.trim_end(), "stderr": ran.stderr.trim_end(),
                "interrupted": false, "isImage": false,
            });
            self.hook("PostToolUse", call);
        } else {
            call["error"] = json!(format!("Exit code {:?}\n{}", ran.code, ran.stderr));
            self.hook("PostToolUseFailure", call);
        }
    }

    /// Runs a command in the agent's shell, without its hooks.
    #[track_caller]
    pub(crate) fn bare_sh(&mut self, command: &str) -> Ran {
        let step = json!({ "sh": command, "cwd": self.cwd });
        self.ran(&step)
    }

    /// The answer of `why` for a commit of this session that two signs prove.
    pub(crate) fn certain(&self) -> String {
        format!("{} certain", self.native)
    }

    /// The answer of `why` for a commit of this session that one sign shows.
    pub(crate) fn likely(&self) -> String {
        format!("{} likely", self.native)
    }

    /// Kills the process; no hook tells of it.
    pub(crate) fn kill(mut self) {
        self.quit();
    }
}

/// The key under which the ledger has what a hook saw, for those that have a name.
fn key(payload: &Value) -> Option<String> {
    let text = |field: &str| payload[field].as_str().map(str::to_owned);
    match payload["hook_event_name"].as_str()? {
        "UserPromptSubmit" => text("prompt_id").map(|id| format!("prompt:{id}")),
        "PreToolUse" => text("tool_use_id").map(|id| format!("pre:{id}")),
        "PostToolUse" | "PostToolUseFailure" => text("tool_use_id").map(|id| format!("post:{id}")),
        _ => None,
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.quit();
    }
}
