//! The readable text of a stored line, for showing it.

use super::wire::{Block, Line, Message};
use crate::json::Field;

/// The text of a stored, redacted line: what was said, or what tools returned.
pub(super) fn passage_text(line: &str) -> Option<String> {
    let line: Line<'_> = serde_json::from_str(line).ok()?;
    let message: Message<'_> = line.message.object();
    let text = content_text(message.content).filter(|text| !text.is_empty());
    let lines: Vec<String> = text.into_iter().chain(images(message.content)).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// A word for each image of a message, those that tools returned among them.
fn images(content: Field<'_>) -> impl Iterator<Item = String> {
    let blocks = content.items().into_iter().map(Field::object::<Block<'_>>);
    let of_block = |block: Block<'_>| match block.kind.text().as_deref() {
        Some("image") => 1,
        Some("tool_result") => {
            let inner = block.content.items().into_iter();
            let inner = inner.map(Field::object::<Block<'_>>);
            inner
                .filter(|block| block.kind.text().as_deref() == Some("image"))
                .count()
        }
        _ => 0,
    };
    let count: usize = blocks.map(of_block).sum();
    std::iter::repeat_n("[image]".to_owned(), count)
}

/// The text of a message or of a tool's result: a string, or blocks of which some are text.
pub(super) fn content_text(content: Field<'_>) -> Option<String> {
    if let Some(text) = content.text() {
        return Some(text.into_owned());
    }
    let blocks = content.items().into_iter().map(Field::object::<Block<'_>>);
    let texts: Vec<String> = blocks.filter_map(|block| block_text(&block)).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn block_text(block: &Block<'_>) -> Option<String> {
    match block.kind.text()?.as_ref() {
        "text" => block.text.text().map(|text| text.into_owned()),
        "tool_result" => result_text(block.content),
        _ => None,
    }
}

/// As [`content_text`], but a result holds no further results.
fn result_text(content: Field<'_>) -> Option<String> {
    if let Some(text) = content.text() {
        return Some(text.into_owned());
    }
    let blocks = content.items().into_iter().map(Field::object::<Block<'_>>);
    let texts: Vec<String> = blocks
        .filter_map(|block| Some(block.text.text()?.into_owned()))
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(content: &str, expected: Option<&str>) {
        let line = format!(r#"{{"type":"user","message":{{"content":{content}}}}}"#);
        assert_eq!(passage_text(&line).as_deref(), expected, "{content}");
    }

    #[test]
    fn strings_texts_and_results_are_readable() {
        check(r#""a\nb""#, Some("a\nb"));
        check(
            r#"[{"type":"text","text":"a"},{"type":"tool_use","name":"Bash"},{"type":"text","text":"b"}]"#,
            Some("a\nb"),
        );
        check(r#"[{"type":"tool_result","content":"out"}]"#, Some("out"));
        check(
            r#"[{"type":"tool_result","content":[{"type":"text","text":"x"},{"type":"image"}]}]"#,
            Some("x\n[image]"),
        );
        check(
            r#"[{"type":"text","text":"look"},{"type":"image"},{"type":"image"}]"#,
            Some("look\n[image]\n[image]"),
        );
        check(r#"[{"type":"image"}]"#, Some("[image]"));
        check(r#"[{"type":"tool_use","name":"Bash"}]"#, None);
        check("17", None);
        assert_eq!(passage_text("no JSON"), None);
    }
}
