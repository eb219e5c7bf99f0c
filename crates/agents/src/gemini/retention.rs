//! How long Gemini CLI keeps transcripts.

use jsonc_parser::ast::{Object, Value};

use crate::command_hooks::{member, parse};

/// Days, where the settings say nothing.
const DEFAULT_DAYS: u32 = 30;

/// How many days transcripts are kept by these settings (absent: no file); nothing where the settings
/// switch deleting off.
pub(super) fn retention_days(settings: Option<&str>) -> Option<u32> {
    let Some(Ok(Some(Value::Object(root)))) = settings.map(parse) else {
        return Some(DEFAULT_DAYS);
    };
    let retention = inner(&root, "general").and_then(|general| inner(general, "sessionRetention"));
    let Some(retention) = retention else {
        return Some(DEFAULT_DAYS);
    };
    let enabled = member(retention, "enabled").map(|m| &m.value);
    if matches!(enabled, Some(Value::BooleanLit(lit)) if !lit.value) {
        return None;
    }
    match member(retention, "maxAge").map(|m| &m.value) {
        Some(Value::StringLit(age)) => days(&age.value).or(Some(DEFAULT_DAYS)),
        _ => Some(DEFAULT_DAYS),
    }
}

fn inner<'a, 'b>(object: &'b Object<'a>, key: &str) -> Option<&'b Object<'a>> {
    match &member(object, key)?.value {
        Value::Object(inner) => Some(inner),
        _ => None,
    }
}

/// Whole days of an age such as `30d`, `24h`, `1w` or `2m` (months).
fn days(age: &str) -> Option<u32> {
    let (unit_at, _) = age.char_indices().next_back()?;
    let number: u32 = age[..unit_at].parse().ok()?;
    match &age[unit_at..] {
        "h" => Some(number / 24),
        "d" => Some(number),
        "w" => number.checked_mul(7),
        "m" => number.checked_mul(30),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_may_say_otherwise() {
        let with = |inner: &str| format!("{{\"general\": {{\"sessionRetention\": {inner}}}}}");
        let check = |text: Option<&str>, expected: Option<u32>| {
            assert_eq!(retention_days(text), expected, "{text:?}");
        };
        check(None, Some(30));
        check(Some("{}"), Some(30));
        check(Some("not JSON"), Some(30));
        for (inner, expected) in [
            ("{}", Some(30)),
            ("{\"maxAge\": \"7d\"}", Some(7)),
            ("{\"maxAge\": \"48h\"}", Some(2)),
            ("{\"maxAge\": \"2w\", \"enabled\": true}", Some(14)),
            ("{\"maxAge\": \"1m\"}", Some(30)),
            ("{\"maxAge\": \"soon\"}", Some(30)),
            ("{\"maxAge\": \"\"}", Some(30)),
            ("{\"maxAge\": 7}", Some(30)),
            ("{\"maxAge\": \"7d\", \"enabled\": false}", None),
            ("7", Some(30)),
        ] {
            check(Some(&with(inner)), expected);
        }
    }
}
