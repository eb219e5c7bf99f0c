//! How long Claude Code keeps transcripts.

use jsonc_parser::ast::Value;

use crate::command_hooks::{member, parse};

/// Days, where the settings say nothing.
const DEFAULT_DAYS: u32 = 30;

/// How many days transcripts are kept by these settings (absent: no file).
pub(super) fn retention_days(settings: Option<&str>) -> Option<u32> {
    let Some(Ok(Some(Value::Object(root)))) = settings.map(parse) else {
        return Some(DEFAULT_DAYS);
    };
    match member(&root, "cleanupPeriodDays").map(|m| &m.value) {
        Some(Value::NumberLit(number)) => number.value.parse().ok().or(Some(DEFAULT_DAYS)),
        _ => Some(DEFAULT_DAYS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_may_say_otherwise() {
        for (text, days) in [
            (None, 30),
            (Some(""), 30),
            (Some("{}"), 30),
            (Some("{\"cleanupPeriodDays\": 7}"), 7),
            (Some("// all\n{\"cleanupPeriodDays\": 99999,}"), 99_999),
            (Some("{\"cleanupPeriodDays\": \"x\"}"), 30),
            (Some("not JSON"), 30),
        ] {
            assert_eq!(retention_days(text), Some(days), "{text:?}");
        }
    }
}
