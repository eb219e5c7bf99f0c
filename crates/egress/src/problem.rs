//! What a server says of a request that it did not take.

use std::fmt;

use serde_json::Value;

/// How much of each word of a server is kept, in characters.
const MOST: usize = 1_000;

/// The reason of a server, as RFC 9457 has it; of one that gives none, what else it said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Problem {
    pub status: u16,
    /// What kind of problem it is, in words.
    pub title: Option<String>,
    /// What exactly.
    pub detail: Option<String>,
    /// The server's stable word for it.
    pub code: Option<String>,
    /// The field or document that it is about.
    pub field: Option<String>,
}

impl Problem {
    /// Reads the body of an answer. Whatever it is, its reason is not lost.
    #[must_use]
    pub fn read(status: u16, body: &[u8]) -> Self {
        let Ok(Value::Object(members)) = serde_json::from_slice(body) else {
            let text = shown(&String::from_utf8_lossy(body));
            return Self {
                status,
                detail: Some(text).filter(|text| !text.is_empty()),
                ..Self::default()
            };
        };
        let word = |name: &str| {
            let value = members.get(name).and_then(Value::as_str);
            value.map(shown).filter(|text| !text.is_empty())
        };
        Self {
            status,
            title: word("title"),
            detail: word("detail"),
            code: word("code"),
            field: word("field"),
        }
    }
}

/// Why a request came to nothing, as people read it: the library says first that it is about input and output.
pub(crate) fn cause(error: impl fmt::Display) -> String {
    let text = error.to_string();
    text.strip_prefix("io: ").unwrap_or(&text).to_owned()
}

/// A word of a server on one line, without what would move the cursor.
pub(crate) fn shown(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let text: String = text.chars().map(plain).take(MOST).collect();
    text.trim().to_owned()
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = [&self.title, &self.detail]
            .into_iter()
            .flatten()
            .map(String::as_str)
            .collect();
        match words.as_slice() {
            [] => write!(f, "status {}, without a reason", self.status)?,
            [one] => f.write_str(one)?,
            [title, detail, ..] => write!(f, "{title}: {detail}")?,
        }
        if let Some(field) = &self.field {
            write!(f, " (field {field})")?;
        }
        match &self.code {
            Some(code) => write!(f, " [{} {code}]", self.status),
            None => write!(f, " [{}]", self.status),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_server_is_not_lost() {
        for (body, expected) in [
            (
                r#"{"type":"x","title":"Bad link","detail":"too long","code":"invalid","field":"phase","status":422}"#,
                "Bad link: too long (field phase) [422 invalid]",
            ),
            (r#"{"title":"Bad link"}"#, "Bad link [422]"),
            (r#"{"detail":"no\u001b[2Jwipe"}"#, "no [2Jwipe [422]"),
            (
                r#"{"title":7,"code":"x"}"#,
                "status 422, without a reason [422 x]",
            ),
            ("upstream is\ndown", "upstream is down [422]"),
            ("", "status 422, without a reason [422]"),
            ("[1]", "[1] [422]"),
        ] {
            assert_eq!(Problem::read(422, body.as_bytes()).to_string(), expected);
        }
        let long = Problem::read(500, "x".repeat(1 << 20).as_bytes());
        assert!(long.to_string().len() < 2_000);
    }
}
