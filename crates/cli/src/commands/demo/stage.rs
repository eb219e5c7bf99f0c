//! The stage: cut loose from everything above it, it directs the play, and clears up when nobody
//! listens any more.

use std::fs;
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getppid, kill_process, kill_process_group};
use siglum_agents::recognise;

use super::args::Part;
use super::sandbox::Sandbox;
use super::story;
use super::wire::StageMessage;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::platform;

/// What the stage is told if the directory is to stay.
pub const KEEP: &[u8] = b"keep";
/// How long something may take that takes milliseconds.
const SOON: Duration = Duration::from_secs(20);
/// How long to wait between two looks.
const LOOK: Duration = Duration::from_millis(2);
const BROKEN_OFF: &str = "the demo was interrupted";

/// Starts the stage and ends, so that the first process of the system becomes its parent.
pub fn usher(root: PathBuf) -> Result<(), CommandError> {
    let sandbox = Sandbox::at(root);
    let mut stage = sandbox.backstage(Part::Stage)?;
    let own = std::process::id().to_string();
    drop(stage.args(["--from", &own]).spawn()?);
    Ok(())
}

/// Directs the play and tells of it on standard output; ends when standard input does.
pub fn run(cx: &Cx, root: PathBuf, from: Option<i32>) -> Result<(), CommandError> {
    platform::detach();
    let sandbox = Sandbox::at(root);
    let company = Company::default();
    let say = |message: &StageMessage| {
        if let Ok(line) = serde_json::to_string(message) {
            // A listener that is gone is noticed at standard input.
            let _ = cx.ui.line(line);
        }
    };
    let keep = thread::scope(|scope| {
        scope.spawn(|| {
            let doing = |text: &str| say(&StageMessage::Doing(text.to_owned()));
            let played = company
                .wait_for("to be detached", || parent() != from)
                .and_then(|()| sandbox.prepare())
                .and_then(|()| story::play(&sandbox, &company, obstacle(), &doing));
            say(&played.map_or_else(failed, StageMessage::Done));
        });
        let mut input = Vec::new();
        let _ = std::io::stdin().read_to_end(&mut input);
        company.disband();
        input == KEEP
    });
    if keep { Ok(()) } else { clear_up(&sandbox) }
}

fn parent() -> Option<i32> {
    getppid().map(|pid| pid.as_raw_nonzero().get())
}

fn failed(error: CommandError) -> StageMessage {
    StageMessage::Failed {
        error: format!("{:#}", error.source),
        hints: error.hints,
    }
}

/// Runs the script of the play, as a program does that has no terminal.
pub fn run_script(root: PathBuf) -> Result<(), CommandError> {
    let sandbox = Sandbox::at(root);
    let mut shell = sandbox.command("/bin/sh".as_ref());
    let output = shell.arg(story::script(&sandbox)).output()?;
    if output.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(CommandError::failed(format!("the script failed: {stderr}")))
}

/// What keeps a person in this play from being told apart: an agent that is the first process of
/// the system, or a system that does not show its processes.
fn obstacle() -> Option<String> {
    let (chain, paths) = platform::chain_with_paths();
    if chain.ancestors.is_empty() {
        return Some("this system does not show the parents of processes".to_owned());
    }
    if chain.is_cut() {
        return Some("processes outside this container are not visible in it".to_owned());
    }
    let agent = paths.iter().find_map(|p| {
        recognise(
            p.executable.as_deref(),
            p.script.as_deref(),
            p.title.as_deref(),
        )
    })?;
    Some(format!("this terminal runs in an agent ({})", agent.name))
}

/// A process that still ends may write for a moment, so removing is tried again.
fn clear_up(sandbox: &Sandbox) -> Result<(), CommandError> {
    for _ in 0..50 {
        if fs::remove_dir_all(sandbox.root()).is_ok() || !sandbox.root().exists() {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(fs::remove_dir_all(sandbox.root())?)
}

/// The processes that play; none any more once it is disbanded.
pub struct Company(Mutex<Option<Vec<Pid>>>);

impl Default for Company {
    fn default() -> Self {
        Self(Mutex::new(Some(Vec::new())))
    }
}

impl Company {
    /// Starts a process, unless the play was broken off.
    pub fn take_in(&self, command: &mut Command) -> Result<Child, CommandError> {
        let mut members = self.members();
        let Some(members) = members.as_mut() else {
            return Err(CommandError::failed(BROKEN_OFF));
        };
        let child = command.spawn()?;
        members.push(Pid::from_child(&child));
        Ok(child)
    }

    /// The same, at the head of a process group of its own.
    pub fn take_in_group(&self, command: &mut Command) -> Result<Child, CommandError> {
        self.take_in(command.process_group(0))
    }

    /// Waits until something is so, or the play is broken off.
    pub fn wait_for(&self, what: &str, mut so: impl FnMut() -> bool) -> Result<(), CommandError> {
        let end = Instant::now() + SOON;
        while !so() {
            if Instant::now() > end {
                let error = format!("timed out after waiting {} s {what}", SOON.as_secs());
                return Err(CommandError::failed(error));
            }
            if self.members().is_none() {
                return Err(CommandError::failed(BROKEN_OFF));
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }

    fn members(&self) -> MutexGuard<'_, Option<Vec<Pid>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a process to end.
    pub fn see_off(&self, mut child: Child) -> Result<ExitStatus, CommandError> {
        let mut status = None;
        self.wait_for("for a process to end", || {
            // Its id means another process once it was waited for, so nobody may use it then.
            let mut members = self.members();
            status = child.try_wait().ok().flatten();
            if let (Some(_), Some(members)) = (status, members.as_mut()) {
                members.retain(|pid| *pid != Pid::from_child(&child));
            }
            status.is_some()
        })?;
        status.ok_or_else(|| CommandError::failed("a process ended without a status"))
    }

    /// Ends all of them, and lets no other in.
    fn disband(&self) {
        let mut members = self.members();
        for pid in members.take().into_iter().flatten() {
            let _ = kill_process_group(pid, Signal::KILL);
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_plays_or_waits_once_the_company_is_disbanded() {
        let company = Company::default();
        assert!(company.wait_for("for nothing", || true).is_ok());
        company.disband();
        let error = company.wait_for("in vain", || false).unwrap_err();
        assert_eq!(error.source.to_string(), BROKEN_OFF);
        let sandbox = Sandbox::at(std::env::temp_dir());
        let mut command = sandbox.command("/bin/sh".as_ref());
        assert!(company.take_in(&mut command).is_err());
    }

    #[test]
    fn who_is_killed_is_seen_off() {
        let company = Company::default();
        let sandbox = Sandbox::at(std::env::temp_dir());
        let mut command = sandbox.command("/bin/sh".as_ref());
        command.current_dir("/").args(["-c", "exec sleep 60"]);
        let child = company.take_in_group(&mut command).unwrap();
        let pid = Pid::from_child(&child);
        kill_process_group(pid, Signal::KILL).unwrap();
        assert!(!company.see_off(child).unwrap().success());
        assert_eq!(company.members().as_deref(), Some(&[][..]));
    }
}
