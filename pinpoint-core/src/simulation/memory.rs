//! Disturbances that last: a run that is slow by bad luck has slow neighbors.

use std::sync::Arc;

use crate::random::SplitMix64;

/// Noise that depends on that of the runs before, in the order in which they are made.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub enum Memory {
    /// Each run scatters on its own.
    #[default]
    None,
    /// Normal noise takes the place of the scenario's, with this correlation of each
    /// run's with that of the next: an autoregressive process of order one.
    Autocorrelated(f64),
    /// The machine changes now and then between two speeds. In the second one, values
    /// are multiplied by a factor. The scenario's noise comes on top.
    Spells {
        /// The factor in the second speed: 1.4 is slower by four tenths.
        factor: f64,
        /// The probability of a run to start a spell of the second speed.
        start: f64,
        /// The probability of a run to end it.
        end: f64,
    },
    /// The same by the clock: every run and build that falls into a spell is a part of it, however
    /// long it takes. The lengths are exponentially distributed.
    Clock {
        /// The factor in the second speed.
        factor: f64,
        /// The mean milliseconds at the first and at the second speed.
        lengths: [f64; 2],
    },
    /// Values that were measured one after the other take the place of the scenario's
    /// noise: they are replayed in their order, from a place drawn for each search, as
    /// multiples of their median. Without values there is no noise.
    Recorded(Arc<[f64]>),
}

/// In milliseconds, so that the spells of a search are countable whatever lengths are given.
const SHORTEST_SPELL: f64 = 1.0;

/// The place of a search in its disturbance.
#[derive(Debug, Clone)]
pub(super) struct Disturbance {
    /// Normal, or 1 during a spell.
    state: f64,
    /// The milliseconds at which the speed changes next.
    until: f64,
    place: usize,
    median: f64,
}

impl Memory {
    pub(super) fn start(&self, random: &mut SplitMix64) -> Disturbance {
        let mut disturbance = Disturbance {
            state: 0.0,
            until: 0.0,
            place: 0,
            median: 1.0,
        };
        match self {
            Self::None => {}
            Self::Autocorrelated(_) => disturbance.state = random.normal(),
            Self::Spells { start, end, .. } => {
                disturbance.state = f64::from(random.chance(start / (start + end)));
            }
            Self::Clock { lengths, .. } => {
                let is_second = random.chance(lengths[1] / (lengths[0] + lengths[1]));
                disturbance.state = f64::from(is_second);
                disturbance.until = exponential(lengths[usize::from(is_second)], random);
            }
            Self::Recorded(values) => {
                disturbance.place = random.below(values.len().max(1) as u64) as usize;
                disturbance.median = pinpoint_compare::median(values).unwrap_or(1.0);
            }
        }
        disturbance
    }
}

impl Disturbance {
    /// The factor of the run that starts at this many milliseconds, and its deviation in standard
    /// deviations of normal noise if that takes the place of the scenario's noise.
    pub(super) fn next(
        &mut self,
        memory: &Memory,
        started: u64,
        random: &mut SplitMix64,
    ) -> (f64, Option<f64>) {
        match memory {
            Memory::None => (1.0, None),
            Memory::Autocorrelated(correlation) => {
                let now = self.state;
                let fresh = (1.0 - correlation * correlation).max(0.0).sqrt();
                self.state = correlation * now + fresh * random.normal();
                (1.0, Some(now))
            }
            Memory::Spells { factor, start, end } => {
                let now = self.state > 0.0;
                self.state = f64::from(random.chance(if now { 1.0 - end } else { *start }));
                (if now { *factor } else { 1.0 }, None)
            }
            Memory::Clock { factor, lengths } => {
                while self.until <= started as f64 {
                    self.state = 1.0 - self.state;
                    let length = lengths[usize::from(self.state > 0.0)];
                    self.until += exponential(length, random).max(SHORTEST_SPELL);
                }
                (if self.state > 0.0 { *factor } else { 1.0 }, None)
            }
            Memory::Recorded(values) => {
                let value = values
                    .get(self.place)
                    .map_or(1.0, |value| value / self.median);
                self.place = (self.place + 1) % values.len().max(1);
                (value, Some(0.0))
            }
        }
    }
}

/// A number from the exponential distribution with this mean.
fn exponential(mean: f64, random: &mut SplitMix64) -> f64 {
    -mean * libm::log1p(-random.uniform().min(1.0 - f64::EPSILON))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(memory: &Memory, count: usize) -> Vec<(f64, Option<f64>)> {
        let mut random = SplitMix64::new(3);
        let mut disturbance = memory.start(&mut random);
        (0..count)
            .map(|_| disturbance.next(memory, 0, &mut random))
            .collect()
    }

    #[test]
    fn neighbors_are_correlated_as_asked() {
        let found = draw(&Memory::Autocorrelated(0.7), 20_000);
        let noise: Vec<f64> = found.into_iter().filter_map(|(_, noise)| noise).collect();
        let mean = |products: &mut dyn Iterator<Item = f64>| products.sum::<f64>() / 20_000.0;
        let square = mean(&mut noise.iter().map(|x| x * x));
        let next = mean(&mut noise.windows(2).map(|pair| pair[0] * pair[1]));
        assert!((square - 1.0).abs() < 0.05, "{square}");
        assert!((next - 0.7).abs() < 0.05, "{next}");
    }

    #[test]
    fn spells_have_their_length_and_their_share() {
        let spells = Memory::Spells {
            factor: 1.5,
            start: 0.1,
            end: 0.3,
        };
        let found = draw(&spells, 20_000);
        assert!(found.iter().all(|(_, noise)| noise.is_none()));
        let slow = found.iter().filter(|(factor, _)| *factor == 1.5).count();
        let ends = (found.windows(2))
            .filter(|pair| pair[0].0 == 1.5 && pair[1].0 == 1.0)
            .count();
        assert!((slow as f64 / 20_000.0 - 0.25).abs() < 0.02, "{slow}");
        assert!(
            (slow as f64 / ends as f64 - 1.0 / 0.3).abs() < 0.2,
            "{ends}"
        );
    }

    #[test]
    fn spells_by_the_clock_have_their_length_whatever_runs_take() {
        let memory = Memory::Clock {
            factor: 2.0,
            lengths: [6_000.0, 2_000.0],
        };
        for run_time in [10, 500] {
            let mut random = SplitMix64::new(3);
            let mut disturbance = memory.start(&mut random);
            let runs = 40_000_000 / run_time;
            let factors: Vec<f64> = (0..runs)
                .map(|run| disturbance.next(&memory, run * run_time, &mut random).0)
                .collect();
            let slow = factors.iter().filter(|factor| **factor == 2.0).count() as f64;
            assert!((slow / runs as f64 - 0.25).abs() < 0.02, "{slow}");
            let ends = (factors.windows(2))
                .filter(|pair| pair[0] > pair[1])
                .count() as f64;
            // A spell that is shorter than a run may be missed.
            let length = slow * run_time as f64 / ends;
            assert!((1_900.0..2_700.0).contains(&length), "{length}");
        }
    }

    #[test]
    fn recorded_values_are_replayed_in_their_order() {
        let recorded = [2.0, 4.0, 8.0];
        let found = draw(&Memory::Recorded(recorded.into()), 7);
        let first = recorded.iter().position(|value| value / 4.0 == found[0].0);
        for (index, (factor, noise)) in found.iter().enumerate() {
            assert_eq!(*factor, recorded[(first.unwrap() + index) % 3] / 4.0);
            assert_eq!(*noise, Some(0.0));
        }
        assert_eq!(draw(&Memory::Recorded([].into()), 2), [(1.0, Some(0.0)); 2]);
    }
}
