//! A home, a ledger and a repository, in which one case follows the other.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode};
use serde_json::Value;

use crate::agent::{Agent, Kind};
use crate::terminal::{Multiplexer, Terminal};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a program did.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ran {
    /// Standard output of a program that must have succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self.stdout
    }
}

/// The directories and the cast. Thrown away with all processes in it.
pub(crate) struct World {
    pub(crate) root: PathBuf,
    pub(crate) repo: PathBuf,
    program: PathBuf,
    pub(crate) agents: Vec<Agent>,
    /// The hook commands of each agent, by event, as its settings have them.
    pub(crate) settings: BTreeMap<Kind, Value>,
    pub(crate) person: Option<Terminal>,
    pub(crate) multiplexer: Option<Multiplexer>,
    names: u32,
}

/// The names that this program plays under.
const NAMES: &[&str] = &[
    "claude", "codex", "gemini", "node", "xterm", "sshd", "robot", "code", "task", "helper",
];

/// How a repository begins.
const BEGIN: &str = "git init -q -b main . && git config gc.auto 0 && git config maintenance.auto false && \
    git config user.name nobody && git config user.email nobody@example.com && \
    git commit -q --allow-empty -m base";

impl World {
    /// A repository with one commit and Siglum switched on, and nobody in it.
    pub(crate) fn new(program: &Path) -> Self {
        let root = fresh_directory();
        let mut world = Self {
            repo: root.join("repo"),
            root,
            program: program.to_owned(),
            agents: Vec::new(),
            settings: BTreeMap::new(),
            person: None,
            multiplexer: None,
            names: 0,
        };
        for dir in ["bin", "repo", "home/.claude", "home/.codex", "home/.gemini"] {
            fs::create_dir_all(world.root.join(dir)).unwrap();
        }
        let part = world.bin("part");
        let own = std::env::current_exe().unwrap();
        if fs::hard_link(&own, &part).is_err() {
            fs::copy(&own, &part).unwrap();
        }
        for name in NAMES {
            fs::hard_link(&part, world.bin(name)).unwrap();
        }
        world.sh(BEGIN).ok();
        world.siglum(&["init", "--yes"]).ok();
        for (kind, file) in [
            (Kind::Claude, ".claude/settings.json"),
            (Kind::Codex, ".codex/hooks.json"),
            (Kind::Gemini, ".gemini/settings.json"),
        ] {
            let text = fs::read_to_string(world.root.join("home").join(file)).unwrap();
            let settings: Value = serde_json::from_str(&text).unwrap();
            world.settings.insert(kind, settings["hooks"].clone());
        }
        world
    }

    /// Where a program of the cast is.
    pub(crate) fn bin(&self, name: &str) -> PathBuf {
        self.root.join("bin").join(name)
    }

    /// A name that nothing in this world has.
    pub(crate) fn fresh_name(&mut self, what: &str) -> String {
        self.names += 1;
        format!("{what}{}", self.names)
    }

    /// A program in the clean environment of this world, in the repository.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.root.join("home"))
            .env("SIGLUM_HOME", self.root.join("siglum"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_AUTHOR_EMAIL", "a@example.com")
            .env("GIT_COMMITTER_EMAIL", "a@example.com")
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .current_dir(&self.repo)
            .stdin(Stdio::null());
        command
    }

    /// A program that has no parent but the system, with pipes to it: nothing that runs this bench is
    /// above it.
    pub(crate) fn detached(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = self.command("setsid");
        command.arg("-f").arg(program);
        command
    }

    /// Runs a script by the bench itself, for what no case is about.
    pub(crate) fn sh(&self, script: &str) -> Ran {
        let mut command = self.command("/bin/sh");
        command.args(["-c", script]).output().unwrap().into()
    }

    /// What git prints in a repository.
    pub(crate) fn git(&self, repo: &Path, arguments: &[&str]) -> String {
        let mut git = self.command("git");
        let output = git.current_dir(repo).args(arguments).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The program that is judged.
    pub(crate) fn judged(&self) -> Command {
        self.command(&self.program)
    }

    /// Runs the program that is judged.
    pub(crate) fn siglum(&self, arguments: &[&str]) -> Ran {
        self.judged().args(arguments).output().unwrap().into()
    }

    /// The data of the program's JSON answer in a repository.
    pub(crate) fn json(&self, repo: &Path, arguments: &[&str]) -> Value {
        let mut command = self.judged();
        command.current_dir(repo).args(arguments).arg("--json");
        let text = Ran::from(command.output().unwrap()).ok();
        let mut value: Value = serde_json::from_str(&text).unwrap();
        value["data"].take()
    }

    /// Goes to the repository in which no agent ever worked; the first time, it is made.
    pub(crate) fn enter_quiet_repository(&mut self) {
        let quiet = self.root.join("quiet");
        let is_there = quiet.is_dir();
        fs::create_dir_all(&quiet).unwrap();
        self.repo = quiet;
        if !is_there {
            self.sh(BEGIN).ok();
            self.siglum(&["init", "--yes"]).ok();
        }
    }

    /// Goes back to the repository of all others.
    pub(crate) fn leave_quiet_repository(&mut self) {
        self.repo = self.root.join("repo");
    }

    /// What a shell waits for until it is told to go on.
    pub(crate) fn gate(&mut self) -> Gate {
        let name = self.fresh_name("gate");
        Gate::new(self.root.join(name))
    }

    /// A file that somebody makes when something is done.
    pub(crate) fn mark(&mut self) -> Mark {
        let name = self.fresh_name("mark");
        Mark(self.root.join(name))
    }

    fn processes(&self) -> Vec<i32> {
        let root = self.root.to_str().unwrap().as_bytes();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse() else {
                continue;
            };
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let names = |text: &[u8]| text.windows(root.len()).any(|window| window == root);
            if names(&environment) || names(&line) {
                found.push(pid);
            }
        }
        found
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.agents.clear();
        self.person = None;
        self.multiplexer = None;
        for _ in 0..50 {
            let left = self.processes();
            for pid in &left {
                if let Some(pid) = rustix::process::Pid::from_raw(*pid) {
                    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                }
            }
            if left.is_empty() && fs::remove_dir_all(&self.root).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// A directory of this world alone, below `TMPDIR`.
fn fresh_directory() -> PathBuf {
    static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let root = std::env::temp_dir().join(format!("siglum-truth-{}-{number}", std::process::id()));
    fs::create_dir_all(&root).unwrap();
    root.canonicalize().unwrap()
}

/// A pipe with a name, at which a shell waits without taking processor time.
pub(crate) struct Gate {
    path: PathBuf,
    pipe: File,
}

impl Gate {
    fn new(path: PathBuf) -> Self {
        let mode = Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(CWD, &path, FileType::Fifo, mode, 0).unwrap();
        // Open at both ends, so that neither side waits for the other to open it.
        let pipe = File::options().read(true).write(true).open(&path).unwrap();
        Self { path, pipe }
    }

    /// What a shell does to wait here.
    pub(crate) fn waiting(&self) -> String {
        format!("read go <{}", self.path.display())
    }

    /// Lets one shell go on.
    pub(crate) fn open(&mut self) {
        std::io::Write::write_all(&mut self.pipe, b"go\n").unwrap();
    }
}

/// A file that says that something is done.
pub(crate) struct Mark(PathBuf);

impl Mark {
    /// What a shell does to make it.
    pub(crate) fn making(&self) -> String {
        format!(": >{}", self.0.display())
    }

    /// Waits until it is there.
    #[track_caller]
    pub(crate) fn wait(&self) {
        until("a mark is made", || self.0.exists());
    }
}

/// Waits for a condition.
#[track_caller]
pub(crate) fn until(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_micros(500));
    }
}

/// A word for a shell, whatever is in it.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
