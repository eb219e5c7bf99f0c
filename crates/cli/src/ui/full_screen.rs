//! The whole screen of a terminal for a command that draws it and takes every key, until this goes; the terminal is given
//! back as it was, also where the command panics.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::panic;
use std::sync::{Mutex, MutexGuard, Once, PoisonError, TryLockError};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use rustix::process::{Signal, getpgid, getpgrp, getsid, kill_current_process_group};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use siglum_domain::SessionId;

use super::shown::Shown;

/// Another screen beside what the terminal shows.
const ENTER: &str = "\x1b[?1049h";
/// Lines that end at the edge of the screen, marks around what is pasted, and nothing on it.
const CLEAR: &str = "\x1b[?7l\x1b[?2004h\x1b[2J";
const LEAVE: &str = "\x1b[?2004l\x1b[?7h\x1b[?25h\x1b[?1049l";
/// How many lines for standard error wait at most until the terminal is given back.
const HELD_MOST: usize = 100;

/// The terminal while this program draws on all of it.
static OWNED: Mutex<Option<OwnedTerminal>> = Mutex::new(None);

struct OwnedTerminal {
    /// How it was before.
    before: Termios,
    /// Lines for standard error, which would be drawn over.
    held: Vec<String>,
}

fn owned_terminal() -> MutexGuard<'static, Option<OwnedTerminal>> {
    OWNED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Columns and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub columns: usize,
    pub rows: usize,
}

/// What stands on the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    /// From the top.
    pub rows: Vec<Row>,
    /// Row and column of the cursor, from 0.
    pub cursor: (usize, usize),
}

/// A row of the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    pub text: String,
    /// What stands from a column on, whatever is before it.
    pub beside: Option<(usize, String)>,
}

impl Row {
    pub const fn new(text: String) -> Self {
        Self { text, beside: None }
    }

    /// What was there goes first: behind a row that is full, the cursor stands on its last character.
    fn drawn(&self) -> String {
        let mut drawn = format!("\x1b[K{}", Shown(&self.text));
        if let Some((column, text)) = &self.beside {
            let _ = write!(drawn, "\x1b[{}G\x1b[K{}", column + 1, Shown(text));
        }
        drawn
    }
}

/// The screen, which is given back when this goes.
pub struct FullScreen {
    /// How the terminal was before. It is read once: whoever is stopped and goes on in the background would read how the
    /// shell has it for its own line.
    before: Termios,
    /// The rows that stand on it.
    drawn: Vec<String>,
}

impl FullScreen {
    /// Whether there are a keyboard and a screen that can be taken.
    pub fn is_possible() -> bool {
        let is_able = crate::env::text("TERM").is_some_and(|term| term != "dumb");
        is_able && io::stdin().is_terminal() && io::stdout().is_terminal()
    }

    /// Takes the terminal.
    ///
    /// # Errors
    /// The terminal refuses.
    pub fn open() -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let usual = panic::take_hook();
            panic::set_hook(Box::new(move |what| {
                // Whoever panics may hold the lock.
                match OWNED.try_lock() {
                    Ok(mut taken) => give_back(taken.take()),
                    Err(TryLockError::Poisoned(broken)) => give_back(broken.into_inner().take()),
                    Err(TryLockError::WouldBlock) => {}
                }
                usual(what);
            }));
        });
        let screen = Self {
            before: tcgetattr(io::stdin())?,
            drawn: Vec::new(),
        };
        screen.take()?;
        Ok(screen)
    }

    /// How large it is; that of an old terminal where nobody tells.
    pub fn size() -> Size {
        let size = tcgetwinsize(io::stdout()).ok();
        let or = |told: Option<u16>, usual| match told {
            None | Some(0) => usual,
            Some(told) => usize::from(told),
        };
        Size {
            columns: or(size.as_ref().map(|size| size.ws_col), 80),
            rows: or(size.as_ref().map(|size| size.ws_row), 24),
        }
    }

    /// Draws what is different from what stands there.
    ///
    /// # Errors
    /// The terminal is gone, or was given back because another thread panicked.
    pub fn draw(&mut self, frame: &Frame) -> io::Result<()> {
        if owned_terminal().is_none() {
            return Err(io::Error::other("a thread of this command panicked"));
        }
        let rows: Vec<String> = frame.rows.iter().map(Row::drawn).collect();
        let mut text = "\x1b[?25l".to_owned();
        for (at, row) in rows.iter().enumerate() {
            if self.drawn.get(at) != Some(row) {
                let _ = write!(text, "\x1b[{};1H{row}", at + 1);
            }
        }
        let (row, column) = frame.cursor;
        let _ = write!(text, "\x1b[{};{}H\x1b[?25h", row + 1, column + 1);
        put(&text)?;
        self.drawn = rows;
        Ok(())
    }

    /// Forgets what was drawn, and takes all keys again: the terminal has another size, or another program had it.
    ///
    /// # Errors
    /// The terminal refuses.
    pub fn refresh(&mut self) -> io::Result<()> {
        self.drawn.clear();
        if owned_terminal().is_some() {
            take_keys(&self.before)?;
            put(CLEAR)?;
        }
        Ok(())
    }

    fn take(&self) -> io::Result<()> {
        let (before, held) = (self.before.clone(), Vec::new());
        // First of all: whatever fails behind it, it is given back.
        *owned_terminal() = Some(OwnedTerminal { before, held });
        take_keys(&self.before)?;
        put(&format!("{ENTER}{CLEAR}"))
    }

    /// Gives the terminal back and stops, until somebody has it go on. Where nobody could, nothing happens.
    ///
    /// # Errors
    /// The terminal refuses.
    pub fn suspend(&mut self) -> io::Result<()> {
        // A shell with job control leads the session, and is in a process group of its own.
        let leader = getsid(None).and_then(|leader| getpgid(Some(leader)));
        if leader.is_ok_and(|group| group == getpgrp()) {
            return Ok(());
        }
        give_back(owned_terminal().take());
        kill_current_process_group(Signal::STOP)?;
        self.drawn.clear();
        self.take()
    }

    /// Sends an id to the clipboard of the terminal. Nobody tells whether the terminal takes it.
    ///
    /// # Errors
    /// The terminal is gone.
    pub fn copy(&mut self, id: SessionId) -> io::Result<()> {
        let text = BASE64_STANDARD.encode(id.to_string());
        put(&format!("\x1b]52;c;{text}\x07"))
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        give_back(owned_terminal().take());
    }
}

/// Writes a line to standard error; while the terminal is taken, it waits.
pub(super) fn write_error(line: &str) {
    match owned_terminal().as_mut() {
        Some(taken) if taken.held.len() < HELD_MOST => taken.held.push(line.to_owned()),
        Some(_) => {}
        None => {
            let _ = writeln!(io::stderr().lock(), "{line}");
        }
    }
}

/// Has the terminal pass on every key as it is pressed.
fn take_keys(before: &Termios) -> io::Result<()> {
    let mut raw = before.clone();
    raw.make_raw();
    Ok(tcsetattr(io::stdin(), OptionalActions::Now, &raw)?)
}

fn give_back(terminal: Option<OwnedTerminal>) {
    let Some(terminal) = terminal else {
        return;
    };
    let _ = put(LEAVE);
    let _ = tcsetattr(io::stdin(), OptionalActions::Now, &terminal.before);
    for line in terminal.held {
        let _ = writeln!(io::stderr().lock(), "{line}");
    }
}

fn put(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::{Color, Style, Ui};

    #[test]
    fn nothing_in_a_row_is_obeyed_but_our_styles() {
        let ui = Ui::new(Color::Always, false, false);
        let row = Row {
            text: ui.paint(Style::Id, "a\x1b]52;c;aGk=\x07"),
            beside: Some((40, "b\x1b[2J\r\n".to_owned())),
        };
        let drawn = row.drawn();
        let row = "\x1b[K\x1b[33ma\\u{1b}]52;c;aGk=\\u{7}\x1b[0m";
        let beside = "\x1b[41G\x1b[Kb\\u{1b}[2J\\r\\n";
        assert_eq!(drawn, format!("{row}{beside}"));
    }
}
