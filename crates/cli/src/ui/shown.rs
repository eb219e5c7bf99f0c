//! Text as people see it: whatever a terminal would obey or hide in it stands there as what it is.
//!
//! Names of authors, models, branches and paths come from others. They may hold sequences that write to the clipboard
//! or clear the screen, and characters that turn the order of others around or cannot be seen.

use std::borrow::Cow;
use std::fmt;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::OnceLock;

use anstyle::Reset;
use siglum_domain::legible::{self, breaks_line, is_hazard};

use super::Style;

/// One line that may be written out: [`Style`]s are what they stand for, and nothing else is obeyed. What would begin
/// another line is shown, so that no value can look like a field; texts of several lines are split before, and each
/// line of theirs gets a mark.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shown<'a>(pub(super) &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some((at, sign)) = rest
            .char_indices()
            .find(|(_, c)| is_hazard(*c) || breaks_line(*c) || mark_of(*c).is_some())
        {
            f.write_str(&rest[..at])?;
            match mark_of(sign) {
                Some(Mark::Begin(style)) => write!(f, "{}", style.ansi())?,
                Some(Mark::End) => write!(f, "{Reset}")?,
                None => write!(f, "{}", sign.escape_default())?,
            }
            rest = &rest[at + sign.len_utf8()..];
        }
        f.write_str(rest)
    }
}

/// A text with a style, as [`Shown`] reads it.
pub(super) fn styled(style: Style, text: &str) -> String {
    let mark = |offset: u32| {
        char::from_u32(first_mark() + offset).expect("because marks are for private use")
    };
    format!("{}{text}{}", mark(style as u32), mark(END))
}

/// The text as a line will have it, for whoever measures it before.
pub fn visible(text: &str) -> Cow<'_, str> {
    legible::line(text)
}

/// The text on one line of a log.
pub fn log_line(text: &str) -> String {
    legible::line(text).into_owned()
}

/// What a character between other text stands for.
enum Mark {
    Begin(Style),
    End,
}

/// The place behind all styles.
const END: u32 = Style::ALL.len() as u32;

fn mark_of(sign: char) -> Option<Mark> {
    let at = u32::from(sign).checked_sub(first_mark())?;
    match Style::ALL.get(usize::try_from(at).ok()?) {
        Some(style) => Some(Mark::Begin(*style)),
        None => (at == END).then_some(Mark::End),
    }
}

/// Marks are characters for private use, others in each process: no text from elsewhere can know them.
fn first_mark() -> u32 {
    static FIRST: OnceLock<u32> = OnceLock::new();
    *FIRST.get_or_init(|| {
        let drawn = RandomState::new().hash_one(0) % 4_000;
        0x10_0000 + u32::try_from(drawn).unwrap_or(0) * 16
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(Shown(text).to_string(), expected);
        assert_eq!(visible(text), expected);
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        check("a\u{1b}]52;c;aGk=\u{7}b", "a\\u{1b}]52;c;aGk=\\u{7}b");
        check("\u{9b}31m \u{7f} \r", "\\u{9b}31m \\u{7f} \\r");
        check("ab\u{202e}dc", "ab\\u{202e}dc");
        check("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}");
        check(
            "ü 日本語 ✓ ❤\u{fe0f} \u{e0b0}\n\ttwo",
            "ü 日本語 ✓ ❤\u{fe0f} \u{e0b0}\\n\\ttwo",
        );
    }

    #[test]
    fn a_style_is_ours_alone() {
        let text = styled(Style::Id, "ab\u{1b}[31mc");
        let shown = Shown(&text).to_string();
        assert_eq!(shown, "\u{1b}[33mab\\u{1b}[31mc\u{1b}[0m");
        assert_eq!(
            Shown("\u{1b}[33mab\u{1b}[0m").to_string(),
            "\\u{1b}[33mab\\u{1b}[0m"
        );
    }

    #[test]
    fn a_log_line_is_one() {
        assert_eq!(log_line("a\nb\u{1b}"), "a\\nb\\u{1b}");
    }

    /// Nothing else writes to standard output or standard error.
    #[test]
    fn there_is_no_other_way_to_the_terminal() {
        let mut dirs = vec![std::path::PathBuf::from(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/src"
        ))];
        let mut ways = Vec::new();
        while let Some(dir) = dirs.pop() {
            for entry in std::fs::read_dir(dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    if !path.ends_with("src/ui") {
                        dirs.push(path);
                    }
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                let writes = [
                    "io::stdout",
                    "io::stderr",
                    "println!",
                    "eprint",
                    " print!",
                    "dbg!",
                ];
                let lines = text
                    .lines()
                    .filter(|line| writes.iter().any(|way| line.contains(way)));
                ways.extend(lines.map(|line| format!("{}: {line}", path.display())));
            }
        }
        assert!(ways.is_empty(), "{ways:#?}");
    }
}
