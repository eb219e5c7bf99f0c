//! How long Claude Code keeps transcripts.

use jsonc_parser::ast::Value;

use crate::command_hooks::{member, parse};
use crate::install::SettingsFile;

/// Days, where the settings say nothing.
const DEFAULT_DAYS: u32 = 30;

/// The shortest time that any of these settings names, in days: the agent deletes the transcripts of all projects when it
/// starts in one whose settings say so.
pub(super) fn retention_days(files: &[SettingsFile]) -> u32 {
    let texts = files.iter().filter_map(|file| file.text.as_deref());
    texts.filter_map(period).min().unwrap_or(DEFAULT_DAYS)
}

fn period(settings: &str) -> Option<u32> {
    let Ok(Some(Value::Object(root))) = parse(settings) else {
        return None;
    };
    match member(&root, "cleanupPeriodDays").map(|m| &m.value) {
        Some(Value::NumberLit(number)) => number.value.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files<const N: usize>(texts: [Option<&str>; N]) -> Vec<SettingsFile> {
        let file = |text: Option<&str>| SettingsFile {
            path: "settings.json".into(),
            text: text.map(str::to_owned),
        };
        texts.map(file).into()
    }

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
            assert_eq!(retention_days(&files([text])), days, "{text:?}");
        }
    }

    #[test]
    fn the_shortest_time_of_all_settings_counts() {
        let days = |days: u32| format!("{{\"cleanupPeriodDays\": {days}}}");
        let (long, short) = (days(365), days(3));
        for (texts, expected) in [
            ([Some(&*long), Some(&*short)], 3),
            ([Some(&*short), Some(&*long)], 3),
            // Shorter than where nothing is said, and longer.
            ([None, Some(&*short)], 3),
            ([Some("{}"), Some(&*long)], 365),
            ([Some("not JSON"), None], 30),
        ] {
            assert_eq!(retention_days(&files(texts)), expected, "{texts:?}");
        }
    }
}
