//! Numbers, times and lines as people read them.

use jiff::tz::TimeZone;
use siglum_domain::Timestamp;
use siglum_domain::observation::Tokens;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::visible;

/// A text on one line, without control characters, cut to a width with `…`.
pub fn one_line(text: &str, width: usize) -> String {
    let clean: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    cut(visible(&clean).trim(), width)
}

/// A line as it is, with its blanks, cut to a width with `…`.
pub fn clipped(line: &str, width: usize) -> String {
    let is_text = |c: &char| !c.is_control();
    let clean: String = line.replace('\t', "    ").chars().filter(is_text).collect();
    cut(visible(&clean).trim_end(), width)
}

fn cut(clean: &str, width: usize) -> String {
    if clean.width() <= width {
        return clean.to_owned();
    }
    let mut cut = String::new();
    let mut used = 1;
    for c in clean.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        cut.push(c);
    }
    cut.trim_end().to_owned() + "…"
}

/// A text in lines of a width, broken at blanks; lines of the text stay lines. A command in backquotes is copied from the
/// terminal, so it stays on one line where it fits.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let is_text = |c: &char| c.is_whitespace() || !c.is_control();
    let text: String = text.chars().filter(is_text).collect();
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in words(paragraph, width) {
            if !line.is_empty() && line.width() + 1 + word.width() > width {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word);
        }
        lines.push(line);
    }
    lines
}

/// The words of a line. What stands in backquotes is one, if it fits in a width.
fn words(line: &str, width: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut quote = None;
    for word in line.split_whitespace().map(visible) {
        let turns = word.matches('`').count() % 2 == 1;
        words.push(word.into_owned());
        quote = match (quote, turns) {
            (None, true) => Some(words.len() - 1),
            (Some(first), true) => {
                let quoted = words[first..].join(" ");
                if quoted.width() <= width {
                    words.truncate(first);
                    words.push(quoted);
                }
                None
            }
            (quote, false) => quote,
        };
    }
    words
}

/// How long ago: `now`, `5 min ago`, `3 h ago`, `2 days ago`, else the date.
pub fn ago(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.millis_since(at) / 1000;
    match seconds {
        i64::MIN..60 => "now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        86_400..172_800 => "yesterday".to_owned(),
        172_800..2_592_000 => format!("{} days ago", seconds / 86_400),
        _ => local(at, "%Y-%m-%d"),
    }
}

/// How old, as tables say it: `now`, `5 min`, `3 h`, `2 d`, else the date.
pub fn age(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.millis_since(at) / 1000;
    match seconds {
        i64::MIN..60 => "now".to_owned(),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        86_400..2_592_000 => format!("{} d", seconds / 86_400),
        _ => local(at, "%Y-%m-%d"),
    }
}

/// A time in the zone of this machine, to the second.
pub fn when(at: Timestamp) -> String {
    local(at, "%Y-%m-%d %H:%M:%S")
}

fn local(at: Timestamp, form: &str) -> String {
    let Ok(time) = jiff::Timestamp::from_nanosecond(i128::from(at.nanos())) else {
        return at.to_string();
    };
    time.to_zoned(TimeZone::system()).strftime(form).to_string()
}

/// The day that a time belongs to, here: `2026-01-31`.
pub fn day(at: Timestamp) -> String {
    local(at, "%Y-%m-%d")
}

/// A number with a space between thousands.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// The same where there is little room, rounded down to three digits: `9 999`, `64.0 M`.
pub fn short_count(n: u64) -> String {
    const UNITS: [(u64, &str); 4] = [
        (1_000_000_000_000, "T"),
        (1_000_000_000, "G"),
        (1_000_000, "M"),
        (1_000, "k"),
    ];
    let is_large = |(size, _): &&(u64, &str)| n >= *size;
    let Some((size, unit)) = UNITS.iter().find(is_large).filter(|_| n >= 10_000) else {
        return count(n);
    };
    let (whole, part) = (n / size, n % size * 100 / size);
    match whole {
        0..10 => format!("{whole}.{part:02} {unit}"),
        10..100 => format!("{whole}.{} {unit}", part / 10),
        _ => format!("{} {unit}", count(whole)),
    }
}

/// `1 commit`, `2 commits`.
pub fn plural(n: u64, noun: &str) -> String {
    if n == 1 {
        format!("1 {noun}")
    } else {
        format!("{} {noun}s", count(n))
    }
}

/// A count with its words, where the noun is not alone or not regular: `1 delivery waits`, `3 deliveries wait`.
pub fn counted(n: u64, one: &str, many: &str) -> String {
    match n {
        1 => format!("1 {one}"),
        n => format!("{} {many}", count(n)),
    }
}

/// A size: `512 B`, `1.5 kB`, `20 MB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if n < 1000 {
        return format!("{n} B");
    }
    #[expect(clippy::cast_precision_loss, reason = "people read two digits of it")]
    let mut size = n as f64 / 1000.0;
    let mut unit = 0;
    while size >= 1000.0 && unit + 1 < UNITS.len() {
        size /= 1000.0;
        unit += 1;
    }
    if size < 10.0 {
        format!("{size:.1} {}", UNITS[unit])
    } else {
        format!("{size:.0} {}", UNITS[unit])
    }
}

/// Tokens: read without a cache and from it, and written, rounded where they are many.
pub fn tokens(t: Tokens) -> String {
    let cached = t.cache_read + t.cache_write;
    let cached = if cached == 0 {
        String::new()
    } else {
        format!(" + {} cached", short_count(cached))
    };
    format!(
        "{}{cached} in, {} out",
        short_count(t.input),
        short_count(t.output)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_by_width_and_hold_no_control_characters() {
        assert_eq!(one_line("ab\ncd\u{1b}[31m", 99), "ab cd [31m");
        assert_eq!(one_line("abcdef", 4), "abc…");
        assert_eq!(one_line("日本語", 5), "日本…");
    }

    #[test]
    fn numbers_are_read_at_a_glance() {
        assert_eq!(
            (count(1_234_567), count(999)),
            ("1 234 567".to_owned(), "999".to_owned())
        );
        assert_eq!(
            (bytes(512), bytes(1500), bytes(20_000_000)),
            ("512 B".to_owned(), "1.5 kB".to_owned(), "20 MB".to_owned())
        );
    }

    #[test]
    fn where_there_is_little_room_numbers_have_three_digits() {
        for (n, text) in [
            (0, "0"),
            (9_999, "9 999"),
            (10_000, "10.0 k"),
            (999_999, "999 k"),
            (1_000_000, "1.00 M"),
            (64_012_000, "64.0 M"),
            (5_064_012_000, "5.06 G"),
            (1_203_000_000_000_000, "1 203 T"),
        ] {
            assert_eq!(short_count(n), text);
        }
    }

    #[test]
    fn wrapping_keeps_paragraphs() {
        assert_eq!(wrap("a b c\n\nd", 3), ["a b", "c", "", "d"]);
    }

    #[test]
    fn a_command_in_backquotes_stays_on_one_line_where_it_fits() {
        assert_eq!(wrap("run `a b` now", 8), ["run", "`a b`", "now"]);
        assert_eq!(wrap("run `a b`, `c d`.", 9), ["run", "`a b`,", "`c d`."]);
        assert_eq!(wrap("`a b c` d", 5), ["`a b", "c` d"]);
        assert_eq!(wrap("a ` b c", 4), ["a `", "b c"]);
    }
}
