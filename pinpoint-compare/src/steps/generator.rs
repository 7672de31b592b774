//! Random numbers from a seed.

/// SplitMix64 (Steele, Lea, Flood 2014): one word of state, the same numbers on every platform.
#[derive(Debug, Clone)]
pub(super) struct Generator(u64);

impl Generator {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    /// A whole number below `end`, which must not be 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        // The bias is below end / 2^64.
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }
}

/// The bits of a number, mixed.
pub(super) fn mixed(number: u64) -> u64 {
    let mut z = number;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
