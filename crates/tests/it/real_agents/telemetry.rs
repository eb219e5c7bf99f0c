//! The agents' own telemetry at the gateway: one session for each conversation, and the tokens that the model counted.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Child, Stdio};

use serde_json::Value;
use siglum_agents::{Export, SettingsFile, TELEMETRY, telemetry_environment};

use super::agents::{Agent, Start};
use super::book::Session;
use super::gateway::Team;
use super::lab::Lab;
use super::model::Tokens;
use super::programs::{stdout, wait_for};

/// Whether there are hooks, too, which tell of the same conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hooks {
    Installed,
    None,
}

/// A gateway, and an agent that sends its telemetry there.
struct Sending {
    lab: Lab,
    gateway: Team,
    agent: Agent,
    variables: Vec<(&'static str, String)>,
    /// The agent's own server, where it works in one.
    server: Option<Server>,
}

/// OpenCode's server, which sends what it has seen while it lives; a run without one ends before it has sent its last
/// words.
struct Server {
    child: Child,
    url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) const fn name(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude => "claude-code",
        Agent::Codex => "codex",
        Agent::Gemini => "gemini",
        Agent::Qwen => "qwen",
        Agent::Copilot => "copilot",
        Agent::OpenCode => "opencode",
        Agent::Pi => "pi",
    }
}

impl Sending {
    fn open(agent: Agent, hooks: Hooks) -> Option<Self> {
        let lab = Lab::bare()?;
        let gateway = Team::serving(&lab, &lab.siglum_home());
        agent.set_up(&lab);
        let mut sending = Self {
            gateway,
            agent,
            variables: Vec::new(),
            server: None,
            lab,
        };
        match hooks {
            Hooks::Installed => sending.init(),
            Hooks::None => sending.tell(),
        }
        Some(sending)
    }

    /// As a person does it.
    fn init(&mut self) {
        let address = self.gateway.address.clone();
        let arguments = ["init", "--telemetry", "--gateway", &address, "--yes"];
        self.lab.siglum(&arguments);
    }

    /// The same settings, and nothing else of Siglum's.
    fn tell(&mut self) {
        let token = self.lab.siglum(&["token", "create", "--telemetry"]);
        let export = Export {
            gateway: self.gateway.address.clone(),
            token: token.trim().to_owned(),
        };
        self.variables = match self.agent {
            Agent::Copilot | Agent::OpenCode => telemetry_environment(&export),
            _ => Vec::new(),
        };
        let spec = TELEMETRY.iter().find(|s| s.agent == name(self.agent));
        let Some(spec) = spec else {
            return;
        };
        let paths = spec.settings(&(spec.default_dir)(&self.lab.home()));
        let read = |path: std::path::PathBuf| SettingsFile {
            text: fs::read_to_string(&path).ok(),
            path,
        };
        let files: Vec<SettingsFile> = paths.into_iter().map(read).collect();
        let plan = spec.plan(&files, &export).expect("settings");
        assert_eq!(plan.kept, Vec::<String>::new());
        for (file, text) in files.iter().zip(plan.texts) {
            fs::write(&file.path, text.expect("a text")).expect("settings");
        }
    }

    /// Starts OpenCode's server.
    fn serve(&mut self) {
        let log = self.lab.beside("log/server");
        let out = fs::File::create(&log).expect("a file for its words");
        let mut command = self.lab.command(self.agent.program());
        command.args(["serve", "--hostname", "127.0.0.1", "--port", "0"]);
        command.envs(self.agent.environment(&self.lab.model.url()));
        command.envs(self.variables.iter().map(|(n, v)| (*n, v.as_str())));
        let child = command
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(Stdio::null())
            .spawn()
            .expect("the server starts");
        let url = wait_for("the server's address", || {
            let text = fs::read_to_string(&log).ok()?;
            let (_, address) = text.split_once("listening on ")?;
            let (address, _) = address.split_once('\n')?;
            Some(address.trim().to_owned())
        });
        self.server = Some(Server { child, url });
    }

    /// Runs the agent on a script; returns the id of its session.
    #[track_caller]
    fn work(&self, start: Start<'_>, scenario: &str) -> String {
        let variables: Vec<(&str, &str)> = self
            .variables
            .iter()
            .map(|(n, v)| (*n, v.as_str()))
            .collect();
        let prompt = self.lab.prompt(scenario);
        let mut command = self.agent.command(&self.lab, start, &prompt);
        command.envs(variables).env_remove("DISABLE_TELEMETRY");
        if let Some(server) = &self.server {
            command.args(["--attach", &server.url]);
        }
        let what = format!("{:?} {start:?} {scenario}", self.agent);
        self.lab.begin(self.agent, command, what).finish()
    }

    /// Waits until the ledger has what the model counted.
    #[track_caller]
    fn settled(&self, native: &str) -> Tokens {
        // OpenCode tells what the title of a session cost, too.
        let counted = match self.agent {
            Agent::OpenCode => self.lab.model.all_counted(&["turn", "no tools"]),
            _ => self.lab.model.all_counted(&["turn"]),
        };
        let whole = |session: &Session| known(session) == comparable_tokens(counted);
        let book = self.lab.book_when("the telemetry to be joined", |book| {
            let session = book
                .sessions
                .iter()
                .find(|s| s.natives.iter().any(|n| n == native));
            session.is_some_and(whole)
        });
        assert_eq!(book.sessions.len(), 1, "{book:#?}");
        assert_eq!(book.declines, Vec::<String>::new());
        book.session(native).tokens
    }

    /// Nothing is left that could have been joined: what was not is of no session's trace, and nothing was wrong with it.
    #[track_caller]
    fn nothing_is_left(&self) {
        let page = self.gateway.get("/v1/telemetry/unassigned?limit=1000");
        let rows = page["items"].as_array().expect("a list");
        let traces = self.traces();
        let could_be = |row: &&Value| {
            let trace = row["trace_id"].as_str();
            row["reason"] != "no_session" || trace.is_some_and(|t| traces.contains(t))
        };
        let left: Vec<&Value> = rows.iter().filter(could_be).collect();
        assert!(left.is_empty(), "{left:#?}");
    }

    /// The traces that are known to be of a session.
    fn traces(&self) -> BTreeSet<String> {
        let read = "import sqlite3, sys; db = sqlite3.connect(f'file:{sys.argv[1]}?mode=ro', uri=True); \
                    [print(t.hex()) for t, in db.execute('select trace from traced_sessions')]";
        let ledger = self.lab.siglum_home().join("ledger.db");
        let found = stdout(self.lab.command("python3").args(["-c", read]).arg(ledger));
        found.lines().map(str::to_owned).collect()
    }
}

/// Agents do not tell apart what was written to a cache.
fn known(session: &Session) -> (u64, u64, u64) {
    comparable_tokens(session.tokens)
}

const fn comparable_tokens(tokens: Tokens) -> (u64, u64, u64) {
    (tokens.input, tokens.output, tokens.cache_read)
}

/// A conversation, and its resumption.
#[track_caller]
fn a_conversation(agent: Agent, hooks: Hooks) {
    let Some(mut sending) = Sending::open(agent, hooks) else {
        return;
    };
    if agent == Agent::OpenCode {
        sending.serve();
    }
    let session = sending.work(Start::New, "write_commit");
    assert_eq!(sending.work(Start::Resume(&session), "say"), session);
    sending.settled(&session);
    sending.nothing_is_left();
}

#[test]
fn claude_code() {
    a_conversation(Agent::Claude, Hooks::None);
}

#[test]
fn codex() {
    a_conversation(Agent::Codex, Hooks::None);
}

#[test]
fn gemini() {
    a_conversation(Agent::Gemini, Hooks::None);
}

#[test]
fn qwen() {
    a_conversation(Agent::Qwen, Hooks::None);
}

#[test]
fn copilot() {
    a_conversation(Agent::Copilot, Hooks::None);
}

#[test]
fn opencode() {
    a_conversation(Agent::OpenCode, Hooks::None);
}

#[test]
fn claude_code_is_counted_once_with_hooks() {
    a_conversation(Agent::Claude, Hooks::Installed);
}

#[test]
fn codex_is_counted_once_with_hooks() {
    a_conversation(Agent::Codex, Hooks::Installed);
}

#[test]
fn qwen_is_counted_once_with_hooks() {
    a_conversation(Agent::Qwen, Hooks::Installed);
}

#[test]
fn gemini_is_counted_once_with_hooks() {
    a_conversation(Agent::Gemini, Hooks::Installed);
}
