//! When a heartbeat is due: pure functions of time.
//!
//! The wall clock of a zone skips hours and repeats them. A time that is skipped is due when the clock has skipped
//! it, a time that comes twice is due the first time; what is due every so often, or in every hour, goes by the
//! time that passes.

use std::fmt;
use std::time::Duration;

use croner::{Cron, Direction};
use jiff::civil;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use siglum_domain::heartbeat::HeartbeatName;
use siglum_domain::{Timestamp, TurnKey};

use super::form::FormError;

/// The shortest interval, and the longest.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_hours(24 * 366);
/// How many times outside its active hours are passed over in the search for one within.
const PASSED_MOST: usize = 4_000;

/// A schedule, and the hours in which it is followed.
#[derive(Debug, Clone)]
pub struct Schedule {
    when: When,
    active: Option<Hours>,
}

#[derive(Debug, Clone)]
enum When {
    Every(Duration),
    Cron(Box<Calendar>),
}

/// A cron expression in a zone.
#[derive(Debug, Clone)]
struct Calendar {
    cron: Cron,
    zone: TimeZone,
    hours: HourField,
}

/// What the expression says of the hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HourField {
    /// It names them: times on a clock.
    Named,
    /// Each of them: time that passes.
    Each,
}

/// Hours of the day in a zone. Where the end lies before the start they go on past midnight.
#[derive(Debug, Clone)]
pub struct Hours {
    start: civil::Time,
    /// None: midnight.
    end: Option<civil::Time>,
    zone: TimeZone,
}

impl Schedule {
    /// Takes an interval such as `30m`.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn every(text: &str) -> Result<Self, FormError> {
        let interval = interval(text).filter(|i| (SHORTEST..=LONGEST).contains(i));
        let interval = interval.ok_or_else(|| {
            FormError::new("every", "from 1s to 366d, in whole numbers of s, m, h or d")
        })?;
        Ok(Self {
            when: When::Every(interval),
            active: None,
        })
    }

    /// Takes a cron expression in a zone.
    ///
    /// # Errors
    /// The rule that one of them breaks.
    pub fn cron(text: &str, zone: TimeZone) -> Result<Self, FormError> {
        let refused = || {
            FormError::new(
                "cron",
                "a cron expression of five fields, or of six with seconds",
            )
        };
        if text.len() > 200 || text.contains(['\n', '\r']) {
            return Err(refused());
        }
        let cron: Cron = text.parse().map_err(|_| refused())?;
        let hours = hour_field(text);
        Ok(Self {
            when: When::Cron(Box::new(Calendar { cron, zone, hours })),
            active: None,
        })
    }

    /// Follows it in these hours alone.
    ///
    /// # Errors
    /// [`FormError`] where it would never be due.
    pub fn within(mut self, hours: Hours) -> Result<Self, FormError> {
        self.active = Some(hours);
        self.within_any()
    }

    /// Follows it at any hour.
    ///
    /// # Errors
    /// [`FormError`] where it would never be due.
    pub fn within_any(self) -> Result<Self, FormError> {
        // Any time will do: a schedule that meets its hours at all does so within a few years.
        match self.next(
            Timestamp::from_seconds(0),
            Timestamp::from_seconds(1_767_225_600),
        ) {
            Some(_) => Ok(self),
            None if self.active.is_none() => Err(FormError::new("cron", "a time that occurs")),
            None => Err(FormError::new(
                "active",
                "hours in which the schedule is due",
            )),
        }
    }

    /// When it is due next behind `after`. An interval is counted from `anchor`. Never outside its active hours: where
    /// an interval is over in a pause and none is in the hours behind it, it is due when they begin. Nothing where it
    /// is never due again.
    #[must_use]
    pub fn next(&self, anchor: Timestamp, after: Timestamp) -> Option<Timestamp> {
        let Some(hours) = &self.active else {
            return self.when.next(anchor, after);
        };
        let mut from = after;
        for _ in 0..PASSED_MOST {
            if hours.hold(from) {
                let due = self.when.next(anchor, from)?;
                if hours.hold(due) {
                    return Some(due);
                }
                from = due;
            }
            let opening = hours.opening(from)?;
            if let Some(due) = self.first_from(hours, anchor, opening) {
                return Some(due);
            }
            from = opening;
        }
        None
    }

    /// When it is due first in the hours that begin at `opening`, if it is.
    fn first_from(
        &self,
        hours: &Hours,
        anchor: Timestamp,
        opening: Timestamp,
    ) -> Option<Timestamp> {
        let quiet = Timestamp::from_nanos(opening.nanos().saturating_sub(1));
        let first = self.when.next(anchor, quiet)?;
        if hours.hold(first) && hours.opening(opening)? > first {
            return Some(first);
        }
        let When::Every(interval) = self.when else {
            return None;
        };
        let step = i64::try_from(interval.as_nanos()).ok()?;
        let before = Timestamp::from_nanos(first.nanos().checked_sub(step)?);
        let paused = before > anchor && !hours.hold(before) && hours.opening(before)? == opening;
        paused.then_some(opening)
    }

    /// Tells whether it may be run at this moment.
    #[must_use]
    pub fn is_active(&self, at: Timestamp) -> bool {
        self.active.as_ref().is_none_or(|hours| hours.hold(at))
    }
}

impl When {
    fn next(&self, anchor: Timestamp, after: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Every(interval) => {
                let step = i64::try_from(interval.as_nanos()).ok()?;
                let passed = after.nanos().checked_sub(anchor.nanos())?;
                let count = passed.div_euclid(step).checked_add(1)?.max(1);
                let due = anchor.nanos().checked_add(count.checked_mul(step)?)?;
                Some(Timestamp::from_nanos(due))
            }
            Self::Cron(calendar) => calendar.next(after),
        }
    }
}

impl Calendar {
    fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let begun = zoned(after, &self.zone)?;
        if self.hours == HourField::Each {
            let due = self.cron.find_next_occurrence(&begun, false).ok()?;
            return taken(due.timestamp()).filter(|due| *due > after);
        }
        // In an hour that comes twice the clock goes back: what it shows there was due the first time.
        let times = self.cron.iter_from(begun.datetime(), Direction::Forward);
        times
            .take(PASSED_MOST)
            .filter_map(|time| shown(&self.zone, time))
            .find(|due| *due > after)
    }
}

impl Hours {
    /// Takes hours such as `09:00-18:00`, or `22:00-06:00`, or to `24:00`.
    ///
    /// # Errors
    /// The rule that they break.
    pub fn parse(text: &str, zone: TimeZone) -> Result<Self, FormError> {
        let rule = || {
            FormError::new(
                "active",
                "hours such as 09:00-18:00, with different start and end times",
            )
        };
        let (start, end) = text.split_once('-').ok_or_else(rule)?;
        let start = time_of_day(start).ok_or_else(rule)?;
        let end = match end {
            "24:00" => None,
            end => Some(time_of_day(end).ok_or_else(rule)?),
        };
        let is_empty = end == Some(start);
        if is_empty || (end.is_none() && start == civil::Time::midnight()) {
            return Err(rule());
        }
        Ok(Self { start, end, zone })
    }

    fn hold(&self, at: Timestamp) -> bool {
        let Some(time) = zoned(at, &self.zone).map(|z| z.time()) else {
            return false;
        };
        match self.end {
            None => time >= self.start,
            Some(end) if self.start < end => time >= self.start && time < end,
            Some(end) => time >= self.start || time < end,
        }
    }

    /// When they begin next behind a moment that is outside of them.
    fn opening(&self, at: Timestamp) -> Option<Timestamp> {
        let mut day = zoned(at, &self.zone)?.date();
        for _ in 0..4 {
            let opens = shown(&self.zone, day.to_datetime(self.start))?;
            if opens > at {
                return Some(opens);
            }
            day = day.tomorrow().ok()?;
        }
        None
    }
}

impl fmt::Display for Hours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (h, m) = self.end.map_or((24, 0), |end| (end.hour(), end.minute()));
        let start = self.start;
        write!(f, "{:02}:{:02}-{h:02}:{m:02}", start.hour(), start.minute())
    }
}

/// Finds a zone by its name.
///
/// # Errors
/// [`FormError`] where this machine knows none of that name.
pub(super) fn zone(name: &str) -> Result<TimeZone, FormError> {
    let rule = "a time zone that this machine knows, such as Europe/Berlin or UTC";
    let named = !name.is_empty() && name.len() <= 64;
    let found = named.then(|| TimeZone::get(name).ok()).flatten();
    found.ok_or_else(|| FormError::new("zone", rule))
}

/// An interval such as `90s`, `30m`, `1h30m` or `1d`.
#[must_use]
pub(super) fn interval(text: &str) -> Option<Duration> {
    let mut whole = Duration::ZERO;
    let mut rest = text;
    if text.is_empty() || text.len() > 20 {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let count: u32 = rest.get(..digits)?.parse().ok()?;
        let unit = match rest.as_bytes().get(digits)? {
            b's' => 1,
            b'm' => 60,
            b'h' => 3_600,
            b'd' => 86_400,
            _ => return None,
        };
        whole = whole.checked_add(Duration::from_secs(unit).checked_mul(count)?)?;
        rest = &rest[digits + 1..];
    }
    Some(whole)
}

fn time_of_day(text: &str) -> Option<civil::Time> {
    let (hour, minute) = text.split_once(':')?;
    let number = |text: &str| {
        let plain = text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| text.parse::<i8>().ok()).flatten()
    };
    civil::Time::new(number(hour)?, number(minute)?, 0, 0).ok()
}

fn hour_field(text: &str) -> HourField {
    let fields: Vec<_> = text.split_whitespace().collect();
    let hours = match fields.as_slice() {
        [nickname] if nickname.eq_ignore_ascii_case("@hourly") => "*",
        [_, hours, _, _, _] | [_, _, hours, _, _, _, ..] => hours,
        _ => "",
    };
    match hours.contains(['*', '?']) {
        true => HourField::Each,
        false => HourField::Named,
    }
}

fn zoned(at: Timestamp, zone: &TimeZone) -> Option<jiff::Zoned> {
    let at = jiff::Timestamp::from_nanosecond(i128::from(at.nanos())).ok()?;
    Some(at.to_zoned(zone.clone()))
}

/// When a clock in this zone shows a time: the first time it does, or the moment at which it skips it.
fn shown(zone: &TimeZone, time: civil::DateTime) -> Option<Timestamp> {
    let at = |offset: Offset| offset.to_timestamp(time).ok();
    match zone.to_ambiguous_timestamp(time).offset() {
        AmbiguousOffset::Unambiguous { offset } => taken(at(offset)?),
        AmbiguousOffset::Fold { before, .. } => taken(at(before)?),
        AmbiguousOffset::Gap { after, .. } => {
            let skipped = zone.following(at(after)?).next()?;
            taken(skipped.timestamp())
        }
    }
}

fn taken(at: jiff::Timestamp) -> Option<Timestamp> {
    let nanos = i64::try_from(at.as_nanosecond()).ok()?;
    Some(Timestamp::from_nanos(nanos))
}

/// The name of a tick: the same for all who ask, so that a receiver can tell doubles.
#[must_use]
pub fn tick_name(heartbeat: &HeartbeatName, due: Timestamp) -> String {
    format!("{heartbeat}@{due}")
}

/// What the turn of a tick is called.
///
/// # Panics
/// Never: the name of a heartbeat and a time keep to the grammar.
#[must_use]
pub fn tick_turn(heartbeat: &HeartbeatName, due: Timestamp) -> TurnKey {
    let key = TurnKey::new(format!("tick:{}", tick_name(heartbeat, due)));
    key.expect("because the name of a heartbeat and a time keep to the grammar")
}
