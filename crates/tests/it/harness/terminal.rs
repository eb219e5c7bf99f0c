//! A person at a terminal: a real pseudo-terminal with an interactive shell in it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use super::repo::Repo;
use super::world::through_pipes;

/// The other side of the pseudo-terminal. It is closed, and its shell killed, with this.
pub(crate) struct Terminal {
    keys: File,
    screen: File,
    typed: u32,
}

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/it/harness/terminal.py");
const SHELL: [&str; 4] = ["bash", "--norc", "--noprofile", "-i"];

impl Terminal {
    /// Opens a terminal in a checkout, as somebody has it who logged in.
    pub(crate) fn open(repo: &Repo<'_>) -> Self {
        Self::owned_by(repo, "sshd")
    }

    /// Opens a terminal in a checkout whose other end is held by a program of this name.
    pub(crate) fn owned_by(repo: &Repo<'_>, owner: &str) -> Self {
        let mut python = repo.world.command("python3");
        python.current_dir(&repo.dir).env("TERMINAL_OWNER", owner);
        Self::with(python)
    }

    /// Opens a terminal with a python that has its directory and environment.
    pub(crate) fn with(mut python: Command) -> Self {
        python
            .arg(SCRIPT)
            .args(SHELL)
            .env("PS1", "")
            .env("TERM", "dumb")
            .env("HISTFILE", "/dev/null")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = python.spawn().unwrap();
        let (keys, screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        child.wait().unwrap();
        Self::on(OwnedFd::from(keys).into(), OwnedFd::from(screen).into())
    }

    /// Opens a terminal that somebody else starts with a shell command, as a multiplexer is started;
    /// `start` is given the command.
    pub(crate) fn started_by(repo: &Repo<'_>, name: &str, start: impl FnOnce(&str)) -> Self {
        let shell = SHELL.join(" ");
        let (keys, screen) = through_pipes(repo.world, name, |pipes| {
            start(&format!(
                "PS1= TERM=dumb HISTFILE=/dev/null python3 '{SCRIPT}' {shell} {pipes} 2>/dev/null"
            ));
        });
        Self::on(keys, screen)
    }

    fn on(keys: File, screen: File) -> Self {
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

    /// Types a command, and a key once it has shown something; gives the exit code that the shell sees
    /// then, and what the terminal showed after that.
    pub(crate) fn press(&mut self, command: &str, shown: &str, key: u8) -> (String, String) {
        writeln!(self.keys, "{command}").unwrap();
        self.keys.flush().unwrap();
        let mut seen = String::new();
        let mut buffer = [0; 4096];
        while !seen.contains(shown) {
            let count = self.screen.read(&mut buffer).unwrap();
            assert!(count > 0, "the terminal closed: {seen}");
            seen.push_str(&String::from_utf8_lossy(&buffer[..count]));
        }
        self.keys.write_all(&[key]).unwrap();
        self.keys.flush().unwrap();
        self.type_in("(exit $?)")
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
