//! Adding one entry to a container of a JSON text, and taking one out, without touching the rest.
//!
//! Taking out undoes adding byte for byte. Where both `{}` and nothing could have been there before,
//! a blank right after the opening bracket says that there was an empty container.

use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::render::{Json, Layout};
use crate::install::InstallError;

/// The blank after the bracket of a container that was empty before.
const MARK: &str = " ";

/// Parses a text that may have comments and trailing commas; an empty one has no value.
pub(crate) fn parse(text: &str) -> Result<Option<Value<'_>>, InstallError> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options);
    parsed
        .map(|result| result.value)
        .map_err(|error| InstallError::NotJson(error.to_string()))
}

/// The member that counts: of a repeated name, the last one.
pub(crate) fn member<'v, 'a>(object: &'v Object<'a>, name: &str) -> Option<&'v ObjectProp<'a>> {
    object
        .properties
        .iter()
        .rev()
        .find(|member| member.name.as_str() == name)
}

/// An object or an array in a text: where it is, and where its entries are.
#[derive(Debug, Clone)]
pub(crate) struct Container {
    range: Range,
    entries: Vec<Range>,
}

impl From<&Object<'_>> for Container {
    fn from(object: &Object<'_>) -> Self {
        Self {
            range: object.range,
            entries: object.properties.iter().map(Ranged::range).collect(),
        }
    }
}

impl From<&Array<'_>> for Container {
    fn from(array: &Array<'_>) -> Self {
        Self {
            range: array.range,
            entries: array.elements.iter().map(Ranged::range).collect(),
        }
    }
}

/// What is to be added: an element, or a member with a name.
pub(crate) struct Entry<'a> {
    pub(crate) name: Option<&'a str>,
    pub(crate) value: Json,
}

impl Entry<'_> {
    fn render(&self, layout: Layout<'_>) -> String {
        self.name.map_or_else(
            || self.value.render(layout),
            |name| self.value.member(name, layout),
        )
    }
}

/// Something between two entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trivia {
    Blank,
    LineComment,
    BlockComment,
    Comma,
}

/// Splits what stands between entries.
fn trivia(text: &str, from: usize, to: usize) -> Vec<(Trivia, Range)> {
    let mut out = Vec::new();
    let mut at = from;
    while at < to {
        let rest = &text[at..to];
        let (kind, length) = if rest.starts_with("//") {
            (
                Trivia::LineComment,
                rest.find(['\r', '\n']).unwrap_or(rest.len()),
            )
        } else if let Some(inner) = rest.strip_prefix("/*") {
            let end = inner.find("*/").map(|end| "/*".len() + end + "*/".len());
            (Trivia::BlockComment, end.unwrap_or(rest.len()))
        } else if rest.starts_with(',') {
            (Trivia::Comma, 1)
        } else {
            (
                Trivia::Blank,
                rest.find(['/', ','])
                    .filter(|end| *end > 0)
                    .unwrap_or(rest.len()),
            )
        };
        out.push((kind, Range::new(at, at + length)));
        at += length;
    }
    out
}

/// The line break that a text uses.
pub(super) fn newline(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// The blanks at the start of the line that `at` is in.
fn indent_at(text: &str, at: usize) -> &str {
    let line = &text[text[..at].rfind('\n').map_or(0, |end| end + 1)..];
    &line[..line.find(|c| c != ' ' && c != '\t').unwrap_or(line.len())]
}

/// How far a text indents: as its first entry does.
fn unit(text: &str) -> &str {
    let inner = text.find('{').map_or("", |at| &text[at + 1..]);
    let first = inner.lines().skip(1).find(|line| !line.trim().is_empty());
    let indent = first.map_or("", |line| &line[..line.len() - line.trim_start().len()]);
    if indent.is_empty() { "  " } else { indent }
}

impl Container {
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    fn inner(&self) -> Range {
        Range::new(self.range.start + 1, self.range.end - 1)
    }

    /// Adds an entry at the end. An empty container is laid out in lines if the one around it is.
    pub(crate) fn add(&self, text: &str, entry: &Entry<'_>, around: Range) -> String {
        match (self.entries.first(), self.entries.last()) {
            (Some(first), Some(last)) => self.add_behind(text, entry, *first, *last),
            _ => self.add_alone(text, entry, around),
        }
    }

    fn add_alone(&self, text: &str, entry: &Entry<'_>, around: Range) -> String {
        let inner = self.inner();
        let (before, after) = text.split_at(inner.start);
        let whole = around == self.range;
        if !whole && !around.text(text).contains('\n') {
            return format!("{before}{MARK}{}{after}", entry.render(Layout::Inline));
        }
        let (newline, unit, close) = (newline(text), unit(text), indent_at(text, self.range.start));
        let indent = format!("{close}{unit}");
        let added = entry.render(Layout::Lines {
            newline,
            indent: &indent,
            unit,
        });
        format!("{before}{MARK}{newline}{indent}{added}{newline}{close}{after}")
    }

    fn add_behind(&self, text: &str, entry: &Entry<'_>, first: Range, last: Range) -> String {
        let behind = trivia(text, last.end, self.inner().end);
        let comma = behind
            .iter()
            .find(|(kind, _)| *kind == Trivia::Comma)
            .map(|(_, range)| range.end);
        let (at, broken) = end_of_line_comments(text, &behind, comma.unwrap_or(last.end));
        let (newline, unit) = (newline(text), unit(text));
        let in_lines = text[self.inner().start..first.start].contains('\n');
        let indent = indent_at(
            text,
            if in_lines {
                first.start
            } else {
                self.range.start
            },
        );
        let gap = if in_lines || broken {
            format!("{newline}{indent}")
        } else {
            MARK.to_owned()
        };
        let layout = match self.range.text(text).contains('\n') {
            true => Layout::Lines {
                newline,
                indent,
                unit,
            },
            false => Layout::Inline,
        };
        let added = entry.render(layout);
        let (lead, trail) = if comma.is_some() {
            ("", ",")
        } else {
            (",", "")
        };
        let between = &text[last.end..at];
        format!(
            "{}{lead}{between}{gap}{added}{trail}{}",
            &text[..last.end],
            &text[at..]
        )
    }

    /// Whether the only entry can go together with the container: we made both, and nobody wrote a
    /// comment into it.
    pub(crate) fn is_made_by_us(&self, text: &str) -> bool {
        let Some(only) = self.entries.first() else {
            return false;
        };
        let inner = self.inner();
        let mut around = trivia(text, inner.start, only.start);
        around.extend(trivia(text, only.end, inner.end));
        let commented = around
            .iter()
            .any(|(kind, _)| matches!(kind, Trivia::LineComment | Trivia::BlockComment));
        !commented && !self.is_marked(text)
    }

    fn is_marked(&self, text: &str) -> bool {
        let Some(first) = self.entries.first() else {
            return false;
        };
        let before = &text[self.inner().start..first.start];
        before == MARK
            || before
                .strip_prefix(MARK)
                .is_some_and(|rest| rest.starts_with(['\r', '\n']))
    }

    pub(crate) fn remove(&self, text: &str, index: usize) -> String {
        let entry = self.entries[index];
        let inner = self.inner();
        let from = index
            .checked_sub(1)
            .map_or(inner.start, |previous| self.entries[previous].end);
        let to = self
            .entries
            .get(index + 1)
            .map_or(inner.end, |next| next.start);
        let before = trivia(text, from, entry.start);
        let after = trivia(text, entry.end, to);
        if self.entries.len() == 1 {
            return self.remove_only(text, entry, &before, &after);
        }
        let mut cuts = vec![entry];
        let behind = after.iter().find(|(kind, _)| *kind == Trivia::Comma);
        let ahead = before.iter().find(|(kind, _)| *kind == Trivia::Comma);
        let own_comma = behind.filter(|(_, range)| range.start == entry.end);
        let end = own_comma.map_or(entry.end, |(_, range)| range.end);
        cuts.extend(behind.or(ahead).map(|(_, range)| *range));
        if index == 0 {
            cuts.extend(
                after
                    .iter()
                    .skip_while(|(kind, _)| *kind != Trivia::Comma)
                    .nth(1)
                    .filter(|t| t.0 == Trivia::Blank)
                    .map(|t| t.1),
            );
        } else if !ends_in_line_comment(&before) || goes_on_in_new_line(text, end) {
            cuts.extend(last_blank(&before));
        }
        cut(text, cuts)
    }

    fn remove_only(
        &self,
        text: &str,
        entry: Range,
        before: &[(Trivia, Range)],
        after: &[(Trivia, Range)],
    ) -> String {
        let mut cuts = vec![entry];
        let comma = after
            .iter()
            .find(|(kind, _)| *kind == Trivia::Comma)
            .map(|(_, range)| *range);
        cuts.extend(comma);
        let end = comma.map_or(entry.end, |comma| comma.end);
        let lead = &text[self.inner().start..entry.start];
        let around = indent_at(text, self.range.start);
        let tail = closing(lead, entry.text(text), around)
            .filter(|tail| text[end..].starts_with(tail.as_str()));
        if !ends_in_line_comment(before) {
            cuts.extend(last_blank(before));
            cuts.extend(tail.map(|tail| Range::new(end, end + tail.len())));
        } else if goes_on_in_new_line(text, end) {
            cuts.extend(last_blank(before));
        }
        cut(text, cuts)
    }
}

/// The blanks right before an entry.
fn last_blank(before: &[(Trivia, Range)]) -> Option<Range> {
    let last = before.last().filter(|(kind, _)| *kind == Trivia::Blank);
    last.map(|(_, range)| *range)
}

/// Whether a comment that goes to the end of its line stands right before an entry: what comes behind
/// the entry must not get into it.
fn ends_in_line_comment(before: &[(Trivia, Range)]) -> bool {
    let mut kinds = before.iter().rev().map(|(kind, _)| *kind);
    kinds.find(|kind| *kind != Trivia::Blank) == Some(Trivia::LineComment)
}

fn goes_on_in_new_line(text: &str, at: usize) -> bool {
    text[at..].starts_with(['\r', '\n'])
}

/// The end of the comments that stand behind an entry on its line, and whether the line ends there.
fn end_of_line_comments(text: &str, behind: &[(Trivia, Range)], from: usize) -> (usize, bool) {
    let mut at = from;
    for (kind, range) in behind.iter().filter(|(_, range)| range.start >= from) {
        match kind {
            Trivia::Blank if !range.text(text).contains('\n') => {}
            Trivia::BlockComment => at = range.end,
            Trivia::LineComment => return (range.end, true),
            Trivia::Blank | Trivia::Comma => break,
        }
    }
    (at, false)
}

/// The line break and the indentation that were added behind an entry that is laid out in lines, as
/// told by the entry itself: the lines around it may have moved. One of a single line tells nothing;
/// there the line that its container starts in counts.
fn closing(lead: &str, entry: &str, around: &str) -> Option<String> {
    let (before, indent) = lead.rsplit_once('\n')?;
    let newline = if before.ends_with('\r') { "\r\n" } else { "\n" };
    let close = match entry.split_once('\n') {
        Some((_, inner)) => {
            let inner = &inner[..inner.len() - inner.trim_start_matches([' ', '\t']).len()];
            indent.strip_suffix(inner.strip_prefix(indent)?)?
        }
        None => around,
    };
    Some(format!("{newline}{close}"))
}

fn cut(text: &str, mut cuts: Vec<Range>) -> String {
    cuts.sort_by_key(|range| range.start);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for range in cuts {
        out.push_str(&text[at..range.start.max(at)]);
        at = range.end.max(at);
    }
    out.push_str(&text[at..]);
    out
}
