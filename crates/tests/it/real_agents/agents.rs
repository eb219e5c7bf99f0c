//! The agents without a screen: how each is set up, started and resumed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::lab::Lab;
use super::programs::{self, succeeded, wait_for};

/// How a session begins.
#[derive(Debug, Clone, Copy)]
pub(super) enum Start<'a> {
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

/// One of the agents of the lab.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Agent {
    Claude,
    Codex,
    Gemini,
    Qwen,
    Copilot,
    OpenCode,
    Pi,
}

use Agent::{Claude, Codex, Copilot, Gemini, OpenCode, Pi, Qwen};

/// An agent that runs; it is killed with this value.
pub(super) struct Running {
    agent: Agent,
    child: Child,
    stdout: PathBuf,
    what: String,
}

impl Agent {
    /// What keeps it on loopback, quiet, and willing to run as root.
    pub(super) fn environment(self, model: &str) -> Vec<(&'static str, String)> {
        let api = format!("{model}/v1");
        let variables: &[(&str, &str)] = match self {
            Claude => &[
                ("ANTHROPIC_BASE_URL", model),
                ("ANTHROPIC_API_KEY", "dummy"),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
                ("DISABLE_AUTOUPDATER", "1"),
                ("DISABLE_TELEMETRY", "1"),
                ("DISABLE_ERROR_REPORTING", "1"),
                ("IS_SANDBOX", "1"),
            ],
            Codex => &[("LAB_API_KEY", "dummy")],
            Gemini => &[
                ("GEMINI_API_KEY", "dummy"),
                ("GOOGLE_GEMINI_BASE_URL", model),
                ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
            ],
            Qwen => &[
                ("OPENAI_API_KEY", "dummy"),
                ("OPENAI_BASE_URL", &api),
                ("OPENAI_MODEL", "fake-model"),
                ("QWEN_CODE_SKIP_UPDATE_CHECK_ONCE", "1"),
            ],
            Copilot => &[
                ("COPILOT_OFFLINE", "true"),
                ("COPILOT_PROVIDER_BASE_URL", &api),
                ("COPILOT_PROVIDER_API_KEY", "dummy"),
                ("COPILOT_MODEL", "fake-model"),
                ("COPILOT_PROVIDER_WIRE_API", "completions"),
            ],
            OpenCode => &[
                ("OPENCODE_DISABLE_AUTOUPDATE", "1"),
                ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
                ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
                ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
            ],
            Pi => &[("PI_OFFLINE", "1"), ("PI_TELEMETRY", "0")],
        };
        let own = |(name, value): &(&'static str, &str)| (*name, (*value).to_owned());
        variables.iter().map(own).collect()
    }

    /// What a person has set before Siglum comes: the model, and no questions.
    pub(super) fn set_up(self, lab: &Lab) {
        let (file, text) = match self {
            Claude => return fs::create_dir_all(lab.home().join(".claude")).expect("a directory"),
            Copilot => return fs::create_dir_all(lab.home().join(".copilot")).expect("a directory"),
            Qwen => (
                ".qwen/settings.json",
                serde_json::json!({
                    "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": false}},
                    "model": {"name": "fake-model"},
                    "privacy": {"usageStatisticsEnabled": false},
                    "general": {"enableAutoUpdate": false, "disableAutoUpdate": true},
                })
                .to_string(),
            ),
            OpenCode => (".config/opencode/opencode.json", opencode(lab)),
            Pi => return pi(lab),
            Codex => (
                ".codex/config.toml",
                format!(
                    "model = \"gpt-5.5\"\nmodel_provider = \"lab\"\napproval_policy = \"never\"\n\
                     sandbox_mode = \"danger-full-access\"\ncheck_for_update_on_startup = false\n\n\
                     [analytics]\nenabled = false\n\n[model_providers.lab]\nname = \"lab\"\n\
                     base_url = \"{}/v1\"\nenv_key = \"LAB_API_KEY\"\nwire_api = \"responses\"\n\n\
                     [projects.\"{}\"]\ntrust_level = \"trusted\"\n",
                    lab.model.url(),
                    lab.work().display()
                ),
            ),
            Gemini => (
                ".gemini/settings.json",
                serde_json::json!({
                    "security": {
                        "auth": {"selectedType": "gemini-api-key"},
                        "folderTrust": {"enabled": false},
                    },
                    "privacy": {"usageStatisticsEnabled": false},
                    "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
                })
                .to_string(),
            ),
        };
        let path = lab.home().join(file);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("settings");
    }

    /// It with a prompt, not started yet.
    pub(super) fn command(self, lab: &Lab, start: Start<'_>, prompt: &str) -> Command {
        let mut command = match self {
            Gemini | Qwen | Pi => lab.command("node"),
            Claude | Codex | Copilot | OpenCode => lab.command(self.program()),
        };
        command.envs(self.environment(&lab.model.url()));
        match self {
            Claude => {
                let quiet = ["--dangerously-skip-permissions", "--output-format", "json"];
                command.args(["-p", prompt]).args(quiet);
                match start {
                    Start::New => &mut command,
                    Start::Named(id) => command.args(["--session-id", id]),
                    Start::Resume(id) => command.args(["--resume", id]),
                    Start::Continue => command.arg("--continue"),
                    Start::Fork(id) => command.args(["--resume", id, "--fork-session"]),
                };
            }
            Codex => {
                command.args(["exec", "--json"]);
                command.arg("--dangerously-bypass-approvals-and-sandbox");
                match start {
                    Start::New => &mut command,
                    Start::Resume(id) => command.args(["resume", id]),
                    Start::Continue => command.args(["resume", "--last"]),
                    Start::Fork(id) => command.args(["fork", id]),
                    Start::Named(_) => panic!("Codex takes no id from outside"),
                };
                command.arg(prompt);
            }
            Gemini => {
                command.arg(self.program());
                command.args(["--yolo", "--skip-trust", "-o", "json"]);
                command.args(["-m", "gemini-2.5-flash"]);
                match start {
                    Start::New => &mut command,
                    Start::Named(id) => command.args(["--session-id", id]),
                    Start::Resume(id) => command.args(["--resume", id]),
                    Start::Continue => command.args(["--resume", "latest"]),
                    Start::Fork(_) => panic!("Gemini CLI forks no session"),
                };
                command.args(["-p", prompt]);
            }
            Qwen => {
                command.arg(self.program());
                command.args(["--yolo", "-o", "json", "--auth-type", "openai"]);
                resumed(&mut command, start, "--resume");
                command.args(["-p", prompt]);
            }
            Copilot => {
                command.args(["--allow-all", "--output-format", "json"]);
                resumed(&mut command, start, "--resume");
                command.args(["-p", prompt]);
            }
            OpenCode => {
                command.args(["run", "--format", "json"]);
                match start {
                    Start::Fork(id) => {
                        command.args(["--session", id, "--fork"]);
                    }
                    other => resumed(&mut command, other, "--session"),
                }
                command.arg(prompt);
            }
            Pi => {
                command.arg(self.program());
                command.args(["-p", "--mode", "json", "--model", "lab/fake-model"]);
                match start {
                    Start::Fork(id) => {
                        command.args(["--fork", id]);
                    }
                    other => resumed(&mut command, other, "--session"),
                }
                command.arg(prompt);
            }
        }
        command
    }

    /// Its program.
    pub(super) fn program(self) -> PathBuf {
        programs::path(match self {
            Claude => "SIGLUM_LAB_CLAUDE",
            Codex => "SIGLUM_LAB_CODEX",
            Gemini => "SIGLUM_LAB_GEMINI",
            Qwen => "SIGLUM_LAB_QWEN",
            Copilot => "SIGLUM_LAB_COPILOT",
            OpenCode => "SIGLUM_LAB_OPENCODE",
            Pi => "SIGLUM_LAB_PI",
        })
    }

    /// The id of its session, from what it said.
    fn session_in(self, output: &str) -> Option<String> {
        let answers = serde_json::Deserializer::from_str(&output[output.find('{')?..]);
        let key = match self {
            Claude | Gemini | Qwen => "session_id",
            Codex => "thread_id",
            Copilot => "sessionId",
            OpenCode => "sessionID",
            Pi => "id",
        };
        let mut answers = answers.into_iter::<Value>().map_while(Result::ok);
        answers.find_map(|a| Some(a[key].as_str()?.to_owned()))
    }
}

/// A new session, or an earlier one by this flag. Only some of these agents take an id, or fork.
#[track_caller]
fn resumed(command: &mut Command, start: Start<'_>, flag: &str) {
    match start {
        Start::New => command,
        Start::Resume(id) => command.args([flag, id]),
        Start::Named(id) => command.args(["--session-id", id]),
        Start::Fork(id) => command.args([flag, id, "--fork-session"]),
        Start::Continue => panic!("nothing starts this agent so: {start:?}"),
    };
}

/// Writes Pi's settings.
fn pi(lab: &Lab) {
    let home = lab.home().join(".pi/agent");
    fs::create_dir_all(&home).expect("a directory");
    let provider = serde_json::json!({
        "baseUrl": format!("{}/v1", lab.model.url()), "api": "openai-completions", "apiKey": "dummy",
        "models": [{"id": "fake-model"}],
    });
    let models = serde_json::json!({ "providers": { "lab": provider } });
    let settings = serde_json::json!({
        "defaultProvider": "lab", "defaultModel": "fake-model", "enableInstallTelemetry": false,
    });
    for (file, value) in [("models.json", models), ("settings.json", settings)] {
        fs::write(home.join(file), value.to_string()).expect("settings");
    }
}

/// OpenCode's settings; what it would install by npm at its start is put beside them.
fn opencode(lab: &Lab) -> String {
    let home = lab.home().join(".config/opencode");
    fs::create_dir_all(&home).expect("a directory");
    let plugin = programs::path("SIGLUM_LAB_OPENCODE_PLUGIN").join(".");
    programs::stdout(lab.command("cp").arg("-r").arg(plugin).arg(&home));
    let model = serde_json::json!({
        "name": "fake", "tool_call": true, "limit": {"context": 200_000, "output": 8_000},
    });
    let options = serde_json::json!({
        "baseURL": format!("{}/v1", lab.model.url()), "apiKey": "dummy",
    });
    serde_json::json!({
        "autoupdate": false, "share": "disabled", "permission": "allow",
        "model": "lab/fake-model", "small_model": "lab/fake-model",
        "provider": {"lab": {
            "npm": "@ai-sdk/openai-compatible", "name": "lab", "options": options,
            "models": {"fake-model": model},
        }},
    })
    .to_string()
}

impl Lab {
    /// What a person has set up before, and what `siglum init` adds.
    pub(super) fn set_up(&self, agents: &[Agent]) {
        agents.iter().for_each(|agent| agent.set_up(self));
        self.siglum(&["init", "--yes"]);
    }

    /// What Claude Code runs with.
    pub(super) fn claude_environment(&self) -> Vec<(&'static str, String)> {
        [self.environment(), Claude.environment(&self.model.url())].concat()
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

    /// Claude Code with a prompt, not started yet.
    pub(super) fn claude(&self, start: Start<'_>, prompt: &str) -> Command {
        Claude.command(self, start, prompt)
    }

    /// What Claude Code has written of a session so far.
    pub(super) fn transcript(&self, session: &str) -> Option<String> {
        let projects = fs::read_dir(self.home().join(".claude/projects")).ok()?;
        let name = format!("{session}.jsonl");
        let files = projects.flatten().map(|p| p.path().join(&name));
        files.into_iter().find_map(|f| fs::read_to_string(f).ok())
    }

    /// Starts Claude Code on a script.
    pub(super) fn start(&self, start: Start<'_>, scenario: &str) -> Running {
        self.start_with(start, &self.prompt(scenario))
    }

    /// Starts Claude Code with a prompt as it is.
    pub(super) fn start_with(&self, start: Start<'_>, prompt: &str) -> Running {
        self.launch(Claude, start, prompt)
    }

    /// Runs an agent on a script; returns the id of its session.
    #[track_caller]
    pub(super) fn work_by(&self, agent: Agent, start: Start<'_>, scenario: &str) -> String {
        self.launch(agent, start, &self.prompt(scenario)).finish()
    }

    /// Starts an agent with a prompt as it is.
    pub(super) fn launch(&self, agent: Agent, start: Start<'_>, prompt: &str) -> Running {
        let command = agent.command(self, start, prompt);
        self.begin(agent, command, format!("{agent:?} {start:?} {prompt}"))
    }

    /// Starts an agent on a script below `siglum run`, with these arguments and variables of the
    /// launcher.
    pub(super) fn launch_below(
        &self,
        agent: Agent,
        start: Start<'_>,
        scenario: &str,
        flags: &[&str],
        variables: &[(&str, &str)],
    ) -> Running {
        let command = self.below_launcher(agent, start, scenario, flags, variables);
        self.begin(
            agent,
            command,
            format!("launched {agent:?} {start:?} {scenario}"),
        )
    }

    /// The command that starts an agent on a script below `siglum run`.
    pub(super) fn below_launcher(
        &self,
        agent: Agent,
        start: Start<'_>,
        scenario: &str,
        flags: &[&str],
        variables: &[(&str, &str)],
    ) -> Command {
        let bare = agent.command(self, start, &self.prompt(scenario));
        let mut command = self.command(programs::path("SIGLUM_BIN"));
        command.arg("run").args(flags).arg("--");
        command.arg(bare.get_program()).args(bare.get_args());
        command.envs(
            bare.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        command.envs(variables.iter().copied());
        command
    }

    /// Starts it.
    pub(super) fn begin(&self, agent: Agent, mut command: Command, what: String) -> Running {
        static RUNS: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let run = RUNS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let stdout = self.beside(&format!("log/agent-{run}"));
        let err = self.beside(&format!("log/agent-{run}.err"));
        let [out, err] =
            [&stdout, &err].map(|path| File::create(path).expect("a file for its words"));
        let command = command.stdin(Stdio::null()).stdout(out).stderr(err);
        Running {
            agent,
            child: command.spawn().expect("the agent starts"),
            stdout,
            what,
        }
    }

    /// Runs Claude Code on a script; returns the id of its session.
    #[track_caller]
    pub(super) fn run(&self, start: Start<'_>, scenario: &str) -> String {
        self.start(start, scenario).finish()
    }
}

impl Running {
    /// Waits for its end; returns the id of its session.
    #[track_caller]
    pub(super) fn finish(mut self) -> String {
        let what = format!("the end of {}", self.what);
        let status = wait_for(&what, || self.child.try_wait().expect("a status"));
        let read = |path: &Path| fs::read_to_string(path).expect("what the agent said");
        let stdout = read(&self.stdout);
        let output = std::process::Output {
            status,
            stdout: stdout.clone().into_bytes(),
            stderr: read(&self.stdout.with_extension("err")).into_bytes(),
        };
        succeeded(&self.what, &output);
        let session = self.agent.session_in(&stdout);
        session.unwrap_or_else(|| panic!("{} names no session: {stdout}", self.what))
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
