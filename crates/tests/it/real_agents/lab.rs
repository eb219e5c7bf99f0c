//! One experiment: a model, a home, a ledger, a repository, and the hooks that `siglum init` wrote.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use super::agents::Agent;
use super::model::Model;
use super::programs::{self, program, stdout};

/// Everything that one test works with.
pub(super) struct Lab {
    pub(super) model: Model,
    dir: tempfile::TempDir,
    siglum: PathBuf,
}

impl Lab {
    /// A fresh one for Claude Code with hooks installed, or nothing where real agents are not to be
    /// driven.
    pub(super) fn open() -> Option<Self> {
        Self::open_for(&[Agent::Claude])
    }

    /// A fresh one for some agents.
    pub(super) fn open_for(agents: &[Agent]) -> Option<Self> {
        let lab = Self::bare()?;
        lab.set_up(agents);
        Some(lab)
    }

    /// A fresh one in which nothing is set up.
    #[expect(clippy::print_stderr, reason = "a test that does nothing says so")]
    pub(super) fn bare() -> Option<Self> {
        if programs::variable("SIGLUM_LAB").as_deref() != Some("1") {
            eprintln!(
                "skipped: real agents are driven only with SIGLUM_LAB=1 (`cargo xtask test`)"
            );
            return None;
        }
        let dir = tempfile::tempdir().expect("a temporary directory");
        for name in ["home", "tmp", "log", "work"] {
            fs::create_dir(dir.path().join(name)).expect("a directory");
        }
        let lab = Self {
            model: Model::start(&programs::path("SIGLUM_LAB_DIR"), &dir.path().join("log")),
            siglum: programs::path("SIGLUM_BIN"),
            dir,
        };
        lab.make_repository();
        Some(lab)
    }

    fn make_repository(&self) {
        self.git(&["init", "-q", "-b", "main"]);
        for (key, value) in [
            ("user.name", "Lab"),
            ("user.email", "lab@example.invalid"),
            ("commit.gpgsign", "false"),
        ] {
            self.git(&["config", key, value]);
        }
        fs::write(self.work().join("README.md"), "# lab repository\n").expect("a file");
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "initial"]);
    }

    /// A place beside the repository.
    pub(super) fn beside(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// The repository.
    pub(super) fn work(&self) -> PathBuf {
        self.beside("work")
    }

    /// The home.
    pub(super) fn home(&self) -> PathBuf {
        self.beside("home")
    }

    /// Where Siglum keeps things.
    pub(super) fn siglum_home(&self) -> PathBuf {
        self.beside("siglum")
    }

    /// The whole environment of what runs here.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let path = programs::variable("PATH").unwrap_or_else(|| "/usr/bin:/bin".to_owned());
        let path = match programs::variable("SIGLUM_LAB_NODE") {
            Some(node) => format!("{node}:{path}"),
            None => path,
        };
        vec![
            ("HOME", text(self.home())),
            ("SIGLUM_HOME", text(self.siglum_home())),
            ("PATH", path),
            ("LANG", "C.UTF-8".to_owned()),
            ("TERM", "dumb".to_owned()),
            ("SHELL", "/bin/bash".to_owned()),
            ("USER", "lab".to_owned()),
            ("TMPDIR", text(self.beside("tmp"))),
            ("NO_PROXY", "127.0.0.1,localhost".to_owned()),
        ]
    }

    /// A command in the repository.
    pub(super) fn command(&self, name: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = program(name);
        command
            .current_dir(self.work())
            .env_clear()
            .envs(self.environment());
        command
    }

    /// What git says.
    #[track_caller]
    pub(super) fn git(&self, args: &[&str]) -> String {
        stdout(self.command("git").args(args)).trim_end().to_owned()
    }

    /// The newest commit.
    pub(super) fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"])
    }

    /// How many commits there are.
    pub(super) fn commits(&self) -> usize {
        self.git(&["rev-list", "--count", "HEAD"])
            .parse()
            .expect("a number")
    }

    /// What Siglum says.
    #[track_caller]
    pub(super) fn siglum(&self, args: &[&str]) -> String {
        stdout(self.command(&self.siglum).args(args))
    }

    /// The data of an answer of Siglum as JSON.
    #[track_caller]
    pub(super) fn ask(&self, args: &[&str]) -> Value {
        let text = self.siglum(&[args, &["--json"]].concat());
        let answer: Value = serde_json::from_str(&text).expect("JSON");
        assert!(
            answer["schema"]
                .as_str()
                .is_some_and(|s| s.starts_with("siglum."))
        );
        answer["data"].clone()
    }
}
