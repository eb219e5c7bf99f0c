//! Text from others, written so that people see what is in it: nothing that a terminal obeys, nothing that hides or
//! turns around what stands beside it, and, in a value of one line, nothing that begins another line.
//!
//! Says nothing of colours and widths; that is the edge's.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Returns the text on one line: ends of lines and tabs are shown as what they are.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    escaped(text, |sign| breaks_line(sign) || is_hazard(sign))
}

/// Returns a text of several lines. Whoever writes it out marks or indents each line that is not ours.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    escaped(text, is_hazard)
}

/// Returns a JSON text with the same meaning, in which nothing stands that [`lines`] would change.
#[must_use]
pub fn json(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hazard) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for sign in text.chars() {
        if is_hazard(sign) {
            let mut units = [0; 2];
            for unit in sign.encode_utf16(&mut units) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(sign);
        }
    }
    Cow::Owned(out)
}

fn escaped(text: &str, is_shown: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_shown) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for sign in text.chars() {
        if is_shown(sign) {
            out.extend(sign.escape_default());
        } else {
            out.push(sign);
        }
    }
    Cow::Owned(out)
}

/// Tells whether a line ends or jumps here.
#[must_use]
pub const fn breaks_line(sign: char) -> bool {
    matches!(sign, '\n' | '\t')
}

/// Tells whether a terminal obeys this character, or shows others in another order, or nothing at all.
#[must_use]
pub const fn is_hazard(sign: char) -> bool {
    match sign {
        '\n' | '\t' => false,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' => true,
        // Marks and overrides of direction.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            true
        }
        // Of no width.
        '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' => true,
        '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' => true,
        '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' => true,
        '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        // Ends of lines that only some programs see.
        '\u{2028}' | '\u{2029}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        for (text, expected) in [
            ("a\u{1b}]52;c;aGk=\u{7}b", "a\\u{1b}]52;c;aGk=\\u{7}b"),
            ("\u{9b}31m \u{7f} \r", "\\u{9b}31m \\u{7f} \\r"),
            ("ab\u{202e}dc", "ab\\u{202e}dc"),
            ("a\u{200b}b\u{feff}", "a\\u{200b}b\\u{feff}"),
            (
                "ü 日本語 ✓ ❤\u{fe0f} \u{e0b0}",
                "ü 日本語 ✓ ❤\u{fe0f} \u{e0b0}",
            ),
        ] {
            assert_eq!(line(text), expected);
            assert_eq!(lines(text), expected);
        }
    }

    #[test]
    fn a_value_of_one_line_begins_no_other() {
        assert_eq!(line("evil\nCommitter\tAnn"), "evil\\nCommitter\\tAnn");
        assert_eq!(lines("one\n\ttwo\u{1b}"), "one\n\ttwo\\u{1b}");
    }

    #[test]
    fn json_means_the_same() {
        let value = serde_json::json!({ "a\u{9b}": ["\u{202e}x\u{1b}\u{e0001}\u{7f}"] });
        let text = value.to_string();
        let safe = json(&text);
        assert!(!safe.chars().any(is_hazard), "{safe}");
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&safe).expect("because it is JSON still"),
            value
        );
    }
}
