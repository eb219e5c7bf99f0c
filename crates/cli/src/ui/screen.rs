//! Another screen beside what the terminal shows, until this goes.

use std::io::{self, IsTerminal, Write};

use super::shown::Shown;

/// The other screen.
pub struct Screen;

impl Screen {
    /// Whether there is a terminal that can have one.
    pub fn is_there() -> bool {
        let is_dumb = crate::env::text("TERM").is_some_and(|term| term == "dumb");
        io::stdout().is_terminal() && !is_dumb
    }

    /// How many lines it has room for.
    pub fn rows() -> Option<usize> {
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
        Some(usize::from(size.ws_row))
    }

    pub fn open() -> io::Result<Self> {
        io::stdout().lock().write_all(b"\x1b[?1049h\x1b[?25l")?;
        Ok(Self)
    }

    /// Draws over what was drawn.
    pub fn show(&self, lines: &[String]) -> io::Result<()> {
        let mut text = "\x1b[H".to_owned();
        let (last, before) = lines
            .split_last()
            .map_or(("", lines), |(last, before)| (last.as_str(), before));
        for line in before {
            text += &format!("{}\x1b[K\r\n", Shown(line));
        }
        text += &format!("{}\x1b[K\x1b[J", Shown(last));
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let mut out = io::stdout().lock();
        let _ = out.write_all(b"\x1b[?25h\x1b[?1049l");
        let _ = out.flush();
    }
}
