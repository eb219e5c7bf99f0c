//! A pager for long answers at a terminal, as git has one.

#![expect(
    clippy::disallowed_methods,
    reason = "this is where the pager is started"
)]

use std::io::{self, IsTerminal as _, Write as _};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use siglum_gitstore::Git;

use crate::{env, platform};

/// The pager where nobody names one.
const USUAL: &str = "less";
/// What a pager is told of itself where the user says nothing: to leave at once if all is on one screen, and to show
/// colours.
const LESS: &str = "FRX";
/// What leaves the screen that a pager may have beside what the terminal shows, and shows the cursor.
const LEAVE: &[u8] = b"\x1b[?1047l\x1b[?25h";

/// While this lives, what is written to standard output and to standard error is read by a pager.
pub struct Pager {
    pager: Child,
    output: OwnedFd,
    errors: Option<OwnedFd>,
    /// How the terminal was before.
    terminal: Option<Termios>,
}

impl Pager {
    /// Starts one where a person reads at a terminal that can show it. Without one the answer is written as it is.
    pub fn start(git: &Git) -> Option<Self> {
        let is_able = env::text("TERM").is_some_and(|term| term != "dumb");
        if !is_able || !io::stdout().is_terminal() {
            return None;
        }
        Self::with(&program(git)?).ok()
    }

    fn with(program: &str) -> io::Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", program]).stdin(Stdio::piped());
        for (name, value) in [("LESS", LESS), ("LV", "-c")] {
            if env::raw(name).is_none() {
                command.env(name, value);
            }
        }
        // The keys of the terminal are for the pager.
        platform::leave_interrupts_to_pager();
        signal_hook::flag::register(
            signal_hook::consts::SIGINT,
            Arc::new(AtomicBool::new(false)),
        )?;
        let output = io::stdout().as_fd().try_clone_to_owned()?;
        let errors = match io::stderr().is_terminal() {
            true => Some(io::stderr().as_fd().try_clone_to_owned()?),
            false => None,
        };
        let terminal = tcgetattr(io::stdout()).ok();
        let mut pager = command.spawn()?;
        if let Some(input) = pager.stdin.take() {
            rustix::stdio::dup2_stdout(&input)?;
            if errors.is_some() {
                rustix::stdio::dup2_stderr(&input)?;
            }
        }
        Ok(Self {
            pager,
            output,
            errors,
            terminal,
        })
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        let _ = io::stdout().flush();
        // With the last writer gone it sees the end of the answer.
        let _ = rustix::stdio::dup2_stdout(&self.output);
        if let Some(errors) = &self.errors {
            let _ = rustix::stdio::dup2_stderr(errors);
        }
        let is_killed = self.pager.wait().is_ok_and(is_killed);
        // Then nobody gave the terminal back.
        if is_killed && let Some(terminal) = &self.terminal {
            let _ = tcsetattr(io::stdout(), OptionalActions::Now, terminal);
            let _ = io::stdout().write_all(LEAVE);
            let _ = io::stdout().flush();
        }
    }
}

/// Whether a signal ended it, or the shell says so of it.
fn is_killed(ended: ExitStatus) -> bool {
    ended.signal().is_some() || ended.code().is_some_and(|code| code > 128)
}

/// The pager that git would use, without what a repository says: it would be started.
fn program(git: &Git) -> Option<String> {
    let by_git = || git.pager().ok().flatten();
    let text = |name| env::raw(name).map(|value| value.to_string_lossy().into_owned());
    // One that is empty says that none is wanted.
    let named = text("GIT_PAGER").or_else(by_git).or_else(|| text("PAGER"));
    let usual = || env::is_in_path(USUAL).then(|| USUAL.to_owned());
    let wanted = |program: &String| !program.trim().is_empty() && program.trim() != "cat";
    named.or_else(usual).filter(wanted)
}
