//! One line of a text around the places where something stands in it.

use std::ops::Range;

/// How much of a text is shown before the first place, in characters.
const BEFORE: usize = 60;
/// How much of a text is shown, in characters.
const SHOWN: usize = 3 * BEFORE;

/// A part of a text on one line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Excerpt {
    pub text: String,
    /// Where in it stands what was searched for: characters, each from and before which.
    pub ranges: Vec<(usize, usize)>,
}

/// The part of a text around the first of some places, which are in bytes. White space is one blank.
#[must_use]
pub fn excerpt(text: &str, places: &[Range<usize>]) -> Excerpt {
    let first = places.iter().map(|place| place.start).min().unwrap_or(0);
    let first = text.floor_char_boundary(first);
    let before = text[..first].char_indices().rev().take(BEFORE).last();
    let from = before.map_or(first, |(at, _)| at);
    let past = text[from..]
        .char_indices()
        .nth(SHOWN)
        .map(|(at, _)| from + at);
    let mut line = Line::default();
    if from > 0 {
        line.push('…');
    }
    for (at, sign) in text[from..past.unwrap_or(text.len())].char_indices() {
        let at = from + at;
        let is_marked = places.iter().any(|place| place.contains(&at));
        line.mark(is_marked && !sign.is_whitespace());
        match sign.is_whitespace() {
            true => line.gap = line.length > 0,
            false => line.push(sign),
        }
    }
    line.mark(false);
    if past.is_some() {
        line.gap = false;
        line.push('…');
    }
    line.excerpt
}

/// A line in the making.
#[derive(Default)]
struct Line {
    excerpt: Excerpt,
    /// Its characters.
    length: usize,
    /// White space comes before the next character.
    gap: bool,
    marked: Option<usize>,
}

impl Line {
    fn push(&mut self, sign: char) {
        if std::mem::take(&mut self.gap) {
            self.excerpt.text.push(' ');
            self.length += 1;
        }
        self.excerpt.text.push(sign);
        self.length += 1;
    }

    /// Says whether the next character is of a place.
    fn mark(&mut self, is_marked: bool) {
        match (self.marked, is_marked) {
            (None, true) => self.marked = Some(self.length + usize::from(self.gap)),
            (Some(from), false) => {
                self.excerpt.ranges.push((from, self.length));
                self.marked = None;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, wanted: &str, expected: &str) {
        let places: Vec<_> = text
            .match_indices(wanted)
            .map(|(at, found)| at..at + found.len())
            .collect();
        let Excerpt { text, ranges } = excerpt(text, &places);
        let signs: Vec<char> = text.chars().collect();
        let mut shown = String::new();
        for (at, sign) in signs.iter().enumerate() {
            if ranges.iter().any(|(from, _)| *from == at) {
                shown.push('[');
            }
            shown.push(*sign);
            if ranges.iter().any(|(_, past)| *past == at + 1) {
                shown.push(']');
            }
        }
        assert_eq!(shown, expected);
    }

    #[test]
    fn places_are_marked_on_one_line() {
        check("do pear", "pear", "do [pear]");
        check("a\n\n  parser,\tparser", "parser", "a [parser], [parser]");
        check("größe ist größe", "größe", "[größe] ist [größe]");
        check("cart\n rounding", "cart\n rounding", "[cart] [rounding]");
        check("nothing", "x", "nothing");
        check("", "x", "");
    }

    #[test]
    fn a_long_text_is_cut_around_the_first_place() {
        let text = format!("{}needle{}", "ä".repeat(100), "b".repeat(300));
        let Excerpt { text, ranges } = excerpt(&text, std::slice::from_ref(&(200..206)));
        assert!(text.starts_with('…') && text.ends_with('…'));
        assert_eq!(text.chars().count(), SHOWN + 2);
        assert_eq!(ranges, [(BEFORE + 1, BEFORE + 7)]);
    }
}
