//! The line that somebody types.

use siglum_domain::legible;

use crate::ui::Key;

/// How much is typed at most, in bytes; a query has no more.
const MOST: usize = 4 << 10;

/// A text with a cursor in it.
#[derive(Debug, Default)]
pub(super) struct Line {
    text: String,
    /// The place of the cursor, in bytes.
    at: usize,
}

impl Line {
    /// A text with the cursor behind it.
    pub(super) const fn new(text: String) -> Self {
        let at = text.len();
        Self { text, at }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// What stands before the cursor, and behind it.
    pub(super) fn halves(&self) -> (&str, &str) {
        self.text.split_at(self.at)
    }

    /// Does what a key does to it; tells whether the text is another one then.
    pub(super) fn edit(&mut self, key: Key) -> bool {
        let before = self.text.len();
        match key {
            Key::Char(sign) => self.insert(sign),
            Key::Backspace => self.erase(self.previous(), self.at),
            Key::Delete | Key::Ctrl('d') => self.erase(self.at, self.next()),
            Key::Ctrl('w') => self.erase(self.word(), self.at),
            Key::Ctrl('u') => self.erase(0, self.at),
            Key::Ctrl('k') => self.erase(self.at, before),
            Key::Left | Key::Ctrl('b') => self.at = self.previous(),
            Key::Right | Key::Ctrl('f') => self.at = self.next(),
            Key::Home | Key::Ctrl('a') => self.at = 0,
            Key::End | Key::Ctrl('e') => self.at = before,
            _ => {}
        }
        self.text.len() != before
    }

    /// What cannot be seen is not typed.
    fn insert(&mut self, sign: char) {
        let is_seen = !legible::is_hazard(sign) && !legible::breaks_line(sign);
        if is_seen && self.text.len() + sign.len_utf8() <= MOST {
            self.text.insert(self.at, sign);
            self.at += sign.len_utf8();
        }
    }

    fn erase(&mut self, from: usize, past: usize) {
        self.text.replace_range(from..past, "");
        self.at = from;
    }

    fn previous(&self) -> usize {
        let (before, _) = self.halves();
        before.char_indices().next_back().map_or(0, |(at, _)| at)
    }

    fn next(&self) -> usize {
        let (_, behind) = self.halves();
        let length = behind.chars().next().map_or(0, char::len_utf8);
        self.at + length
    }

    /// Where the word before the cursor begins.
    fn word(&self) -> usize {
        let (before, _) = self.halves();
        let end = before.trim_end();
        let blank = end.char_indices().rfind(|(_, sign)| sign.is_whitespace());
        blank.map_or(0, |(at, sign)| at + sign.len_utf8())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_edited_as_in_a_shell() {
        let mut line = Line::new("größe der".to_owned());
        for (keys, expected) in [
            (&[Key::Char('s')][..], "größe ders|"),
            (&[Key::Backspace, Key::Left, Key::Left][..], "größe d|er"),
            (&[Key::Delete][..], "größe d|r"),
            (&[Key::Ctrl('w')][..], "größe |r"),
            (&[Key::Ctrl('w'), Key::Char('ß')][..], "ß|r"),
            (&[Key::Home, Key::Right, Key::Left, Key::Left][..], "|ßr"),
            (
                &[Key::End, Key::Char('\u{202e}'), Key::Char('\u{9b}')][..],
                "ßr|",
            ),
            (&[Key::Ctrl('u'), Key::Backspace, Key::Delete][..], "|"),
        ] {
            for key in keys {
                let before = line.text().to_owned();
                assert_eq!(line.edit(*key), line.text() != before, "{key:?}");
            }
            let (before, behind) = line.halves();
            assert_eq!(format!("{before}|{behind}"), expected);
        }
    }
}
