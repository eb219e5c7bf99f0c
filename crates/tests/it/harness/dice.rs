//! Chance that can be repeated: `SIGLUM_SEED` holds the seed of a run before.

/// A small generator of numbers that look random (xorshift64*).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % sides
    }

    /// An index into something that has so many.
    pub(crate) fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.roll(len as u64)).unwrap()
    }

    /// True once in so many.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.roll(times) == 0
    }
}

/// The number that a variable of the environment holds, if it is set.
pub(crate) fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|e| panic!("{variable}={text}: {e}")),
    )
}

/// The seed that `SIGLUM_SEED` holds, else one of this moment; never 0, of which nothing comes.
pub(crate) fn seed() -> u64 {
    number("SIGLUM_SEED").unwrap_or_else(|| {
        let now = std::time::UNIX_EPOCH.elapsed().unwrap();
        u64::try_from(now.as_micros()).unwrap() | 1
    })
}
