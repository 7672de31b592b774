//! Numbers from a seed: the order of runs, bots and retries, and simulations.

/// SplitMix64: a 64-bit state, one addition and two multiplications a number.
///
/// Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014. Written
/// out here because a search must give the same order on every platform and with every version of
/// every dependency. An executor uses it for choices that must be the same when a job is resumed.
/// Don't use it for secrets.
///
/// ```
/// # use pinpoint_core::SplitMix64;
/// let mut bots = ["a", "b", "c", "d"];
/// SplitMix64::new(1).shuffle(&mut bots);
/// let mut again = ["a", "b", "c", "d"];
/// SplitMix64::new(1).shuffle(&mut again);
/// assert_eq!(bots, again);
/// ```
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The generator of a seed. Neighboring seeds give unrelated sequences.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number, any of 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Above 0 and at most 1, so that it has a logarithm.
    #[cfg(feature = "simulation")]
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Returns true with this probability.
    #[cfg(feature = "simulation")]
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.uniform() <= probability
    }

    /// A standard normal number: half of the transform of Box and Muller.
    #[cfg(feature = "simulation")]
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(self.uniform())).sqrt();
        radius * libm::cos(std::f64::consts::TAU * self.uniform())
    }

    /// A number below `bound`; 0 if that is 0. The bias of the multiplication is at most
    /// `bound` in 2^64.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Puts items into a random order, each as likely: the shuffle of Fisher and Yates.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_the_published_sequence() {
        // The first outputs for seed 1234567, as in the reference code's tests.
        let mut random = SplitMix64::new(1_234_567);
        let numbers: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        assert_eq!(
            numbers,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn every_order_is_about_as_likely() {
        let mut random = SplitMix64::new(7);
        let mut seen = std::collections::BTreeMap::new();
        for _ in 0..6_000 {
            let mut items = [0, 1, 2];
            random.shuffle(&mut items);
            *seen.entry(items).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(
            seen.values().all(|count| (850..1150).contains(count)),
            "{seen:?}"
        );
    }
}
