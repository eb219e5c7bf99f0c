//! Numbers that a seed decides, the same on every machine.

/// A generator after Steele, Lea and Flood (`SplitMix64`): small, and good enough to choose a story.
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    /// The dice of one case: neither the cases before it nor their order change what it throws.
    pub(crate) fn new(seed: u64, construction: &str, number: u64) -> Self {
        let mut dice = Self(seed ^ 0x5167_1f3a_9d2b_c041);
        for byte in construction.bytes() {
            dice.0 = dice.0.wrapping_mul(31).wrapping_add(u64::from(byte));
        }
        dice.0 ^= number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        dice.throw();
        dice
    }

    fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a bound.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap();
        usize::try_from(self.throw() % bound).unwrap()
    }

    /// True once in so many throws.
    pub(crate) fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    /// One of several.
    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_the_same_alone_and_among_others() {
        let throws = |seed, name, number| {
            let mut dice = Dice::new(seed, name, number);
            (0..8).map(|_| dice.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(throws(1, "orphans", 7), throws(1, "orphans", 7));
        assert_ne!(throws(1, "orphans", 7), throws(2, "orphans", 7));
        assert_ne!(throws(1, "orphans", 7), throws(1, "printers", 7));
        assert_ne!(throws(1, "orphans", 7), throws(1, "orphans", 8));
    }
}
