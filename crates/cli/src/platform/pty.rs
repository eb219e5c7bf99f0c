//! Pseudo-terminals: a terminal of our own making, in which a shell believes that a person types.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{ioctl_tiocsctty, setsid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// The side of a pseudo-terminal where the keyboard and the screen are. The terminal hangs up when
/// the last clone of this file is closed.
pub struct Pty {
    /// What is written here is typed; what is read here is shown.
    pub screen: File,
    /// The terminal for the programs in it.
    pub terminal: PathBuf,
}

impl Pty {
    /// Makes a new one. It does not become the terminal of this process.
    pub fn open() -> io::Result<Self> {
        let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        // A program that held the keyboard by inheritance would keep the terminal from hanging up.
        fcntl_setfd(&screen, FdFlags::CLOEXEC)?;
        grantpt(&screen)?;
        unlockpt(&screen)?;
        let name = ptsname(&screen, Vec::new())?.into_bytes();
        Ok(Self {
            screen: File::from(screen),
            terminal: PathBuf::from(std::ffi::OsString::from_vec(name)),
        })
    }
}

/// Makes a terminal the controlling one of this process, in a session of its own.
pub fn take_terminal(terminal: &Path) -> io::Result<File> {
    setsid()?;
    let file = OpenOptions::new().read(true).write(true).open(terminal)?;
    ioctl_tiocsctty(&file)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};

    use super::*;

    #[test]
    fn what_the_terminal_says_is_on_the_screen() {
        let pty = Pty::open().unwrap();
        let flags = rustix::fs::OFlags::NOCTTY.bits().cast_signed();
        let mut terminal = {
            use std::os::unix::fs::OpenOptionsExt;
            OpenOptions::new()
                .write(true)
                .custom_flags(flags)
                .open(&pty.terminal)
                .unwrap()
        };
        terminal.write_all(b"hello\n").unwrap();
        let mut line = String::new();
        BufReader::new(pty.screen).read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), "hello");
    }
}
