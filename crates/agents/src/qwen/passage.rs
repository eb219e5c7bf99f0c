//! The readable text of a stored line, for showing it.

use super::output::output;
use super::wire::{Compression, Line, Message, Part, Response};
use crate::gemini::wire::ResponseBody;
use crate::json::Field;

/// The text of a stored, redacted line: what was said, what tools returned, or what stands for a compacted conversation.
pub(super) fn passage_text(line: &str) -> Option<String> {
    let line: Line<'_> = serde_json::from_str(line).ok()?;
    let compression: Compression<'_> = line.payload.object();
    let messages = compression.history.items();
    let message: Message<'_> = match messages.first() {
        Some(summary) => summary.object(),
        None => line.message.object(),
    };
    let parts: Vec<Part<'_>> = message
        .parts
        .items()
        .into_iter()
        .map(Field::object)
        .collect();
    let results: Vec<String> = parts.iter().filter_map(result_text).collect();
    match results.is_empty() {
        true => text_of(&parts),
        false => Some(results.join("\n")),
    }
}

/// What is said in a message, thoughts left out.
pub(super) fn text_of(parts: &[Part<'_>]) -> Option<String> {
    let spoken = parts.iter().filter(|part| !part.thought.is_true());
    let texts: Vec<String> = spoken
        .filter_map(|part| Some(part.text.text()?.into_owned()))
        .collect();
    Some(texts.join("\n")).filter(|text| !text.is_empty())
}

fn result_text(part: &Part<'_>) -> Option<String> {
    let response: Response<'_> = part.response.object();
    let body: ResponseBody<'_> = response.response.object();
    let text = body.output.text().or_else(|| body.error.text())?;
    Some(output(&text).text.to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qwen::fixture::{COMPRESS, TWO_TOOLS};

    #[test]
    fn messages_and_results_are_readable() {
        let texts: Vec<String> = TWO_TOOLS.lines().filter_map(passage_text).collect();
        assert_eq!(
            texts,
            [
                "Please do the work. [[scenario:two_tools]] [[cwd:/repo]] [[run:lab]]",
                "Two calls at once.",
                "one",
                "Exit Code: 3",
                "Both calls returned."
            ]
        );
    }

    #[test]
    fn a_summary_is_readable() {
        let texts: Vec<String> = COMPRESS.lines().filter_map(passage_text).collect();
        assert!(
            texts
                .iter()
                .any(|text| text == "Summary: work in progress.")
        );
        assert_eq!(passage_text("not JSON"), None);
        assert_eq!(passage_text("{\"message\":{\"parts\":[]}}"), None);
    }
}
