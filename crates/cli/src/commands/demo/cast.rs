//! The cast: the agents as the stage sees them, and all processes that play.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use siglum_domain::IdSource as _;

use super::sandbox::{Part, Sandbox};
use super::wire::{Reply, Step};
use crate::clock::Ids;
use crate::error::CommandError;

/// How long something may take that takes milliseconds.
const SOON: Duration = Duration::from_secs(20);
/// How long to wait between two looks.
const LOOK: Duration = Duration::from_millis(2);
const BROKEN_OFF: &str = "the demo was interrupted";

/// A running agent with one session.
pub struct Agent<'a> {
    /// The letter in the play.
    pub letter: char,
    /// The native id of its session.
    pub native: String,
    company: &'a Company,
    process: Child,
    stdin: ChildStdin,
    replies: BufReader<ChildStdout>,
}

impl<'a> Agent<'a> {
    /// Starts an agent, whose program is called `claude`, and its session.
    pub fn enter(
        letter: char,
        sandbox: &Sandbox,
        company: &'a Company,
    ) -> Result<Self, CommandError> {
        let mut command = sandbox.actor("claude", Part::Agent, sandbox.root());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = company.take_in_group(&mut command)?;
        let pipes = process.stdin.take().zip(process.stdout.take());
        let (stdin, replies) =
            pipes.ok_or_else(|| CommandError::failed("an agent has no pipes"))?;
        let mut agent = Self {
            letter,
            native: Ids.fresh().to_string(),
            company,
            process,
            stdin,
            replies: BufReader::new(replies),
        };
        agent.does(&Step::Begin(agent.native.clone()))?;
        Ok(agent)
    }

    /// Tells the agent to do something, and does not wait for it.
    pub fn starts(&mut self, step: &Step) -> Result<(), CommandError> {
        let line = format!("{}\n", serde_json::to_string(step)?);
        Ok(self.stdin.write_all(line.as_bytes())?)
    }

    /// Waits until the agent has done what it started.
    pub fn ends(&mut self) -> Result<(), CommandError> {
        let mut line = String::new();
        self.replies.read_line(&mut line)?;
        if line.is_empty() {
            let error = format!("session {} ended too early", self.letter);
            return Err(CommandError::failed(error));
        }
        match serde_json::from_str(&line)? {
            Reply::Done => Ok(()),
            Reply::Failed(error) => Err(CommandError::failed(error)),
        }
    }

    /// Lets the agent do something to its end.
    pub fn does(&mut self, step: &Step) -> Result<(), CommandError> {
        self.starts(step)?;
        self.ends()
    }

    /// Ends the turn, the session and the process.
    pub fn leaves(mut self, words: &str) -> Result<(), CommandError> {
        self.does(&Step::Stop(words.to_owned()))?;
        drop(self.stdin);
        let status = self.company.see_off(self.process)?;
        if status.success() {
            return Ok(());
        }
        let error = format!("session {} failed: {status}", self.letter);
        Err(CommandError::failed(error))
    }
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
    pub fn disband(&self) {
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
