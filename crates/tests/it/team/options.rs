//! What was asked for.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use crate::harness::{Dice, number, seed};

/// How large the team is, how long it works, and what is demanded of it.
#[derive(Debug, Clone)]
pub(super) struct Options {
    pub(super) length: Duration,
    pub(super) laptops: usize,
    /// Pipelines that run at a time.
    pub(super) jobs: usize,
    /// Conversations that begin each minute.
    pub(super) conversations: usize,
    /// How many times longer than otherwise laptops and pipelines wait between their steps.
    pace: u64,
    seed: u64,
    /// The program that serves before the upgrade; without it, the gateways are restarted with the same one.
    pub(super) before: Option<PathBuf>,
    pub(super) bounds: Bounds,
}

/// Whether times and memory are compared with their bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bounds {
    /// They are only printed: a busy machine is slow.
    Printed,
    /// What exceeds them breaks a promise.
    Strict,
}

impl Options {
    /// Those of the environment; nothing where it does not say how long the team works.
    pub(super) fn read() -> Option<Self> {
        let seconds = number("SIGLUM_TEAM_SECONDS")?;
        let count = |variable: &str, default: u64| {
            usize::try_from(number(variable).unwrap_or(default)).unwrap()
        };
        let laptops = count("SIGLUM_TEAM_LAPTOPS", 12);
        let bounds = match std::env::var_os("SIGLUM_TEAM_STRICT") {
            Some(_) => Bounds::Strict,
            None => Bounds::Printed,
        };
        Some(Self {
            length: Duration::from_secs(seconds),
            laptops,
            jobs: count("SIGLUM_TEAM_JOBS", laptops.div_ceil(5) as u64),
            conversations: count("SIGLUM_TEAM_CONVERSATIONS", 5),
            pace: number("SIGLUM_TEAM_PACE").unwrap_or(1),
            seed: seed(),
            before: std::env::var_os("SIGLUM_TEAM_BEFORE").map(PathBuf::from),
            bounds,
        })
    }

    /// How long a laptop or a pipeline waits, in milliseconds.
    pub(super) const fn paced(&self, millis: Range<u64>) -> Range<u64> {
        millis.start * self.pace..millis.end * self.pace
    }

    /// The dice of one of the team: what others do does not change what they throw.
    pub(super) fn dice(&self, role: &str, number: usize) -> Dice {
        let mix = |mixed: u64, more: u64| (mixed ^ more).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = role.bytes().map(u64::from).fold(self.seed, mix);
        // Of 0, nothing comes.
        Dice(mix(mixed, number as u64) | 1)
    }
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "team: {} laptops, {} jobs, {} conversations a minute, pace {}, {} s, SIGLUM_SEED={}",
            self.laptops,
            self.jobs,
            self.conversations,
            self.pace,
            self.length.as_secs(),
            self.seed
        )
    }
}
