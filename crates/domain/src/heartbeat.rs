//! What became of a tick: the words that are stored, listed and sent.
//!
//! A *heartbeat* is something that runs on a schedule, a *tick* is one time that it was due. Neither is the sign of
//! life that a session gives the gateway.

pub use crate::grammar::HeartbeatName;
use crate::words::words;

words!(
    /// What became of a tick.
    TickOutcome,
    "outcome",
    "expected one of running, owed, ran, acknowledged, delivered, undelivered, failed, interrupted, skipped",
    {
        /// Somebody runs it right now.
        Running = "running",
        /// It ran, and what it said waits to be delivered.
        Owed = "owed",
        /// It ran, and nothing was to be delivered.
        Ran = "ran",
        /// It ran, and said that there is nothing to say.
        Acknowledged = "acknowledged",
        /// It ran, and what it said was delivered.
        Delivered = "delivered",
        /// It ran, and what it said was refused wherever it was to go.
        Undelivered = "undelivered",
        /// It ran into an error.
        Failed = "failed",
        /// Whoever ran it died. Nothing runs it again.
        Interrupted = "interrupted",
        /// It was not run.
        Skipped = "skipped",
    }
);

impl TickOutcome {
    /// Tells whether nothing more comes of it.
    #[must_use]
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Running | Self::Owed)
    }

    /// Tells whether the agent did what it was asked: a sign of life.
    #[must_use]
    pub const fn is_alive(self) -> bool {
        matches!(
            self,
            Self::Owed | Self::Ran | Self::Acknowledged | Self::Delivered | Self::Undelivered
        )
    }
}

words!(
    /// Why a tick was not run.
    Skip,
    "reason",
    "expected one of busy, quiet-hours, nothing-to-do, still-running",
    {
        /// Something else runs on its route.
        Busy = "busy",
        /// It was due outside its active hours, or only found then.
        QuietHours = "quiet-hours",
        /// Its prompt has nothing in it.
        NothingToDo = "nothing-to-do",
        /// The tick before has not ended.
        StillRunning = "still-running",
    }
);

words!(
    /// Why there is a tick.
    TickCause,
    "cause",
    "expected one of schedule, asked",
    {
        /// It was due.
        Schedule = "schedule",
        /// Somebody asked for it.
        Asked = "asked",
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_they_are_written() {
        for outcome in TickOutcome::ALL {
            assert_eq!(outcome.to_string().parse(), Ok(*outcome));
        }
        for skip in Skip::ALL {
            assert_eq!(skip.to_string().parse(), Ok(*skip));
        }
        assert!("Ran".parse::<TickOutcome>().is_err());
        assert!("".parse::<Skip>().is_err());
    }

    #[test]
    fn names_fit_into_keys_and_tables() {
        for good in ["a", "0", "triage-queue", "a.b_c", &"n".repeat(64)] {
            assert!(HeartbeatName::new(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "-a",
            ".a",
            "A",
            "a b",
            "a:b",
            "a/b",
            "é",
            &"n".repeat(65),
        ] {
            assert!(HeartbeatName::new(bad).is_err(), "{bad:?}");
        }
    }
}
