//! What must come of links, written from the rules and not from the program.

use std::collections::BTreeSet;

use serde_json::Value;

/// Links as `field=value`.
pub(super) type Links = BTreeSet<String>;

/// The fields, each with the most characters that its text may have; numbers have none.
pub(super) const FIELDS: [(&str, Option<usize>); 5] = [
    ("issue_number", None),
    ("pr_number", None),
    ("pipeline_id", Some(256)),
    ("agent_role", Some(64)),
    ("phase", Some(64)),
];

/// A token of a well-known form, which no link may hold.
pub(super) const SECRET: &str = "ghp_a1B2c3D4e5a1B2c3D4e5a1B2c3D4e5a1B2c3";

fn is_text(text: &str, least: usize, most: usize) -> bool {
    let length = text.chars().count();
    (least..=most).contains(&length)
        && text.trim() == text
        && !text.chars().any(char::is_control)
        && !text.contains(SECRET)
}

/// Whether a text is a value of a field, as in the environment and on a command line.
pub(super) fn is_good(most: Option<usize>, text: &str) -> bool {
    match most {
        Some(most) => is_text(text, 1, most),
        None => {
            let digits = text.bytes().all(|b| b.is_ascii_digit());
            let first = text.starts_with(|c: char| ('1'..='9').contains(&c));
            digits && first && text.len() <= 16 && text.parse::<u64>().unwrap() < 1 << 53
        }
    }
}

/// Whether a value in JSON is one of a field; and as it is told.
pub(super) fn in_json(most: Option<usize>, value: &Value) -> Option<String> {
    match (most, value) {
        (Some(_), Value::String(text)) => is_good(most, text).then(|| text.clone()),
        (None, Value::Number(_)) => {
            let text = value.to_string();
            is_good(None, &text).then_some(text)
        }
        _ => None,
    }
}

pub(super) fn is_label(key: &str, value: &str) -> bool {
    is_text(key, 1, 64) && !key.contains('=') && is_text(value, 0, 256)
}
