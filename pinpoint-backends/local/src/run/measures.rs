//! The measures of a run by the operating system: the charts of the format `time`.

use std::collections::BTreeMap;

use pinpoint_core::{Direction, Series, Usage, Variant};
use serde::{Deserialize, Serialize};

use crate::run::instructions::InstructionCounter;

/// The values of one run by their charts.
pub(crate) type Values = BTreeMap<String, Series>;

/// The chart that decides when none is named.
pub(crate) const WALL: &str = "wall";
const USER: &str = "user";
pub(crate) const INSTRUCTIONS: &str = "instructions";
pub(crate) const PEAK_MEMORY: &str = "peak_memory";

/// The measure that decides about commands whose output is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunMeasure {
    /// The time from start to end.
    Wall,
    /// The time of processors in the program and its children. The kernel's time on their behalf is
    /// excluded: it depends on caches and other processes.
    User,
    /// The instructions that processors execute in that time.
    Instructions,
    /// The peak memory of the largest process. The memory of this process is its lower bound.
    Memory,
}

impl RunMeasure {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Wall, Self::User, Self::Instructions, Self::Memory];

    /// The written form, the same everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Wall => "wall",
            Self::User => "user",
            Self::Instructions => "instructions",
            Self::Memory => "memory",
        }
    }

    /// The name of its chart.
    pub fn chart(self) -> &'static str {
        match self {
            Self::Wall => WALL,
            Self::User => USER,
            Self::Instructions => INSTRUCTIONS,
            Self::Memory => PEAK_MEMORY,
        }
    }
}

/// The choice of a measure by a few runs of the good end and of another state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasureChoice {
    /// The other state.
    pub other: Variant,
    /// A measure in which the other state is better counts as well as one in which it is
    /// worse.
    #[serde(default)]
    pub either_way: bool,
}

/// Values of the good end and of the other state, by their charts.
pub(crate) type Samples = [BTreeMap<String, Vec<f64>>; 2];

/// Chooses the measure in which the other state is worse most clearly, or better, if either way
/// counts: the usual one if it is clear there, else another of time, in which such a change is
/// expected, or else memory, or else the usual one.
pub(crate) fn choose(samples: &Samples, either_way: bool) -> RunMeasure {
    /// In standard deviations: by chance, five runs of the same commit rarely differ so.
    const CLEAR: f64 = 5.0;
    let runs = samples
        .each_ref()
        .map(|end| end.get(WALL).map_or(0, Vec::len));
    let separation = |measure: RunMeasure| {
        let [good, other] = samples.each_ref().map(|end| end.get(measure.chart()));
        let (Some(good), Some(other)) = (good, other) else {
            return 0.0;
        };
        // Measures that some of these runs lack, later ones may lack, too.
        let is_complete = good.len() >= runs[0] && other.len() >= runs[1];
        let is_fine = measure != RunMeasure::User || is_fine(good) && is_fine(other);
        match separation(good, other) {
            _ if !is_complete || !is_fine => 0.0,
            separation if either_way => separation.abs(),
            separation => separation,
        }
    };
    let mut best = RunMeasure::Wall;
    if separation(best) >= CLEAR {
        return best;
    }
    let mut most = CLEAR;
    for measure in [RunMeasure::User, RunMeasure::Instructions] {
        if separation(measure) >= most {
            (best, most) = (measure, separation(measure));
        }
    }
    if best == RunMeasure::Wall && separation(RunMeasure::Memory) >= CLEAR {
        best = RunMeasure::Memory;
    }
    best
}

/// Checks that these processor times are long enough. Some kernels count them in ticks of up to 10
/// ms, so that a short run takes either none or one.
fn is_fine(times: &[f64]) -> bool {
    const MIN_SECONDS: f64 = 0.05;
    quartiles(times).is_some_and(|(median, _)| median >= MIN_SECONDS) && !times.contains(&0.0)
}

/// The median of values, and the range between their quartiles.
fn quartiles(values: &[f64]) -> Option<(f64, f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    (count > 0).then(|| (sorted[count / 2], sorted[3 * count / 4] - sorted[count / 4]))
}

/// The increase of the median at the other state, in standard deviations by the quartiles; negative
/// where it is lower. Less is better in all measures.
fn separation(good: &[f64], other: &[f64]) -> f64 {
    /// The least deviation, as a part of the values: smaller differences are not worth finding,
    /// however quiet a measure is.
    const LEAST_DEVIATION: f64 = 0.001;
    /// The interquartile range of normal noise, in standard deviations.
    const RANGE: f64 = 1.349;
    let (Some((good, range)), Some((other, other_range))) = (quartiles(good), quartiles(other))
    else {
        return 0.0;
    };
    let deviation = (range + other_range) / 2.0 / RANGE;
    let least = LEAST_DEVIATION * good.abs().max(other.abs());
    match other - good {
        0.0 => 0.0,
        difference => difference / deviation.max(least),
    }
}

/// The measures of a run. Under callgrind its times and its memory are those of valgrind.
pub(crate) fn of_run(usage: &Usage, counter: Option<InstructionCounter>) -> Values {
    let mut values = BTreeMap::new();
    let mut add = |chart: &str, value: f64, unit: Option<&str>| {
        let series = Series {
            values: vec![value],
            unit: unit.map(str::to_owned),
            direction: Direction::Down,
        };
        values.insert(chart.into(), series);
    };
    if counter != Some(InstructionCounter::Callgrind) {
        add(WALL, usage.wall, Some("s"));
        add(USER, usage.user, Some("s"));
        add("system", usage.system, Some("s"));
        add(PEAK_MEMORY, usage.peak_memory as f64, Some("bytes"));
    }
    if let Some(instructions) = usage.instructions {
        add(INSTRUCTIONS, instructions as f64, None);
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five values of each measure at two commits.
    fn samples(of: &[(RunMeasure, [f64; 5], [f64; 5])]) -> Samples {
        let mut samples = Samples::default();
        for (measure, good, bad) in of {
            for (sample, values) in samples.iter_mut().zip([good, bad]) {
                sample.insert(measure.chart().into(), values.to_vec());
            }
        }
        samples
    }

    const NOISY: [f64; 5] = [1.0, 1.1, 1.3, 1.2, 0.9];

    #[test]
    fn the_quietest_measure_that_shows_the_change_is_chosen() {
        use RunMeasure::{Instructions, Memory, User, Wall};

        let slower = NOISY.map(|value| value * 1.2);
        let quiet = [1.0, 1.01, 1.02, 1.0, 1.01];
        let quiet_slower = quiet.map(|value| value * 1.2);
        let exact = [1e9; 5];
        for (chosen, of) in [
            // No measure shows a difference.
            (Wall, vec![]),
            (
                Wall,
                vec![
                    (Wall, NOISY, NOISY),
                    (User, quiet, quiet),
                    (Memory, exact, exact),
                ],
            ),
            (
                User,
                vec![(Wall, NOISY, slower), (User, quiet, quiet_slower)],
            ),
            (
                Instructions,
                vec![
                    (Wall, NOISY, slower),
                    (User, quiet, quiet_slower),
                    (Instructions, exact, [1.2e9; 5]),
                ],
            ),
            // Quiet measures also show differences that don't matter.
            (
                User,
                vec![
                    (User, quiet, quiet_slower),
                    (Instructions, exact, [1.001e9; 5]),
                ],
            ),
            // Memory is a different question, unless only it has an answer.
            (
                User,
                vec![(User, quiet, quiet_slower), (Memory, exact, [2e9; 5])],
            ),
            (
                Memory,
                vec![(Wall, NOISY, slower), (Memory, exact, [2e9; 5])],
            ),
            (
                Wall,
                vec![(Wall, [0.0; 5], [0.0; 5]), (Memory, exact, [1.001e9; 5])],
            ),
            // The usual one is good enough.
            (
                Wall,
                vec![(Wall, quiet, quiet_slower), (Instructions, exact, [2e9; 5])],
            ),
            // A measure in which the bad end is better does not show a regression.
            (
                Wall,
                vec![(Wall, NOISY, slower), (User, quiet_slower, quiet)],
            ),
            (
                Wall,
                vec![
                    (Wall, quiet, quiet_slower),
                    (User, [2.0; 5], [0.1; 5]),
                    (Memory, [2e9; 5], exact),
                ],
            ),
            // Short processor times mean nothing.
            (
                Wall,
                vec![(Wall, NOISY, slower), (User, [0.04; 5], [0.08; 5])],
            ),
            (
                Wall,
                vec![
                    (Wall, NOISY, slower),
                    (User, [0.1, 0.1, 0.0, 0.1, 0.1], [0.2; 5]),
                ],
            ),
        ] {
            assert_eq!(choose(&samples(&of), false), chosen, "{of:?}");
            // Either way is the same both ways.
            let mut swapped = samples(&of);
            swapped.reverse();
            assert_eq!(choose(&swapped, true), choose(&samples(&of), true));
        }
        let better = samples(&[
            (Wall, slower, NOISY),
            (User, quiet_slower, quiet),
            (Memory, exact, exact),
        ]);
        assert_eq!(choose(&better, false), Wall);
        assert_eq!(choose(&better, true), User);
        // Some runs were not counted.
        let of = [(Wall, NOISY, slower), (Instructions, exact, [2e9; 5])];
        let mut samples = samples(&of);
        samples[1].get_mut(INSTRUCTIONS).unwrap().pop();
        assert_eq!(choose(&samples, false), Wall);
    }
}
