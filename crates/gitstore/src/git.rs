//! The git program: started here and nowhere else.
//!
//! Every call names its directory with `-C`, has a fixed locale, takes no optional locks, asks no
//! terminal, fetches nothing, ignores the variables by which a hook's git points at its own index
//! or directory, and has bounded output and time. It starts no program that a repository names.
//! Other settings given with `git -c` stay in force. No shell.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::error::GitError;
use crate::harmless::{NO_HOOKS, SETTINGS, VARIABLES, filter_settings};

/// The oldest git that is supported: the first with `--diff-merges=first-parent` and
/// `rev-parse --path-format`.
pub const MINIMUM_GIT: Version = Version {
    major: 2,
    minor: 31,
    patch: 0,
};

const OUTPUT_LIMIT: u64 = 256 << 20;
const MESSAGE_LIMIT: u64 = 4 << 10;

/// How long one git may take: far longer than anything that ends by itself in the largest repositories.
const TIME_LIMIT: Duration = Duration::from_mins(10);

/// Variables that would point git elsewhere or change what it says.
const FOREIGN: [&str; 20] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_QUARANTINE_PATH",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_CONFIG",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
    "GIT_REPLACE_REF_BASE",
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
];

/// A version of git.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// The git program in one directory.
#[derive(Debug, Clone)]
pub struct Git {
    program: PathBuf,
    dir: PathBuf,
    git_dir: Option<PathBuf>,
    index: Option<PathBuf>,
    /// Settings for this one, beside those for all.
    settings: Vec<String>,
    /// Whether git looks at its hooks, to say where they are.
    sees_hooks: bool,
    time_limit: Duration,
}

/// What git said, and how it ended.
pub(crate) struct Output {
    pub(crate) stdout: Vec<u8>,
    pub(crate) code: Option<i32>,
    message: String,
}

impl Git {
    /// Names the program and the root of a checkout. Starts nothing.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>, worktree: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            dir: worktree.into(),
            git_dir: None,
            index: None,
            settings: Vec::new(),
            sees_hooks: false,
            time_limit: TIME_LIMIT,
        }
    }

    /// Names the git directory, too, for a checkout that does not lead to it: where the caller was
    /// given `GIT_DIR`. Git then asks nobody whether the directory is safe, so it must not be one
    /// that was only found.
    #[must_use]
    pub fn with_git_dir(self, git_dir: impl Into<PathBuf>) -> Self {
        Self {
            git_dir: Some(git_dir.into()),
            ..self
        }
    }

    /// Has git work with another index than that of the checkout.
    #[must_use]
    pub(crate) fn with_index(self, index: impl Into<PathBuf>) -> Self {
        Self {
            index: Some(index.into()),
            ..self
        }
    }

    /// Adds settings, each as `name=value`.
    #[must_use]
    pub(crate) fn with_settings(mut self, settings: impl IntoIterator<Item = String>) -> Self {
        self.settings.extend(settings);
        self
    }

    /// Has git say where its hooks are. Only for commands that run none.
    #[must_use]
    pub(crate) fn seeing_hooks(self) -> Self {
        Self {
            sees_hooks: true,
            ..self
        }
    }

    /// The version of the program.
    ///
    /// # Errors
    /// Git does not start, or says something else.
    pub fn version(&self) -> Result<Version, GitError> {
        let output = self.text(&["version"])?;
        let unreadable = || GitError::unreadable("version");
        let text = output.strip_prefix("git version ").ok_or_else(unreadable)?;
        let numbers = text
            .split(['.', ' ', '\n', '-'])
            .map_while(|n| n.parse().ok());
        let numbers: Vec<u32> = numbers.take(3).collect();
        match numbers[..] {
            [major, minor, ref rest @ ..] => Ok(Version {
                major,
                minor,
                patch: rest.first().copied().unwrap_or(0),
            }),
            _ => Err(unreadable()),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "the one place that starts git")]
    fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--no-pager").arg("-C").arg(&self.dir);
        let hooks = (!self.sees_hooks).then_some(NO_HOOKS).into_iter().flatten();
        let own = self.settings.iter().map(String::as_str);
        for setting in SETTINGS.into_iter().chain(hooks).chain(own) {
            command.args(["-c", setting]);
        }
        command.args(args);
        for name in FOREIGN {
            command.env_remove(name);
        }
        if let Some(git_dir) = &self.git_dir {
            command
                .env("GIT_DIR", git_dir)
                .env("GIT_WORK_TREE", &self.dir);
        }
        if let Some(index) = &self.index {
            command.env("GIT_INDEX_FILE", index);
        }
        command.envs(VARIABLES);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn spawn(&self, mut command: Command) -> Result<Child, GitError> {
        command.spawn().map_err(|source| GitError::Start {
            program: self.program.clone(),
            source,
        })
    }

    /// Runs git to its end, whatever that is.
    pub(crate) fn run<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        input: &[u8],
    ) -> Result<Output, GitError> {
        let child = self.spawn(self.command(args))?;
        self.finish(child, input, &subcommand(args))
    }

    /// Runs git, which must succeed.
    pub(crate) fn bytes<S: AsRef<OsStr>>(
        &self,
        args: &[S],
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        let output = self.run(args, input)?;
        if output.code == Some(0) {
            Ok(output.stdout)
        } else {
            Err(output.refusal(&subcommand(args)))
        }
    }

    /// Runs git without input, which must succeed and answer in UTF-8.
    pub(crate) fn text<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, GitError> {
        let stdout = self.bytes(args, b"")?;
        String::from_utf8(stdout).map_err(|_| GitError::unreadable(&subcommand(args)))
    }

    /// Runs two git processes, the first one's output being the second one's input.
    pub(crate) fn piped<S: AsRef<OsStr>>(
        &self,
        first: &[S],
        second: &[S],
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        let mut source = self.command(first);
        source.stderr(Stdio::null());
        let mut source = self.spawn(source)?;
        let mut sink = self.command(second);
        if let Some(stdout) = source.stdout.take() {
            sink.stdin(Stdio::from(stdout));
        }
        let sink = match self.spawn(sink) {
            Ok(sink) => sink,
            Err(error) => {
                stop(&mut source);
                return Err(error);
            }
        };
        let output = thread::scope(|scope| {
            let stdin = source.stdin.take();
            scope.spawn(move || feed(stdin, input));
            let output = self.finish(sink, b"", &subcommand(second));
            if output.is_err() {
                stop(&mut source);
            }
            output
        });
        let ended = source.wait().ok().and_then(|status| status.code());
        let output = output?;
        match (output.code, ended) {
            (Some(0), Some(0)) => Ok(output.stdout),
            (Some(0), _) => Err(GitError::Refused {
                command: subcommand(first),
                message: "ended early".to_owned(),
            }),
            _ => Err(output.refusal(&subcommand(second))),
        }
    }

    /// Feeds a child, reads it to its end and waits for it. Three streams at once, so that no side
    /// waits for the other. One that takes too long is killed.
    fn finish(&self, mut child: Child, input: &[u8], command: &str) -> Result<Output, GitError> {
        let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
        let (ended, end) = mpsc::channel::<()>();
        let (stdout, message, is_too_slow) = thread::scope(|scope| {
            let pid = Pid::from_child(&child);
            let watch = scope.spawn(move || {
                let is_too_slow =
                    end.recv_timeout(self.time_limit) == Err(RecvTimeoutError::Timeout);
                if is_too_slow {
                    let _ = kill_process(pid, Signal::KILL);
                }
                is_too_slow
            });
            let writer = scope.spawn(move || feed(stdin, input));
            let reader = scope.spawn(move || drain(stderr));
            let stdout = bounded(child.stdout.take(), OUTPUT_LIMIT + 1);
            if !matches!(&stdout, Ok(bytes) if bytes.len() as u64 <= OUTPUT_LIMIT) {
                let _ = child.kill();
            }
            let _ = writer.join();
            let message = reader.join().unwrap_or_default();
            // It stays a child until the watch is over, so that no other process is killed by its number.
            let _ = waitid(
                WaitId::Pid(pid),
                WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
            );
            drop(ended);
            (stdout, message, watch.join().unwrap_or_default())
        });
        let failed = |source| GitError::Io {
            path: PathBuf::from(format!("git {command}")),
            source,
        };
        let status = child.wait().map_err(failed)?;
        if is_too_slow {
            return Err(GitError::TooSlow {
                command: command.to_owned(),
                dir: self.dir.clone(),
                limit: self.time_limit.as_secs(),
            });
        }
        let stdout = stdout.map_err(failed)?;
        if stdout.len() as u64 > OUTPUT_LIMIT {
            return Err(GitError::TooLarge {
                what: format!("the output of git {command}"),
                limit: OUTPUT_LIMIT,
            });
        }
        let message = String::from_utf8_lossy(&message).trim().to_owned();
        Ok(Output {
            stdout,
            code: status.code(),
            message,
        })
    }

    /// Asks git whether it works in this repository at all: it refuses one that another user owns, and then sees none of
    /// its settings without saying so.
    ///
    /// # Errors
    /// Git's own words.
    pub fn check_access(&self) -> Result<(), GitError> {
        self.text(&["rev-parse", "--git-dir"]).map(drop)
    }

    /// The directory that git runs in.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Git for a command that reads or writes files of the checkout, and so would run their filters:
    /// those that the repository itself names are switched off, those of the person stay. So are hooks by
    /// configuration, which git 2.54 switches off by their own names alone, and what has the person's Git LFS start
    /// something.
    pub(crate) fn without_own_filters(&self) -> Result<Self, GitError> {
        let args = [
            "config",
            "--null",
            "--show-scope",
            "--get-regexp",
            r"^(filter|hook|lfs)\.",
        ];
        let output = self.run(&args, b"")?;
        match output.code {
            Some(0) => {
                let settings = filter_settings(&String::from_utf8_lossy(&output.stdout))?;
                Ok(self.clone().with_settings(settings))
            }
            Some(1) => Ok(self.clone()),
            _ => Err(output.refusal("config")),
        }
    }
}

impl Output {
    pub(crate) fn refusal(self, command: &str) -> GitError {
        let message = match (self.message.is_empty(), self.code) {
            (false, _) => self.message,
            (true, Some(code)) => format!("ended with code {code}"),
            (true, None) => "was killed".to_owned(),
        };
        GitError::Refused {
            command: command.to_owned(),
            message,
        }
    }
}

/// Writes all input and closes; a child that has read enough may stop reading.
fn feed(stdin: Option<impl Write>, input: &[u8]) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(input);
    }
}

/// Reads the start of what git complains about and lets the rest go by: a git that cannot complain
/// would die of it.
fn drain(stream: Option<impl Read>) -> Vec<u8> {
    let Some(mut stream) = stream else {
        return Vec::new();
    };
    let start = bounded(Some(&mut stream), MESSAGE_LIMIT).unwrap_or_default();
    let _ = io::copy(&mut stream, &mut io::sink());
    start
}

/// Reads up to `limit` bytes of a stream.
fn bounded(stream: Option<impl Read>, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        stream.take(limit).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

fn stop(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn subcommand<S: AsRef<OsStr>>(args: &[S]) -> String {
    args.first()
        .map(|a| a.as_ref().to_string_lossy().into_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_git_that_does_not_end_is_killed_and_the_error_says_where() {
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("git");
        std::fs::write(&program, "#!/bin/sh\nexec sleep 1000\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let git = Git {
            time_limit: Duration::from_millis(100),
            ..Git::new(&program, dir.path())
        };
        let input = vec![b'x'; 1 << 20];
        for error in [
            git.run(&["log"], &input).map(drop).unwrap_err(),
            git.piped(&["rev-list"], &["log"], &input)
                .map(drop)
                .unwrap_err(),
        ] {
            let expected = format!(
                "git log in {} did not end within 0 seconds",
                dir.path().display()
            );
            assert_eq!(error.to_string(), expected);
        }
    }
}
