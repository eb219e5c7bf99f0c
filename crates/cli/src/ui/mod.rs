//! Output: the answer on standard output, everything else on standard error.

mod full_screen;
mod keys;
mod pager;
mod screen;
mod shown;
mod style;
mod table;
mod text;

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

pub use full_screen::{Frame, FullScreen, Row, Size};
pub use keys::{Key, Keys};
pub use pager::Pager;
pub use screen::Screen;
pub use shown::{log_line, visible};
pub use style::Style;
pub use table::{Cell, Table, marked};
pub use text::{
    age, ago, bytes, clipped, count, counted, day, one_line, plural, short_count, tokens, when,
    wrap,
};

use serde::Serialize;
use siglum_domain::legible;
use siglum_domain::redact::Redactor;
use unicode_width::UnicodeWidthStr as _;

use crate::error::CommandError;
use shown::Shown;

/// When to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Color {
    /// If stdout is a terminal that supports colours, and `NO_COLOR` is not set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// How a command speaks.
#[derive(Debug, Clone, Copy)]
pub struct Ui {
    color: bool,
    pub json: bool,
    quiet: bool,
    is_paged: bool,
    width: usize,
}

/// What every JSON answer is wrapped in.
#[derive(Serialize)]
struct Envelope<'a, T: Serialize> {
    schema: &'a str,
    data: T,
}

impl Ui {
    pub fn new(color: Color, json: bool, quiet: bool) -> Self {
        let choice = match color {
            Color::Always => anstream::ColorChoice::Always,
            Color::Never => anstream::ColorChoice::Never,
            Color::Auto => anstream::AutoStream::choice(&io::stdout()),
        };
        Self {
            color: choice != anstream::ColorChoice::Never,
            json,
            quiet,
            is_paged: false,
            width: columns(&io::stdout()),
        }
    }

    /// The same, with a pager for long answers, or without one.
    #[must_use]
    pub const fn paged(self, is_paged: bool) -> Self {
        Self { is_paged, ..self }
    }

    /// Whether a pager is wanted for long answers that are not JSON.
    pub const fn is_paged(&self) -> bool {
        self.is_paged && !self.json
    }

    /// The width of the terminal in columns; without end where output is piped.
    pub const fn width(&self) -> usize {
        self.width
    }

    /// Whether text is coloured.
    pub const fn is_colored(&self) -> bool {
        self.color
    }

    /// Writes one line of the answer. What is in it begins no other.
    pub fn line(&self, line: impl AsRef<str>) -> Result<(), CommandError> {
        let mut out = io::stdout().lock();
        writeln!(out, "{}", Shown(line.as_ref()))?;
        Ok(())
    }

    /// Writes one line of what a person asked to see before answering a question. JSON is alone on standard output, so the
    /// line goes to standard error there.
    pub fn preview_line(&self, line: impl AsRef<str>) -> Result<(), CommandError> {
        if !self.json {
            return self.line(line);
        }
        writeln!(io::stderr().lock(), "{}", Shown(line.as_ref()))?;
        Ok(())
    }

    /// Writes a text over as many lines as it needs. All but the first are indented further, so that nothing in it begins
    /// a line that looks like ours.
    pub fn paragraph(&self, indent: usize, text: impl AsRef<str>) -> Result<(), CommandError> {
        let further = indent + 2;
        let room = self.width.saturating_sub(further);
        let mut margin = " ".repeat(indent);
        for line in wrap(&visible(text.as_ref()), room) {
            self.line(format!("{margin}{line}"))?;
            margin = " ".repeat(further);
        }
        Ok(())
    }

    /// Writes a text behind a heading that takes the columns before it, over as many lines as the text needs.
    pub fn field(
        &self,
        heading: &str,
        indent: usize,
        text: impl AsRef<str>,
    ) -> Result<(), CommandError> {
        let text = visible(text.as_ref());
        let room = self.width.saturating_sub(indent);
        if text.width() <= room {
            return self.line(format!("{heading}{text}"));
        }
        let mut heading = heading.to_owned();
        for line in wrap(&text, room) {
            self.line(format!("{heading}{line}"))?;
            heading = " ".repeat(indent);
        }
        Ok(())
    }

    /// Writes a text of ours over several lines: nothing of it comes from outside.
    pub fn block(&self, text: &str) -> Result<(), CommandError> {
        writeln!(io::stdout().lock(), "{}", legible::lines(text))?;
        Ok(())
    }

    /// Writes lines that another process of this program wrote, and made safe.
    pub fn relay(&self, lines: &str) -> Result<(), CommandError> {
        io::stdout().lock().write_all(lines.as_bytes())?;
        Ok(())
    }

    /// Writes an answer as JSON, one object on one line.
    pub fn json<T: Serialize>(&self, schema: &str, data: T) -> Result<(), CommandError> {
        self.json_line(&Envelope { schema, data })
    }

    /// Writes a value as JSON on a line of its own, for a program that knows what it is.
    pub fn json_line<T: Serialize>(&self, value: &T) -> Result<(), CommandError> {
        self.line(legible::json(&serde_json::to_string(value)?))
    }

    /// Writes a table.
    pub fn table(&self, table: &Table) -> Result<(), CommandError> {
        for line in table.lines(self) {
            self.line(line)?;
        }
        Ok(())
    }

    /// Puts a style on a text, if colours are on.
    pub fn paint(&self, style: Style, text: impl AsRef<str>) -> String {
        let text = text.as_ref();
        if self.color && !text.is_empty() {
            shown::styled(style, text)
        } else {
            text.to_owned()
        }
    }

    /// Says on standard error what was done.
    pub fn status(&self, text: impl AsRef<str>) {
        if !self.quiet {
            complain("", text.as_ref());
        }
    }

    /// Says on standard error what to do next.
    pub fn hint(&self, text: impl AsRef<str>) {
        if !self.quiet {
            complain("hint: ", text.as_ref());
        }
    }

    /// Says on standard error that something is not as it should be.
    pub fn warning(&self, text: impl AsRef<str>) {
        complain("warning: ", text.as_ref());
    }

    /// A progress bar over bytes: only on a terminal, on standard error.
    pub fn progress(&self, total: u64) -> indicatif::ProgressBar {
        self.bar(
            total,
            "{bar:20} {bytes}/{total_bytes} {bytes_per_sec} {eta} left",
        )
    }

    /// A progress bar over things: only on a terminal, on standard error.
    pub fn counter(&self, noun: &'static str) -> indicatif::ProgressBar {
        self.bar(0, "{bar:30} {pos}/{len} {msg}").with_message(noun)
    }

    fn bar(&self, total: u64, template: &str) -> indicatif::ProgressBar {
        if self.quiet || !io::stderr().is_terminal() {
            return indicatif::ProgressBar::hidden();
        }
        let bar = indicatif::ProgressBar::new(total);
        bar.set_style(
            indicatif::ProgressStyle::with_template(template)
                .expect("because the template is fixed and tried"),
        );
        bar
    }
}

/// The columns of a terminal; without end where output is piped.
fn columns(stream: &(impl IsTerminal + AsFd)) -> usize {
    let named = crate::env::text("COLUMNS").and_then(|columns| columns.parse().ok());
    let measured = || {
        let size = rustix::termios::tcgetwinsize(stream).ok()?;
        Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
    };
    named.unwrap_or_else(|| match stream.is_terminal() {
        true => measured().unwrap_or(80),
        false => usize::MAX,
    })
}

/// What is wrong, with its causes. What somebody typed that was refused is told without its secrets: others read what a
/// script complains of.
fn complaint(error: &CommandError) -> String {
    redacted(&format!("{:#}", error.source))
}

fn redacted(text: &str) -> String {
    Redactor::shared().redact(text).into_string()
}

/// Prints an error with its causes and hints.
pub fn report(error: &CommandError) {
    complain("error: ", &complaint(error));
    for hint in &error.hints {
        complain("hint: ", &redacted(hint));
    }
}

/// The schema of an error.
pub const ERROR_SCHEMA: &str = "siglum.error/1";

/// The JSON form of an error: one line on standard error.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ErrorJson {
    /// What is wrong, with its causes.
    error: String,
    /// `failed`, `usage`, `not_found`, `partly` or `bug`.
    kind: String,
    /// The exit code.
    code: u8,
    /// What to do.
    hints: Vec<String>,
}

/// Writes an error as JSON.
pub fn report_as_json(error: &CommandError) {
    let data = ErrorJson {
        error: complaint(error),
        kind: error.kind.name().to_owned(),
        code: error.kind.number(),
        hints: error.hints.iter().map(|hint| redacted(hint)).collect(),
    };
    let schema = ERROR_SCHEMA;
    if let Ok(line) = serde_json::to_string(&Envelope { schema, data }) {
        let _ = writeln!(io::stderr().lock(), "{}", legible::json(&line));
    }
}

/// Prints what is wrong with a command line, or the help that was asked for.
pub fn report_usage(error: &clap::Error) {
    if error.use_stderr() {
        let text = redacted(&error.render().to_string());
        // The words of the library that reads numbers.
        let text = text.replace("invalid digit found in string", "not a whole number");
        let columns = columns(&io::stderr());
        for line in text.trim_end().lines() {
            let _ = writeln!(io::stderr().lock(), "{}", folded(line, columns));
        }
    } else {
        // Nothing of it comes from outside.
        let _ = error.print();
    }
}

/// Asks the person whether to go on. Without a terminal the answer is no.
pub fn agreed() -> Result<bool, CommandError> {
    let answer = answer("Make these changes? [y/N]")?;
    Ok(matches!(answer.as_deref(), Some("y" | "Y" | "yes")))
}

/// The error where a person did not agree. Where nobody could be asked, the hint says how to do without.
pub fn not_agreed(text: &str, hint: &str) -> CommandError {
    let error = CommandError::failed(text);
    match io::stdin().is_terminal() {
        true => error,
        false => error.hint(hint),
    }
}

/// Whether a person is there to be asked.
pub fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks the person for a word. Without a terminal, and where the person ends the input, there is none.
pub fn answer(question: &str) -> Result<Option<String>, CommandError> {
    if !io::stdin().is_terminal() {
        return Ok(None);
    }
    write!(io::stderr(), "{question} ")?;
    io::stderr().flush()?;
    let mut answer = String::new();
    let read = io::stdin().read_line(&mut answer)?;
    Ok((read > 0).then(|| answer.trim().to_owned()))
}

/// Logs to standard error.
pub fn log_to_stderr(level: tracing::Level) {
    let _ = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(|| LogWriter)
        .with_ansi(false)
        .with_target(false)
        .try_init();
}

/// Writes to standard error. Other lines of a text, as git's complaints have, are indented: none of them looks like ours.
fn complain(before: &str, text: &str) {
    let columns = columns(&io::stderr());
    let text = format!("{before}{text}");
    let mut lines = text.lines();
    let mut shown = folded(lines.next().unwrap_or_default(), columns);
    for line in lines {
        let line = folded(line, columns.saturating_sub(INDENT.len()));
        let _ = write!(shown, "\n{INDENT}{line}");
    }
    full_screen::write_error(&shown);
}

/// What begins each further line of one that is too long.
const INDENT: &str = "  ";

/// A line for standard error, over as many lines as it needs.
fn folded(line: &str, columns: usize) -> String {
    let line = visible(line);
    if line.width() <= columns {
        return line.into_owned();
    }
    let lines = wrap(&line, columns.saturating_sub(INDENT.len()));
    lines.join(&format!("\n{INDENT}"))
}

/// Standard error for whoever hands over bytes: each time one line, in which nothing is obeyed.
pub struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        full_screen::write_error(&Shown(text.trim_end()).to_string());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}
