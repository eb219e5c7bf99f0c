//! Time, ids and chance of the bench.

use std::cell::Cell;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use siglum_domain::{IdSource, Timestamp};
use uuid::{Builder, Uuid};

use crate::Fallible;

pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    Timestamp::from_nanos(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

/// The processor time of this process.
#[expect(clippy::cast_precision_loss, reason = "a time of some minutes")]
pub(crate) fn cpu_ms() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

/// The processor time that another process has taken.
pub(crate) fn cpu_ms_of(pid: u32) -> Fallible<f64> {
    stat_ms(&pid.to_string(), 11)
}

/// The processor time that another process has taken, with those that it started and waited for.
pub(crate) fn tree_cpu_ms_of(pid: u32) -> Fallible<f64> {
    Ok(stat_ms(&pid.to_string(), 11)? + stat_ms(&pid.to_string(), 13)?)
}

/// The processor time of the processes that this one started and waited for, and of those that they waited for.
pub(crate) fn children_cpu_ms() -> Fallible<f64> {
    stat_ms("self", 13)
}

/// The sum of two neighbouring times in `/proc/PID/stat`, which counts in steps of 10 ms.
fn stat_ms(pid: &str, first: usize) -> Fallible<f64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let rest = text.rsplit_once(") ").ok_or("no /proc/PID/stat")?.1;
    let ticks = rest.split(' ').skip(first).take(2);
    let ticks: f64 = ticks.filter_map(|t| t.parse::<f64>().ok()).sum();
    #[expect(clippy::cast_precision_loss, reason = "a hundred")]
    Ok(ticks * 1e3 / rustix::param::clock_ticks_per_second() as f64)
}

/// Numbers that look like chance and are the same in every run (splitmix64).
pub(crate) struct Chance(Cell<u64>);

impl Chance {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(Cell::new(seed))
    }

    pub(crate) fn next(&self) -> u64 {
        let state = self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0.set(state);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `limit`.
    pub(crate) fn below(&self, limit: usize) -> usize {
        usize::try_from(self.next() % limit.max(1) as u64).unwrap_or(0)
    }

    /// Hexadecimal digits.
    pub(crate) fn hex(&self, digits: usize) -> String {
        let mut text = String::with_capacity(digits + 16);
        while text.len() < digits {
            text.push_str(&format!("{:016x}", self.next()));
        }
        text.truncate(digits);
        text
    }

    pub(crate) fn shuffle<T>(&self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at + 1));
        }
    }
}

/// Ids as they would have been made at a time in the past.
pub(crate) struct Ids<'a> {
    pub(crate) chance: &'a Chance,
    pub(crate) at: Cell<Timestamp>,
}

impl IdSource for Ids<'_> {
    fn fresh(&self) -> Uuid {
        let mut random = [0; 10];
        random[..8].copy_from_slice(&self.chance.next().to_le_bytes());
        random[8..].copy_from_slice(&self.chance.next().to_le_bytes()[..2]);
        let millis = u64::try_from(self.at.get().nanos() / 1_000_000).unwrap_or(0);
        Builder::from_unix_timestamp_millis(millis, &random).into_uuid()
    }
}
