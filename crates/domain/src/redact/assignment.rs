//! Finds values assigned to names that promise a secret: `NAME=value`, `"name": "value"`, `--name value`.

use std::ops::Range;

use regex::Regex;

use super::boundary;
use super::name::{self, Named};
use super::value::{self, Written};

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
    if !b":=\"'`\\] \t|?>".contains(&next) {
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
    let is_flag = text_name.starts_with("--");
    let head_len = match head().find(window) {
        Some(found) => found.end(),
        None if is_flag && next == b' ' => 1,
        None => return None,
    };
    judge(text, name, head_len, named)
}

fn judge(text: &str, name: Range<usize>, head_len: usize, named: Named) -> Option<Range<usize>> {
    let head = &text[name.end..name.end + head_len];
    let (start, end, quoted) = value::extent(text, name.end + head_len);
    let written =
        quoted.unwrap_or_else(|| how_written(text.as_bytes(), &name, head, &text[name.clone()]));
    let content = &text[start..end];
    let is_json_number = written != Written::Quoted
        && content
            .bytes()
            .all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    if (is_json_number && head != "=") || !value::looks_secret(content, written, named) {
        return None;
    }
    Some(start..value::whole_extent(text, name.end + head_len).max(end))
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
