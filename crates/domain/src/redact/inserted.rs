//! Cuts the values under telling names of columns out of a statement that inserts rows.

use std::ops::Range;

use super::boundary;
use super::name;
use super::value::{self, Written};

/// How far a statement is looked at.
const LONGEST: usize = 8 * 1024;

/// Returns the values worth hiding, of all rows; `start` is behind the bracket that opens the names of columns.
pub(super) fn values(text: &str, start: usize) -> Vec<Range<usize>> {
    let text = &text[..boundary::floor(text, start + LONGEST)];
    let Some(len) = text[start..].find(')') else {
        return Vec::new();
    };
    let names: Vec<_> = text[start..start + len]
        .split(',')
        .map(|column| name::classify(column.trim_matches(|c: char| " `\"'[]\\".contains(c))))
        .collect();
    let mut at = start + len + 1;
    let mut found = Vec::new();
    if names.iter().all(Option::is_none) {
        return found;
    }
    while let Some(row) = row_start(text, at) {
        at = row;
        for named in &names {
            let (item, behind) = next_value(text, at);
            if let (Some(named), Some(range)) = (named, item)
                && value::looks_secret(&text[range.clone()], Written::Quoted, *named)
            {
                found.push(range);
            }
            at = behind;
        }
        let Some(end) = text[at..].find(')') else {
            break;
        };
        at += end + 1;
    }
    found
}

/// Behind the bracket that opens the next row; `VALUES` and a comma may stand before it.
fn row_start(text: &str, at: usize) -> Option<usize> {
    let open = text[at..].find('(')?;
    let between = text[at..at + open].replace("\\n", " ");
    let between = between.trim_matches(|c: char| c.is_whitespace() || c == ',' || c == '\\');
    (between.is_empty() || between.eq_ignore_ascii_case("values")).then_some(at + open + 1)
}

/// The value between quotes at `at`, if it has any, and the place behind its comma.
fn next_value(text: &str, at: usize) -> (Option<Range<usize>>, usize) {
    let blank = text[at..].len() - text[at..].trim_start().len();
    let (start, end, written) = value::extent(text, at + blank);
    let quoted = (written == Some(Written::Quoted)).then_some(start..end);
    let from = if quoted.is_some() { end } else { at };
    let behind = text[from..].find([',', ')']).map_or(text.len(), |len| {
        let comma = from + len;
        comma + usize::from(text[comma..].starts_with(','))
    });
    (quoted, behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_columns() {
        let text = "(id, `password`, note) VALUES (1, 'hunter2-Harbour', 'a, (b)'), (2, 'kraken-77', NULL)";
        let found: Vec<_> = values(text, 1)
            .into_iter()
            .map(|range| &text[range])
            .collect();
        assert_eq!(found, ["hunter2-Harbour", "kraken-77"]);
        for text in [
            "(id, name) VALUES (1, 'x')",
            "(password",
            "(password) VALUES (",
            "",
        ] {
            assert!(values(text, text.len().min(1)).is_empty(), "{text}");
        }
    }
}
