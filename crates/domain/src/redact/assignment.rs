//! Finds values assigned to names that promise a secret: `NAME=value`, `"name": "value"`, `--name value`.

use std::ops::Range;

use regex::Regex;

use super::boundary;
use super::name::{self, Named};
use super::value::{self, Written};

/// What stands between a name and its value.
struct Head {
    len: usize,
    /// How the value is written, where the head says so.
    written: Option<Written>,
}

/// Returns the value assigned to the name around the keyword at `hit`, if it looks like a secret.
///
/// `head` is the regex for what stands between a name and its value; it is asked for only when needed.
pub(super) fn find<'r>(
    text: &str,
    hit: usize,
    head: impl FnOnce() -> &'r Regex,
) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let name = name_around(bytes, hit);
    let next = *bytes.get(name.end)?;
    if !b":=\"'`\\] \t|?>[,{".contains(&next) {
        return None;
    }
    let text_name = text.get(name.clone())?;
    let named = name::classify(text_name)?;
    // The user of an address is no name of what follows it.
    if boundary::inside_marker(bytes, hit) || bytes[..name.start].ends_with(b"://") {
        return None;
    }
    if let Some(range) = element_content(text, name.end, named) {
        return Some(range);
    }
    let window = &text[name.end..boundary::floor(text, name.end + 96)];
    let found = head().find(window).map(|found| Head {
        len: without_first_letters(window, found.end()),
        written: None,
    });
    let head = found
        .or_else(|| word_before(text, &name))
        .or_else(|| listed(window, is_constant(&text[..name.start])))
        .or_else(|| initialized(window))?;
    judge(text, name, &head, named)
}

fn judge(text: &str, name: Range<usize>, head: &Head, named: Named) -> Option<Range<usize>> {
    let between = &text[name.end..name.end + head.len];
    let at = name.end + head.len;
    let (start, end, quoted) = value::extent(text, at);
    let written = head
        .written
        .or(quoted)
        .unwrap_or_else(|| how_written(text.as_bytes(), &name, between, &text[name.clone()]));
    let content = &text[start..end];
    let is_json_number = written != Written::Quoted
        && content
            .bytes()
            .all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    if (is_json_number && between != "=") || !value::looks_secret(content, written, named) {
        return None;
    }
    Some(start..value::whole_extent(text, at).max(end))
}

/// The signs of `b"…"` and `@"…"` belong to the head only where a quote follows them.
fn without_first_letters(window: &str, end: usize) -> usize {
    let bytes = window.as_bytes();
    let slashes = bytes[end..].iter().take_while(|b| **b == b'\\').count();
    if bytes
        .get(end + slashes)
        .is_some_and(|b| b"\"'`".contains(b))
    {
        return end;
    }
    let letters = bytes[..end]
        .iter()
        .rev()
        .take_while(|b| b"@brfu".contains(b))
        .count();
    end - letters.min(2)
}

/// `--name value`, `-name value`, `#define NAME "value"`, `ENV NAME value`: a blank, after a word that says so.
fn word_before(text: &str, name: &Range<usize>) -> Option<Head> {
    const ASSIGNING: [&str; 5] = ["#define ", "ENV ", "setenv ", "SetEnv ", "set -gx "];
    let blanks = |at: usize| {
        let rest = text.as_bytes()[at..].iter();
        rest.take_while(|b| **b == b' ' || **b == b'\t').count()
    };
    let len = blanks(name.end);
    if len == 0 {
        return None;
    }
    let (before, text_name) = (&text[..name.start], &text[name.clone()]);
    let head = |written| Some(Head { len, written });
    if text_name.starts_with("--") && len == 1 {
        return head(None);
    }
    if ASSIGNING.iter().any(|word| before.ends_with(word)) {
        let is_literal = matches!(value::extent(text, name.end + len).2, Some(Written::Quoted));
        return head((!is_literal).then_some(Written::Shell));
    }
    let is_option = text_name.starts_with('-') && before.ends_with([' ', '\t', '"', '\'']);
    if is_option && len == 1 {
        head(Some(Written::Bare))
    } else {
        None
    }
}

/// Tells whether PHP's `define(` and a quote stand before a name.
fn is_constant(before: &str) -> bool {
    let before = before.trim_end_matches(['\\', '"', '\'']);
    before.trim_end_matches(' ').ends_with("define(")
}

/// `f("NAME", "value")`: the value must be quoted, and look like no other name in a list; that of a constant may.
fn listed(window: &str, is_constant: bool) -> Option<Head> {
    let bytes = window.as_bytes();
    let run =
        |from: usize, of: &[u8]| from + bytes[from..].iter().take_while(|b| of.contains(b)).count();
    let quote = run(0, b"\\\"'`");
    let comma = run(quote, b",");
    let len = run(comma, b" \t");
    let opens = run(len, b"\\");
    let is_quoted = bytes.get(opens).is_some_and(|b| b"\"'`".contains(b));
    let written = if is_constant {
        Written::Quoted
    } else {
        Written::Bare
    };
    (comma == quote + 1 && is_quoted).then_some(Head {
        len,
        written: Some(written),
    })
}

/// `NAME{"value"}`
fn initialized(window: &str) -> Option<Head> {
    let rest = window.strip_prefix('{')?.trim_start_matches(' ');
    let opens = rest.trim_start_matches('\\').starts_with(['"', '\'']);
    opens.then_some(Head {
        len: window.len() - rest.len(),
        written: None,
    })
}

/// Tells how likely a value without quotes is a literal: as likely as the place looks like a shell or a query.
fn how_written(bytes: &[u8], name: &Range<usize>, head: &str, text_name: &str) -> Written {
    if text_name.starts_with("--") {
        return Written::Shell;
    }
    if head != "=" {
        return Written::Bare;
    }
    let before = name.start.checked_sub(1).map(|at| bytes[at]);
    let is_line_start = matches!(before, None | Some(b'\n' | b'?' | b'&' | b';'))
        || name
            .start
            .checked_sub(1)
            .is_some_and(|at| boundary::ends_escape(bytes, at));
    if name::is_shouted(text_name) || is_line_start {
        Written::Shell
    } else {
        Written::Bare
    }
}

/// `<password>value</password>`
fn element_content(text: &str, at: usize, named: Named) -> Option<Range<usize>> {
    let rest = text[at..].strip_prefix('>')?;
    let len = rest
        .bytes()
        .take(512)
        .take_while(|b| !b"<>\n\"\\&".contains(b))
        .count();
    let content = rest.get(..len)?;
    let is_secret =
        rest[len..].starts_with("</") && value::looks_secret(content, Written::Quoted, named);
    is_secret.then_some(at + 1..at + 1 + len)
}

/// Returns the name that the byte at `hit` belongs to.
fn name_around(bytes: &[u8], hit: usize) -> Range<usize> {
    let belongs = |byte: u8| boundary::is_word(byte) || byte == b'-';
    let lowest = hit.saturating_sub(name::LONGEST);
    let mut start = hit;
    while start > lowest && belongs(bytes[start - 1]) && !boundary::ends_escape(bytes, start - 1) {
        start -= 1;
    }
    let tail = bytes[hit..]
        .iter()
        .take(name::LONGEST)
        .take_while(|b| belongs(**b))
        .count();
    start..hit + tail
}
