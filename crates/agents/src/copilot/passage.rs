//! The readable text of a stored line, for showing it.

use super::output::output;
use super::wire::{Data, Failure, Line, Returned};

/// The text of a stored, redacted line: what was said, what a tool returned, or what stands for a compacted conversation.
pub(super) fn passage_text(line: &str) -> Option<String> {
    let line: Line<'_> = serde_json::from_str(line).ok()?;
    let data: Data<'_> = line.data.object();
    let text = match line.kind.text()?.as_ref() {
        "user.message" | "assistant.message" => data.content.text()?.into_owned(),
        "tool.execution_complete" => output(&returned(&data)?).text.to_owned(),
        "session.compaction_complete" => data.summary.text()?.into_owned(),
        _ => return None,
    };
    Some(text).filter(|text| !text.is_empty())
}

/// What a tool returned, else why it failed.
pub(super) fn returned(data: &Data<'_>) -> Option<String> {
    let result: Returned<'_> = data.result.object();
    let failure: Failure<'_> = data.error.object();
    let text = result.content.text().or_else(|| failure.message.text())?;
    Some(text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copilot::fixture::{SUBAGENT, WRITE_COMMIT};

    #[test]
    fn messages_and_results_are_readable() {
        let texts: Vec<String> = WRITE_COMMIT.lines().filter_map(passage_text).collect();
        assert_eq!(
            texts[1..],
            [
                "I will write the file first.",
                "Now I commit it.",
                "fbe59dabf65fab1a9d18bd106dd67883410e7385",
                "Done: hello.txt is committed."
            ]
        );
        let texts: Vec<String> = SUBAGENT.lines().filter_map(passage_text).collect();
        assert!(texts.iter().any(|text| text == "Work in progress."));
        assert_eq!(passage_text("not JSON"), None);
    }
}
