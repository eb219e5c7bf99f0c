//! The readable text of a stored line, for showing it.

use super::wire::{Item, Line, Part, Payload};
use crate::json::Field;

/// The text of a stored, redacted line: what was said, or what tools were given and returned.
pub(super) fn passage_text(line: &str) -> Option<String> {
    let line: Line<'_> = serde_json::from_str(line).ok()?;
    let payload: Payload<'_> = line.payload.object();
    let item: Item<'_> = payload.item.object();
    let fields = [
        payload.content,
        payload.output,
        payload.message,
        payload.input,
        payload.arguments,
        item.content,
        item.output,
        item.stdout,
    ];
    let mut texts = fields.into_iter().filter_map(content_text);
    texts.find(|text| !text.is_empty())
}

/// The text of a message: a string, or parts of which some are text.
pub(super) fn content_text(content: Field<'_>) -> Option<String> {
    if let Some(text) = content.text() {
        return Some(text.into_owned());
    }
    let parts = content.items().into_iter().map(Field::object::<Part<'_>>);
    let texts: Vec<String> = parts
        .filter_map(|part| Some(part.text.text()?.into_owned()))
        .collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(payload: &str, expected: Option<&str>) {
        let line = format!(r#"{{"type":"response_item","payload":{payload}}}"#);
        assert_eq!(passage_text(&line).as_deref(), expected, "{payload}");
    }

    #[test]
    fn messages_and_outputs_are_readable() {
        check(
            r#"{"content":[{"type":"output_text","text":"a"},{"type":"x"},{"text":"b"}]}"#,
            Some("a\nb"),
        );
        check(
            r#"{"type":"function_call_output","output":"out"}"#,
            Some("out"),
        );
        check(
            r#"{"type":"custom_tool_call_output","output":[{"type":"input_text","text":"x"}]}"#,
            Some("x"),
        );
        check(r#"{"type":"user_message","message":"hi"}"#, Some("hi"));
        check(
            r#"{"type":"item_completed","item":{"type":"UserMessage","content":[{"type":"text","text":"hi"}]}}"#,
            Some("hi"),
        );
        check(
            r#"{"type":"item_completed","item":{"type":"CommandExecution","aggregated_output":"o"}}"#,
            Some("o"),
        );
        check(r#"{"message":"the summary"}"#, Some("the summary"));
        check("{}", None);
        check("17", None);
        assert_eq!(passage_text("no JSON"), None);
    }
}
