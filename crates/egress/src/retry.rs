//! How long to wait before the next try.

use std::time::Duration;

/// The pause after the first failure; it doubles with each.
const FIRST: Duration = Duration::from_millis(250);
/// The longest pause.
const LONGEST: Duration = Duration::from_secs(30);

/// Waits between tries, with a clock and a chance of its own.
pub trait Waits {
    /// Waits before the next try, `after` so many that failed, for at least `least`; `false` to give up.
    fn wait(&self, after: u32, least: Option<Duration>) -> bool;
}

/// Gives up after the first failure: whoever calls has a queue that tries again.
#[derive(Debug, Clone, Copy)]
pub struct Once;

impl Waits for Once {
    fn wait(&self, _: u32, _: Option<Duration>) -> bool {
        false
    }
}

/// How long to wait after so many failures: twice as long each time, and between half and the whole of that by
/// `chance`, so that many who failed together do not come back together.
#[must_use]
pub fn backoff(after: u32, chance: u8) -> Duration {
    let whole = FIRST
        .saturating_mul(1 << after.saturating_sub(1).min(16))
        .min(LONGEST);
    whole / 2 + whole * u32::from(chance) / 510
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_have_an_end() {
        assert_eq!(backoff(1, 0), FIRST / 2);
        assert_eq!(backoff(1, 255), FIRST);
        assert_eq!(backoff(2, 255), FIRST * 2);
        assert_eq!(backoff(u32::MAX, 255), LONGEST);
        assert!(
            (0..=255)
                .all(|chance| backoff(3, chance) >= FIRST * 2 && backoff(3, chance) <= FIRST * 4)
        );
    }
}
