//! When a heartbeat is due.

use proptest::prelude::*;
use siglum_domain::Timestamp;

use crate::driven::heartbeat::schedule::{Hours, Schedule, zone};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn cron(text: &str, name: &str) -> Schedule {
    Schedule::cron(text, zone(name).unwrap()).unwrap()
}

/// The times that a schedule is due from `from` on, of one day or so.
#[track_caller]
fn check(schedule: &Schedule, from: &str, expected: &[&str]) {
    let mut now = at(from);
    let due: Vec<_> = expected
        .iter()
        .map(|_| {
            now = schedule.next(at("2026-01-01T00:00:00Z"), now).unwrap();
            now.to_string()
        })
        .collect();
    assert_eq!(due, expected);
}

#[test]
fn an_interval_is_counted_from_its_anchor() {
    let every = Schedule::every("45m").unwrap();
    check(&every, "2025-12-31T00:00:00Z", &["2026-01-01T00:45:00Z"]);
    let next = ["2026-01-01T00:45:00Z", "2026-01-01T01:30:00Z"];
    check(&every, "2026-01-01T00:00:00Z", &next);
    check(&every, "2026-01-01T01:29:59.999999999Z", &next[1..]);
}

#[test]
fn a_time_that_the_clock_skips_is_due_once_it_has() {
    // On 2026-03-29 clocks in Berlin go from 02:00 to 03:00.
    let skipped = [
        "2026-03-28T01:30:00Z",
        "2026-03-29T01:00:00Z",
        "2026-03-30T00:30:00Z",
    ];
    check(
        &cron("30 2 * * *", "Europe/Berlin"),
        "2026-03-28T00:00:00Z",
        &skipped,
    );
    let many = [
        "2026-03-29T00:30:00Z",
        "2026-03-29T01:00:00Z",
        "2026-03-29T01:30:00Z",
        "2026-03-29T23:30:00Z",
    ];
    check(
        &cron("30 1,2,3 * * *", "Europe/Berlin"),
        "2026-03-29T00:00:00Z",
        &many,
    );
}

#[test]
fn a_time_that_comes_twice_is_due_the_first_time() {
    // On 2026-10-25 clocks in Berlin go from 03:00 to 02:00.
    let once = ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"];
    check(
        &cron("30 2 * * *", "Europe/Berlin"),
        "2026-10-24T22:00:00Z",
        &once,
    );
    check(
        &cron("30 2 * * *", "Europe/Berlin"),
        "2026-10-25T01:10:00Z",
        &once[1..],
    );
    let listed = [
        "2026-10-25T00:15:00Z",
        "2026-10-25T00:45:00Z",
        "2026-10-25T02:15:00Z",
        "2026-10-25T02:45:00Z",
    ];
    check(
        &cron("15,45 2,3 * * *", "Europe/Berlin"),
        "2026-10-24T23:00:00Z",
        &listed,
    );
}

#[test]
fn time_that_passes_goes_on_when_clocks_change() {
    let hours = [
        "2026-10-25T00:00:00Z",
        "2026-10-25T01:00:00Z",
        "2026-10-25T02:00:00Z",
    ];
    check(
        &cron("0 * * * *", "Europe/Berlin"),
        "2026-10-24T23:00:00Z",
        &hours,
    );
    let spring = [
        "2026-03-29T00:00:00Z",
        "2026-03-29T01:00:00Z",
        "2026-03-29T02:00:00Z",
    ];
    check(
        &cron("0 * * * *", "Europe/Berlin"),
        "2026-03-28T23:00:00Z",
        &spring,
    );
}

#[test]
fn active_hours_go_by_the_clock_on_the_wall() {
    let within = |hours: &str, zone_name: &str, every: &str| {
        let hours = Hours::parse(hours, zone(zone_name).unwrap()).unwrap();
        Schedule::every(every).unwrap().within(hours).unwrap()
    };
    // 18:00 in Berlin is 17:00 UTC in winter and 16:00 UTC in summer.
    let berlin = within("09:00-18:00", "Europe/Berlin", "30m");
    check(
        &berlin,
        "2026-03-27T16:00:00Z",
        &["2026-03-27T16:30:00Z", "2026-03-28T08:00:00Z"],
    );
    check(
        &berlin,
        "2026-03-29T15:00:00Z",
        &["2026-03-29T15:30:00Z", "2026-03-30T07:00:00Z"],
    );
    let night = within("22:00-06:00", "UTC", "3h");
    check(
        &night,
        "2026-01-05T00:00:00Z",
        &["2026-01-05T03:00:00Z", "2026-01-06T00:00:00Z"],
    );
    // Where no interval ends within them, they begin with it.
    let daily = within("09:00-10:00", "UTC", "1d");
    check(
        &daily,
        "2026-01-05T00:00:00Z",
        &["2026-01-05T09:00:00Z", "2026-01-06T09:00:00Z"],
    );
    let weekly = within("09:00-10:00", "UTC", "7d");
    check(
        &weekly,
        "2026-01-05T00:00:00Z",
        &["2026-01-08T09:00:00Z", "2026-01-15T09:00:00Z"],
    );
    // They open at a time that the clock skips.
    let gap = within("02:30-04:00", "Europe/Berlin", "1m");
    check(
        &gap,
        "2026-03-28T12:00:00Z",
        &["2026-03-29T01:00:00Z", "2026-03-29T01:01:00Z"],
    );
}

#[test]
fn a_schedule_that_no_one_could_follow_is_refused() {
    let utc = zone("UTC").unwrap();
    for bad in [
        "",
        "* * * *",
        "61 * * * *",
        "0 9 * * 8",
        "0 9 31 2 *",
        "0 9 * * *\n",
        "@often",
    ] {
        let known = Schedule::cron(bad, utc.clone()).and_then(Schedule::within_any);
        assert!(known.is_err(), "{bad:?}");
    }
    for bad in ["", "Mars/Olympus", "../../etc/passwd", "/etc/passwd"] {
        assert!(zone(bad).is_err(), "{bad}");
    }
}

fn schedules() -> impl Strategy<Value = (Schedule, Option<Hours>)> {
    let zones = prop::sample::select(vec![
        "UTC",
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",
        "Asia/Kathmandu",
    ]);
    let whens = prop::sample::select(vec![
        "every 7s",
        "every 30m",
        "every 5h",
        "every 1d",
        "*/15 * * * *",
        "30 2 * * *",
        "5,35 1-3 * * 0",
        "0 0 1 * *",
    ]);
    let hours = prop::option::of(((0..24), (0..24)).prop_filter("not empty", |(a, b)| a != b));
    (zones, whens, hours).prop_filter_map("never due", |(name, when, hours)| {
        let zone = zone(name).unwrap();
        let schedule = match when.strip_prefix("every ") {
            Some(every) => Schedule::every(every).unwrap(),
            None => Schedule::cron(when, zone.clone()).unwrap(),
        };
        let hours =
            hours.map(|(a, b)| Hours::parse(&format!("{a:02}:00-{b:02}:00"), zone).unwrap());
        let schedule = match &hours {
            Some(hours) => schedule.within(hours.clone()).ok()?,
            None => schedule,
        };
        Some((schedule, hours))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_is_due_next_lies_ahead_never_goes_back_and_is_never_quiet(
        (schedule, _hours) in schedules(), after in 1_700_000_000_i64..1_900_000_000, more in 0_i64..200_000,
    ) {
        let anchor = at("2024-02-29T12:34:56Z");
        let (first, later) = (Timestamp::from_seconds(after), Timestamp::from_seconds(after + more));
        let due = schedule.next(anchor, first).unwrap();
        prop_assert!(due > first);
        prop_assert!(schedule.is_active(due));
        prop_assert!(schedule.next(anchor, later).unwrap() >= due);
        prop_assert_eq!(schedule.next(anchor, first), Some(due), "it is a function of its inputs");
        // Nothing was passed over.
        let before = Timestamp::from_nanos(due.nanos() - 1);
        prop_assert_eq!(schedule.next(anchor, before.max(first)), Some(due));
    }
}
