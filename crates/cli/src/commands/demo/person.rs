//! The person of the play: types a command into an interactive shell in a terminal.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use super::cast::Company;
use super::sandbox::{PROMPT, Part, Sandbox};
use crate::error::CommandError;
use crate::platform::{Pty, take_terminal};

/// How long the person looks at a screen without the prompt.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a command may take.
const COMMAND: Duration = Duration::from_secs(30);

/// Runs the person's shell in a terminal, as a terminal program does: a person is told from a script
/// that types by the program above the shell.
#[expect(
    clippy::disallowed_methods,
    reason = "the play starts what people start"
)]
pub fn open(terminal: &Path) -> Result<(), CommandError> {
    let mut person = std::process::Command::new(std::env::current_exe()?);
    person.args(["demo", "--part", Part::Person.word(), "--at"]);
    person.arg(terminal).status()?;
    Ok(())
}

/// Becomes an interactive shell in a terminal.
#[expect(
    clippy::disallowed_methods,
    reason = "this process becomes the shell that a person has"
)]
pub fn run(terminal: &Path) -> Result<(), CommandError> {
    let terminal = take_terminal(terminal)?;
    let error = std::process::Command::new("/bin/sh")
        .arg("-i")
        .stdin(terminal.try_clone()?)
        .stdout(terminal.try_clone()?)
        .stderr(terminal)
        .exec();
    Err(error.into())
}

/// Types one command in a new terminal, looks at what comes of it, and leaves.
pub fn types(
    sandbox: &Sandbox,
    company: &Company,
    pty: Pty,
    command: &str,
) -> Result<(), CommandError> {
    let mut program = sandbox.actor("xterm", Part::Terminal, &pty.terminal);
    let mut person = company.take_in(&mut program)?;
    let mut screen = Screen::new(pty.screen)?;
    screen.until(PATIENCE, |shown| shown.ends_with(PROMPT));
    // The question mark is typed, the digit is shown.
    screen.enter(&format!("{command}; echo \"went $?.\""))?;
    let ended = screen.until(COMMAND, |shown| went(shown).is_some());
    let result = went(&screen.shown);
    screen.enter("exit")?;
    drop(screen.keyboard);
    let _ = person.wait();
    if ended && result == Some(0) {
        return Ok(());
    }
    Err(CommandError::failed(format!(
        "`{command}` failed at the terminal:\n{}",
        screen.shown.trim()
    )))
}

/// The exit code that the shell shows after a command.
fn went(shown: &str) -> Option<u32> {
    let after = |at: usize| shown[at + 5..].split_once('.')?.0.parse().ok();
    shown.match_indices("went ").find_map(|(at, _)| after(at))
}

struct Screen {
    keyboard: File,
    shows: Receiver<String>,
    shown: String,
}

impl Screen {
    fn new(mut file: File) -> Result<Self, CommandError> {
        let keyboard = file.try_clone()?;
        let (show, shows) = channel();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            // A terminal that nobody holds any more is an error to read.
            while let Ok(read @ 1..) = file.read(&mut buffer) {
                let text = String::from_utf8_lossy(&buffer[..read]).into_owned();
                if show.send(text).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            keyboard,
            shows,
            shown: String::new(),
        })
    }

    fn enter(&mut self, line: &str) -> Result<(), CommandError> {
        Ok(self.keyboard.write_all(format!("{line}\n").as_bytes())?)
    }

    /// Looks until the screen shows what is wanted. Tells whether it did.
    fn until(&mut self, patience: Duration, wanted: impl Fn(&str) -> bool) -> bool {
        let end = Instant::now() + patience;
        while !wanted(&self.shown) {
            let left = end.saturating_duration_since(Instant::now());
            match self.shows.recv_timeout(left) {
                Ok(text) => self.shown += &text,
                Err(_) => return false,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_not_taken_for_the_answer() {
        assert_eq!(went("demo> git commit; echo \"went $?.\"\r\n"), None);
        assert_eq!(
            went("… \"went $?.\"\r\n[main 1]\r\nwent 0.\r\ndemo> "),
            Some(0)
        );
        assert_eq!(went("\"went $?.\"\r\nwent 128.\r\n"), Some(128));
        assert_eq!(went("\"went $?.\"\r\nwent 12"), None, "not yet all of it");
    }
}
