//! What is looked for in stored text, and what stands in its place afterwards.

use regex::{Regex, bytes};
use serde_json::Value;
use siglum_domain::redact::{RULES, Redactor};

/// What stands where something was forgotten.
const MARK: &str = "[redacted:forgotten]";

/// What is looked for.
#[derive(Debug)]
pub enum Needle {
    /// What a regular expression matches.
    Pattern {
        /// In text.
        text: Regex,
        /// The same in file versions.
        bytes: bytes::Regex,
    },
    /// What these rules of redaction find; all of them if none is named.
    Rules(Vec<String>),
}

/// Why something cannot be looked for.
#[derive(Debug, thiserror::Error)]
pub enum NeedleError {
    /// The pattern is no regular expression.
    #[error("the pattern is not a valid regular expression")]
    Pattern(#[source] regex::Error),
    /// It would match everywhere.
    #[error("the pattern matches the empty string, so it would match everywhere")]
    Everywhere,
    /// There is no such rule.
    #[error("no rule `{0}`")]
    Rule(String),
}

/// A text without what was looked for.
#[derive(Debug, PartialEq, Eq)]
pub struct Replaced {
    pub text: String,
    /// The rules that matched; none for a pattern.
    pub rules: Vec<&'static str>,
}

impl Needle {
    /// A regular expression.
    ///
    /// # Errors
    /// It is none, or it matches everywhere.
    pub fn pattern(pattern: &str) -> Result<Self, NeedleError> {
        let text = Regex::new(pattern).map_err(NeedleError::Pattern)?;
        if text.is_match("") {
            return Err(NeedleError::Everywhere);
        }
        let bytes = bytes::Regex::new(pattern).map_err(NeedleError::Pattern)?;
        Ok(Self::Pattern { text, bytes })
    }

    /// A text as it stands, also as it is written inside JSON, and inside JSON inside JSON.
    ///
    /// # Errors
    /// It is empty, or far too long.
    pub fn literal(text: &str) -> Result<Self, NeedleError> {
        let escaped = |text: &str| {
            let quoted = Value::from(text).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        };
        let once = escaped(text);
        let mut forms = vec![escaped(&once), once, text.to_owned()];
        forms.dedup();
        let forms: Vec<String> = forms.iter().map(|form| regex::escape(form)).collect();
        Self::pattern(&forms.join("|"))
    }

    /// Rules of redaction by their ids; `all` stands for all of them.
    ///
    /// # Errors
    /// There is no such rule.
    pub fn rules(ids: &[String]) -> Result<Self, NeedleError> {
        let known = |id: &String| RULES.iter().any(|rule| rule.id == id);
        if ids.iter().any(|id| id == "all") {
            return Ok(Self::Rules(Vec::new()));
        }
        match ids.iter().find(|id| !known(id)) {
            Some(unknown) => Err(NeedleError::Rule(unknown.clone())),
            None => Ok(Self::Rules(ids.to_vec())),
        }
    }

    /// The text without what is looked for; nothing if it is not in there.
    #[must_use]
    pub fn in_text(&self, text: &str) -> Option<Replaced> {
        match self {
            Self::Pattern { text: pattern, .. } => {
                let left = pattern.replace_all(text, MARK);
                let text = matches!(left, std::borrow::Cow::Owned(_)).then(|| left.into_owned())?;
                // A pattern that matches its own mark leaves nothing of the text.
                let text = if pattern.is_match(&text) {
                    String::new()
                } else {
                    text
                };
                Some(Replaced {
                    text,
                    rules: Vec::new(),
                })
            }
            Self::Rules(wanted) => {
                let is_wanted = |id: &str| wanted.is_empty() || wanted.iter().any(|w| w == id);
                let (text, rules) = Redactor::shared().redact_where(text, is_wanted);
                (!rules.is_empty()).then(|| Replaced {
                    text: text.into_owned(),
                    rules,
                })
            }
        }
    }

    /// The JSON without what is looked for in any of its texts; nothing if it is not in there. Where it stands in
    /// more than one text at once, or in what is no text, nothing of the JSON is left: the result is empty.
    #[must_use]
    pub fn in_json(&self, json: &str) -> Option<Replaced> {
        let Ok(mut value) = serde_json::from_str::<Value>(json) else {
            return self.in_text(json);
        };
        let mut rules = Vec::new();
        let mut changed = self.walk(&mut value, &mut rules);
        let mut text = if changed {
            value.to_string()
        } else {
            json.to_owned()
        };
        if let Self::Pattern { text: pattern, .. } = self
            && pattern.is_match(&text)
        {
            changed = true;
            text.clear();
        }
        rules.sort_unstable();
        rules.dedup();
        changed.then_some(Replaced { text, rules })
    }

    fn walk(&self, value: &mut Value, rules: &mut Vec<&'static str>) -> bool {
        match value {
            Value::String(text) => match self.in_text(text) {
                Some(replaced) => {
                    rules.extend(replaced.rules);
                    *text = replaced.text;
                    true
                }
                None => false,
            },
            // Every part is walked, whatever was found before.
            Value::Array(items) => {
                let hits = items
                    .iter_mut()
                    .filter_map(|item| self.walk(item, rules).then_some(()));
                hits.count() > 0
            }
            Value::Object(fields) => {
                let fields = fields.values_mut();
                let hits = fields.filter_map(|field| self.walk(field, rules).then_some(()));
                hits.count() > 0
            }
            _ => false,
        }
    }

    /// Tells whether a file version holds it. Rules leave file versions alone: those are exact by design.
    #[must_use]
    pub fn in_version(&self, content: &[u8]) -> bool {
        match self {
            Self::Pattern { bytes, .. } => bytes.is_match(content),
            Self::Rules(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_is_found_however_it_is_escaped() {
        let secret = "a\"b\\c\nd(e";
        let needle = Needle::literal(secret).unwrap();
        let once = serde_json::json!({ "x": [secret], "n": 1 }).to_string();
        let twice = serde_json::json!({ "x": once }).to_string();
        for json in [&once, &twice] {
            let left = needle.in_json(json).unwrap().text;
            assert!(serde_json::from_str::<Value>(&left).is_ok(), "{left}");
            assert!(left.contains(MARK) && !left.contains("(e"), "{left}");
            assert_eq!(needle.in_json(&left), None);
        }
        assert_eq!(needle.in_text("a\"b\\c\nd"), None);
    }

    #[test]
    fn what_runs_over_several_texts_takes_the_whole() {
        let needle = Needle::pattern("\"a\":\"b").unwrap();
        assert_eq!(needle.in_json(r#"{"a":"b"}"#).unwrap().text, "");
        assert_eq!(needle.in_json(r#"{"a":"c"}"#), None);
    }

    #[test]
    fn useless_needles_are_refused() {
        assert!(matches!(
            Needle::pattern("x*"),
            Err(NeedleError::Everywhere)
        ));
        assert!(matches!(Needle::pattern("("), Err(NeedleError::Pattern(_))));
        assert!(matches!(Needle::literal(""), Err(NeedleError::Everywhere)));
        assert!(matches!(
            Needle::rules(&["no".to_owned()]),
            Err(NeedleError::Rule(_))
        ));
    }

    #[test]
    fn a_pattern_that_matches_its_mark_ends() {
        let needle = Needle::pattern("[a-z]+").unwrap();
        assert_eq!(needle.in_text("abc 1").unwrap().text, "");
    }

    #[test]
    fn rules_are_named_and_chosen() {
        let text = format!(
            "a {} b",
            concat!("gh", "p_q7RzW2mLx0Tb9KpVd3Yc5NfHs8JgAe1Uo4Zi")
        );
        let all = Needle::rules(&["all".to_owned()]).unwrap();
        assert_eq!(all.in_text(&text).unwrap().rules, ["github-token"]);
        let other = Needle::rules(&["jwt".to_owned()]).unwrap();
        assert_eq!(other.in_text(&text), None);
    }
}
