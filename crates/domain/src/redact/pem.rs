//! Cuts the body out of private keys in PEM form, whole or cut off, and keeps their lines.
//!
//! The body may be escaped, quoted, numbered or marked by a diff; only its base64 runs go.

use std::ops::Range;

use super::boundary;

/// Longest body looked at: the largest common keys have 6.5 KB.
const LONGEST: usize = 16 * 1024;
/// A line of a body that was cut off has at least this many base64 signs.
const FULL_LINE: usize = 40;
/// The `BEGIN` line of a key is shorter than this.
const HEAD: usize = 64;
/// A body has at least one run of this length.
const SHORTEST: usize = 16;

/// Returns the base64 runs of the body that begins at `start`, right after the `BEGIN` line.
pub(super) fn body_runs(text: &str, start: usize) -> Vec<Range<usize>> {
    let limit = boundary::floor(text, start + LONGEST);
    let rest = &text[start..limit];
    let end = rest.find("-----");
    let complete = end.is_some_and(|at| rest[at..].starts_with("-----END"));
    let body = &text[..start + end.unwrap_or(rest.len())];
    let runs = Runs {
        bytes: body.as_bytes(),
        at: start,
    };
    if complete {
        let runs: Vec<_> = runs.collect();
        return if runs.iter().any(|run| run.len() >= SHORTEST) {
            runs
        } else {
            Vec::new()
        };
    }
    let mut seen_full_line = false;
    let mut found = Vec::new();
    for run in runs.take(1024) {
        let is_full = run.len() >= FULL_LINE;
        if !is_full && seen_full_line {
            // The rest of the last line, or the line number of the next one.
            let goes_on = text.as_bytes()[run.clone()].iter().all(u8::is_ascii_digit);
            if !goes_on {
                let tail = &text.as_bytes()[run.clone()];
                let is_base64 = tail.iter().skip(1).any(|b| !b.is_ascii_lowercase());
                found.extend(is_base64.then_some(run));
                break;
            }
        } else if !is_full && run.start > start + 400 {
            break;
        }
        seen_full_line |= is_full;
        if is_full {
            found.push(run);
        }
    }
    found
}

/// Returns the base64 runs before an `END` line at `end` whose `BEGIN` line is not in the text.
pub(super) fn tail_runs(text: &str, end: usize) -> Vec<Range<usize>> {
    let limit = boundary::floor(text, end.saturating_sub(LONGEST));
    let border = text[limit..end]
        .rfind("-----")
        .map_or(limit, |at| limit + at);
    let head = boundary::floor(text, border.saturating_sub(HEAD));
    if text[head..border].contains("-----BEGIN") {
        return Vec::new();
    }
    let runs = Runs {
        bytes: &text.as_bytes()[..end],
        at: border,
    };
    let mut runs: Vec<_> = runs.collect();
    let is_full = |run: &Range<usize>| run.len() >= FULL_LINE;
    // The last line is short, and so is a checksum behind it.
    let has_checksum = runs
        .last()
        .is_some_and(|run| text[run.clone()].starts_with('='));
    let short = 1 + usize::from(has_checksum);
    let lines = runs
        .iter()
        .rev()
        .skip(short)
        .take_while(|run| is_full(run))
        .count();
    let tail = runs.split_off(runs.len().saturating_sub(lines + short));
    if tail.iter().any(|run| run.len() >= SHORTEST) {
        tail
    } else {
        Vec::new()
    }
}

impl Runs<'_> {
    fn is_line_start(&self, at: usize) -> bool {
        at.checked_sub(1).is_none_or(|before| {
            self.bytes[before] == b'\n' || boundary::ends_escape(self.bytes, before)
        })
    }

    /// Tells whether a run is a line number, or the mark of a line that is added, and not of the body.
    fn is_margin(&self, run: Range<usize>) -> bool {
        let (text, rest) = (&self.bytes[run.clone()], &self.bytes[run.end..]);
        let is_number = text.len() <= 6
            && text.iter().all(u8::is_ascii_digit)
            && ["→".as_bytes(), b"\t", b"\\t", b":"]
                .iter()
                .any(|sign| rest.starts_with(sign));
        is_number || (text == b"+" && self.is_line_start(run.start))
    }
}

/// Runs of base64 signs, with escapes such as `\n` taken as separators.
struct Runs<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Iterator for Runs<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Self::Item> {
        let is_body = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
        while self.at < self.bytes.len() && !is_body(self.bytes[self.at]) {
            self.at += match self.bytes[self.at] {
                b'\\' => boundary::escape_len(self.bytes, self.at),
                _ => 1,
            };
        }
        let start = self.at.min(self.bytes.len());
        let len = self.bytes[start..]
            .iter()
            .take_while(|b| is_body(**b))
            .count();
        self.at = start + len;
        if len > 0 && self.is_margin(start..self.at) {
            return self.next();
        }
        // The mark of an added line in a diff stays.
        let is_mark = len > 1 && self.bytes[start] == b'+' && self.is_line_start(start);
        (len > 0).then_some(start + usize::from(is_mark)..self.at)
    }
}
