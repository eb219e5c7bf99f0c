//! One user's world: a home, a ledger, and the program as it is called there.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use siglum_domain::LedgerId;
use siglum_ledger::sqlite::Open;
use siglum_ledger::{Ledger as _, SqliteLedger};

use crate::Fallible;
use crate::clock::{Chance, Ids, now};
use crate::contest::millis;

/// The homes of one user.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    program: PathBuf,
    /// `SIGLUM_HOME`.
    pub(crate) siglum: PathBuf,
    /// `HOME`, where agents keep their transcripts.
    pub(crate) user: PathBuf,
}

impl Home {
    /// Makes one in a directory, with an empty ledger.
    pub(crate) fn create(program: &Path, dir: &Path) -> Fallible<Self> {
        let home = Self {
            program: program.to_owned(),
            siglum: dir.join("siglum"),
            user: dir.join("user"),
        };
        std::fs::create_dir_all(&home.siglum)?;
        std::fs::create_dir_all(home.user.join(".claude/projects/-repo"))?;
        drop(home.ledger()?);
        Ok(home)
    }

    /// The ledger. Whoever measures lets it go first: a hook is as a rule alone with its ledger.
    pub(crate) fn ledger(&self) -> Fallible<SqliteLedger> {
        let chance = Chance::new(now().nanos().unsigned_abs());
        let ids = Ids {
            chance: &chance,
            at: std::cell::Cell::new(now()),
        };
        let how = Open::Command {
            id: LedgerId::mint(&ids),
            key: [42; 32],
        };
        Ok(SqliteLedger::open(&self.siglum.join("ledger.db"), how)?)
    }

    /// Brings the ledger's log in if it is long, as the worker does.
    pub(crate) fn maintain(&self) -> Fallible<()> {
        Ok(self.ledger()?.maintain()?)
    }

    /// The transcript of a session of the played agent.
    pub(crate) fn transcript(&self, session: &str) -> PathBuf {
        self.user
            .join(format!(".claude/projects/-repo/{session}.jsonl"))
    }

    /// Keeps the worker from starting until the result is dropped, so that only what is timed runs.
    pub(crate) fn without_worker(&self) -> Fallible<File> {
        let deadline = Instant::now() + Duration::from_secs(60);
        let file = File::options()
            .create(true)
            .append(true)
            .open(self.siglum.join("worker.lock"))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(_) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                Err(error) => return Err(format!("the worker does not end: {error}").into()),
            }
        }
    }

    /// The environment in which everything of this home runs: this, and nothing else.
    pub(crate) fn apply(&self, command: &mut Command) {
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.user)
            .env("SIGLUM_HOME", &self.siglum)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("LC_ALL", "C.UTF-8")
            .env("TMPDIR", std::env::temp_dir());
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Ada");
            command.env(format!("GIT_{who}_EMAIL"), "ada@example.org");
        }
    }

    /// The program, called in a directory.
    pub(crate) fn command(&self, dir: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        self.apply(&mut command);
        command.args(args).current_dir(dir);
        command
    }

    /// Runs a command of the program; milliseconds and what it said. It must succeed.
    pub(crate) fn run(&self, dir: &Path, args: &[&str]) -> Fallible<(f64, Output)> {
        let mut command = self.command(dir, args);
        command.stdin(Stdio::null());
        let start = Instant::now();
        let out = command.output()?;
        let time = millis(start);
        if out.status.success() {
            return Ok((time, out));
        }
        let stderr = String::from_utf8_lossy(&out.stderr);
        Err(format!("siglum {} failed: {stderr}", args.join(" ")).into())
    }

    /// Fails if a hook could not reach the ledger: its time would mean nothing.
    pub(crate) fn check(&self) -> Fallible<()> {
        let log = std::fs::read_to_string(self.siglum.join("siglum.log")).unwrap_or_default();
        if let Some(line) = log.lines().next() {
            return Err(format!("a hook declined while it was measured: {line}").into());
        }
        let waits = spooled(&self.siglum.join("spool"));
        if waits > 0 {
            return Err(format!("{waits} deliveries went to the spool while measured").into());
        }
        Ok(())
    }
}

fn spooled(dir: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return 0;
    };
    let count = |path: PathBuf| if path.is_dir() { spooled(&path) } else { 1 };
    entries.flatten().map(|entry| count(entry.path())).sum()
}
