//! The readable text of a stored line, for showing it.

use super::output::output;
use super::wire::{Call, FunctionResponse, Line, Part, ResponseBody, Update};
use crate::json::Field;

/// The text of a stored, redacted line: what tools returned, else what was said. Where both stand in
/// one line, what was said stands in the line before, too.
pub(super) fn passage_text(line: &str) -> Option<String> {
    let line: Line<'_> = serde_json::from_str(line).ok()?;
    let calls = line.calls.items().into_iter();
    let results: Vec<String> = calls
        .filter_map(|call| result_text(call.object::<Call<'_>>().result))
        .map(|result| output(&result).text.to_owned())
        .filter(|text| !text.is_empty())
        .collect();
    if !results.is_empty() {
        return Some(results.join("\n"));
    }
    match summary(line.set) {
        Some((summary, _)) => content_text(summary.content),
        None => content_text(line.content),
    }
}

/// The text of a message: a string, or parts of which some are text.
pub(super) fn content_text(content: Field<'_>) -> Option<String> {
    if let Some(text) = content.text() {
        return Some(text.into_owned()).filter(|text| !text.is_empty());
    }
    let parts = content.items().into_iter().map(Field::object::<Part<'_>>);
    let texts: Vec<String> = parts
        .filter_map(|part| Some(part.text.text()?.into_owned()))
        .collect();
    Some(texts.join("\n")).filter(|text| !text.is_empty())
}

/// What a tool said: the parts of its result.
pub(super) fn result_text(result: Field<'_>) -> Option<String> {
    let parts = result.items().into_iter().map(Field::object::<Part<'_>>);
    let texts: Vec<String> = parts
        .filter_map(|part| {
            let response: FunctionResponse<'_> = part.response.object();
            let body: ResponseBody<'_> = response.response.object();
            let text = body.output.text().or_else(|| body.error.text())?;
            Some(text.into_owned())
        })
        .collect();
    Some(texts.join("\n")).filter(|text| !text.is_empty())
}

/// The summary that an update puts in the place of the messages before, and the answer that the agent
/// puts below it: this answer is how a compressed conversation is known.
pub(super) fn summary<'a>(set: Field<'a>) -> Option<(Line<'a>, Line<'a>)> {
    let raw = set.raw()?;
    memchr::memmem::find(raw.as_bytes(), ACKNOWLEDGED.as_bytes())?;
    let update: Update<'a> = set.object();
    let messages: Vec<Line<'a>> = update
        .messages
        .items()
        .into_iter()
        .map(Field::object)
        .collect();
    let pair = messages.windows(2).find(|pair| {
        let [summary, answer] = pair else {
            return false;
        };
        summary.kind.text().as_deref() == Some("user")
            && answer.kind.text().as_deref() == Some("gemini")
            && content_text(answer.content).as_deref() == Some(ACKNOWLEDGED)
    })?;
    Some((pair[0], pair[1]))
}

/// What the agent answers to a summary in the model's name.
const ACKNOWLEDGED: &str = "Got it. Thanks for the additional context!";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gemini::fixture::{COMPRESS, TWO_TOOLS};

    #[test]
    fn messages_and_results_are_readable() {
        let texts: Vec<String> = TWO_TOOLS.lines().filter_map(passage_text).collect();
        assert!(texts[0].starts_with("Please do the work."), "{texts:?}");
        assert_eq!(texts[1], "Two calls at once.");
        assert!(
            texts[2].starts_with("DBUS_SESSION_BUS_ADDRESS"),
            "{texts:?}"
        );
        assert!(texts[2].ends_with("\nExit Code: 3"), "{texts:?}");
        assert_eq!(
            texts.last().map(String::as_str),
            Some("Both calls returned.")
        );
    }

    #[test]
    fn a_summary_is_readable_and_nothing_else_of_an_update() {
        let texts: Vec<String> = COMPRESS.lines().filter_map(passage_text).collect();
        assert!(
            texts
                .iter()
                .any(|text| text == "Summary: work in progress.")
        );
        assert_eq!(passage_text(r#"{"$set":{"lastUpdated":"x"}}"#), None);
        assert_eq!(passage_text("not JSON"), None);
    }
}
