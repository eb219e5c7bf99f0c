//! JSON from whose values secrets were removed.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::name::{self, Kind};
use super::value::{self, Written};
use super::{Redacted, Redactor, boundary, cookies};

/// A JSON value of the same structure as the original, without the secrets in its strings.
///
/// Object keys are kept as they are; [`RedactedJson::into_text`] redacts them too.
#[derive(Debug, Clone, PartialEq)]
pub struct RedactedJson(Value);

impl RedactedJson {
    /// Returns the value.
    #[must_use]
    pub fn as_value(&self) -> &Value {
        &self.0
    }

    /// Returns the compact JSON text, redacted once more as a whole so that secrets used as keys do not survive.
    #[must_use]
    pub fn into_text(self) -> Redacted {
        Redactor::shared().redact(&self.0.to_string())
    }
}

impl Redactor {
    /// Redacts every string value of `json`, and those under a key that names a secret as a whole.
    #[must_use]
    pub fn redact_json(&self, json: &Value) -> RedactedJson {
        let mut redacted = redact_value(self, json, None);
        // The order of keys is the same whatever the program was built with: texts are compared and digested.
        redacted.sort_all_objects();
        RedactedJson(redacted)
    }

    /// Redacts a text that stands under a key: as a whole where the key names a secret.
    #[must_use]
    pub fn redact_named<'a>(&self, key: &str, text: &'a str) -> Cow<'a, str> {
        let redacted = self.redact_cow(text);
        // What a path of keys says, its end says.
        let last = &key[boundary::floor(key, key.len().saturating_sub(name::LONGEST))..];
        let marked = |rule| {
            let lines = "\n".repeat(text.matches('\n').count());
            Cow::Owned(format!("[redacted:{rule}]{lines}"))
        };
        match name::classify(last) {
            Some(named) if value::looks_secret(&redacted, Written::Quoted, named) => {
                marked(match named.kind {
                    Kind::Authorization => "authorization",
                    Kind::Password | Kind::Machine => "secret-assignment",
                })
            }
            _ if cookies::are_under(last) && !cookies::values(&redacted, 0).is_empty() => {
                marked("cookie")
            }
            _ => redacted,
        }
    }
}

fn redact_value(redactor: &Redactor, json: &Value, key: Option<&str>) -> Value {
    match json {
        Value::String(text) => Value::String(
            redactor
                .redact_named(key.unwrap_or_default(), text)
                .into_owned(),
        ),
        Value::Array(items) => items
            .iter()
            .map(|item| redact_value(redactor, item, key))
            .collect(),
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .map(|(key, field)| (key.clone(), redact_value(redactor, field, Some(key))))
                .collect::<Map<_, _>>(),
        ),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(input: &Value, expected: &Value) {
        let redacted = Redactor::shared().redact_json(input);
        assert_eq!(redacted.as_value(), expected);
        assert_eq!(
            Redactor::shared().redact_json(redacted.as_value()),
            redacted
        );
    }

    #[test]
    fn values_under_secret_names_go_and_counts_stay() {
        check(
            &json!({"password": "hunter2!", "clientSecret": "qwErTy-99-abc", "input_tokens": 12, "token_count": "12345",
                "authorization": "Custom abc12345", "name": "x", "items": [{"api_key": "aabbccddeeff0011"}], "token": null}),
            &json!({"password": "[redacted:secret-assignment]", "clientSecret": "[redacted:secret-assignment]",
                "input_tokens": 12, "token_count": "12345", "authorization": "[redacted:authorization]", "name": "x",
                "items": [{"api_key": "[redacted:secret-assignment]"}], "token": null}),
        );
    }

    #[test]
    fn placeholders_under_secret_names_stay() {
        let input = json!({"password": "${PASSWORD}", "token": "<your token>", "secret": "", "api_key": "None"});
        check(&input, &input);
    }

    #[test]
    fn a_key_at_the_end_of_a_path_counts() {
        let path = "http.request.header.of.a.rather.long.and.winding.path.to.what.is.x-api-key";
        check(
            &json!({path: ["aabbccddeeff0011"], "http.request.header.cookie": "theme=dark; sid=q7RzW2mLx0Tb9KpV"}),
            &json!({path: ["[redacted:secret-assignment]"], "http.request.header.cookie": "[redacted:cookie]"}),
        );
    }

    #[test]
    fn a_specific_rule_keeps_its_name() {
        let token = concat!("gh", "p_", "q7RzW2mLx0Tb9KpVd3Yc5NfHs8JgAe1Uo4Zi");
        check(
            &json!({"token": token}),
            &json!({"token": "[redacted:github-token]"}),
        );
    }

    #[test]
    fn text_form_redacts_keys_too() {
        let token = concat!("gh", "p_", "q7RzW2mLx0Tb9KpVd3Yc5NfHs8JgAe1Uo4Zi");
        let text = Redactor::shared()
            .redact_json(&json!({ token: 1 }))
            .into_text();
        assert_eq!(text.as_str(), r#"{"[redacted:github-token]":1}"#);
    }
}
