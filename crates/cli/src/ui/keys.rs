//! Keys, from the bytes that a terminal sends for them.

use std::str;

/// A key that somebody pressed, or a character of a text that was pasted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Char(char),
    /// A letter, with the control key.
    Ctrl(char),
    Enter,
    Escape,
    Backspace,
    Delete,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    /// With the shift or the control key.
    ShiftUp,
    ShiftDown,
}

const ESC: u8 = 0x1b;
/// What stands behind a text that was pasted.
const PASTE_END: &[u8] = b"\x1b[201~";
/// A sequence that is longer is none.
const SEQUENCE_MOST: usize = 32;

/// Reads keys from bytes, which may come in pieces.
#[derive(Debug, Default)]
pub struct Keys {
    /// The beginning of a key.
    waiting: Vec<u8>,
    /// Whether what comes is pasted: then it is text, and no key that does anything.
    is_pasting: bool,
}

/// What stands at the start of some bytes.
enum Start {
    /// A key, or something that means nothing here, and how many bytes it has.
    Whole(Option<Key>, usize),
    /// The beginning of something.
    Part,
    /// What stands before and behind a text that is pasted.
    Paste(bool, usize),
}

impl Keys {
    /// The keys that these bytes complete.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.waiting.extend_from_slice(bytes);
        let waiting = std::mem::take(&mut self.waiting);
        let (mut rest, mut keys) = (waiting.as_slice(), Vec::new());
        while !rest.is_empty() {
            let start = match self.is_pasting {
                true => pasted(rest),
                false => typed(rest),
            };
            match start {
                Start::Whole(key, length) => {
                    keys.extend(key);
                    rest = &rest[length..];
                }
                Start::Paste(is_pasting, length) => {
                    self.is_pasting = is_pasting;
                    rest = &rest[length..];
                }
                Start::Part => break,
            }
        }
        self.waiting = rest.to_vec();
        keys
    }

    /// Whether bytes wait for others that belong to them.
    pub const fn is_waiting(&self) -> bool {
        !self.is_pasting && !self.waiting.is_empty()
    }

    /// What bytes mean that waited in vain: the escape key sends what other keys begin with.
    pub fn settle(&mut self) -> Option<Key> {
        if !self.is_waiting() {
            return None;
        }
        let waiting = std::mem::take(&mut self.waiting);
        (waiting == [ESC]).then_some(Key::Escape)
    }
}

fn typed(bytes: &[u8]) -> Start {
    let key = match bytes[0] {
        ESC => return escaped(bytes),
        b'\r' | b'\n' => Some(Key::Enter),
        0x08 | 0x7f => Some(Key::Backspace),
        control @ 0x01..=0x1a => Some(Key::Ctrl(char::from(control - 1 + b'a'))),
        control if control.is_ascii_control() => None,
        _ => return character(bytes),
    };
    Start::Whole(key, 1)
}

/// In a text that is pasted, the end of a line is a blank, and nothing is a key.
fn pasted(bytes: &[u8]) -> Start {
    let key = match bytes[0] {
        ESC if bytes.starts_with(PASTE_END) => return Start::Paste(false, PASTE_END.len()),
        ESC if PASTE_END.starts_with(bytes) => return Start::Part,
        b'\r' | b'\n' | b'\t' => Some(Key::Char(' ')),
        control if control.is_ascii_control() => None,
        _ => return character(bytes),
    };
    Start::Whole(key, 1)
}

/// A character in UTF-8; what is none is nothing.
fn character(bytes: &[u8]) -> Start {
    let length = match bytes[0] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    let start = &bytes[..length.min(bytes.len())];
    match str::from_utf8(start) {
        Ok(text) => Start::Whole(text.chars().next().map(Key::Char), length),
        Err(error) if error.error_len().is_none() => Start::Part,
        Err(_) => Start::Whole(None, 1),
    }
}

/// A sequence that begins with escape.
fn escaped(bytes: &[u8]) -> Start {
    match bytes.get(1) {
        None => Start::Part,
        // A function key of the Linux console.
        Some(b'[') if bytes.get(2) == Some(&b'[') => match bytes.len() {
            3 => Start::Part,
            _ => Start::Whole(None, 4),
        },
        Some(b'[') => control_sequence(bytes),
        Some(b'O') => match bytes.get(2) {
            None => Start::Part,
            Some(last) => Start::Whole(arrow(*last, b""), 3),
        },
        Some(&ESC) => Start::Whole(Some(Key::Escape), 1),
        // A letter with the key Alt.
        Some(_) => Start::Whole(None, 2),
    }
}

fn control_sequence(bytes: &[u8]) -> Start {
    let rest = &bytes[2..];
    let is_parameter = |byte: &&u8| (0x20..=0x3f).contains(*byte);
    let parameters = &rest[..rest.iter().take_while(is_parameter).count()];
    let length = 2 + parameters.len() + 1;
    let Some(&last) = bytes.get(length - 1) else {
        return match length > SEQUENCE_MOST {
            true => Start::Whole(None, length - 1),
            false => Start::Part,
        };
    };
    let key = match (last, parameters) {
        (b'~', b"200") => return Start::Paste(true, length),
        (b'~', b"1" | b"7") => Some(Key::Home),
        (b'~', b"4" | b"8") => Some(Key::End),
        (b'~', b"3") => Some(Key::Delete),
        (b'~', b"5") => Some(Key::PageUp),
        (b'~', b"6") => Some(Key::PageDown),
        (0x40..=0x7e, _) => arrow(last, parameters),
        // No sequence at all: what does not belong to it stands for itself.
        _ => return Start::Whole(None, length - 1),
    };
    Start::Whole(key, length)
}

/// The keys that have a letter at the end. Behind the semicolon stands which other keys are held.
fn arrow(last: u8, parameters: &[u8]) -> Option<Key> {
    let held = parameters.split(|byte| *byte == b';').nth(1);
    let is_held = matches!(held, Some(b"2" | b"5"));
    match last {
        b'A' if is_held => Some(Key::ShiftUp),
        b'B' if is_held => Some(Key::ShiftDown),
        b'A' => Some(Key::Up),
        b'B' => Some(Key::Down),
        b'C' => Some(Key::Right),
        b'D' => Some(Key::Left),
        b'H' => Some(Key::Home),
        b'F' => Some(Key::End),
        b'M' => Some(Key::Enter),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: &[Key]) {
        assert_eq!(Keys::default().read(bytes), expected);
        // In any pieces.
        let mut keys = Keys::default();
        let pieces = bytes.chunks(1).flat_map(|piece| keys.read(piece));
        assert_eq!(pieces.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn keys_are_read_from_whole_and_from_broken_sequences() {
        check("aß日".as_bytes(), &['a', 'ß', '日'].map(Key::Char));
        check(b"\x1b[A\x1bOB", &[Key::Up, Key::Down]);
        check(b"\x1b[1;2A\x1b[1;5B", &[Key::ShiftUp, Key::ShiftDown]);
        check(
            b"\x1b[3~\x1b[5~\x1b[H",
            &[Key::Delete, Key::PageUp, Key::Home],
        );
        check(b"\x03\x12\r", &[Key::Ctrl('c'), Key::Ctrl('r'), Key::Enter]);
        check(
            b"\x7f\x00\x1b[99;9Q\x1bxz",
            &[Key::Backspace, Key::Char('z')],
        );
        check(b"\xff\xc3a", &[Key::Char('a')]);
        check(b"\x1b[[Ab", &[Key::Char('b')]);
        // An answer of a terminal is no text.
        check(b"\x1b[?62;4cb", &[Key::Char('b')]);
    }

    #[test]
    fn nothing_that_is_pasted_is_a_key() {
        let text = b"\x1b[200~a\rb\x12\x1b[A\x03\x1b[201~\r";
        let shown = "a b[A".chars().map(Key::Char).chain([Key::Enter]);
        check(text, &shown.collect::<Vec<_>>());
    }

    #[test]
    fn the_escape_key_is_one_that_nothing_follows() {
        let mut keys = Keys::default();
        assert_eq!(keys.read(b"\x1b"), []);
        assert!(keys.is_waiting());
        assert_eq!(keys.settle(), Some(Key::Escape));
        assert_eq!((keys.is_waiting(), keys.settle()), (false, None));
        assert_eq!(keys.read(b"\x1b["), []);
        assert_eq!(keys.settle(), None, "a part of a sequence is no key");
    }
}
