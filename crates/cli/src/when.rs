//! Moments as people type them after `--since` and `--until`.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use siglum_domain::Timestamp;

use crate::clock;

const RULE: &str = "give a time span (`30min`, `12h`, `7d`, `2w`), `today`, `yesterday`, a date \
                    (`2026-11-20`), or a time (`2026-11-20 14:30`, `2026-11-20T14:30:00Z`)";

/// Reads a moment; for clap's `value_parser`. Dates and times without a zone are of this machine's
/// zone, time spans reach back from now.
pub fn parse(text: &str) -> Result<Timestamp, String> {
    at(text.trim(), clock::now(), &TimeZone::system()).ok_or_else(|| RULE.to_owned())
}

fn at(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    if let Some(millis) = span(text) {
        return Some(now.plus_millis(-millis));
    }
    let today = || {
        let now = jiff::Timestamp::from_nanosecond(i128::from(now.nanos())).ok()?;
        Some(now.to_zoned(zone.clone()).date())
    };
    match text {
        "now" => return Some(now),
        "today" => return midnight(today()?, zone),
        "yesterday" => return midnight(today()?.yesterday().ok()?, zone),
        _ => {}
    }
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return nanos(time);
    }
    // A date alone would also be read as a time, at midnight; a time needs its clock.
    if text.len() > 10 {
        let time: DateTime = text.parse().ok()?;
        return nanos(time.to_zoned(zone.clone()).ok()?.timestamp());
    }
    midnight(text.parse::<Date>().ok()?, zone)
}

fn midnight(date: Date, zone: &TimeZone) -> Option<Timestamp> {
    nanos(date.to_zoned(zone.clone()).ok()?.timestamp())
}

fn nanos(time: jiff::Timestamp) -> Option<Timestamp> {
    i64::try_from(time.as_nanosecond())
        .ok()
        .map(Timestamp::from_nanos)
}

/// A time span in milliseconds.
fn span(text: &str) -> Option<i64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let unit: i64 = match unit {
        "s" => 1_000,
        "m" | "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        "w" => 7 * 86_400_000,
        _ => return None,
    };
    number.parse::<i64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        let now = Timestamp::from_seconds(1_795_262_400);
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let found = at(text, now, &zone).map(|t| t.to_string());
        assert_eq!(found.as_deref(), expected, "{text}");
    }

    #[test]
    fn spans_dates_and_times_are_moments() {
        check("now", Some("2026-11-21T12:00:00Z"));
        check("7d", Some("2026-11-14T12:00:00Z"));
        check("30min", Some("2026-11-21T11:30:00Z"));
        check("today", Some("2026-11-20T22:00:00Z"));
        check("yesterday", Some("2026-11-19T22:00:00Z"));
        check("2026-11-20", Some("2026-11-19T22:00:00Z"));
        check("2026-11-20 14:30", Some("2026-11-20T12:30:00Z"));
        check("2026-11-20T14:30:00Z", Some("2026-11-20T14:30:00Z"));
        for wrong in [
            "",
            "7",
            "d",
            "7y",
            "99999999999999999999d",
            "tomorrowish",
            "2026-13-01",
        ] {
            check(wrong, None);
        }
    }
}
