//! People at terminals: real pseudo-terminals with interactive shells, and a real multiplexer.

use std::io::Write;
use std::process::{Command, Stdio};

use crate::parts::PART_ARGUMENT;
use crate::world::World;

const SHELL: [&str; 4] = ["bash", "--norc", "--noprofile", "-i"];

/// A shell in a terminal that a program of some name holds. It is hung up with this.
pub(crate) struct Terminal {
    keys: std::process::ChildStdin,
}

impl Terminal {
    /// Opens one that nothing is above but the system.
    pub(crate) fn open(world: &World, holder: &str) -> Self {
        let mut command = world.detached(world.bin(holder));
        command.args([PART_ARGUMENT, "hold"]).args(SHELL);
        dress(&mut command);
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.spawn().unwrap();
        let keys = child.stdin.take().unwrap();
        child.wait().unwrap();
        Self { keys }
    }

    /// Types a line.
    pub(crate) fn type_line(&mut self, line: &str) {
        writeln!(self.keys, "{line}").unwrap();
        self.keys.flush().unwrap();
    }
}

/// What a terminal has in its environment, and nothing of a person's own.
fn dress(command: &mut Command) {
    command
        .env("PS1", "")
        .env("TERM", "dumb")
        .env("HISTFILE", "/dev/null")
        .stderr(Stdio::null());
}

/// A tmux server with one session, and a person's terminal in which its client runs.
pub(crate) struct Multiplexer {
    /// How its server is called.
    pub(crate) socket: String,
    /// Where the client is: what is typed here goes to the pane.
    pub(crate) client: Terminal,
}

impl Multiplexer {
    /// Opens one, where tmux is installed.
    pub(crate) fn open(world: &mut World) -> Option<Self> {
        let socket = world.root.join("tmux").to_str().unwrap().to_owned();
        let mut terminal = Terminal::open(world, "xterm");
        let shell = SHELL.join(" ");
        let ready = world.mark();
        terminal.type_line(&format!(
            "TERM=xterm tmux -S {socket} -f /dev/null new-session -s work -x 200 -y 50 'PS1= exec {shell}'"
        ));
        terminal.type_line(&ready.making());
        ready.wait();
        Some(Self {
            socket,
            client: terminal,
        })
    }
}
