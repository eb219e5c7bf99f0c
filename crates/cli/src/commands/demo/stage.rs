//! The stage: cut loose from everything above it, it directs the play, and clears up when nobody
//! listens any more.

use std::fs;
use std::io::Read as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getppid, kill_process, kill_process_group};
use siglum_agents::recognise;

use super::args::Part;
use super::sandbox::Sandbox;
use super::story;
use super::wire::Said;
use crate::cx::Cx;
use crate::error::CommandError;
use crate::platform;

/// What the stage is told if the directory is to stay.
pub const KEEP: &[u8] = b"keep";
/// How long something may take that takes milliseconds.
const SOON: Duration = Duration::from_secs(20);
/// How long to wait between two looks.
const LOOK: Duration = Duration::from_millis(2);

/// Starts the stage and ends, so that the first process of the system becomes its parent.
pub fn usher(root: PathBuf) -> Result<(), CommandError> {
    let sandbox = Sandbox::at(root);
    let mut stage = sandbox.actor("siglum", Part::Stage, sandbox.root());
    let own = std::process::id().to_string();
    drop(stage.args(["--from", &own]).spawn()?);
    Ok(())
}

/// Directs the play and tells of it on standard output; ends when standard input does.
pub fn run(cx: &Cx, root: PathBuf, from: Option<i32>) -> Result<(), CommandError> {
    platform::detach();
    wait_for("to be cut loose", || {
        getppid().map(Pid::as_raw_nonzero).map(i32::from) != from
    })?;
    let sandbox = Sandbox::at(root);
    let company = Company::default();
    let say = |said: &Said| {
        if let Ok(line) = serde_json::to_string(said) {
            // A listener that is gone is noticed at standard input.
            let _ = cx.ui.line(line);
        }
    };
    let keep = thread::scope(|scope| {
        scope.spawn(|| {
            let doing = |text: &str| say(&Said::Doing(text.to_owned()));
            let played = story::play(&sandbox, &company, obstacle(), &doing);
            say(&played.map_or_else(|e| Said::Failed(format!("{:#}", e.source)), Said::Done));
        });
        let mut told = Vec::new();
        let _ = std::io::stdin().read_to_end(&mut told);
        company.disband();
        told == KEEP
    });
    if keep { Ok(()) } else { clear_up(&sandbox) }
}

/// Runs the script of the play, as a program does that has no terminal.
pub fn run_script(root: PathBuf) -> Result<(), CommandError> {
    let sandbox = Sandbox::at(root);
    let mut shell = sandbox.command("/bin/sh".as_ref());
    let output = shell.arg(story::script(&sandbox)).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(CommandError::failed(format!("the script failed: {said}")))
}

/// Waits until something is so.
pub fn wait_for(what: &str, mut so: impl FnMut() -> bool) -> Result<(), CommandError> {
    let end = Instant::now() + SOON;
    while !so() {
        if Instant::now() > end {
            let error = format!("waited {} s in vain {what}", SOON.as_secs());
            return Err(CommandError::failed(error));
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

/// What keeps a person in this play from being told apart: an agent that is the first process of
/// the system, or a system that does not show its processes.
fn obstacle() -> Option<String> {
    let (chain, paths) = platform::chain_with_paths();
    if chain.ancestors.is_empty() {
        return Some("this system does not show which process started which".to_owned());
    }
    let agent = paths
        .iter()
        .find_map(|p| recognise(p.executable.as_deref(), p.script.as_deref()))?;
    Some(format!(
        "everything here runs below an agent ({})",
        agent.name
    ))
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
        let mut members = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(members) = members.as_mut() else {
            return Err(CommandError::failed("the play was broken off"));
        };
        let child = command.spawn()?;
        members.push(Pid::from_child(&child));
        Ok(child)
    }

    /// The same, at the head of a process group of its own.
    pub fn take_in_group(&self, command: &mut Command) -> Result<Child, CommandError> {
        self.take_in(command.process_group(0))
    }

    /// Waits for a process to end.
    pub fn see_off(&self, mut child: Child) -> Result<ExitStatus, CommandError> {
        let mut status = None;
        wait_for("for a process to end", || {
            // Its id means another process once it was waited for, so nobody may use it then.
            let mut members = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
        let mut members = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for pid in members.take().into_iter().flatten() {
            let _ = kill_process_group(pid, Signal::KILL);
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}
