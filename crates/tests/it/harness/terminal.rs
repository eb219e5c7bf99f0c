//! A person at a terminal: a real pseudo-terminal with an interactive shell in it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::repo::Repo;
use super::world::through_pipes;

/// The other side of the pseudo-terminal. It is closed, and its shell killed, with this.
pub(crate) struct Terminal {
    keys: File,
    screen: File,
    /// What was shown and not looked at yet.
    unread: Vec<u8>,
    typed: u32,
}

/// How long a terminal may show nothing at most, in seconds.
const SILENCE_MOST: i64 = 60;
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
            unread: Vec::new(),
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
        self.keys(&format!("{command}\n"), shown);
        self.keys.write_all(&[key]).unwrap();
        self.keys.flush().unwrap();
        self.ended()
    }

    /// Presses keys, and waits until the terminal shows something; gives all that it showed before, with that.
    #[track_caller]
    pub(crate) fn keys(&mut self, keys: &str, shown: &str) -> String {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
        self.read_until(shown)
    }

    /// Waits for the end of what runs; gives its exit code, and what the terminal showed after that.
    pub(crate) fn ended(&mut self) -> (String, String) {
        self.type_in("(exit $?)")
    }

    #[track_caller]
    fn read_until(&mut self, shown: &str) -> String {
        let mut buffer = [0; 4096];
        loop {
            let mut places = self.unread.windows(shown.len());
            if let Some(at) = places.position(|place| place == shown.as_bytes()) {
                let read: Vec<u8> = self.unread.drain(..at + shown.len()).collect();
                return String::from_utf8_lossy(&read).into_owned();
            }
            let mut screen = [PollFd::new(&self.screen, PollFlags::IN)];
            let silence = Timespec {
                tv_sec: SILENCE_MOST,
                tv_nsec: 0,
            };
            assert_ne!(
                poll(&mut screen, Some(&silence)).unwrap(),
                0,
                "the terminal does not show {shown:?}, but: {:?}",
                String::from_utf8_lossy(&self.unread)
            );
            let count = self.screen.read(&mut buffer).unwrap();
            assert!(
                count > 0,
                "the terminal closed: {}",
                String::from_utf8_lossy(&self.unread)
            );
            self.unread.extend_from_slice(&buffer[..count]);
        }
    }

    /// Types a command that may fail, and gives its exit code, too.
    pub(crate) fn type_in(&mut self, command: &str) -> (String, String) {
        self.typed += 1;
        let done = format!("done-{}-code-", self.typed);
        // The mark is not in what is typed, so that an echo of it is not taken for it.
        let (head, tail) = done.split_at(3);
        self.unread.clear();
        write!(self.keys, "{command}\necho {head}\"\"{tail}$?.\n").unwrap();
        self.keys.flush().unwrap();
        let shown = self.read_until(&done);
        let code = self.read_until(".");
        let before = shown.strip_suffix(&done).unwrap_or(&shown);
        (code.trim_end_matches('.').to_owned(), before.to_owned())
    }
}
