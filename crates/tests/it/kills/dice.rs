//! Chance that can be repeated.

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
    pub(super) fn once_in(&mut self, times: u64) -> bool {
        self.roll(times) == 0
    }
}
