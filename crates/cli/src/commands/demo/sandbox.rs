//! The directory of the play: a home, a home for Siglum, a repository, and this program under the
//! names that the actors go by.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::env;
use crate::error::CommandError;
use crate::home::Home;

/// The names of this program in the play. What a process is called decides what it is taken for.
const NAMES: [&str; 4] = ["siglum", "claude", "cron", "xterm"];

/// What a process does in the play.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum Part {
    /// Start the stage and exit, so that the stage loses its parent
    Usher,
    /// Direct the others
    Stage,
    /// Act as Claude Code
    Agent,
    /// Open a terminal for a person
    Terminal,
    /// Act as a person at a terminal
    Person,
    /// Run a script without a terminal
    Script,
}

impl Part {
    /// The word for the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Usher => "usher",
            Self::Stage => "stage",
            Self::Agent => "agent",
            Self::Terminal => "terminal",
            Self::Person => "person",
            Self::Script => "script",
        }
    }
}

/// The prompt of the shell. A person types when it is there.
pub const PROMPT: &str = "demo> ";

/// What of the environment goes into the play. Nothing of an agent, of git or of a user's settings.
const KEPT: [&str; 11] = [
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "USER",
    "LOGNAME",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "DYLD_FALLBACK_LIBRARY_PATH",
    "GIT_EXEC_PATH",
    "SIGLUM_GIT",
];

/// The directory of the play.
#[derive(Debug, Clone)]
pub struct Sandbox {
    root: PathBuf,
}

impl Sandbox {
    pub const fn at(root: PathBuf) -> Self {
        Self { root }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// This program under one of its names.
    pub fn program(&self, name: &str) -> PathBuf {
        self.root.join("bin").join(name)
    }

    /// Where the agents keep their settings.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub fn siglum_home(&self) -> Home {
        Home::at(self.root.join("siglum"))
    }

    pub fn repo(&self) -> PathBuf {
        self.root.join("shop")
    }

    /// A file that one process makes and another waits for.
    pub fn signal(&self, name: &str) -> PathBuf {
        self.root.join("signals").join(name)
    }

    /// Makes the directories and the names of this program.
    pub fn prepare(&self) -> Result<(), CommandError> {
        for dir in ["bin", "home", "shop", "signals"] {
            fs::create_dir(self.root.join(dir))?;
        }
        let mut from = std::env::current_exe()?;
        for name in NAMES {
            let to = self.program(name);
            // Across file systems, and where links to foreign files are forbidden.
            if fs::hard_link(&from, &to).is_err() {
                fs::copy(&from, &to)?;
            }
            from = to;
        }
        let tried = self
            .command(&self.program("siglum"))
            .arg("--version")
            .output();
        match tried {
            Ok(output) if output.status.success() => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let root = self.root.display();
                let error = format!("cannot run programs in {root}");
                Err(CommandError::failed(error).hint("Set TMPDIR to another directory."))
            }
            Err(error) => Err(error.into()),
            Ok(output) => Err(CommandError::failed(format!(
                "siglum does not run in {}: {}",
                self.root.display(),
                String::from_utf8_lossy(&output.stderr).trim()
            ))),
        }
    }

    /// A program in the environment of the play, in the repository.
    #[expect(
        clippy::disallowed_methods,
        reason = "the play starts what agents and people start, in an environment of its own"
    )]
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.repo());
        for name in KEPT {
            if let Some(value) = env::path(name) {
                command.env(name, value);
            }
        }
        command
            .env("PATH", self.path())
            .env("HOME", self.home())
            .env("SIGLUM_HOME", self.siglum_home().dir())
            .env("TMPDIR", &self.root)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("TERM", "dumb")
            .env("PS1", PROMPT);
        command
    }

    /// This program under one of its names, in a part of the play.
    pub fn actor(&self, name: &str, part: Part, at: &Path) -> Command {
        let mut command = self.command(&self.program(name));
        command
            .args(["demo", "--part", part.word(), "--at"])
            .arg(at);
        command
    }

    /// This program under its own name, before the play has begun.
    pub fn backstage(&self, part: Part) -> Result<Command, CommandError> {
        let mut command = self.command(&std::env::current_exe()?);
        command.current_dir(&self.root);
        command.args(["demo", "--part", part.word(), "--at"]);
        command.arg(&self.root);
        Ok(command)
    }

    /// The search path, with the git that was named explicitly before all others.
    fn path(&self) -> OsString {
        let path = env::path("PATH").unwrap_or_else(|| PathBuf::from("/usr/bin:/bin"));
        let git = env::git();
        match git.parent().filter(|_| git.is_absolute()) {
            Some(dir) => [dir.as_os_str(), ":".as_ref(), path.as_os_str()]
                .into_iter()
                .collect(),
            None => path.into_os_string(),
        }
    }
}
