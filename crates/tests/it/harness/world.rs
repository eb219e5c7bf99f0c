//! Directories and environment of one test, and how programs run in them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::Value;
use siglum_ledger::sqlite::sums_on;
use tempfile::TempDir;

use super::repo::Repo;

/// How long anything may take before a test gives up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A home, a Siglum home and room for repositories, thrown away with all processes in it.
pub(crate) struct World {
    pub(crate) root: PathBuf,
    /// Variables that all programs get, beside the usual ones.
    pub(crate) variables: Vec<(&'static str, PathBuf)>,
    dir: Option<TempDir>,
}

/// What a program did.
#[derive(Debug)]
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
    /// Standard output, of a program that must have succeeded.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self.stdout.trim_end_matches('\n').to_owned()
    }
}

impl World {
    /// An empty world.
    pub(crate) fn new() -> Self {
        let dir = tempfile::Builder::new()
            .prefix("siglum-it-")
            .tempdir()
            .unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("home")).unwrap();
        Self {
            root,
            variables: Vec::new(),
            dir: Some(dir),
        }
    }

    /// The user's home.
    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Siglum's home.
    pub(crate) fn siglum_home(&self) -> PathBuf {
        self.root.join("siglum")
    }

    /// The program under test.
    pub(crate) fn program() -> PathBuf {
        if let Some(path) = std::env::var_os("SIGLUM_BIN") {
            return PathBuf::from(path);
        }
        let test = std::env::current_exe().unwrap();
        let built = test.ancestors().nth(2).unwrap().join("siglum");
        assert!(built.exists(), "build the program first: {built:?}");
        built
    }

    /// A program in the clean environment of this world.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .env("SIGLUM_HOME", self.siglum_home())
            // Nobody has one; a device in its place would be replaced by whoever writes one.
            .env("GIT_CONFIG_GLOBAL", self.root.join("gitconfig"))
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_AUTHOR_NAME", "Ada")
            .env("GIT_AUTHOR_EMAIL", "ada@example.com")
            .env("GIT_COMMITTER_NAME", "Ada")
            .env("GIT_COMMITTER_EMAIL", "ada@example.com")
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.root)
            .stdin(Stdio::null());
        command
    }

    /// Runs a shell script somewhere, by nobody: no agent above it, no terminal.
    pub(crate) fn sh(&self, dir: &Path, script: &str) -> Ran {
        let mut command = self.command("/bin/sh");
        let output = command.args(["-c", script]).current_dir(dir).output();
        output.unwrap().into()
    }

    /// Runs the program under test somewhere.
    pub(crate) fn siglum(&self, dir: &Path, args: &[&str]) -> Ran {
        let mut command = self.command(Self::program());
        command.args(args).current_dir(dir).output().unwrap().into()
    }

    /// The answer of the program under test, as JSON, without its envelope.
    #[track_caller]
    pub(crate) fn json(&self, dir: &Path, args: &[&str]) -> Value {
        let text = self.siglum(dir, &[args, &["--json"]].concat()).ok();
        let mut value: Value = serde_json::from_str(&text).expect(&text);
        assert!(value["schema"].as_str().unwrap().starts_with("siglum."));
        value["data"].take()
    }

    /// A new repository with one commit, with Siglum switched on.
    pub(crate) fn repo(&self) -> Repo<'_> {
        self.repo_made_by("git init -q -b main . && git commit -q --allow-empty -m base")
    }

    /// A repository that a script makes, with Siglum switched on after it.
    pub(crate) fn repo_made_by(&self, script: &str) -> Repo<'_> {
        let dir = self.root.join("repo");
        std::fs::create_dir_all(&dir).unwrap();
        self.sh(&dir, script).ok();
        let repo = self.at(&dir);
        repo.siglum(&["init", "--yes"]).ok();
        repo
    }

    /// A repository that is there already.
    pub(crate) fn at(&self, dir: &Path) -> Repo<'_> {
        Repo {
            world: self,
            dir: dir.to_owned(),
        }
    }

    /// Keeps the worker from running until the lock is dropped.
    pub(crate) fn hold_worker(&self) -> File {
        let lock = File::create(self.siglum_home().join("worker.lock")).unwrap();
        lock.lock().unwrap();
        lock
    }

    /// Whether no worker runs.
    pub(crate) fn worker_is_done(&self) -> bool {
        let lock = self.siglum_home().join("worker.lock");
        let free = format!("flock -n '{}' true", lock.display());
        self.sh(&self.root, &free).code == Some(0)
    }

    /// The ledger's own store, for what no command shows and to get in the way.
    pub(crate) fn store(&self) -> Connection {
        let db = Connection::open(self.siglum_home().join("ledger.db")).unwrap();
        sums_on(&db).unwrap();
        db
    }

    /// Has nobody know to which processes sessions are bound, as where no hook of an agent ran in them.
    pub(crate) fn forget_processes(&self) {
        self.store().execute("DELETE FROM processes", []).unwrap();
        let _ = std::fs::remove_file(self.siglum_home().join("ledger.db-bound"));
    }

    /// The one number that a query of the store gives.
    pub(crate) fn count(&self, sql: &str) -> i64 {
        self.store().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// The reasons of all declines, oldest first.
    pub(crate) fn declines(&self) -> Vec<String> {
        let store = self.store();
        let mut rows = store
            .prepare("SELECT reason FROM declines ORDER BY position")
            .unwrap();
        let reasons = rows.query_map([], |row| row.get(0)).unwrap();
        reasons.collect::<Result<_, _>>().unwrap()
    }

    /// How many deliveries wait in Siglum's home.
    pub(crate) fn spooled(&self) -> usize {
        waiting(&self.siglum_home().join("spool"))
    }

    /// The processes of this world: those with its directory in their environment.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let mark = self.root.to_str().unwrap().as_bytes();
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse() else {
                continue;
            };
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            if pid != std::process::id()
                && environment.windows(mark.len()).any(|window| window == mark)
            {
                found.push(pid);
            }
        }
        found
    }
}

/// Says that this machine cannot show something. Where `SIGLUM_TEST_WHOLE` is set, that is a failure.
#[track_caller]
pub(crate) fn left_out(why: &str) {
    let is_whole = std::env::var_os("SIGLUM_TEST_WHOLE").is_some();
    assert!(!is_whole, "this cannot be shown here: {why}");
    eprintln!("left out: {why}");
}

/// Each byte as a character, so that none is lost and a difference can be read.
pub(crate) fn characters(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// The deliveries in a spool.
pub(crate) fn waiting(spool: &Path) -> usize {
    let entries = std::fs::read_dir(spool).into_iter().flatten().flatten();
    entries
        .filter(|e| e.path().extension().is_some_and(|ending| ending == "json"))
        .count()
}

impl Drop for World {
    fn drop(&mut self) {
        for pid in self.processes() {
            kill(pid);
        }
        if std::thread::panicking() && std::env::var_os("SIGLUM_KEEP").is_some() {
            let kept = self.dir.take().map(TempDir::keep);
            eprintln!("kept {kept:?}");
        }
    }
}

/// Kills a process without a word.
pub(crate) fn kill(pid: u32) {
    if let Some(pid) = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
    {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

/// Starts something with a shell's redirections to two new pipes, and gives the other ends: what it
/// reads, and what it writes.
pub(crate) fn through_pipes(world: &World, name: &str, start: impl FnOnce(&str)) -> (File, File) {
    let pipe = |end: &str| world.root.join(format!("{name}.{end}"));
    let (input, output) = (pipe("in"), pipe("out"));
    for path in [&input, &output] {
        rustix::fs::mknodat(
            rustix::fs::CWD,
            path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
    }
    start(&format!("<'{}' >'{}'", input.display(), output.display()));
    let writing = File::options().write(true).open(input).unwrap();
    (writing, File::open(output).unwrap())
}

/// Waits for a condition.
#[track_caller]
pub(crate) fn until(what: &str, condition: impl FnMut() -> bool) {
    until_within(PATIENCE, what, condition);
}

/// The same, of one that may take its time.
#[track_caller]
pub(crate) fn until_within(patience: Duration, what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < patience, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}
