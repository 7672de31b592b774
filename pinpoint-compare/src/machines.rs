//! The noise of machines, and their offsets from each other, by runs of the same builds.

use std::collections::BTreeMap;

use crate::error::CompareError;
use crate::pairwise::compare_pairwise_with;
use crate::scratch::Scratch;
use crate::shift::median;
use crate::types::{Direction, Interval};

/// The fewest runs of a build whose scatter is meaningful, and the fewest pairs of runs whose
/// difference has an interval of 95 %.
const FEWEST: usize = 6;

/// The values of one metric in runs of one build: for each machine, in the order of execution.
pub type SameBuild<M> = BTreeMap<M, Vec<f64>>;

/// The noise of a machine, and its offset from the others.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct MachineNoise {
    /// Its runs.
    pub runs: usize,
    /// The interquartile range of its runs of a build, in percent of their median: the median over
    /// the builds that it ran six times at least, and of these, if any, those that others ran as
    /// often. Absent without such builds.
    pub scatter: Option<f64>,
    /// That of the other machines, over the builds that both ran as often.
    pub scatter_of_others: Option<f64>,
    /// Absent below six pairs of runs.
    pub offset: Option<MachineOffset>,
}

/// The offset of a machine from the others.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct MachineOffset {
    /// The percentage by which its values are larger.
    pub estimate: f64,
    /// The interval that contains it with 95 %, as far as the pairs are independent.
    pub interval: Option<Interval>,
    /// The pairs of runs.
    pub pairs: usize,
}

/// Compares machines that ran the same builds.
///
/// # The rule
///
/// The scatter of a machine is that of its runs of one build, so that builds need not be alike. For
/// the offset, each of its runs is paired with one of another machine of the same build and metric,
/// in turn one of each other machine, in the order in which they were made; the pairs of all builds
/// together are compared by [`compare_pairwise`](crate::compare_pairwise), on logarithms, so that
/// metrics of any unit add up. Runs without a partner do not count.
///
/// A build with a value that is not above 0 is left out: a percentage of it means nothing.
///
/// The runs of a job share the state of the machine at that time. So the interval covers the
/// difference between these runs, and does not predict next week's.
///
/// # Errors
///
/// [`CompareError::NotFinite`].
///
/// # Cost
///
/// O(n log n) for n runs, times the number of machines that ran the same builds.
///
/// # Example
///
/// ```
/// use std::collections::BTreeMap;
/// use pinpoint_compare::compare_machines;
///
/// let times = |level: f64| (0..10).map(|run| level + 0.1 * f64::from(run)).collect::<Vec<_>>();
/// let build = BTreeMap::from([("rack-1", times(100.0)), ("rack-2", times(102.0))]);
/// let machines = compare_machines(&[build])?;
/// let offset = machines["rack-2"].offset.unwrap();
/// assert!((offset.estimate - 2.0).abs() < 0.02 && offset.pairs == 10);
/// assert!(machines["rack-1"].scatter.unwrap() < 1.0);
/// # Ok::<(), pinpoint_compare::CompareError>(())
/// ```
pub fn compare_machines<M: Ord + Clone>(
    builds: &[SameBuild<M>],
) -> Result<BTreeMap<M, MachineNoise>, CompareError> {
    let mut runs: BTreeMap<M, usize> = BTreeMap::new();
    for (machine, values) in builds.iter().flatten() {
        *runs.entry(machine.clone()).or_default() += values.len();
    }
    let is_sound = |build: &&SameBuild<M>| build.values().flatten().all(|value| *value > 0.0);
    let builds: Vec<&SameBuild<M>> = builds.iter().filter(is_sound).collect();
    let mut scratch = Scratch::new();
    let mut machines = BTreeMap::new();
    for (machine, runs) in runs {
        let (scatter, scatter_of_others) = scatters(&builds, &machine);
        let noise = MachineNoise {
            runs,
            scatter,
            scatter_of_others,
            offset: offset(&builds, &machine, &mut scratch)?,
        };
        machines.insert(machine, noise);
    }
    Ok(machines)
}

/// The scatter of a machine, and that of the others it is compared with.
fn scatters<M: Ord>(builds: &[&SameBuild<M>], machine: &M) -> (Option<f64>, Option<f64>) {
    let (mut alone, mut beside, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for build in builds {
        let Some(own) = build.get(machine).and_then(|values| scatter(values)) else {
            continue;
        };
        let of_others = build.iter().filter(|(other, _)| *other != machine);
        let before = others.len();
        others.extend(of_others.filter_map(|(_, values)| scatter(values)));
        alone.push(own);
        if others.len() > before {
            beside.push(own);
        }
    }
    let own = if beside.is_empty() { alone } else { beside };
    (median(&own), median(&others))
}

/// The interquartile range in percent of the median, of enough values.
fn scatter(values: &[f64]) -> Option<f64> {
    let count = values.len();
    if count < FEWEST {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let range = sorted[3 * count / 4] - sorted[count / 4];
    let percent = 100.0 * (range / median(values)?);
    percent.is_finite().then_some(percent)
}

fn offset<M: Ord>(
    builds: &[&SameBuild<M>],
    machine: &M,
    scratch: &mut Scratch,
) -> Result<Option<MachineOffset>, CompareError> {
    let (mut others, mut own) = (Vec::new(), Vec::new());
    for build in builds {
        let Some(values) = build.get(machine) else {
            continue;
        };
        let of_others: Vec<&[f64]> = (build.iter())
            .filter(|(other, _)| *other != machine)
            .map(|(_, values)| &values[..])
            .collect();
        let partners = in_turn(&of_others);
        // On a scale that all builds and metrics share.
        let Some(level) = median(&partners).filter(|level| *level > 0.0) else {
            continue;
        };
        for (value, partner) in values.iter().zip(&partners) {
            others.push(partner / level);
            own.push(value / level);
        }
    }
    if own.len() < FEWEST {
        return Ok(None);
    }
    let compared = compare_pairwise_with(&others, &own, Direction::Unknown, scratch)?;
    Ok(compared.estimate.map(|estimate| MachineOffset {
        estimate,
        interval: compared.interval,
        pairs: compared.pairs,
    }))
}

/// The first value of each, then the second of each, and so on.
fn in_turn(lists: &[&[f64]]) -> Vec<f64> {
    let longest = lists
        .iter()
        .map(|list| list.len())
        .max()
        .unwrap_or_default();
    (0..longest)
        .flat_map(|place| lists.iter().filter_map(move |list| list.get(place)))
        .copied()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` values about a level, with this interquartile range in percent of it.
    fn runs(level: f64, percent: f64, count: usize) -> Vec<f64> {
        let middle = (count - 1) as f64 / 2.0;
        // Neighbors are far apart, so that the order is not by size.
        let step = |run: usize| (run * 7 % count) as f64 - middle;
        let of = |run: usize| level * (1.0 + percent / 100.0 * 2.0 * step(run) / count as f64);
        (0..count).map(of).collect()
    }

    fn build(machines: &[(&'static str, Vec<f64>)]) -> SameBuild<&'static str> {
        machines.iter().cloned().collect()
    }

    fn near(value: f64, expected: f64, tolerance: f64) {
        assert!((value - expected).abs() <= tolerance, "{value}, {expected}");
    }

    #[test]
    fn a_machine_has_the_scatter_and_the_offset_that_it_was_given() {
        // Of metrics of other sizes, and builds that others did not run.
        let builds: Vec<_> = [0.002, 1.0, 5e9]
            .map(|level| {
                build(&[
                    ("slow", runs(1.1 * level, 4.0, 20)),
                    ("plain", runs(level, 1.0, 20)),
                    ("third", runs(level, 1.0, 20)),
                ])
            })
            .into_iter()
            .chain([build(&[("slow", runs(3.0, 40.0, 20))])])
            .collect();
        let machines = compare_machines(&builds).unwrap();
        let slow = machines["slow"];
        assert_eq!(slow.runs, 80);
        near(slow.scatter.unwrap(), 4.0, 0.2);
        near(slow.scatter_of_others.unwrap(), 1.0, 0.1);
        let offset = slow.offset.unwrap();
        near(offset.estimate, 10.0, 0.5);
        assert!(
            offset
                .interval
                .is_some_and(|it| it.low > 8.5 && it.high < 11.5)
        );
        assert_eq!(offset.pairs, 60);
        // Of the other two, half of the partners are the slow one.
        let plain = machines["plain"].offset.unwrap();
        assert!(plain.estimate < 0.0 && plain.estimate > -10.0, "{plain:?}");
    }

    #[test]
    fn alike_machines_have_no_offset() {
        let one = build(&[("a", runs(10.0, 2.0, 30)), ("b", runs(10.0, 2.0, 30))]);
        let machines = compare_machines(&[one]).unwrap();
        for noise in machines.values() {
            let offset = noise.offset.unwrap();
            assert_eq!(offset.estimate, 0.0);
            assert!(offset.interval.is_some_and(|it| it.contains(0.0)));
        }
    }

    #[test]
    fn too_few_runs_say_nothing() {
        let few = build(&[("a", runs(10.0, 2.0, 5)), ("b", runs(10.0, 2.0, 30))]);
        let machines = compare_machines(std::slice::from_ref(&few)).unwrap();
        let noise = MachineNoise {
            runs: 5,
            ..MachineNoise::default()
        };
        assert_eq!(machines["a"], noise);
        // Those of two builds together suffice for an offset, but not for a scatter.
        let machines = compare_machines(&[few.clone(), few]).unwrap();
        assert_eq!(machines["a"].offset.unwrap().pairs, 10);
        assert_eq!(machines["a"].scatter, None);
        assert_eq!(machines["b"].scatter_of_others, None);
        // No other machine ran it.
        let alone = build(&[("a", runs(10.0, 2.0, 30))]);
        let alone = compare_machines(&[alone]).unwrap()["a"];
        near(alone.scatter.unwrap(), 2.0, 0.2);
        assert_eq!((alone.scatter_of_others, alone.offset), (None, None));
        assert!(compare_machines::<&str>(&[]).unwrap().is_empty());
    }

    #[test]
    fn builds_without_percentages_are_left_out() {
        for value in [0.0, -1.0] {
            let mut values = runs(10.0, 2.0, 30);
            values[3] = value;
            let builds = [build(&[("a", values), ("b", runs(10.0, 2.0, 30))])];
            let machines = compare_machines(&builds).unwrap();
            let noise = MachineNoise {
                runs: 30,
                ..MachineNoise::default()
            };
            assert_eq!((machines["a"], machines["b"]), (noise, noise));
        }
    }
}
