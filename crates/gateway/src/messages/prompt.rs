//! What is sent to an agent: messages of both forms become texts, whole and in order.

use serde_json::{Map, Value};

use crate::problem::Problem;
use crate::runs::{PromptMessage, Speaker};
use crate::wire::{MessageInput, Role};

const MESSAGES_MOST: usize = 10_000;
const PARTS_MOST: usize = 1_000;

/// All that an agent is told: the data first, then the messages as they come.
pub(crate) fn prompt(
    messages: &[MessageInput],
    inputs: Option<&Map<String, Value>>,
) -> Result<Vec<PromptMessage>, Problem> {
    if !(1..=MESSAGES_MOST).contains(&messages.len()) {
        let rule = format!("1 to {MESSAGES_MOST} messages");
        return Err(Problem::invalid("messages", rule));
    }
    let mut prompt = Vec::with_capacity(messages.len() + 1);
    if let Some(inputs) = inputs.filter(|inputs| !inputs.is_empty()) {
        let json = serde_json::to_string(inputs).map_err(|_| Problem::internal())?;
        prompt.push(PromptMessage {
            role: Speaker::User,
            text: format!("Data that the messages speak of, as JSON:\n{json}"),
        });
    }
    let mut has_user_text = false;
    for (at, message) in messages.iter().enumerate() {
        let converted = prompt_message(message, &format!("messages.{at}"))?;
        has_user_text |= converted.role == Speaker::User && !converted.text.trim().is_empty();
        prompt.push(converted);
    }
    // What a page shows and nobody said, such as an answer that never came, has no text.
    prompt.retain(|message| !message.text.trim().is_empty());
    match has_user_text {
        true => Ok(prompt),
        false => Err(Problem::invalid(
            "messages",
            "must have at least one message of the role `user` that is not blank",
        )),
    }
}

fn prompt_message(message: &MessageInput, field: &str) -> Result<PromptMessage, Problem> {
    let role = match message.role {
        Role::System => Speaker::System,
        Role::User => Speaker::User,
        Role::Assistant => Speaker::Assistant,
    };
    let text = match (&message.content, &message.parts) {
        (Some(text), None) => text.clone(),
        (None, Some(parts)) => parts_text(parts, &format!("{field}.parts"))?,
        _ => {
            let rule = "must have either `content` (text) or `parts` (the parts of a UI message)";
            return Err(Problem::invalid(field, rule));
        }
    };
    Ok(PromptMessage { role, text })
}

fn parts_text(parts: &[Value], field: &str) -> Result<String, Problem> {
    if parts.len() > PARTS_MOST {
        let rule = format!("at most {PARTS_MOST} parts");
        return Err(Problem::invalid(field, rule));
    }
    let mut texts = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        texts.extend(part_text(part, &format!("{field}.{at}"))?);
    }
    Ok(texts.join("\n\n"))
}

/// What a part says; nothing for one that is there for the page alone.
fn part_text(part: &Value, field: &str) -> Result<Option<String>, Problem> {
    let kind = part["type"].as_str();
    let kind = kind.ok_or_else(|| Problem::invalid(format!("{field}.type"), "a text"))?;
    let tool = match kind {
        "text" => {
            let text = part["text"].as_str();
            let text = text.ok_or_else(|| Problem::invalid(format!("{field}.text"), "a text"))?;
            return Ok(Some(text.to_owned()).filter(|text| !text.is_empty()));
        }
        "file" => return file_text(part, field).map(Some),
        "dynamic-tool" => part["toolName"].as_str(),
        other => other.strip_prefix("tool-"),
    };
    Ok(tool.map(|name| tool_text(name, part)))
}

/// A tool call of an earlier answer: what it was given, and how it ended.
fn tool_text(name: &str, part: &Value) -> String {
    let as_text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let mut text = format!("[called the tool {name}]");
    for (key, word) in [("input", "with"), ("output", "it returned")] {
        if !part[key].is_null() {
            text.push_str(&format!("\n{word}: {}", as_text(&part[key])));
        }
    }
    if let Some(error) = part["errorText"].as_str() {
        text.push_str(&format!("\nit failed: {error}"));
    }
    if part["state"] == "output-denied" {
        text.push_str("\nit was refused");
    }
    text
}

/// A file: its address, or its text where that is sent along.
fn file_text(part: &Value, field: &str) -> Result<String, Problem> {
    let field = format!("{field}.url");
    let url = part["url"].as_str();
    let url = url.ok_or_else(|| Problem::invalid(&field, "a text"))?;
    let name = part["filename"].as_str().unwrap_or("without a name");
    let Some(data) = url.strip_prefix("data:") else {
        return Ok(format!("[the file {name}: {url}]"));
    };
    let rule = "must be a URL, or text as a `data:` URL";
    let refused = || Problem::invalid(&field, rule);
    let (kind, content) = data.split_once(',').ok_or_else(refused)?;
    let (media, base64) = match kind.strip_suffix(";base64") {
        Some(media) => (media, true),
        None => (kind, false),
    };
    let media = media.split(';').next().unwrap_or_default();
    let is_text = media.is_empty() || media.starts_with("text/") || media == "application/json";
    if !is_text {
        return Err(refused());
    }
    let bytes = match base64 {
        true => base64_bytes(content).ok_or_else(refused)?,
        false => crate::naming::percent_decoded(content),
    };
    let text = String::from_utf8(bytes).map_err(|_| refused())?;
    Ok(format!("[the file {name}]\n{text}"))
}

/// Reads base64 with the usual alphabet, padded or not.
fn base64_bytes(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=').bytes();
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut held, mut bits) = (0u32, 0);
    for digit in digits {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = held << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(held >> bits & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn prompt_texts(messages: &Value, inputs: &Value) -> Result<Vec<(Speaker, String)>, String> {
        let messages: Vec<MessageInput> = serde_json::from_value(messages.clone()).unwrap();
        prompt(&messages, inputs.as_object())
            .map(|sent| sent.into_iter().map(|s| (s.role, s.text)).collect())
            .map_err(|problem| problem.field().unwrap_or_default().to_owned())
    }

    #[track_caller]
    fn check(messages: &Value, expected: &[(Speaker, &str)]) {
        let expected = expected
            .iter()
            .map(|(role, text)| (*role, (*text).to_owned()));
        assert_eq!(prompt_texts(messages, &Value::Null), Ok(expected.collect()));
    }

    #[track_caller]
    fn refuses(messages: &Value, field: &str) {
        assert_eq!(prompt_texts(messages, &Value::Null), Err(field.to_owned()));
    }

    #[test]
    fn plain_messages_are_sent_whole() {
        check(
            &json!([
                { "role": "system", "content": "be brief" },
                { "role": "user", "content": " first\n" },
                { "role": "assistant", "content": "second" },
                { "role": "user", "content": "third", "id": "x", "more": [1] },
            ]),
            &[
                (Speaker::System, "be brief"),
                (Speaker::User, " first\n"),
                (Speaker::Assistant, "second"),
                (Speaker::User, "third"),
            ],
        );
    }

    #[test]
    fn ui_messages_are_sent_with_their_tool_calls() {
        check(
            &json!([
                { "id": "1", "role": "user", "parts": [{ "type": "text", "text": "a" }, { "type": "text", "text": "b" }] },
                { "id": "2", "role": "assistant", "metadata": {}, "parts": [
                    { "type": "step-start" },
                    { "type": "reasoning", "text": "hm" },
                    { "type": "dynamic-tool", "toolName": "read", "toolCallId": "c", "state": "output-available",
                      "input": { "path": "x" }, "output": "text" },
                    { "type": "tool-write", "toolCallId": "d", "state": "output-error", "input": { "n": 1 }, "errorText": "no" },
                    { "type": "tool-rm", "toolCallId": "e", "state": "output-denied", "input": {} },
                    { "type": "data-usage", "data": { "tokens": 1 } },
                    { "type": "text", "text": "done", "state": "done" },
                    { "type": "never-heard-of" },
                ] },
                { "id": "3", "role": "assistant", "parts": [{ "type": "step-start" }] },
                { "id": "4", "role": "user", "parts": [{ "type": "text", "text": "c" }] },
            ]),
            &[
                (Speaker::User, "a\n\nb"),
                (
                    Speaker::Assistant,
                    "[called the tool read]\nwith: {\"path\":\"x\"}\nit returned: text\n\n\
                     [called the tool write]\nwith: {\"n\":1}\nit failed: no\n\n\
                     [called the tool rm]\nwith: {}\nit was refused\n\ndone",
                ),
                (Speaker::User, "c"),
            ],
        );
    }

    #[test]
    fn files_are_addresses_or_texts() {
        let file = |url: &str| {
            json!([{ "role": "user", "parts": [
                { "type": "file", "mediaType": "text/plain", "filename": "n.txt", "url": url }] }])
        };
        check(
            &file("https://example.org/n.txt"),
            &[(Speaker::User, "[the file n.txt: https://example.org/n.txt]")],
        );
        for url in [
            "data:text/plain;base64,aMOp",
            "data:text/plain;charset=utf-8,h%C3%A9",
        ] {
            check(&file(url), &[(Speaker::User, "[the file n.txt]\nhé")]);
        }
        for url in [
            "data:image/png;base64,aMOp",
            "data:text/plain;base64,_",
            "data:text/plain,%ff",
            "data:text/plain",
        ] {
            refuses(&file(url), "messages.0.parts.0.url");
        }
    }

    #[test]
    fn what_says_nothing_is_refused() {
        refuses(&json!([]), "messages");
        refuses(
            &json!([{ "role": "assistant", "content": "a" }]),
            "messages",
        );
        refuses(&json!([{ "role": "user", "content": " \n" }]), "messages");
        refuses(&json!([{ "role": "user" }]), "messages.0");
        refuses(
            &json!([{ "role": "user", "content": "a", "parts": [] }]),
            "messages.0",
        );
        refuses(
            &json!([{ "role": "user", "parts": [{ "text": "a" }] }]),
            "messages.0.parts.0.type",
        );
        refuses(
            &json!([{ "role": "user", "parts": [{ "type": "text", "text": 1 }] }]),
            "messages.0.parts.0.text",
        );
    }

    #[test]
    fn data_comes_before_the_messages_and_stays_what_it_is() {
        let messages = json!([{ "role": "user", "content": "go" }]);
        let inputs = json!({ "conversation_id": "X" });
        let texts = prompt_texts(&messages, &inputs).unwrap();
        assert_eq!(
            texts[0].1,
            "Data that the messages speak of, as JSON:\n{\"conversation_id\":\"X\"}"
        );
        assert_eq!((texts.len(), texts[1].1.as_str()), (2, "go"));
        assert_eq!(prompt_texts(&messages, &json!({})).unwrap().len(), 1);
    }
}
