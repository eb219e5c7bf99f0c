//! Times as people type them: a moment, a day, or how long ago.

use std::time::Duration;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use siglum_domain::Timestamp;

use crate::clock;

/// The period that a list is of.
#[derive(clap::Args, Debug, Clone, Copy, Default)]
pub struct Period {
    /// Only from this time on: `2h`, `3d`, `1w`, `yesterday`, `2026-01-31`, or RFC 3339
    #[arg(long, value_name = "TIME", value_parser = since)]
    pub since: Option<Timestamp>,
    /// Only before this time; a date includes the whole day
    #[arg(long, value_name = "TIME", value_parser = until)]
    pub until: Option<Timestamp>,
}

/// How long most days are, in milliseconds.
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// What a text names: a moment, or a day with its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Named {
    first: Timestamp,
    past: Timestamp,
}

/// Reads the start of what a text names; for clap.
pub fn since(text: &str) -> Result<Timestamp, String> {
    parse(text, clock::now(), &TimeZone::system()).map(|named| named.first)
}

/// Reads the end of what a text names; for clap.
pub fn until(text: &str) -> Result<Timestamp, String> {
    parse(text, clock::now(), &TimeZone::system()).map(|named| named.past)
}

fn parse(text: &str, now: Timestamp, zone: &TimeZone) -> Result<Named, String> {
    let at = |moment: Timestamp| Named {
        first: moment,
        past: moment,
    };
    if let Ok(moment) = text.parse::<Timestamp>() {
        return Ok(at(moment));
    }
    if let Some(millis) = span(text) {
        return Ok(at(now.plus_millis(-millis)));
    }
    if let Some(named) = day(text, now, zone) {
        return Ok(named);
    }
    if let Some(moment) = text
        .parse::<DateTime>()
        .ok()
        .and_then(|time| local(time, zone))
    {
        return Ok(at(moment));
    }
    Err("expected a duration such as `2h`, `3d` or `1w`, a date such as `2026-01-31`, `today`, `yesterday`, or an RFC 3339 time".to_owned())
}

/// Reads how long something lasts: `90s`, `2h`, `30d`; for clap.
pub fn duration(text: &str) -> Result<Duration, String> {
    let millis = span(text).and_then(|millis| u64::try_from(millis).ok());
    millis
        .map(Duration::from_millis)
        .ok_or_else(|| "expected a duration such as `90s`, `2h` or `30d`".to_owned())
}

/// `90s`, `30m`, `2h`, `3d`, `1w`, `1y` (365 days), or several of them: how long ago, in milliseconds.
fn span(text: &str) -> Option<i64> {
    let mut rest = text;
    let mut millis: i64 = 0;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: i64 = rest[..digits].parse().ok()?;
        let seconds = match rest.as_bytes()[digits] {
            b's' => 1,
            b'm' => 60,
            b'h' => 3_600,
            b'd' => 86_400,
            b'w' => 604_800,
            b'y' => 31_536_000,
            _ => return None,
        };
        millis = millis.checked_add(number.checked_mul(seconds * 1_000)?)?;
        rest = &rest[digits + 1..];
    }
    (!text.is_empty()).then_some(millis)
}

/// A day in the zone of this machine, from its start to the start of the next.
fn day(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Named> {
    let today = || {
        let now = jiff::Timestamp::from_nanosecond(i128::from(now.nanos())).ok()?;
        Some(now.to_zoned(zone.clone()).date())
    };
    let date = match text {
        "today" => today()?,
        "yesterday" => today()?.yesterday().ok()?,
        // A date alone has ten characters; a longer text names a moment.
        _ if text.len() == 10 => text.parse::<Date>().ok()?,
        _ => return None,
    };
    let start = |date: Date| local(date.at(0, 0, 0, 0), zone);
    Some(Named {
        first: start(date)?,
        past: start(date.tomorrow().ok()?)?,
    })
}

/// When the day so many days before today began, in the zone of this machine.
pub fn days_ago(days: u16) -> Timestamp {
    start_of_day(days, clock::now(), &TimeZone::system())
}

fn start_of_day(days_ago: u16, now: Timestamp, zone: &TimeZone) -> Timestamp {
    let today = day("today", now, zone).map_or(now, |today| today.first);
    // Days are not all of 24 hours: from the middle of one, the day is never missed.
    let noon = today.plus_millis(DAY_MS / 2 - i64::from(days_ago) * DAY_MS);
    day("today", noon, zone).map_or(noon, |then| then.first)
}

fn local(time: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    let nanos = time
        .to_zoned(zone.clone())
        .ok()?
        .timestamp()
        .as_nanosecond();
    i64::try_from(nanos).ok().map(Timestamp::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_767_225_600 + 3_600);

    fn check(text: &str, first: &str, past: &str) {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let named = parse(text, NOW, &zone).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(
            (named.first.to_string(), named.past.to_string()),
            (first.to_owned(), past.to_owned()),
            "{text}"
        );
    }

    #[test]
    fn spans_count_back_from_now() {
        let two = "2025-12-31T23:00:00Z";
        check("2h", two, two);
        check("1h3600s", two, two);
        check("1w", "2025-12-25T01:00:00Z", "2025-12-25T01:00:00Z");
        check("1y", "2025-01-01T01:00:00Z", "2025-01-01T01:00:00Z");
        check("0s", "2026-01-01T01:00:00Z", "2026-01-01T01:00:00Z");
    }

    #[test]
    fn a_day_is_one_of_this_zone_and_counts_whole() {
        check("2025-12-31", "2025-12-30T22:00:00Z", "2025-12-31T22:00:00Z");
        check("today", "2025-12-31T22:00:00Z", "2026-01-01T22:00:00Z");
        check("yesterday", "2025-12-30T22:00:00Z", "2025-12-31T22:00:00Z");
    }

    #[test]
    fn days_are_counted_back_where_not_all_have_24_hours() {
        let winter = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let now: Timestamp = "2026-11-01T23:30:00Z".parse().unwrap();
        for (days, expected) in [
            (0, "2026-11-01T23:00:00Z"),
            (1, "2026-10-31T23:00:00Z"),
            (8, "2026-10-24T22:00:00Z"),
            (30, "2026-10-02T22:00:00Z"),
        ] {
            assert_eq!(start_of_day(days, now, &winter).to_string(), expected);
        }
    }

    #[test]
    fn moments_have_a_zone_or_the_one_of_this_machine() {
        let noon = "2025-12-31T12:00:00Z";
        check("2025-12-31T12:00:00Z", noon, noon);
        check("2025-12-31T14:00:00", noon, noon);
        check("2025-12-31 14:00", noon, noon);
    }

    #[test]
    fn nonsense_is_refused_with_what_is_expected() {
        let huge = "9".repeat(30) + "d";
        for text in ["", "h", "2", "2x", "2h ago", "2026-13-01", "-1d", &huge] {
            let refused = parse(text, NOW, &TimeZone::UTC);
            assert!(refused.is_err_and(|e| e.contains("`2h`")), "{text}");
        }
    }
}
