//! The statistics of the loop's times.

use serde::{Deserialize, Serialize};

use super::calibrated_loop::{FEWEST, Piece};

/// The times of repeated work.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct LoopTimes {
    /// The number of repetitions.
    pub pieces: usize,
    /// The median of the wall-clock times, in seconds.
    pub median: f64,
    /// The interquartile range of the wall-clock times, as a share of their median.
    pub scatter: f64,
    /// That of the processor times: the work's own pace, without interruptions.
    pub processor_scatter: f64,
    /// The share of the wall-clock time in which the work was not on a processor.
    pub off_processor: f64,
    /// The smallest change that 20 runs of such work can find, as a share of its time.
    ///
    /// With 10 runs of each commit, a two-sample t test at 5 % finds a difference of
    /// 1.325 standard deviations with a probability of 80 % (J. Cohen, "Statistical Power
    /// Analysis for the Behavioral Sciences", 1988, section 2.4). The Mann-Whitney test is
    /// 3/π as efficient in normal noise, so that it takes 1.325 / √(3/π) = 1.356 of them:
    /// one interquartile range, which is 1.349.
    pub smallest_change: f64,
}

impl LoopTimes {
    /// Computes the statistics; `None` for too few pieces, and where a clock stands still.
    pub(super) fn from_pieces(pieces: &[Piece]) -> Option<Self> {
        let wall = Quartiles::from_values(pieces.iter().map(|piece| piece.wall))?;
        let processor = Quartiles::from_values(pieces.iter().map(|piece| piece.processor))?;
        let sum = |time: fn(&Piece) -> f64| pieces.iter().map(time).sum::<f64>();
        let (all, on_processor) = (sum(|piece| piece.wall), sum(|piece| piece.processor));
        Some(Self {
            pieces: pieces.len(),
            median: wall.median,
            scatter: wall.range / wall.median,
            processor_scatter: processor.range / processor.median,
            off_processor: (1.0 - on_processor / all).max(0.0),
            smallest_change: wall.range / wall.median,
        })
    }
}

struct Quartiles {
    median: f64,
    /// The distance from the first to the third.
    range: f64,
}

impl Quartiles {
    /// Computes the statistics of values; `None` without enough of them, or when their median is
    /// not above 0.
    fn from_values(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let count = values.len();
        let median = *values.get(count / 2)?;
        (count >= FEWEST && median > 0.0).then(|| Self {
            median,
            range: values[3 * count / 4] - values[count / 4],
        })
    }
}

#[cfg(test)]
mod tests {
    use pinpoint_compare::{Direction, Verdict, compare_performance};

    use super::*;

    fn pieces(times: impl IntoIterator<Item = (f64, f64)>) -> Vec<Piece> {
        let piece = |(wall, processor)| Piece { wall, processor };
        times.into_iter().map(piece).collect()
    }

    #[test]
    fn times_are_summed_up_without_their_outliers() {
        // One piece of eight is interrupted, and takes twice as long.
        let walls = [0.010, 0.011, 0.012, 0.013, 0.014, 0.015, 0.016, 0.026];
        let times = LoopTimes::from_pieces(&pieces(walls.map(|wall| (wall, 0.010)))).unwrap();
        assert_eq!(times.pieces, 8);
        assert_eq!(times.median, 0.014);
        assert!((times.scatter - 0.004 / 0.014).abs() < 1e-9, "{times:?}");
        assert_eq!(times.smallest_change, times.scatter);
        assert_eq!(times.processor_scatter, 0.0);
        let all: f64 = walls.iter().sum();
        assert!((times.off_processor - (1.0 - 0.08 / all)).abs() < 1e-9);
    }

    #[test]
    fn too_few_times_and_broken_clocks_say_nothing() {
        assert_eq!(LoopTimes::from_pieces(&[]), None);
        assert_eq!(LoopTimes::from_pieces(&pieces([(1.0, 1.0); 3])), None);
        assert_eq!(LoopTimes::from_pieces(&pieces([(0.0, 1.0); 9])), None);
        assert_eq!(LoopTimes::from_pieces(&pieces([(1.0, 0.0); 9])), None);
        // Clocks of different grain.
        let times = LoopTimes::from_pieces(&pieces([(1.0, 1.1); 9])).unwrap();
        assert_eq!(times.off_processor, 0.0);
    }

    /// Normal numbers by Box and Muller, from the generator SplitMix64.
    fn normal(state: &mut u64) -> f64 {
        let mut uniform = || {
            *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = *state;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        };
        let radius = (-2.0 * libm::log(1.0 - uniform())).sqrt();
        radius * libm::cos(std::f64::consts::TAU * uniform())
    }

    /// The comparison that jobs make finds a change of that size as often as promised.
    #[test]
    fn twenty_runs_find_the_smallest_change_in_four_of_five_cases() {
        let mut state = 1;
        let of_commit = pieces((0..10_000).map(|_| (100.0 + normal(&mut state), 1.0)));
        let change = LoopTimes::from_pieces(&of_commit).unwrap().smallest_change;
        let found = |change: f64, state: &mut u64| {
            let mut runs =
                |median: f64| -> Vec<f64> { (0..10).map(|_| median + normal(state)).collect() };
            let (before, after) = (runs(100.0), runs(100.0 * (1.0 + change)));
            let compared = compare_performance(&before, &after, None, Direction::Unknown);
            compared.unwrap().verdict == Verdict::Different
        };
        let share = |change: f64, state: &mut u64| {
            (0..4000).filter(|_| found(change, state)).count() as f64 / 4000.0
        };
        let (all, half) = (share(change, &mut state), share(change / 2.0, &mut state));
        assert!((0.76..0.86).contains(&all), "{all}");
        assert!(half < 0.4, "{half}");
    }
}
