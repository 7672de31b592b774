//! Runs spread over bots.

use crate::random::SplitMix64;

/// Bots in a shuffled order, repeated: any sequence of counts falls on each of them equally often,
/// except for a remainder of one.
#[derive(Debug, Clone)]
pub(crate) struct Rotation(Vec<String>);

impl Rotation {
    /// A job's bots. The seed decides which is first.
    pub(crate) fn new(bots: &[String], seed: u64) -> Self {
        let mut bots = bots.to_vec();
        // A separate generator: the order of runs is the same with and without bots.
        SplitMix64::new(!seed).shuffle(&mut bots);
        Self(bots)
    }

    /// The bot of number n; any bot when none is named.
    pub(crate) fn at(&self, index: u32) -> Option<String> {
        let place = (index as usize).checked_rem(self.0.len())?;
        self.0.get(place).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_used_equally_often_in_any_stretch() {
        let bots: Vec<String> = ["a", "b", "c"].map(str::to_owned).to_vec();
        for seed in 0..20 {
            let rotation = Rotation::new(&bots, seed);
            for start in 0..7 {
                let mut used: Vec<_> = (start..start + 3).map(|at| rotation.at(at)).collect();
                used.sort();
                assert_eq!(used, bots.iter().cloned().map(Some).collect::<Vec<_>>());
            }
        }
        assert_eq!(Rotation::new(&[], 1).at(3), None);
    }
}
