//! Cuts the values out of the data of a Kubernetes secret, whatever their names are.
//!
//! The manifest may be YAML or JSON, raw or escaped in a string. Its `data` may stand before its kind, as `kubectl`
//! prints it.

use std::ops::Range;
use std::sync::OnceLock;

use regex::Regex;

use super::{boundary, value};

/// How far around its kind a manifest is looked at.
const REACH: usize = 64 * 1024;

/// A line break, raw or escaped.
const BREAK: &str = r"(?:\r?\n|\\+r\\+n|\\+n)";

/// Returns the values of the data around `kind`.
pub(super) fn values(text: &str, kind: Range<usize>) -> Vec<Range<usize>> {
    let document = document(text, &kind);
    let mut found = Vec::new();
    let mut at = document.start;
    while let Some(head) = data_head().captures(&text[at..document.end]) {
        let Some(whole) = head.get(0) else { break };
        let start = at + whole.end();
        let end = if head.name("json").is_some() {
            json_values(text, start..document.end, &mut found)
        } else {
            let indent = head.name("indent").map_or(0, |m| m.len());
            yaml_values(text, start..document.end, indent, &mut found)
        };
        at = end.max(at + whole.end());
    }
    found
}

/// The part of the text that is one manifest: up to the next `---` or kind on each side.
fn document(text: &str, kind: &Range<usize>) -> Range<usize> {
    const BORDERS: [&str; 2] = ["---", "kind"];
    let from = boundary::floor(text, kind.start.saturating_sub(REACH));
    let to = boundary::floor(text, kind.end + REACH);
    let (before, after) = (&text[from..kind.start], &text[kind.end..to]);
    let last = BORDERS
        .iter()
        .filter_map(|border| before.rfind(border))
        .max();
    let next = BORDERS.iter().filter_map(|border| after.find(border)).min();
    last.map_or(from, |at| from + at)..next.map_or(to, |at| kind.end + at)
}

/// `key: value` lines that stand deeper than `indent`; returns where they end.
fn yaml_values(
    text: &str,
    within: Range<usize>,
    indent: usize,
    found: &mut Vec<Range<usize>>,
) -> usize {
    let mut at = within.start;
    // A block behind `key: |` stands deeper than its key.
    let mut block: Option<usize> = None;
    while let Some(line) = yaml_line().captures(&text[at..within.end]) {
        let (Some(whole), Some(lead)) = (line.get(0), line.name("indent")) else {
            break;
        };
        let content = line
            .name("content")
            .map_or(0..0, |m| at + m.start()..at + m.end());
        if lead.len() <= indent {
            break;
        }
        match block.filter(|depth| lead.len() > *depth) {
            Some(_) => keep(text, content, found),
            None => {
                let Some(entry) = yaml_entry().captures(&text[content.clone()]) else {
                    break;
                };
                let value = entry
                    .name("value")
                    .map_or(0..0, |m| content.start + m.start()..content.start + m.end());
                let is_block = text[value.clone()].starts_with(['|', '>']);
                block = is_block.then_some(lead.len());
                if !is_block {
                    keep(text, value, found);
                }
            }
        }
        at += whole.end();
    }
    at
}

/// `"key": "value"` pairs up to the end of their object; returns where they end.
fn json_values(text: &str, within: Range<usize>, found: &mut Vec<Range<usize>>) -> usize {
    let mut at = within.start;
    while let Some(pair) = json_pair().captures(&text[at..within.end]) {
        let (Some(whole), Some(value)) = (pair.get(0), pair.name("value")) else {
            break;
        };
        keep(text, at + value.start()..at + value.end(), found);
        at += whole.end();
    }
    at
}

fn keep(text: &str, range: Range<usize>, found: &mut Vec<Range<usize>>) {
    let content = &text[range.clone()];
    if !content.is_empty() && !value::stands_for_something(content) {
        found.push(range);
    }
}

fn compiled(cell: &'static OnceLock<Regex>, pattern: &str) -> &'static Regex {
    cell.get_or_init(|| Regex::new(pattern).expect("because a test uses it"))
}

fn data_head() -> &'static Regex {
    static CELL: OnceLock<Regex> = OnceLock::new();
    let pattern = format!(
        r#"(?:^|"|{BREAK})(?P<indent>[ ]*)(?:data|stringData):[ ]*|\\*"(?:data|stringData)\\*"[ ]*:[ ]*(?P<json>\{{)"#
    );
    compiled(&CELL, &pattern)
}

fn yaml_line() -> &'static Regex {
    static CELL: OnceLock<Regex> = OnceLock::new();
    compiled(
        &CELL,
        &format!(
            r#"^{BREAK}(?P<indent>[ ]*)(?P<content>[^\r\n\\"]*(?:"[^\r\n\\"]*"|\\"[^\r\n\\"]*\\")?)"#
        ),
    )
}

fn yaml_entry() -> &'static Regex {
    static CELL: OnceLock<Regex> = OnceLock::new();
    compiled(
        &CELL,
        r#"^\\*["']?[A-Za-z0-9._-]+\\*["']?:[ ]*\\*["']?(?P<value>[^\s"'\\]*)"#,
    )
}

fn json_pair() -> &'static Regex {
    static CELL: OnceLock<Regex> = OnceLock::new();
    compiled(
        &CELL,
        r#"^(?:\s|\\+[nrt]|,)*\\*"[A-Za-z0-9._-]+\\*"[ ]*:[ ]*\\*"(?P<value>[^\s"\\]*)\\*""#,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let secret = text.find("Secret").expect("because it is named");
        let at = text[..secret].rfind("kind").expect("because it is named");
        let found: Vec<&str> = values(text, at..secret + 6)
            .into_iter()
            .map(|range| &text[range])
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn data_goes_before_and_behind_its_kind() {
        check(
            "kind: Secret\nmetadata:\n  name: db\ndata:\n  user: YWRtaW4=\n  config.json: eyJhIjoxfQ==\ntype: Opaque\n",
            &["YWRtaW4=", "eyJhIjoxfQ=="],
        );
        check("data:\n  user: YWRtaW4=\nkind: Secret\n", &["YWRtaW4="]);
        check(
            "kind: Secret\nstringData:\n  key: |\n    abc\n    def\n  other: x1\n",
            &["abc", "def", "x1"],
        );
        check(
            r#"{"kind": "Secret", "data": {"user": "YWRtaW4=", "b": "eA=="}, "type": "Opaque"}"#,
            &["YWRtaW4=", "eA=="],
        );
        check(
            "kind: Secret\\ndata:\\n  user: YWRtaW4=\\ntype: Opaque",
            &["YWRtaW4="],
        );
    }

    #[test]
    fn other_manifests_are_not_its_own() {
        check(
            "kind: ConfigMap\ndata:\n  a: b\n---\nkind: Secret\ndata:\n  c: d1\n---\nkind: ConfigMap\ndata:\n  e: f\n",
            &["d1"],
        );
    }
}
