//! A person at a terminal: a real pseudo-terminal with an interactive shell in it.

use std::io::{Read, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use super::repo::Repo;

/// The other side of the pseudo-terminal. It is closed, and its shell killed, with this.
pub(crate) struct Terminal {
    keys: ChildStdin,
    screen: ChildStdout,
    typed: u32,
}

impl Terminal {
    /// Opens a terminal in a checkout.
    pub(crate) fn open(repo: &Repo<'_>) -> Self {
        let mut command = repo.world.command("python3");
        command.current_dir(&repo.dir);
        Self::with(command)
    }

    /// Opens a terminal by a Python that has an environment and a place.
    pub(crate) fn with(mut command: Command) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/it/harness/terminal.py");
        command
            .arg(script)
            .args(["bash", "--norc", "--noprofile", "-i"])
            .env("PS1", "")
            .env("TERM", "dumb")
            .env("HISTFILE", "/dev/null")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (keys, screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        child.wait().unwrap();
        let mut terminal = Self {
            keys,
            screen,
            typed: 0,
        };
        terminal.run("stty -echo");
        terminal
    }

    /// Types a command, waits until it is done, and gives what the terminal showed.
    #[track_caller]
    pub(crate) fn run(&mut self, command: &str) -> String {
        let (code, shown) = self.type_in(command);
        assert_eq!(code, "0", "{command}\n{shown}");
        shown
    }

    /// Types a command that may fail, and gives its exit code, too.
    pub(crate) fn type_in(&mut self, command: &str) -> (String, String) {
        self.typed += 1;
        let done = format!("done-{}-code-", self.typed);
        // The mark is not in what is typed, so that an echo of it is not taken for it.
        let (head, tail) = done.split_at(3);
        write!(self.keys, "{command}\necho {head}\"\"{tail}$?.\n").unwrap();
        self.keys.flush().unwrap();
        let mut shown = String::new();
        let mut buffer = [0; 4096];
        loop {
            if let Some((before, after)) = shown.split_once(&done)
                && let Some((code, _)) = after.split_once('.')
            {
                return (code.to_owned(), before.to_owned());
            }
            let count = self.screen.read(&mut buffer).unwrap();
            assert!(count > 0, "the terminal closed: {shown}");
            shown.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
    }
}
