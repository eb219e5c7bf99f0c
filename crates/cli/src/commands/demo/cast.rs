//! The cast: the agents as the stage sees them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use siglum_domain::IdSource as _;

use super::args::Part;
use super::sandbox::Sandbox;
use super::stage::Company;
use super::wire::{Reply, Step};
use crate::clock::Ids;
use crate::error::CommandError;

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
