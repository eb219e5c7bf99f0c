//! Links: facts attached to a session. One validator for the environment, the command line, the
//! configuration and the API.

mod variables;

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use crate::redact::Redactor;

pub use self::variables::{
    BY_VARIABLE, Dropped, Stated, VARIABLES, from_flag, from_variables, overlay, same_slot,
};

/// The largest number that survives every JSON reader.
pub const NUMBER_MAX: u64 = (1 << 53) - 1;

/// A fact attached to a session.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Link {
    /// The issue that asked for the work.
    IssueNumber(u64),
    /// The pull request that carries it.
    PrNumber(u64),
    /// The pipeline that started it.
    PipelineId(String),
    /// The role that the agent plays there.
    AgentRole(String),
    /// The phase of the pipeline.
    Phase(String),
    Label {
        /// 1 to 64 characters.
        key: String,
        /// Up to 256 characters.
        value: String,
    },
}

/// Why a link was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid {field} `{value}`: {rule}")]
pub struct LinkError {
    pub field: &'static str,
    /// What was given, without secrets: what nobody sees is escaped, and so is what is no text. After 80 characters
    /// it ends in `…`.
    pub value: String,
    pub rule: &'static str,
}

/// The names of all kinds of links, in the order in which they are listed.
pub const FIELDS: &[&str] = &[
    "issue_number",
    "pr_number",
    "pipeline_id",
    "agent_role",
    "phase",
    "label",
];

const NUMBER_RULE: &str = "expected a whole number from 1 to 9007199254740991, digits only";

/// The rule that a name or value breaks which holds a secret.
pub const SECRET_RULE: &str = "expected text without a secret in it";

/// How many characters of a refused value are told.
const SHOWN_MOST: usize = 80;

pub(crate) fn refuse(field: &'static str, value: &str, rule: &'static str) -> LinkError {
    refuse_bytes(field, value.as_bytes(), rule)
}

/// Refuses what may be no text.
pub(crate) fn refuse_bytes(field: &'static str, value: &[u8], rule: &'static str) -> LinkError {
    // A secret that is escaped or cut could not be told any more.
    let text = String::from_utf8_lossy(value);
    let redacted = Redactor::shared().redact(&text);
    let shown = match redacted.as_str() == text {
        true => escaped(value),
        false => escaped(redacted.as_str().as_bytes()),
    };
    let mut value: String = shown.chars().take(SHOWN_MOST).collect();
    if value.len() < shown.len() {
        value.push('…');
    }
    LinkError { field, value, rule }
}

/// Bytes as text of which every character can be seen, one for one: `\t`, `\u{200b}`, `\xff`, and `\\` for `\`.
fn escaped(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c == '\\' || has_hidden(c.encode_utf8(&mut [0; 4])) {
                // Some that nobody sees are letters to `escape_debug`.
                true if c.is_ascii() => text.extend(c.escape_default()),
                true => text.extend(c.escape_unicode()),
                false => text.push(c),
            }
        }
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

fn number(field: &'static str, text: &str) -> Result<u64, LinkError> {
    let digits = !text.is_empty()
        && text.len() <= 16
        && !text.starts_with('0')
        && text.bytes().all(|b| b.is_ascii_digit());
    let value = if digits { text.parse().unwrap_or(0) } else { 0 };
    if (1..=NUMBER_MAX).contains(&value) {
        Ok(value)
    } else {
        Err(refuse(field, text, NUMBER_RULE))
    }
}

/// Whether a text has characters that nobody sees: two names that look the same would be two. Controls, formats, marks of
/// direction, separators of lines. What this version of Unicode does not know may be seen by somebody.
pub(crate) fn has_hidden(text: &str) -> bool {
    static HIDDEN: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]").ok()
    });
    match &*HIDDEN {
        _ if text.is_ascii() => text.chars().any(char::is_control),
        Some(hidden) => hidden.is_match(text),
        None => true,
    }
}

fn word(
    field: &'static str,
    text: &str,
    min: usize,
    max: usize,
    rule: &'static str,
) -> Result<String, LinkError> {
    let length = text.chars().count();
    let blank = text.trim() != text || (min > 0 && text.trim().is_empty());
    if blank || !(min..=max).contains(&length) || has_hidden(text) {
        return Err(refuse(field, text, rule));
    }
    Ok(text.to_owned())
}

impl Link {
    /// Takes a field by its name and a value as text.
    ///
    /// # Errors
    /// The field and the rule it broke.
    pub fn parse(field: &str, value: &str) -> Result<Self, LinkError> {
        let link = Self::shaped(field, value)?;
        let is_text = !matches!(link, Self::IssueNumber(_) | Self::PrNumber(_));
        if is_text && Redactor::shared().redact_cow(value) != value {
            return Err(refuse(link.field(), value, SECRET_RULE));
        }
        Ok(link)
    }

    /// Takes a field by its name and a value in JSON: numbers are whole numbers there, and nothing but numbers.
    ///
    /// # Errors
    /// The field and the rule it broke.
    pub fn from_json(field: &str, value: &serde_json::Value) -> Result<Self, LinkError> {
        use serde_json::Value;
        let is_number = matches!(field, "issue_number" | "pr_number");
        let refused = || {
            let field = FIELDS.iter().find(|f| **f == field).copied();
            let rule = if is_number {
                NUMBER_RULE
            } else {
                "expected text"
            };
            refuse(field.unwrap_or("link"), &value.to_string(), rule)
        };
        match value {
            Value::Number(number) if is_number && number.is_u64() => {
                Self::parse(field, &number.to_string())
            }
            Value::String(text) if !is_number => Self::parse(field, text),
            _ => Err(refused()),
        }
    }

    fn shaped(field: &str, value: &str) -> Result<Self, LinkError> {
        match field {
            "issue_number" => number("issue_number", value).map(Self::IssueNumber),
            "pr_number" => number("pr_number", value).map(Self::PrNumber),
            "pipeline_id" => word(
                "pipeline_id",
                value,
                1,
                256,
                "1 to 256 characters, only ones that can be seen, no blank at an end",
            )
            .map(Self::PipelineId),
            "agent_role" => word(
                "agent_role",
                value,
                1,
                64,
                "1 to 64 characters, only ones that can be seen, no blank at an end",
            )
            .map(Self::AgentRole),
            "phase" => word(
                "phase",
                value,
                1,
                64,
                "1 to 64 characters, only ones that can be seen, no blank at an end",
            )
            .map(Self::Phase),
            "label" => {
                let (key, text) = value
                    .split_once('=')
                    .ok_or_else(|| refuse("label", value, "key=value"))?;
                let key = word(
                    "label",
                    key,
                    1,
                    64,
                    "the key has 1 to 64 characters, only ones that can be seen, no blank at an end",
                )?;
                let value = word(
                    "label",
                    text,
                    0,
                    256,
                    "the value has up to 256 characters, only ones that can be seen, no blank at an end",
                )?;
                Ok(Self::Label { key, value })
            }
            _ => Err(refuse(
                "link",
                field,
                "expected one of issue_number, pr_number, pipeline_id, agent_role, phase, label",
            )),
        }
    }

    /// Refuses a link that did not come through [`parse`](Self::parse) and breaks a rule of it.
    ///
    /// # Errors
    /// The field and the rule it broke.
    pub fn check(&self) -> Result<(), LinkError> {
        let value = self.value();
        match Self::parse(self.field(), &value)? == *self {
            true => Ok(()),
            // As text it is the label of another key.
            false => Err(refuse(self.field(), &value, "the key has no `=`")),
        }
    }

    /// The name of the field.
    #[must_use]
    pub const fn field(&self) -> &'static str {
        match self {
            Self::IssueNumber(_) => "issue_number",
            Self::PrNumber(_) => "pr_number",
            Self::PipelineId(_) => "pipeline_id",
            Self::AgentRole(_) => "agent_role",
            Self::Phase(_) => "phase",
            Self::Label { .. } => "label",
        }
    }

    /// The value in JSON, so that `from_json(field, value)` gives the same link: a number, or text.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        match self {
            Self::IssueNumber(n) | Self::PrNumber(n) => (*n).into(),
            _ => self.value().into(),
        }
    }

    /// The value as text, so that `parse(field, value)` gives the same link.
    #[must_use]
    pub fn value(&self) -> String {
        match self {
            Self::IssueNumber(n) | Self::PrNumber(n) => n.to_string(),
            Self::PipelineId(s) | Self::AgentRole(s) | Self::Phase(s) => s.clone(),
            Self::Label { key, value } => format!("{key}={value}"),
        }
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IssueNumber(n) => write!(f, "issue {n}"),
            Self::PrNumber(n) => write!(f, "PR {n}"),
            Self::PipelineId(s) => write!(f, "pipeline {s}"),
            Self::AgentRole(s) => write!(f, "role {s}"),
            Self::Phase(s) => write!(f, "phase {s}"),
            Self::Label { key, value } => write!(f, "{key}={value}"),
        }
    }
}

impl FromStr for Link {
    type Err = LinkError;

    /// Takes `issue=42` or `#42`, `pr=7`, `pipeline=…`, `role=…`, `phase=…`, `label=key=value`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let rule = "expected one of issue=N (or #N), pr=N, pipeline=ID, role=NAME, phase=NAME, label=KEY=VALUE";
        let (field, value) = match text.strip_prefix('#') {
            Some(number) => ("issue_number", number),
            None => text
                .split_once('=')
                .ok_or_else(|| refuse("link", text, rule))?,
        };
        let field = match field {
            "issue" => "issue_number",
            "pr" => "pr_number",
            "pipeline" => "pipeline_id",
            "role" => "agent_role",
            other if FIELDS.contains(&other) => other,
            unknown => return Err(refuse("link", unknown, rule)),
        };
        Self::parse(field, value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_round_trips() {
        for (field, value) in [
            ("issue_number", "42"),
            ("pr_number", "9007199254740991"),
            ("pipeline_id", "p-1"),
            ("agent_role", "reviewer"),
            ("phase", "build"),
            ("agent_role", "größe 開発 🦀"),
            ("label", "team=a=b"),
            ("label", "empty="),
        ] {
            let link = Link::parse(field, value).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!((link.field(), link.value().as_str()), (field, value));
            assert_eq!(Link::from_json(field, &link.to_json()).unwrap(), link);
            assert!(FIELDS.contains(&link.field()));
        }
    }

    #[test]
    fn an_issue_has_three_names() {
        for text in ["issue=42", "issue_number=42", "#42"] {
            assert_eq!(text.parse::<Link>(), Ok(Link::IssueNumber(42)), "{text}");
        }
        for text in ["#", "#0", "#042", "# 42", "##42", "#x", "42"] {
            assert!(text.parse::<Link>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_error_says_what_was_expected() {
        let check = |link: Result<Link, LinkError>, expected: &str| {
            let error = link.unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        };
        check("x".parse(), "invalid link `x`: expected one of issue=N");
        check("x=1".parse(), "invalid link `x`: expected one of issue=N");
        check(
            Link::parse("x", "1"),
            "invalid link `x`: expected one of issue_number,",
        );
        check(
            "#x".parse(),
            "invalid issue_number `x`: expected a whole number from 1",
        );
    }

    #[test]
    fn json_has_types() {
        use serde_json::json;
        let good = [("issue_number", json!(42)), ("phase", json!("plan"))];
        for (field, value) in good {
            assert_eq!(Link::from_json(field, &value).unwrap().field(), field);
        }
        let bad = [
            json!(true),
            json!(1.0),
            json!("42"),
            json!(0),
            json!(-1),
            json!([]),
            json!({}),
        ];
        for value in bad {
            let error = Link::from_json("pr_number", &value).unwrap_err();
            assert_eq!(
                (error.field, error.rule),
                ("pr_number", NUMBER_RULE),
                "{value}"
            );
        }
        let large: serde_json::Value = serde_json::from_str("9007199254740992").unwrap();
        assert!(Link::from_json("issue_number", &large).is_err());
        for value in [json!(7), json!(true), json!(null), json!("")] {
            let error = Link::from_json("agent_role", &value).unwrap_err();
            assert_eq!(error.field, "agent_role", "{value}");
        }
    }

    #[test]
    fn bad_values_name_field_and_rule() {
        for (field, value) in [
            ("issue_number", "0"),
            ("issue_number", "042"),
            ("issue_number", "+1"),
            ("issue_number", "1.0"),
            ("issue_number", "true"),
            ("issue_number", ""),
            ("pr_number", "9007199254740992"),
            ("pr_number", "99999999999999999999"),
            ("agent_role", " x"),
            ("agent_role", "a\nb"),
            ("phase", ""),
            ("agent_role", "co\u{200b}der"),
            ("agent_role", "\u{feff}coder"),
            ("phase", "a\u{202e}b"),
            ("phase", "a\u{2028}b"),
            ("pipeline_id", "p\u{fffe}"),
            ("pipeline_id", "p\u{e0041}"),
            ("label", "a=b\u{3164}"),
            ("label", "a\u{2066}=b"),
            ("label", "novalue"),
            ("label", "=x"),
            ("nonsense", "1"),
        ] {
            assert!(Link::parse(field, value).is_err(), "{field}={value:?}");
        }
        assert!(serde_json::from_str::<Link>(r#"{"colour":"red"}"#).is_err());
        let key = "a=b".to_owned();
        let value = "c".to_owned();
        assert!(Link::Label { key, value }.check().is_err());
        assert!(Link::parse("pipeline_id", &"x".repeat(257)).is_err());
        assert!(Link::parse("pipeline_id", &"x".repeat(256)).is_ok());
        assert!(Link::parse("agent_role", &"x".repeat(65)).is_err());
        assert!(Link::parse("phase", &"x".repeat(64)).is_ok());
    }

    #[test]
    fn a_refused_value_is_shown_with_its_exact_bytes() {
        let shown = |value: &str| Link::parse("issue_number", value).unwrap_err().value;
        assert_eq!(shown("4\t2"), r"4\t2");
        assert_eq!(shown(r"4\t2"), r"4\\t2");
        assert_eq!(shown("4\u{200b}2\n"), r"4\u{200b}2\n");
        assert_eq!(refuse_bytes("label", b"a\xff=b", "x").value, r"a\xff=b");
        let long = shown(&"7".repeat(99));
        assert_eq!((long.chars().count(), long.ends_with("7…")), (81, true));
    }

    #[test]
    fn a_secret_is_refused_and_not_shown() {
        let secret = format!("ghp_{}", &"a1B2c3D4e5".repeat(4)[..36]);
        for (field, value) in [
            ("pipeline_id", secret.clone()),
            ("agent_role", secret.clone()),
            ("phase", secret.clone()),
            ("label", format!("ci={secret}")),
            ("issue_number", secret.clone()),
        ] {
            let error = Link::parse(field, &value).unwrap_err();
            assert_eq!(error.field, field);
            assert!(!error.to_string().contains(&secret[4..12]), "{error}");
        }
        for id in [
            "9f86d081884c7d659a2feaa0c55ad015",
            "run-2026-11-22/7",
            "issue-42",
        ] {
            assert!(Link::parse("pipeline_id", id).is_ok(), "{id}");
        }
    }
}
