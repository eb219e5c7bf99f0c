//! Widths, and texts that come from outside.

use unicode_width::UnicodeWidthStr;

/// How many columns a text takes.
pub(super) fn width(text: &str) -> usize {
    text.width()
}

/// Characters that take no column of their own and turn, join or hide what is around them.
const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// A text from outside on one line, in characters that stay where they are put.
pub(super) fn clean(text: &str, ascii: bool) -> String {
    let kept = text.chars().filter(|c| !is_invisible(*c));
    let plain: String = kept
        .map(|c| match c {
            c if c.is_control() => ' ',
            c if ascii && !c.is_ascii() => '?',
            c => c,
        })
        .collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text that takes at most so many columns, with a mark where it was cut.
pub(super) fn cut(text: &str, most: usize, ascii: bool) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mark = if ascii { "~" } else { "…" };
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if width(&kept) + 1 > most {
            kept.pop();
            break;
        }
    }
    if most > 0 {
        kept.push_str(mark);
    }
    kept
}

/// A time span as people read it: `42s`, `10m50s`, `1h5m`, `2d3h`.
#[must_use]
pub fn duration(millis: u64) -> String {
    let seconds = millis / 1000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{minutes}m{}s", seconds % 60),
        3_600..86_400 => format!("{hours}h{}m", minutes % 60),
        _ => format!("{days}d{}h", hours % 24),
    }
}

/// A number with a space between thousands.
pub(super) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// `1 commit`, `2 commits`.
pub(super) fn plural(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(n), if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_at_a_glance() {
        for (millis, expected) in [
            (0, "0s"),
            (42_999, "42s"),
            (650_000, "10m50s"),
            (3_900_000, "1h5m"),
            (183_600_000, "2d3h"),
        ] {
            assert_eq!(duration(millis), expected);
        }
    }

    #[test]
    fn texts_are_cut_to_columns() {
        assert_eq!(cut("abcdef", 4, false), "abc…");
        assert_eq!(cut("日本語", 5, false), "日本…");
        assert_eq!(cut("日本語", 4, true), "日~");
        assert_eq!(cut("abc", 0, false), "");
    }

    #[test]
    fn what_would_move_other_text_is_taken_out() {
        assert_eq!(clean("a\u{202e}b\nc\u{200d}\u{1b}[31m", false), "ab c [31m");
        assert_eq!(clean("Prüfer", true), "Pr?fer");
    }
}
