//! A program of the person's that gets each receipt on its standard input, as the line that a directory has.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use siglum_domain::SessionId;
use siglum_ledger::Ledger;

use super::directory::document;
use super::sink::{Position, Sealed, Sink, SinkError};

/// How long it may take over one receipt.
const TERM: Duration = Duration::from_secs(30);
/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(5);
/// The code with which it says that it does not want this: `EX_DATAERR` of sysexits.
const REFUSES: i32 = 65;

/// The program, as a command of the shell.
#[derive(Debug)]
pub struct Program {
    command: String,
    term: Duration,
}

impl Program {
    /// Runs this command for each receipt.
    #[must_use]
    pub fn new(command: &str) -> Self {
        Self {
            command: command.to_owned(),
            term: TERM,
        }
    }

    /// With another time to answer.
    #[must_use]
    pub fn within(mut self, term: Duration) -> Self {
        self.term = term;
        self
    }

    fn run(&self, what: &str, session: SessionId, input: &str) -> Result<(), SinkError> {
        let failed = |error: &std::io::Error| SinkError::Unavailable(error.to_string());
        #[expect(clippy::disallowed_methods, reason = "the person named it")]
        let mut child = Command::new("sh")
            .args(["-c", &self.command])
            .env("SIGLUM_PROJECTION", what)
            .env("SIGLUM_SESSION", session.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|e| failed(&e))?;
        let mut stdin = child.stdin.take();
        let text = input.to_owned();
        // One that never reads must not hold us up, nor what it leaves behind when it ends.
        std::thread::spawn(move || {
            if let Some(stdin) = &mut stdin {
                let _ = stdin.write_all(text.as_bytes());
            }
        });
        let ended = self.wait(&mut child);
        if ended.is_err() {
            // With all that the shell started, which would go on with our input.
            if let Ok(group) = i32::try_from(child.id()) {
                let _ = Pid::from_raw(group).map(|group| kill_process_group(group, Signal::KILL));
            }
            let _ = child.wait();
        }
        match ended?.code() {
            Some(0) => Ok(()),
            Some(REFUSES) => Err(SinkError::Refused(format!("it left with {REFUSES}"))),
            Some(code) => Err(SinkError::Unavailable(format!("it left with {code}"))),
            None => Err(SinkError::Unavailable("a signal ended it".to_owned())),
        }
    }

    fn wait(&self, child: &mut Child) -> Result<std::process::ExitStatus, SinkError> {
        let until = Instant::now() + self.term;
        loop {
            match child.try_wait() {
                Ok(Some(status)) => return Ok(status),
                Ok(None) if Instant::now() < until => std::thread::sleep(LOOK),
                Ok(None) => {
                    let seconds = self.term.as_secs();
                    return Err(SinkError::Unavailable(format!(
                        "it did not end within {seconds} s"
                    )));
                }
                Err(error) => return Err(SinkError::Unavailable(error.to_string())),
            }
        }
    }
}

impl Sink for Program {
    fn position(&mut self, _: SessionId) -> Result<Position, SinkError> {
        Ok(Position::Unknown)
    }

    fn take(&mut self, _: &mut dyn Ledger, sealed: &[Sealed<'_>]) -> Result<(), SinkError> {
        for sealed in sealed {
            let mut line = document(sealed);
            line.push('\n');
            self.run("take", sealed.session.id, &line)?;
        }
        Ok(())
    }

    fn reset(&mut self, session: SessionId) -> Result<(), SinkError> {
        self.run("reset", session, "")
    }

    fn clear(&mut self) -> Result<(), SinkError> {
        // It gets everything again, each with the number of its receipt.
        Ok(())
    }
}
