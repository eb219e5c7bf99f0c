//! The readable text of a stored line, for showing it.

use super::wire::{Line, Message, Part};
use crate::json::Field;

/// The text of a stored, redacted line: what was said, what a tool returned, or a summary.
pub(super) fn passage_text(line: &str) -> Option<String> {
    let line: Line<'_> = serde_json::from_str(line).ok()?;
    let summary = line.summary.text().map(std::borrow::Cow::into_owned);
    let message: Message<'_> = line.message.object();
    content_text(message.content).or(summary.filter(|text| !text.is_empty()))
}

/// The text of a message: a string, or parts of which some are text.
pub(super) fn content_text(content: Field<'_>) -> Option<String> {
    if let Some(text) = content.text() {
        return Some(text.into_owned()).filter(|text| !text.is_empty());
    }
    let parts = content.items().into_iter().map(Field::object::<Part<'_>>);
    let texts: Vec<String> = parts
        .filter(|part| part.kind.text().as_deref() == Some("text"))
        .filter_map(|part| Some(part.text.text()?.into_owned()))
        .collect();
    Some(texts.join("\n")).filter(|text| !text.is_empty())
}
